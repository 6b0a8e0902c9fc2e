// compilers: gcc clang
// check:
// flags: -O0
// verdict: verified
// check:
// flags: -O2
// verdict: verified
// check:
// flags: -O2 -DEMPLACED_IN_USE
// verdict: bug
// findings: at-least
// finding: data-race detail=object-overwritten

// Constructors write to the bytes of a std::mutex. That is ordered with its uses where the object is
// passed on by a queue, a thread or a lock, also in memory that is used again.
#include <cassert>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <thread>

struct Session {
    std::mutex mutex;
    std::once_flag started;
    std::shared_mutex table;
    int requests = 0;
    void request()
    {
        std::call_once(started, [this] { requests = 0; });
        std::shared_lock reading(table);
        std::lock_guard lock(mutex);
        requests++;
    }
};

static std::mutex queue_mutex;
static std::condition_variable queue_changed;
static std::deque<std::shared_ptr<Session>> queue;

static void serve()
{
    std::unique_lock lock(queue_mutex);
    queue_changed.wait(lock, [] { return !queue.empty(); });
    auto session = queue.front();
    queue.pop_front();
    lock.unlock();
    session->request();
}

#ifdef EMPLACED_IN_USE
static std::optional<Session> shared{std::in_place};
static void use() { shared->request(); }

static void reset()
{
    new (&*shared) Session;
}
#endif

alignas(Session) static unsigned char storage[sizeof(Session)];

int main()
{
    std::thread server(serve);
    auto session = std::make_shared<Session>();
    session->request();
    {
        std::lock_guard lock(queue_mutex);
        queue.push_back(session);
    }
    queue_changed.notify_one();
    server.join();
    assert(session->requests == 2);
    for (int round = 0; round < 2; round++) {
        Session *placed = new (storage) Session;
        std::thread other([placed] { placed->request(); });
        placed->request();
        other.join();
        assert(placed->requests == 2);
        placed->~Session();
    }
    std::optional<Session> maybe;
    std::thread late([] {});
    maybe.emplace();
    maybe->request();
    maybe.reset();
    maybe.emplace();
    maybe->request();
    late.join();
#ifdef EMPLACED_IN_USE
    std::thread user(use);
    reset();
    user.join();
#endif
}
