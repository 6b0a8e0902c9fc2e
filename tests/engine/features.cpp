// std: c++20
// prints: threads ok
// prints: mutexes ok
// prints: shared mutexes ok
// prints: conditions ok
// prints: conditions with deadlines ok
// prints: futures ok
// prints: once ok
// prints: atomics ok
// prints: waiting on atomics ok
// prints: latches, barriers, semaphores ok
// prints: stop tokens ok
// prints: thread-local objects ok
// prints: exceptions ok
// prints: local statics ok
// prints: started in a constructor ok
// prints: all ok

// Feature by feature, what C++ programs do with threads. Every section checks itself: it says "ok"
// whatever the schedule.
#include <atomic>
#include <barrier>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <iostream>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

// Threads that are started while static objects are constructed, and joined while they are
// destroyed.
struct EarlyBird {
    std::atomic<int> value{0};
    std::thread worker;
    EarlyBird() : worker([this] { value.store(42, std::memory_order_release); }) {}
    ~EarlyBird() {
        if (worker.joinable()) {
            worker.join();
        }
    }
} early_bird;

static void threads() {
    int results[3] = {};
    std::vector<std::thread> group;
    for (int i = 0; i < 3; i++) {
        group.emplace_back([&results, i](int base) { results[i] = base + i; }, 10);
    }
    assert(group[0].get_id() != group[1].get_id());
    for (auto &thread : group) {
        thread.join();
    }
    assert(results[0] == 10 && results[1] == 11 && results[2] == 12);
    std::thread nested([] {
        int inner = 0;
        std::thread([&inner] { inner = std::this_thread::get_id() != std::thread::id(); }).join();
        assert(inner == 1);
    });
    nested.join();
    std::atomic<bool> done{false};
    std::thread([&done] { done = true; }).detach();
    while (!done) {
        std::this_thread::yield();
    }
    assert(std::thread::hardware_concurrency() > 0);
    std::cout << "threads ok\n";
}

static void mutexes() {
    std::mutex first, second;
    std::recursive_mutex again;
    std::timed_mutex timed;
    std::recursive_timed_mutex both;
    int counter = 0, failed = 0;
    auto work = [&] {
        {
            std::lock_guard<std::mutex> guard(first);
            counter++;
        }
        {
            std::scoped_lock guard(first, second);
            counter++;
        }
        {
            std::unique_lock<std::mutex> lock(second, std::try_to_lock);
            failed += lock.owns_lock() ? 0 : 1;
            if (!lock.owns_lock()) {
                lock.lock();
            }
        }
        {
            std::lock_guard<std::recursive_mutex> outer(again);
            std::lock_guard<std::recursive_mutex> inner(again);
            counter++;
        }
        while (!timed.try_lock_for(1ms)) {
        }
        counter++;
        timed.unlock();
        std::unique_lock<std::recursive_timed_mutex> until(both, std::chrono::steady_clock::now() + 1s);
        if (until.owns_lock()) {
            assert(both.try_lock());
            both.unlock();
        }
    };
    std::thread other(work);
    work();
    other.join();
    std::lock(first, second);
    first.unlock();
    second.unlock();
    // `failed` was written under `second` only when the lock was held: read after the join.
    assert(counter == 8 && failed <= 2);
    std::cout << "mutexes ok\n";
}

static void shared_mutexes() {
    std::shared_mutex mutex;
    std::shared_timed_mutex timed;
    int value = 0, seen[2] = {-1, -1};
    std::thread writer([&] {
        std::unique_lock lock(mutex);
        value = 1;
        value = 2;
    });
    auto read = [&](int i) {
        std::shared_lock lock(mutex);
        seen[i] = value;
    };
    std::thread reader(read, 0);
    read(1);
    writer.join();
    reader.join();
    assert(seen[0] == 0 || seen[0] == 2);
    assert(seen[1] == 0 || seen[1] == 2);
    std::shared_lock held(timed);
    bool shared = false, exclusive = true;
    std::thread([&] {
        shared = timed.try_lock_shared_for(10ms);
        if (shared) {
            timed.unlock_shared();
        }
        exclusive = timed.try_lock_for(10ms);
    }).join();
    assert(shared && !exclusive);
    std::cout << "shared mutexes ok\n";
}

static void conditions() {
    std::mutex mutex;
    std::condition_variable filled, drained;
    std::deque<int> queue;
    int sum = 0;
    std::thread consumer([&] {
        for (;;) {
            std::unique_lock lock(mutex);
            filled.wait(lock, [&] { return !queue.empty(); });
            int item = queue.front();
            queue.pop_front();
            drained.notify_one();
            if (item < 0) {
                return;
            }
            sum += item;
        }
    });
    for (int item : {1, 2, 3, -1}) {
        std::unique_lock lock(mutex);
        drained.wait(lock, [&] { return queue.size() < 2; });
        queue.push_back(item);
        lock.unlock();
        filled.notify_all();
    }
    consumer.join();
    assert(sum == 6);
    std::condition_variable_any any;
    std::shared_mutex shared;
    bool ready = false;
    std::thread waiter([&] {
        std::shared_lock lock(shared);
        any.wait(lock, [&] { return ready; });
    });
    {
        std::unique_lock lock(shared);
        ready = true;
    }
    any.notify_all();
    waiter.join();
    std::cout << "conditions ok\n";
}

