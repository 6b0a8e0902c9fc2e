// compilers: gcc clang
// check:
// verdict: verified

// A spin lock by std::atomic_flag with the C++20 wait-free test.
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>

class SpinLock {
public:
    void lock()
    {
        while (flag.test_and_set(std::memory_order_acquire))
            while (flag.test(std::memory_order_relaxed))
                ;
    }
    void unlock() { flag.clear(std::memory_order_release); }

private:
    std::atomic_flag flag;
};

SpinLock spin;
int count;

void work()
{
    std::lock_guard guard(spin);
    count++;
}

int main()
{
    std::thread a(work), b(work);
    a.join();
    b.join();
    assert(count == 2);
}
