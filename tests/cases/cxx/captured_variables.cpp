// compilers: gcc clang
// check:
// flags: -O0
// verdict: bug
// finding: data-race var=first line=25 line2=25
// finding: data-race var=second line=26 line2=26
// finding: data-race var=third line=27 line2=27
// finding: data-race var=fourth line=28 line2=28
// check:
// flags: -O2
// verdict: bug
// finding: data-race var=first line=25 line2=25
// finding: data-race var=second line=26 line2=26
// finding: data-race var=third line=27 line2=27
// finding: data-race var=fourth line=28 line2=28

// The debug information of a lambda stands inside main's. Its parameters have the same offsets in its
// own frame as variables of main have in that of main, and lend these no name.
#include <thread>

int main() {
    int first = 0, second = 0, third = 0, fourth = 0;

    auto add = [&] {
        first++;
        second++;
        third++;
        fourth++;
    };
    std::thread one(add), other(add);
    one.join();
    other.join();
    return 0;
}
