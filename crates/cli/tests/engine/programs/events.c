// Makes events for ever.
// options: --max-events 10000
// status: 3
// says: cut after 10000 events
#include <stdatomic.h>

static atomic_int counter;

int main(void) {
    for (;;)
        counter++;
}
