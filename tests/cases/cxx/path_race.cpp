// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=where
// check:
// flags: -DEXTENSION
// verdict: bug
// finding: data-race var=where
// check:
// flags: -DLOCKED
// verdict: verified
// check:
// flags: -DREADS
// verdict: verified

// The C++ library changes a path while another thread looks at it. READS: both look.
#include <filesystem>
#include <mutex>
#include <thread>

static std::filesystem::path where = "/some/directory/file.txt";
#ifdef LOCKED
static std::mutex lock;
#endif

static void change()
{
#ifdef LOCKED
    std::lock_guard guard(lock);
#endif
#ifdef EXTENSION
    where.replace_extension(".c");
#elif defined READS
    where.parent_path();
#else
    where /= "more";
#endif
}

int main()
{
    std::thread other(change);
    bool has;
    {
#ifdef LOCKED
        std::lock_guard guard(lock);
#endif
        has = where.has_filename();
    }
    other.join();
    return has ? 0 : 1;
}
