// compilers: gcc clang
// check:
// verdict: bug
// executions: 3
// finding: deadlock detail=cycle

// The same with two guards each.
#include <mutex>
#include <thread>

std::mutex p, q;
int x;

void forward()
{
    std::lock_guard first(p);
    std::lock_guard second(q);
    x++;
}

void backward()
{
    std::lock_guard first(q);
    std::lock_guard second(p);
    x++;
}

int main()
{
    std::thread a(forward), b(backward);
    a.join();
    b.join();
}
