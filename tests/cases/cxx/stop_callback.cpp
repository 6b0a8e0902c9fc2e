// compilers: gcc clang
// check:
// flags: -O0
// verdict: verified
// check:
// flags: -O2
// verdict: verified
// check:
// flags: -O0 -DREQUEST
// verdict: verified
// check:
// flags: -O2 -DREQUEST
// verdict: verified

// Threads register callbacks with one std::stop_source. Its lock is polled: the loop reads its variable
// in one function and loads in another one. In code that is not optimised, the hook of the first leaves
// other bytes each time in what becomes the frame of the second. They are dead.
#include <cassert>
#include <stop_token>
#include <thread>

int main()
{
    std::stop_source source;
    int called = 0;
    std::thread other([token = source.get_token()] { std::stop_callback callback(token, [] {}); });
#ifdef REQUEST
    std::stop_callback callback(source.get_token(), [&called] { called++; });
    source.request_stop();
    assert(called == 1);
#else
    {
        std::stop_callback callback(source.get_token(), [&called] { called++; });
    }
    assert(called == 0);
#endif
    other.join();
}
