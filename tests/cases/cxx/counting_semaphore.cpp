// compilers: gcc clang
// check:
// verdict: verified

// std::counting_semaphore and std::binary_semaphore.
#include <cassert>
#include <semaphore>
#include <thread>

std::binary_semaphore lock(1);
std::counting_semaphore<8> items(0);
int count;

void add()
{
    lock.acquire();
    count++;
    lock.release();
    items.release();
}

int main()
{
    std::thread a(add), b(add);
    items.acquire();
    items.acquire();
    assert(count == 2);
    a.join();
    b.join();
}
