// check: --time-limit 1 --max-events 4000000000
// verdict: incomplete

// One run that never ends and always makes progress: only the limit on time can end it.
#include <stdatomic.h>

atomic_long turn;

int main(void)
{
    for (;;)
        atomic_fetch_add(&turn, 1);
}
