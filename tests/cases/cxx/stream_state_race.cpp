// compilers: gcc clang
// check:
// flags: -DWIDTH
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DPRECISION
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DFLAGS
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DSTATE
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DBUFFER
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DOUTPUT_ALONE
// verdict: verified

// What a stream keeps beside its buffer is not guarded, not even of the standard streams: the format
// of numbers, the state, which buffer it is. Only input and output of the standard streams are.
#include <iostream>
#include <sstream>
#include <thread>

static std::ostringstream text;
static std::istringstream number("1");

int main() {
#if defined WIDTH
    std::thread other([] { text.width(5); });
    text << 15;
#elif defined PRECISION
    std::thread other([] { text.precision(3); });
    text << 1.5;
#elif defined FLAGS
    std::thread other([] { std::cout << std::hex << 10; });
    std::cout << 255;
#elif defined STATE
    std::thread other([] {
        int value;
        number >> value;
    });
    volatile bool is_at_end = number.eof();
    (void)is_at_end;
#elif defined BUFFER
    auto before = std::cout.rdbuf();
    std::thread other([] { std::cout.rdbuf(text.rdbuf()); });
    std::cout << 15;
#else
    std::thread other([] { std::cout << 10 << 1.5 << "text" << std::endl; });
    std::cout << 255 << 1.5 << "text" << std::endl;
#endif
    other.join();
#if defined BUFFER
    std::cout.rdbuf(before);
#endif
}
