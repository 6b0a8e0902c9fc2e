// compilers: gcc clang
// check:
// verdict: verified
// check: --strategy optimal
// verdict: verified
// check:
// flags: -DEARLY
// verdict: bug
// finding: data-race var=left line=24 line2=44

// A value that is set for the end of a thread is ready behind the destructors of its thread_local objects:
// they happen before what the receiver does. A value that is set at once comes before them.
#include <cassert>
#include <future>
#include <thread>

static int left;

struct Leaver {
    int id = 1;
    ~Leaver();
};

Leaver::~Leaver() { left = id; }

static void give(std::promise<int> &promise)
{
    thread_local Leaver leaver;
    leaver.id = 2;
#ifdef EARLY
    promise.set_value(3);
#else
    promise.set_value_at_thread_exit(3);
#endif
}

int main()
{
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    std::thread thread(give, std::ref(promise));
    int got = future.get();
    assert(got == 3);
    int seen = left;
    thread.join();
#ifndef EARLY
    assert(seen == 2);
#endif
    return seen > 2;
}