static void deadlines() {
    std::mutex mutex;
    std::condition_variable condition;
    {
        std::unique_lock lock(mutex);
        auto start = std::chrono::steady_clock::now();
        assert(condition.wait_for(lock, 10ms) == std::cv_status::timeout);
        assert(std::chrono::steady_clock::now() - start >= 10ms);
        assert(!condition.wait_until(lock, std::chrono::system_clock::now() + 10ms, [] { return false; }));
    }
    bool ready = false;
    std::thread setter([&] {
        std::this_thread::sleep_for(10ms);
        std::lock_guard lock(mutex);
        ready = true;
        condition.notify_one();
    });
    {
        std::unique_lock lock(mutex);
        while (!ready) {
            condition.wait_for(lock, 1ms);
        }
    }
    setter.join();
    auto before = std::chrono::system_clock::now();
    std::this_thread::sleep_until(before + 20ms);
    assert(std::chrono::system_clock::now() - before >= 20ms);
    std::cout << "conditions with deadlines ok\n";
}

static void futures() {
    auto later = std::async(std::launch::async, [] { return 6 * 7; });
    auto lazy = std::async(std::launch::deferred, [] { return std::string("lazy"); });
    assert(lazy.wait_for(0s) == std::future_status::deferred);
    auto thrown = std::async(std::launch::async, []() -> int { throw std::runtime_error("from the other side"); });
    std::promise<int> promise;
    std::shared_future<int> shared = promise.get_future().share();
    std::thread giver([&] { promise.set_value(5); });
    std::thread taker([shared] { assert(shared.get() == 5); });
    assert(shared.get() == 5);
    std::packaged_task<int(int)> task([](int x) { return x + 1; });
    auto result = task.get_future();
    std::thread runner(std::move(task), 1);
    while (result.wait_for(1ms) != std::future_status::ready) {
    }
    assert(result.get() == 2);
    runner.join();
    giver.join();
    taker.join();
    assert(later.get() == 42 && lazy.get() == "lazy");
    try {
        thrown.get();
        assert(false);
    } catch (const std::runtime_error &error) {
        assert(std::string(error.what()) == "from the other side");
    }
    std::cout << "futures ok\n";
}

static void once() {
    std::once_flag flag, stubborn;
    int calls = 0, attempts = 0;
    auto call = [&] {
        std::call_once(flag, [&] { calls++; });
        try {
            std::call_once(stubborn, [&] {
                if (++attempts < 3) {
                    throw attempts;
                }
            });
        } catch (int) {
        }
    };
    std::thread one(call), two(call);
    call();
    one.join();
    two.join();
    assert(calls == 1 && attempts == 3);
    std::cout << "once ok\n";
}

static void atomics() {
    std::atomic<int> counter{0};
    std::atomic<long> sum{0};
    std::atomic_flag flag = ATOMIC_FLAG_INIT;
    struct Pair {
        long a, b;
    };
    std::atomic<Pair> pair{{1, 1}};
    std::shared_ptr<int> shared = std::make_shared<int>(1);
    int guarded = 0;
    auto work = [&] {
        for (int i = 0; i < 2; i++) {
            counter.fetch_add(1, std::memory_order_relaxed);
            sum += i;
        }
        int expected = counter.load();
        while (!counter.compare_exchange_weak(expected, expected + 10)) {
        }
        while (flag.test_and_set(std::memory_order_acquire)) {
            std::this_thread::yield();
        }
        guarded++;
        flag.clear(std::memory_order_release);
        Pair old = pair.load();
        while (!pair.compare_exchange_weak(old, Pair{old.a + 1, old.b + 1})) {
        }
        auto mine = std::atomic_load(&shared);
        assert(*mine == 1 || *mine == 2);
        std::atomic_store(&shared, std::make_shared<int>(2));
        std::atomic_thread_fence(std::memory_order_seq_cst);
    };
    std::thread other(work);
    work();
    other.join();
    Pair last = pair.load();
    assert(counter == 24 && sum == 2 && guarded == 2 && last.a == 3 && last.b == 3 && *shared == 2);
    // Reference counts: the last one out deletes.
    auto object = std::make_shared<std::string>("shared");
    std::weak_ptr<std::string> weak = object;
    std::thread holder([copy = object] { assert(*copy == "shared"); });
    object.reset();
    holder.join();
    assert(weak.expired());
    std::cout << "atomics ok\n";
}

static void atomic_waiting() {
    std::atomic<int> stage{0};
    std::atomic_flag started;
    std::atomic<bool> narrow{false};
    std::thread other([&] {
        started.test_and_set();
        started.notify_one();
        stage.wait(0);
        assert(stage == 1);
        narrow = true;
        narrow.notify_all();
    });
    started.wait(false);
    stage = 1;
    stage.notify_all();
    narrow.wait(false);
    other.join();
    std::cout << "waiting on atomics ok\n";
}

