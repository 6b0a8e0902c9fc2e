// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race detail=write-write line=13 line2=16

// Lambdas that capture a local by reference.
#include <thread>

int main()
{
    int local = 0;
    std::thread a([&] {
        local = 1;
    });
    std::thread b([&] {
        local = 2;
    });
    a.join();
    b.join();
    return local > 2;
}
