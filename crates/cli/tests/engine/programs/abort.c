// status: 1
// says: called abort (thread T0
#include <stdlib.h>

int main(void) {
    abort();
}
