// compilers: gcc clang
// check:
// verdict: verified

// Two threads print to std::cout.
#include <iostream>
#include <thread>

void greet(const char *name)
{
    std::cout << name;
}

int main()
{
    std::thread a(greet, "one\n"), b(greet, "two\n");
    a.join();
    b.join();
}
