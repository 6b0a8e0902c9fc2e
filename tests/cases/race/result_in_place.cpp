// compilers: gcc clang
// check:
// flags: -O0
// verdict: verified
// check:
// flags: -O2
// verdict: verified

// An object that must not be copied is made in place by the function that returns it. Once it was
// published there, the call writes nothing more.
#include <mutex>
#include <thread>

struct Node {
    long parts[10] = {};
    Node();
    Node(const Node &) = delete;
    ~Node() {}
};

static std::mutex mutex;
static Node *published;

Node::Node()
{
    parts[9] = 1;
    std::lock_guard<std::mutex> guard(mutex);
    published = this;
}

__attribute__((noinline)) static Node made() { return Node(); }

int main()
{
    alignas(Node) static char room[sizeof(Node)];
    std::thread other([] {
        std::lock_guard<std::mutex> guard(mutex);
        if (published)
            published->parts[9]++;
    });
    new (room) Node(made());
    other.join();
    return 0;
}
