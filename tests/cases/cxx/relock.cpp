// check:
// verdict: bug
// findings: at-least
// finding: deadlock detail=relock

// A std::mutex taken again by its owner.
#include <mutex>

std::mutex m;
int count;

void inner()
{
    std::lock_guard guard(m);
    count++;
}

int main()
{
    std::lock_guard guard(m);
    inner();
}
