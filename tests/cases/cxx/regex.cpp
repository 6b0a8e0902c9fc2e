// compilers: gcc clang
// check:
// verdict: verified
// executions: 1

// Each thread makes a regular expression of its own. The facet of the locale that libstdc++ does this
// by has tables that it fills without a lock, in every order with the same bytes.
#include <cassert>
#include <regex>
#include <string>
#include <thread>

static bool matches(const char *pattern, const std::string &text)
{
    return std::regex_search(text, std::regex(pattern));
}

int main()
{
    bool one = false;
    std::thread other([&one] { one = matches("[a-c]+x", "abcx"); });
    bool two = matches("^([a-c]+|x\\d)$", "x3");
    other.join();
    assert(one && two);
}
