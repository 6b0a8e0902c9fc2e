// check: --strategy stateful
// verdict: verified
// most-runs: 600
// check:
// verdict: verified
// most-runs: 900

// A thread pool with 2 workers and 3 tasks, in main as test frameworks run a test: the clock is read
// before and after it. No thread of the pool looks at it, so the states are those of the pool alone.
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace {

class Pool {
public:
    explicit Pool(int workers)
    {
        for (int i = 0; i < workers; i++)
            threads.emplace_back([this] { work(); });
    }
    ~Pool()
    {
        {
            std::lock_guard<std::mutex> guard(lock);
            stops = true;
        }
        changed.notify_all();
        for (auto &thread : threads)
            thread.join();
    }
    void submit(std::function<void()> task)
    {
        {
            std::lock_guard<std::mutex> guard(lock);
            tasks.push_back(std::move(task));
        }
        changed.notify_one();
    }

private:
    void work()
    {
        for (;;) {
            std::function<void()> task;
            {
                std::unique_lock<std::mutex> guard(lock);
                changed.wait(guard, [this] { return stops || !tasks.empty(); });
                if (tasks.empty())
                    return;
                task = std::move(tasks.front());
                tasks.pop_front();
            }
            task();
        }
    }

    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::function<void()>> tasks;
    std::vector<std::thread> threads;
    bool stops = false;
};

} // namespace

int main()
{
    auto start = std::chrono::steady_clock::now();
    std::mutex lock;
    int sum = 0;
    {
        Pool pool(2);
        for (int i = 1; i <= 3; i++)
            pool.submit([&, i] {
                std::lock_guard<std::mutex> guard(lock);
                sum += i;
            });
    }
    auto took = std::chrono::steady_clock::now() - start;
    assert(sum == 6 && took < std::chrono::milliseconds(1));
    return 0;
}