static void meeting_points() {
    std::latch ready{2}, go{1};
    // One thread acquires it: where two do, acquire of libstdc++ before version 13 can sleep for
    // ever.
    std::counting_semaphore<4> slots{0};
    std::binary_semaphore signal{0};
    int completions = 0, inside = 0;
    std::barrier phase{2, [&]() noexcept { completions++; }};
    std::thread other([&] {
        ready.count_down();
        go.wait();
        phase.arrive_and_wait();
        slots.acquire();
        inside++;
        slots.release();
        phase.arrive_and_wait();
        signal.release();
    });
    ready.arrive_and_wait();
    go.count_down();
    phase.arrive_and_wait();
    inside++;
    slots.release();
    phase.arrive_and_wait();
    while (!signal.try_acquire_for(5ms)) {
    }
    other.join();
    assert(completions == 2 && inside == 2 && slots.try_acquire());
    std::cout << "latches, barriers, semaphores ok\n";
}

static void stop_tokens() {
    std::mutex mutex;
    std::condition_variable_any condition;
    bool called = false, stopped = false;
    {
        std::jthread thread([&](std::stop_token token) {
            std::unique_lock lock(mutex);
            condition.wait(lock, token, [] { return false; });
            stopped = token.stop_requested();
        });
    }
    assert(stopped);
    std::stop_source source;
    std::stop_callback callback(source.get_token(), [&] { called = true; });
    std::thread([&] { source.request_stop(); }).join();
    assert(called);
    std::cout << "stop tokens ok\n";
}

static std::atomic<int> destroyed{0};

struct Local {
    int value = 0;
    ~Local() { destroyed += value; }
};

thread_local Local local;
thread_local std::string label = "new";
thread_local int plain = 7;

static void thread_locals() {
    destroyed = 0;
    auto work = [](int value) {
        assert(label == "new" && plain == 7 && local.value == 0);
        local.value = value;
        label = "used by " + std::to_string(value);
        plain = value;
    };
    std::thread one(work, 1), two(work, 10);
    one.join();
    two.join();
    // A later thread may get the storage of an earlier one: it must not notice.
    std::thread(work, 100).join();
    assert(destroyed == 111 && plain == 7);
    std::cout << "thread-local objects ok\n";
}

struct Unwound {
    int &count;
    ~Unwound() { count++; }
};

static void exceptions() {
    std::mutex mutex;
    int unwound = 0, caught = 0;
    auto work = [&](int depth) {
        std::function<void(int)> dive = [&](int left) {
            if (left == 0) {
                throw std::out_of_range("deep");
            }
            dive(left - 1);
        };
        try {
            int mine = 0;
            try {
                Unwound guard{mine};
                dive(depth);
            } catch (const std::out_of_range &) {
                // Other threads run, and throw, while this exception is being handled.
                std::lock_guard lock(mutex);
                caught++;
                unwound += mine;
                std::this_thread::yield();
                throw;
            }
        } catch (const std::exception &error) {
            std::lock_guard lock(mutex);
            assert(std::string(error.what()) == "deep" && std::uncaught_exceptions() == 0);
            caught++;
        }
    };
    std::thread one(work, 3), two(work, 5);
    work(1);
    one.join();
    two.join();
    assert(caught == 6 && unwound == 3);
    std::exception_ptr kept;
    std::thread([&] {
        try {
            throw 17;
        } catch (...) {
            kept = std::current_exception();
        }
    }).join();
    try {
        std::rethrow_exception(kept);
    } catch (int value) {
        assert(value == 17);
    }
    std::cout << "exceptions ok\n";
}

static std::atomic<int> constructions{0};

struct Lazy {
    int value;
    explicit Lazy(bool fail) : value(++constructions) {
        if (fail && value == 1) {
            throw value;
        }
    }
};

static int lazy_value() {
    static Lazy lazy(true);
    return lazy.value;
}

static void local_statics() {
    auto work = [] {
        for (;;) {
            try {
                assert(lazy_value() == 2);
                return;
            } catch (int) {
            }
        }
    };
    std::thread one(work), two(work);
    work();
    one.join();
    two.join();
    assert(constructions == 2);
    std::cout << "local statics ok\n";
}

static void early() {
    early_bird.worker.join();
    assert(early_bird.value.load(std::memory_order_acquire) == 42);
    std::cout << "started in a constructor ok\n";
}

int main() {
    threads();
    mutexes();
    shared_mutexes();
    conditions();
    deadlines();
    futures();
    once();
    atomics();
    atomic_waiting();
    meeting_points();
    stop_tokens();
    thread_locals();
    exceptions();
    local_statics();
    early();
    std::ostringstream line;
    line << "all" << ' ' << "ok";
    std::cout << line.str() << std::endl;
    return 0;
}
