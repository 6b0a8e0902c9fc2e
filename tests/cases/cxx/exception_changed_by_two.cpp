// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race line=20 line2=20

// Two handlers of one exception object write to it. That its end is ordered behind both does not
// order them.
#include <exception>
#include <thread>

struct Failure {
    int code = 0;
};

static void look(std::exception_ptr pointer)
{
    try {
        std::rethrow_exception(pointer);
    } catch (Failure &failure) {
        failure.code = 1;
    }
}

int main()
{
    std::exception_ptr pointer = std::make_exception_ptr(Failure());
    std::thread one(look, pointer), two(look, pointer);
    pointer = nullptr;
    one.join();
    two.join();
}
