// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: data-race detail=use-after-free

// delete in one thread, use in another.
#include <thread>

struct Widget {
    int value = 1;
};

Widget *widget = new Widget;
int copy;

int main()
{
    std::thread a([] { copy = widget->value; });
    std::thread b([] { delete widget; });
    a.join();
    b.join();
}
