// compilers: gcc clang
// check:
// verdict: verified

// Two threads acquire and one releases a semaphore of two: there is always one for each, and no
// thread sleeps, however often another is faster. A thread that gave up after the first time that
// another was faster would sleep here, because the count may have its old value again.
#include <semaphore>
#include <thread>

std::counting_semaphore<3> items(2);

int main()
{
    std::thread a([] { items.acquire(); });
    std::thread b([] { items.release(); });
    items.acquire();
    a.join();
    b.join();
}
