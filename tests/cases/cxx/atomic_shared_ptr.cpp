// compilers: gcc clang
// check:
// verdict: verified

// std::atomic<std::shared_ptr>: libstdc++ locks it by a bit of a word and pauses while another
// holds it, without ever sleeping. Both only load: in libstdc++ 12 a load unlocks with a relaxed
// operation, which is a race with a store.
#include <atomic>
#include <cassert>
#include <memory>
#include <thread>

std::atomic<std::shared_ptr<int>> cell(std::make_shared<int>(7));

int main()
{
    std::thread reader([] { assert(*cell.load() == 7); });
    assert(*cell.load() == 7);
    reader.join();
}
