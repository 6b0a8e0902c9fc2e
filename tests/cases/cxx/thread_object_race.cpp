// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=worker
// check:
// flags: -DDETACH
// verdict: bug
// findings: at-least
// finding: data-race var=worker
// check:
// flags: -DOWN
// verdict: verified

// Joining changes the object of a thread, which another thread looks at. OWN: only the thread itself looks,
// which is over then.
#include <atomic>
#include <thread>

static std::thread worker;
static std::atomic<bool> started;
static bool seen;

static void look()
{
    seen = worker.get_id() == std::thread::id();
}

int main()
{
    worker = std::thread([] {
        started.wait(false);
#ifdef OWN
        look();
#endif
    });
    started = true;
    started.notify_one();
#ifdef OWN
    worker.join();
    return seen;
#else
    std::thread other(look);
#ifdef DETACH
    worker.detach();
#else
    worker.join();
#endif
    other.join();
    return 0;
#endif
}
