// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DSORT -O2
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DSPLICE
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DLOCKED
// verdict: verified

// The C++ library links the nodes of a list, while the program goes through it.
#include <list>
#include <mutex>
#include <thread>

static std::list<int> numbers{3, 1}, others{7};
#ifdef LOCKED
static std::mutex lock;
#endif

int main()
{
    std::thread writer([] {
#ifdef LOCKED
        std::lock_guard guard(lock);
#endif
#ifdef SORT
        numbers.sort();
#elif defined SPLICE
        numbers.splice(numbers.begin(), others);
#else
        numbers.push_back(2);
#endif
    });
    int sum = 0;
    {
#ifdef LOCKED
        std::lock_guard guard(lock);
#endif
        for (int number : numbers)
            sum += number;
    }
    writer.join();
    return sum < 0;
}
