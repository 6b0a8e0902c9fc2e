// status: 1
// says: assertion: assert: 1 + 1 == 3 (T0 at
#include <assert.h>

int main(void) {
    assert(1 + 1 == 3);
    return 0;
}
