// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DTEXT -O2
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DINPUT
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DLOCKED
// verdict: verified
// check:
// flags: -DSTANDARD
// verdict: verified
// check:
// flags: -DSTANDARD -DUNGUARDED
// verdict: bug
// findings: at-least
// finding: data-race

// Streams are no objects that threads may share, but for the standard ones, as long as these are
// synchronised with those of C. TEXT: one thread looks at the text. INPUT: both read.
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#ifdef INPUT
static std::istringstream stream("one two");
#else
static std::ostringstream stream;
#endif
#ifdef LOCKED
static std::mutex lock;
#endif

static void use()
{
#ifdef LOCKED
    std::lock_guard guard(lock);
#endif
#ifdef STANDARD
    std::cout << "a" << 1 << 2.5 << '\n';
#elif defined INPUT
    std::string word;
    stream >> word;
#else
    stream << 1;
#endif
}

int main()
{
#ifdef UNGUARDED
    std::ios::sync_with_stdio(false);
#endif
    std::thread other(use);
#ifdef TEXT
    auto length = stream.str().size();
    other.join();
    return length > 1;
#else
    use();
    other.join();
    return 0;
#endif
}
