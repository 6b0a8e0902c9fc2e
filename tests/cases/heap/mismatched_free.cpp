// compilers: gcc clang
// check:
// verdict: verified
// findings: 0
// check:
// flags: -DFREE_OF_NEW
// verdict: bug
// finding: memory detail=alloc-dealloc-mismatch line=88
// check:
// flags: -DDELETE_OF_MALLOC
// verdict: bug
// finding: memory detail=alloc-dealloc-mismatch line=91
// check:
// flags: -DDELETE_OF_ARRAY
// verdict: bug
// finding: memory detail=alloc-dealloc-mismatch line=94
// check:
// flags: -DARRAY_DELETE_OF_SINGLE
// verdict: bug
// finding: memory detail=alloc-dealloc-mismatch line=97
// check:
// flags: -DWRONG_SIZE
// verdict: bug
// finding: memory detail=alloc-dealloc-mismatch line=100
// check:
// flags: -DREALLOC_OF_NEW
// verdict: bug
// finding: memory detail=alloc-dealloc-mismatch line=103
// check:
// flags: -DNOT_ALIGNED
// verdict: bug
// finding: memory detail=alloc-dealloc-mismatch line=107
// check: --suppressions HERE/mismatched_free.supp
// flags: -DFREE_OF_NEW
// verdict: verified

// What one way of allocating has given only its counterpart may free, with the same size, if one is given.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

struct Base {
    int number = 1;
    virtual ~Base() = default;
};

struct Derived : Base {
    std::string text = "a text that is too long for the room inside of a string";
};

struct alignas(64) Wide {
    char bytes[64] = {};
};

static void in_order()
{
    std::unique_ptr<Base> one(new Derived);
    std::unique_ptr<Derived[]> many(new Derived[3]);
    std::shared_ptr<Base> shared = std::make_shared<Derived>();
    std::vector<Wide> wide(3);
    delete new Wide;
    delete[] new Wide[2];
    delete new (std::nothrow) int(1);
    delete[] new (std::nothrow) char[5];
    char *copy = strdup("text");
    copy = static_cast<char *>(std::realloc(copy, 100));
    std::free(copy);
    std::free(std::aligned_alloc(64, 128));
    void *raw = ::operator new(10);
    ::operator delete(raw);
    raw = ::operator new(10);
    ::operator delete(raw, std::size_t(10));
}

void *volatile kept;

int main()
{
    std::thread thread(in_order);
    in_order();
    thread.join();
#ifdef FREE_OF_NEW
    kept = ::operator new(4);
    std::free(kept);
#elif defined(DELETE_OF_MALLOC)
    kept = std::malloc(4);
    ::operator delete(kept);
#elif defined(DELETE_OF_ARRAY)
    kept = ::operator new[](4);
    ::operator delete(kept);
#elif defined(ARRAY_DELETE_OF_SINGLE)
    kept = ::operator new(4);
    ::operator delete[](kept);
#elif defined(WRONG_SIZE)
    kept = ::operator new(4);
    ::operator delete(kept, std::size_t(8));
#elif defined(REALLOC_OF_NEW)
    kept = ::operator new(4);
    kept = std::realloc(kept, 8);
    std::free(kept);
#elif defined(NOT_ALIGNED)
    kept = ::operator new(64, std::align_val_t(64));
    ::operator delete(kept);
#endif
    return 0;
}
