// check:
// verdict: verified
// executions: 24
// A first phase that leaves much state in memory: blocks, streams, exceptions, an exit handler.
// Then four threads lock once each: 4!.
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::map<int, std::string> *names;
static std::vector<int> *order;
static std::mutex lock;
static int caught;

static void at_the_end()
{
    assert(order->size() == 4 && names->size() == 20 && caught == 20);
    delete order;
    delete names;
}

static void prepare()
{
    names = new std::map<int, std::string>;
    order = new std::vector<int>;
    for (int i = 0; i < 20; i++) {
        try {
            (*names)[i] = std::string(100 + i, 'x');
            if (i >= 0)
                throw std::runtime_error((*names)[i]);
        } catch (const std::exception &error) {
            caught += (*names)[i] == error.what();
            // More than the buffer holds.
            for (int j = 0; j < 10; j++)
                std::printf("%d %s\n", j, error.what());
        }
    }
    std::atexit(at_the_end);
}

static void append(int number)
{
    auto *own = new std::string((*names)[number]);
    std::lock_guard<std::mutex> guard(lock);
    assert(own->size() == 100u + number);
    order->push_back(number);
    std::printf("%s\n", own->c_str());
    delete own;
}

int main()
{
    std::thread first(prepare);
    first.join();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(append, i);
    for (auto &thread : threads)
        thread.join();
    return 0;
}
