// check:
// verdict: bug
// findings: at-least
// finding: assertion

// An exception hits a noexcept function in a thread.
#include <thread>

void fragile(int x)
{
    if (x)
        throw x;
}

void strict(int x) noexcept
{
    fragile(x);
}

int main()
{
    std::thread t([] { strict(1); });
    t.join();
}
