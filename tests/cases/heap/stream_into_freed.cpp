// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: memory detail=use-after-free
// check:
// flags: -DBEYOND
// verdict: bug
// findings: at-least
// finding: memory detail=out-of-bounds
// check:
// flags: -DNOTHING
// verdict: verified

// A stream of the C++ library stores its input in a block that was freed, or is too small. With a
// negative length it stores nothing.
#include <sstream>

int main() {
    std::istringstream in("1234567890123456");
#ifdef BEYOND
    char *small = new char[8];
    in.read(small, 16);
    delete[] small;
#elif defined NOTHING
    char *small = new char[8];
    in.read(small, -1);
    in.clear();
    in.get(small, 0);
    delete[] small;
#else
    int *freed = new int;
    delete freed;
    in >> *freed;
#endif
}
