// compilers: gcc clang
// check:
// verdict: verified
// executions: 6
// check:
// flags: -O2
// verdict: verified
// executions: 6

// One waits, one stores and notifies. The library counts who waits: the one who notifies looks at that count after its store.
//
// Stored before the waiter looks: the count is looked at before he enters, while he is in, or after he has left (3). Stored between his
// look and his sleeping, which then fails: while he is in, or after he has left (2). Stored while he sleeps: he is woken (1).
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
