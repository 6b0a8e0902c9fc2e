// status: 1
// says: assertion: abort (T0 at
#include <stdlib.h>

int main(void) {
    abort();
}
