// check: --time-limit 1 --max-events 4000000000
// verdict: incomplete

// One run that never ends and always makes progress: only the limit on time can end it.
#include <stdatomic.h>

atomic_int turn;

int main(void)
{
    for (;;) {
        int expected = 0;
        atomic_compare_exchange_strong(&turn, &expected, 1);
        expected = 1;
        atomic_compare_exchange_strong(&turn, &expected, 0);
    }
}
