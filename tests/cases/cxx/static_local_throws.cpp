// check:
// verdict: verified

// The first initialisation throws, so the next caller tries again.
#include <atomic>
#include <cassert>
#include <stdexcept>
#include <thread>

std::atomic<int> attempts;

struct Fragile {
    Fragile()
    {
        if (attempts.fetch_add(1) == 0)
            throw std::runtime_error("not yet");
    }
};

void work()
{
    try {
        static Fragile instance;
        (void)instance;
    } catch (const std::runtime_error &) {
    }
}

int main()
{
    std::thread a(work), b(work);
    a.join();
    b.join();
    assert(attempts == 2);
}
