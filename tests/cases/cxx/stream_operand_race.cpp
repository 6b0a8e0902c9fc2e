// compilers: gcc clang
// check:
// verdict: bug
// findings: 8
// finding: data-race var=number
// finding: data-race var=fraction
// finding: data-race var=word
// finding: data-race var=line
// finding: data-race var=letter
// finding: data-race var=block[0]
// finding: data-race var=text
// finding: data-race var=bytes[1]

// What input stores and what output reads, in code of the C++ library, races with other threads.
#include <sstream>
#include <string>
#include <thread>

static int number;
static double fraction;
static std::string word, line, text = "text";
static char letter, block[4], bytes[4] = "abc";

static void reads_and_writes() {
    std::istringstream in("1 2.5 word\nline\nxblock");
    in >> number >> fraction >> word;
    in.ignore();
    std::getline(in, line);
    in.get(letter);
    in.read(block, sizeof block);
    std::ostringstream out;
    out << text;
    out.write(bytes, 3);
}

int main() {
    std::thread other(reads_and_writes);
    volatile long sum = number + (long)fraction + (long)word.size() + (long)line.size() + letter + block[0];
    (void)sum;
    text.clear();
    bytes[1] = 'x';
    other.join();
}
