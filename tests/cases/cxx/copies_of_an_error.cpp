// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DNO_LOCK
// verdict: bug
// findings: at-least
// finding: data-race

// Copies of an exception own its text, or its paths, together. The library counts the owners, and the
// last one frees them, while another thread may have read its own copy before.
#include <cassert>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static std::vector<std::runtime_error> errors;
static std::optional<std::out_of_range> last;
static std::optional<std::filesystem::filesystem_error> failed;

static void report()
{
    const std::runtime_error error("cannot open the file");
    const std::out_of_range range("five");
    const std::filesystem::filesystem_error missing("missing", "name", std::error_code());
    {
#ifndef NO_LOCK
        const std::lock_guard guard(lock);
#endif
        errors.push_back(error);
        last = range;
        failed = missing;
    }
    assert(std::string(error.what()).size() == 20);
    assert(std::string(range.what()) == "five");
    assert(missing.path1() == "name");
}

int main()
{
    std::thread thread(report);
    {
        const std::lock_guard guard(lock);
        errors.clear();
        last.reset();
        failed.reset();
    }
    thread.join();
}
