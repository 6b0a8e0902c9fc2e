// compilers: gcc clang
// check:
// verdict: verified

// std::shared_timed_mutex and std::recursive_timed_mutex: in time or not, as the order wills.
#include <cassert>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>

using namespace std::chrono_literals;

std::shared_timed_mutex table;
std::recursive_timed_mutex outer;
int value, given_up;

void put()
{
    std::unique_lock<std::shared_timed_mutex> lock(table, 1s);
    if (lock)
        value++;
}

void look()
{
    std::shared_lock<std::shared_timed_mutex> lock(table, 1s);
    if (lock)
        assert(value == 0 || value == 1);
    else
        given_up++;
}

int main()
{
    std::thread a(put), b(look);
    a.join();
    b.join();
    assert(given_up <= 1 && value <= 1);
    assert(outer.try_lock_for(1s));
    assert(outer.try_lock_until(std::chrono::steady_clock::now() + 1s));
    outer.unlock();
    outer.unlock();
}
