// compilers: gcc clang
// check:
// verdict: verified

// An initialiser that throws has not run: the next caller runs it again, and one of them succeeds.
#include <cassert>
#include <mutex>
#include <stdexcept>
#include <thread>

static std::once_flag once;
static int tries, made;

static void initialise()
{
    if (++tries == 1)
        throw std::runtime_error("not yet");
    made++;
}

static void work()
{
    try {
        std::call_once(once, initialise);
        assert(made == 1);
    } catch (const std::runtime_error &) {
    }
}

int main()
{
    std::thread a(work), b(work);
    a.join();
    b.join();
    work();
    assert(tries == 2 && made == 1);
}
