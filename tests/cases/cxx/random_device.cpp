// check:
// verdict: verified
// executions: 4

// A random device gives a thread the same numbers in every run, whatever it asks the machine for: otherwise
// the number of additions would differ from run to run.
#include <atomic>
#include <random>
#include <thread>

static std::atomic<int> sum;

static void work()
{
    std::random_device device;
    for (unsigned i = device() % 4 + 1; i > 0; i--)
        sum++;
}

int main()
{
    std::thread first(work), second(work);
    first.join();
    second.join();
}
