// compilers: gcc clang
// check:
// verdict: verified

// C++20 atomic wait and notify.
#include <atomic>
#include <cassert>
#include <thread>

std::atomic<int> stage;
int data;

int main()
{
    std::thread t([] {
        stage.wait(0);
        assert(data == 42);
        stage = 2;
        stage.notify_one();
    });
    data = 42;
    stage = 1;
    stage.notify_one();
    stage.wait(1);
    assert(stage == 2);
    t.join();
}
