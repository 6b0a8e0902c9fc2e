// compilers: gcc clang
// check:
// verdict: verified

// Two take and one gives, of two: there is always one for each, and nobody comes to sleep, however often another is faster. A thread
// that gave up looking after the first time that another was faster would sleep here, as the number may be the old one again.
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
