// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DSTATE
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DPLACE
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DLOCKED
// verdict: verified

// A stream is closed while another thread writes to it. STATE: its state is set. PLACE: it goes to another
// place.
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#if defined STATE || defined PLACE
static std::stringstream stream;
#else
static std::ofstream stream("/dev/null");
#endif
#ifdef LOCKED
static std::mutex lock;
#endif

static void write()
{
#ifdef LOCKED
    std::lock_guard guard(lock);
#endif
#ifdef STATE
    if (stream.good())
#endif
        stream << 12;
}

int main()
{
    std::thread other([] { write(); });
    {
#ifdef LOCKED
        std::lock_guard guard(lock);
#endif
#ifdef STATE
        stream.clear(std::ios::failbit);
#elif defined PLACE
        stream.seekp(0);
#else
        stream.close();
#endif
    }
    other.join();
}
