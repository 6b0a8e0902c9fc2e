// compilers: gcc clang
// check:
// verdict: verified
// findings: 0
// check:
// flags: -O2 -DARRAYS
// verdict: verified
// findings: 0

// The program brings operators of its own, which put a header in front of each object: all other forms go through
// them, those with a size, for arrays and without exceptions. ARRAYS: it brings those for arrays, too.
#include <cstdlib>
#include <new>
#include <thread>

static long live;

static void *get(std::size_t size)
{
    long *room = static_cast<long *>(std::malloc(size + 16));
    if (room == nullptr)
        std::abort();
    room[0] = 0x1234;
    __atomic_fetch_add(&live, 1, __ATOMIC_RELAXED);
    return room + 2;
}

static void give_back(void *object)
{
    if (object == nullptr)
        return;
    long *room = static_cast<long *>(object) - 2;
    if (room[0] != 0x1234)
        std::abort();
    __atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
    std::free(room);
}

[[gnu::noinline]] void *operator new(std::size_t size) { return get(size); }
[[gnu::noinline]] void operator delete(void *object) noexcept { give_back(object); }
#ifdef ARRAYS
[[gnu::noinline]] void *operator new[](std::size_t size) { return get(size); }
[[gnu::noinline]] void operator delete[](void *object) noexcept { give_back(object); }
#endif

struct Object {
    long numbers[5];
    ~Object() { numbers[0] = 0; }
};

static void work()
{
    delete new Object();
    delete[] new Object[3]();
    delete new (std::nothrow) int(3);
    delete[] new (std::nothrow) char[7];
}

int main()
{
    std::thread thread(work);
    work();
    thread.join();
    return live != 0;
}
