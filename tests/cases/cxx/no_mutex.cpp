// compilers: gcc clang
// check:
// verdict: bug
// executions: 1
// finding: data-race var=bank::balance line=16 line2=16

// The same without it; a variable in a namespace, reported by its C++ name.
#include <thread>

namespace bank {
int balance;
}

void add()
{
    bank::balance++;
}

int main()
{
    std::thread a(add), b(add);
    a.join();
    b.join();
}
