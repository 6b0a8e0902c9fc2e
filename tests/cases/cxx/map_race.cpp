// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DERASE -O2
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DFIRST
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DLOCKED
// verdict: verified
// check:
// flags: -DVALUES
// verdict: verified

// The C++ library rebalances the tree of a map, while the program searches it. FIRST: the least element
// is asked for while a lesser one is inserted. VALUES: two threads change values of different elements.
#include <map>
#include <mutex>
#include <thread>

static std::map<int, int> numbers{{5, 1}, {3, 1}, {8, 1}, {4, 1}};
#ifdef LOCKED
static std::mutex lock;
#endif

static void change()
{
#ifdef LOCKED
    std::lock_guard guard(lock);
#endif
#ifdef ERASE
    numbers.erase(5);
#elif defined FIRST
    numbers.emplace(1, 2);
#elif defined VALUES
    numbers.find(3)->second = 2;
#else
    numbers.emplace(9, 2);
#endif
}

int main()
{
    std::thread writer(change);
    int sum = 0;
    {
#ifdef LOCKED
        std::lock_guard guard(lock);
#endif
#ifdef FIRST
        sum = numbers.begin()->first;
#elif defined VALUES
        numbers.find(8)->second = 3;
#else
        for (auto &entry : numbers)
            sum += entry.first;
#endif
    }
    writer.join();
#ifdef VALUES
    for (auto &entry : numbers)
        sum += entry.second;
    return sum == 7 ? 0 : 1;
#else
    return sum < 0;
#endif
}
