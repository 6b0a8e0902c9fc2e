// check:
// verdict: bug
// finding: data-race var=hits line=15 line2=15

// A cache counter under the shared lock.
#include <shared_mutex>
#include <thread>

std::shared_mutex m;
int hits;

void look_up()
{
    std::shared_lock lock(m);
    hits++;
}

int main()
{
    std::thread a(look_up), b(look_up);
    a.join();
    b.join();
}
