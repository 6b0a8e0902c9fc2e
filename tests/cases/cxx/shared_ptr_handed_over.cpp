// compilers: gcc clang
// check:
// verdict: verified

// Copies of a shared_ptr in two threads: the count is atomic, the last one deletes.
#include <atomic>
#include <cassert>
#include <memory>
#include <thread>

std::atomic<int> deleted;

struct Object {
    int value = 42;
    ~Object() { deleted++; }
};

int main()
{
    auto object = std::make_shared<Object>();
    std::thread a([copy = object] { assert(copy->value == 42); });
    std::thread b([copy = object] { assert(copy->value == 42); });
    object.reset();
    a.join();
    b.join();
    assert(deleted == 1);
}
