// check:
// verdict: verified

// std::timed_mutex: try_lock_for may give up while the other holds it.
#include <cassert>
#include <chrono>
#include <mutex>
#include <thread>

std::timed_mutex m;
int count;

void patient()
{
    if (m.try_lock_for(std::chrono::seconds(1))) {
        count++;
        m.unlock();
    }
}

int main()
{
    std::thread a(patient), b(patient);
    a.join();
    b.join();
    assert(count == 1 || count == 2);
}
