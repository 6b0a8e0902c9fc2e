// status: 1
// says: assertion failed: 1 + 1 == 3 (thread T0
#include <assert.h>

int main(void) {
    assert(1 + 1 == 3);
    return 0;
}
