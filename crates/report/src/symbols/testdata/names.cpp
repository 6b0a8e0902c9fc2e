#include "probe.h"
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>

namespace bank {
struct Base {
    virtual ~Base() = default;
    int id = 0;
};
struct Mixin {
    long weight = 0;
};
class Account : public Base, public Mixin {
public:
    int balance = 0;
    std::mutex lock;
    static int count;
    inline static long total = 7;
    __attribute__((noinline)) void deposit(int amount) {
        balance += amount;
        BLOCK(this, sizeof *this, balance, "Account#1.balance");
        PLACE("bank::Account::deposit");
    }
};
int Account::count = 0;
namespace inner {
Account accounts[3];
}
namespace {
int secret = 5;
}
template <typename T> struct Box {
    T value;
    static T shared;
};
template <typename T> T Box<T>::shared;
Box<short> box;
} // namespace bank

std::atomic<int> ready;
std::atomic<long> slots[4];
std::array<int, 5> numbers;
std::pair<int, bank::Box<int>> both;
struct Holder {
    std::array<std::atomic<int>, 2> flags;
    bank::Account account;
} holder;
thread_local bank::Box<int> mine;
// clang does not describe a class whose constructors are elsewhere.
struct Gate {
    std::mutex lock;
    std::condition_variable opened;
    int passed;
} gate;

struct Range {
    char *from, *to;
};

// A reference stands for one object.
__attribute__((noinline)) static void by_reference(bank::Mixin &mixin) {
    BLOCK(&mixin, sizeof mixin, mixin.weight, "mixin.weight");
    BLOCK(&mixin, 4 * sizeof mixin, mixin.weight, "");
}

// Nothing accesses a part of a pointer.
__attribute__((noinline)) static void as_something_else(Range *range) {
    BLOCK(range, sizeof *range, range->to, "range->to");
    BLOCK(range, sizeof *range, reinterpret_cast<int *>(range)[1], "");
}

static int &local_static() {
    static int calls = 1;
    return calls;
}

int main() {
    using namespace bank;
    inner::accounts[1].deposit(secret);
    Range range{};
    as_something_else(&range);
    by_reference(inner::accounts[0]);
    // The object of a lambda is no heap block, whatever its size.
    auto capturing = [secret = secret, calls = 2]() __attribute__((noinline)) {
        BLOCK(&holder, 8, holder.flags[1], "");
        return secret + calls;
    };
    capturing();
    DATA_AS(gate.opened, "gate.opened");
    DATA_AS(inner::accounts[1].balance, "bank::inner::accounts[1].balance");
    DATA_AS(inner::accounts[2].id, "bank::inner::accounts[2].id");
    DATA_AS(inner::accounts[0].weight, "bank::inner::accounts[0].weight");
    DATA_AS(inner::accounts[2].lock, "bank::inner::accounts[2].lock");
    DATA_AS(Account::count, "bank::Account::count");
    DATA_AS(Account::total, "bank::Account::total");
    DATA_AS(secret, "bank::secret");
    DATA_AS(box.value, "bank::box.value");
    DATA_AS(Box<int>::shared, "bank::Box<int>::shared");
    DATA(ready);
    DATA(slots[2]);
    DATA(numbers[3]);
    DATA(both.second.value);
    DATA(holder.flags[1]);
    DATA(holder.account.balance);
    DATA_AS(local_static(), "calls");
    TLS_AS(mine.value, "mine.value");
    auto lambda = [](int x) __attribute__((noinline)) {
        PLACE("*::operator()");
        return x;
    };
    lambda(1);
    PLACE("main");
    print_modules();
    return 0;
}
