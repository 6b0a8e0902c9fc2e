// check:
// verdict: verified

// Semaphores with time-outs: a thread that acquired it sees what was written before the release;
// one that timed out goes on waiting.
#include <cassert>
#include <chrono>
#include <latch>
#include <semaphore>
#include <thread>
using namespace std::chrono_literals;
static std::binary_semaphore turn{0};
static int value;
int main()
{
    std::thread other([] { value = 1; turn.release(); });
    bool got = turn.try_acquire_for(1s);
    if (!got) turn.acquire();
    assert(value == 1);
    other.join();
    assert(!turn.try_acquire());
    std::counting_semaphore<5> many(2);
    many.acquire(); assert(many.try_acquire()); assert(!many.try_acquire_until(std::chrono::steady_clock::now() + 1ms));
}
