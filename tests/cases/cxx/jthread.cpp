// compilers: gcc clang
// check:
// verdict: verified

// std::jthread with a stop token: the destructor asks to stop and joins.
#include <atomic>
#include <cassert>
#include <thread>

std::atomic<int> rounds;

int main()
{
    {
        std::jthread t([](std::stop_token stop) {
            while (!stop.stop_requested())
                std::this_thread::yield();
            rounds = 1;
        });
    }
    assert(rounds == 1);
}
