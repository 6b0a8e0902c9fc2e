// check:
// verdict: bug
// findings: at-least
// finding: assertion detail=abort

// A std::thread that is destroyed while joinable calls std::terminate.
#include <thread>

int main()
{
    std::thread t([] {});
}
