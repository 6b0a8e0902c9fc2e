// compilers: gcc clang
// check:
// verdict: verified
// executions: 16
// check:
// flags: -O2
// verdict: verified
// executions: 16

// A hand-over to and fro. The addition of each release comes before the acquirer's read of the
// number to sleep on, before its read of the count, before it sleeps, or after that: four by four
// executions. That it polls 16 times adds none.
#include <cassert>
#include <semaphore>
#include <thread>

std::binary_semaphore asked(0), answered(0);
int number;

int main()
{
    std::thread other([] {
        asked.acquire();
        number++;
        answered.release();
    });
    number = 1;
    asked.release();
    answered.acquire();
    assert(number == 2);
    other.join();
}
