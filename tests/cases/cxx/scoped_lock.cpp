// compilers: gcc clang
// check:
// verdict: verified

// std::scoped_lock takes two mutexes in opposite orders without deadlock.
#include <cassert>
#include <mutex>
#include <thread>

std::mutex p, q;
int x;

int main()
{
    std::thread a([] {
        std::scoped_lock both(p, q);
        x++;
    });
    std::thread b([] {
        std::scoped_lock both(q, p);
        x++;
    });
    a.join();
    b.join();
    assert(x == 2);
}
