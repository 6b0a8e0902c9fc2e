// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// check:
// flags: -DSEEN
// verdict: bug
// finding: assertion detail=assert
// check:
// flags: -DTERMINATE -DSEEN
// verdict: bug
// finding: assertion detail=assert
// check:
// flags: -DTERMINATE
// verdict: verified
// executions: 2
// check:
// flags: -DNEW
// verdict: verified
// executions: 2

// Setting the default memory resource or a handler synchronises with asking for it, and both orders
// are tried. SEEN: the program expects that it is asked for first.
#include <cassert>
#include <exception>
#include <memory_resource>
#include <new>
#include <thread>

static int prepared;

#if defined TERMINATE || defined NEW
static void handler()
{
}
#endif
#ifdef TERMINATE
static void install()
{
    std::set_terminate(handler);
}
static bool is_installed()
{
    return std::get_terminate() == handler;
}
#elif defined NEW
static void install()
{
    std::set_new_handler(handler);
}
static bool is_installed()
{
    return std::get_new_handler() == handler;
}
#else
static std::pmr::monotonic_buffer_resource arena;
static void install()
{
    std::pmr::set_default_resource(&arena);
}
static bool is_installed()
{
    return std::pmr::get_default_resource() == &arena;
}
#endif

int main()
{
    std::thread other([] {
        prepared = 1;
        install();
    });
    bool seen = is_installed();
    if (seen)
        assert(prepared == 1);
    other.join();
    assert(is_installed());
#ifdef SEEN
    assert(!seen);
#endif
}
