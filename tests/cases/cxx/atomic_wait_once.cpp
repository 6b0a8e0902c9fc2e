// compilers: gcc clang
// check:
// verdict: verified
// executions: 6
// check:
// flags: -O2
// verdict: verified
// executions: 6

// One thread waits, one stores and notifies. The library counts the waiters: the notifier reads
// that count after its store.
//
// Store before the waiter's read: the count is read before the waiter registers, while it is
// registered, or after that (3). Store between its read and its sleep, which then fails: while it
// is registered, or after that (2). Store while it
// sleeps: it is woken (1).
#include <atomic>
#include <cassert>
#include <thread>

std::atomic<int> ready;
int data;

int main()
{
    std::thread t([] {
        data = 42;
        ready.store(1);
        ready.notify_one();
    });
    ready.wait(0);
    assert(data == 42);
    t.join();
}
