// compilers: gcc clang
// check: --strategy pdp
// verdict: verified
// check: --strategy dhtc
// verdict: verified
// check: --strategy pdp
// flags: -DBUG
// verdict: bug
// finding: data-race line=38 line2=38
// check: --strategy dhtc
// flags: -DBUG
// verdict: bug
// finding: data-race line=38 line2=38

// Virtual calls, lambdas, std::thread, a template and exceptions: analysed, and the same is found
// as without pruning.
#include <mutex>
#include <stdexcept>
#include <thread>

struct Account {
    virtual ~Account() = default;
    virtual void add(int amount) = 0;
};

template <typename Lock> struct Guarded : Account {
    void add(int amount) override
    {
#ifdef BUG
        static Lock other;
        thread_local Lock own;
        std::lock_guard<Lock> guard(amount == 1 ? own : other);
#else
        std::lock_guard<Lock> guard(lock);
#endif
        if (amount < 0)
            throw std::invalid_argument("negative");
        total += amount;
    }
    Lock lock;
    int total = 0;
};

int main()
{
    static Guarded<std::mutex> account;
    Account *base = &account;
    auto work = [base](int amount) {
        try {
            base->add(amount);
        } catch (const std::invalid_argument &) {
            base->add(2);
        }
    };
    std::thread one(work, 1), two(work, -1);
    one.join();
    two.join();
    return 0;
}
