// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DPROMISE
// verdict: verified

// An exception object that belongs to handlers in two threads. libstdc++ counts the owners; the last
// one to go destroys the object.
#include <cassert>
#include <exception>
#include <future>
#include <thread>

struct Failure {
    int code;
    explicit Failure(int code) : code(code) {}
    Failure(const Failure &other) : code(other.code) {}
    ~Failure() { code = -1; }
};

#ifdef PROMISE
int main()
{
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    std::thread thread([&] {
        try {
            throw Failure(7);
        } catch (Failure &failure) {
            promise.set_exception(std::current_exception());
            assert(failure.code == 7);
        }
    });
    try {
        future.get();
    } catch (Failure &failure) {
        assert(failure.code == 7);
    }
    thread.join();
}
#else
static void look(std::exception_ptr pointer)
{
    try {
        std::rethrow_exception(pointer);
    } catch (Failure &failure) {
        assert(failure.code == 7);
    }
}

int main()
{
    std::exception_ptr pointer;
    try {
        throw Failure(7);
    } catch (...) {
        pointer = std::current_exception();
    }
    std::thread thread(look, pointer);
    look(pointer);
    pointer = nullptr;
    thread.join();
}
#endif
