// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DSAME
// verdict: verified
// executions: 4

// std::scoped_lock takes two mutexes in opposite orders without deadlock: who finds the second one taken gives the first back and
// tries again. Both can do that again and again; who comes back to where it was has gained nothing, and orders that go on from there are
// left out.
//
// In the same order there are four: either comes first, and the other finds the second mutex still taken, since the first one is given
// back first, or free.
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
#ifdef SAME
        std::scoped_lock both(p, q);
#else
        std::scoped_lock both(q, p);
#endif
        x++;
    });
    a.join();
    b.join();
    assert(x == 2);
}
