// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -no-pie -fno-pie -O2
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DPOOL
// verdict: bug
// findings: at-least
// finding: data-race
// check:
// flags: -DSYNCHRONISED
// verdict: verified
// check:
// flags: -DOWN
// verdict: verified

// Two threads allocate from one memory resource, in code of the C++ library. SYNCHRONISED: that resource
// locks. OWN: each thread has one.
#include <array>
#include <cstddef>
#include <memory_resource>
#include <thread>
#include <vector>

#ifdef POOL
static std::pmr::unsynchronized_pool_resource resource;
#elif defined SYNCHRONISED
static std::pmr::synchronized_pool_resource resource;
#elif defined OWN
static thread_local std::pmr::monotonic_buffer_resource resource;
#else
static std::array<std::byte, 4096> buffer;
static std::pmr::monotonic_buffer_resource resource(buffer.data(), buffer.size());
#endif

static void fill(std::pmr::memory_resource *from)
{
    std::pmr::vector<int> numbers(from);
    numbers.push_back(1);
}

int main()
{
    std::thread other([] { fill(&resource); });
    fill(&resource);
    other.join();
}
