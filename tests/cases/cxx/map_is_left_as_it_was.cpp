// compilers: gcc clang
// check:
// verdict: verified
// executions: 1

// Rebalancing is done twice, and the first time is taken back. Only one thread uses the trees.
#include <cassert>
#include <iterator>
#include <map>
#include <set>
#include <thread>

int main()
{
    std::thread other([] {});
    std::set<int> numbers;
    std::map<int, int> sums;
    for (int i = 0; i < 500; i++) {
        numbers.insert(i * 37 % 503);
        sums[i % 17] += i;
    }
    for (int i = 0; i < 400; i++)
        numbers.erase(i * 11 % 503);
    int last = -1, forward = 0, backward = 0, total = 0;
    for (int number : numbers) {
        assert(number > last);
        last = number;
        forward++;
    }
    for (auto at = numbers.rbegin(); at != numbers.rend(); ++at)
        backward++;
    for (auto &sum : sums)
        total += sum.second;
    assert(forward == backward && numbers.size() == static_cast<size_t>(forward));
    assert(total == 500 * 499 / 2 && std::prev(sums.end())->first == 16);
    other.join();
    return 0;
}
