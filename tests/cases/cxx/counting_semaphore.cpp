// compilers: gcc clang
// check:
// verdict: verified

// std::counting_semaphore and std::binary_semaphore: a hand-over to and fro, and items counted.
//
// Each semaphore has one thread that acquires it: acquire of libstdc++ before version 13 can sleep
// for ever where two do.
#include <cassert>
#include <semaphore>
#include <thread>

std::binary_semaphore asked(0), answered(0);
std::counting_semaphore<8> items(0);
int question, answer;

void reply()
{
    asked.acquire();
    answer = question + 1;
    answered.release();
}

void supply()
{
    items.release(2);
}

int main()
{
    std::thread a(reply), b(supply);
    question = 6;
    asked.release();
    answered.acquire();
    assert(answer == 7);
    items.acquire();
    items.acquire();
    assert(!items.try_acquire());
    a.join();
    b.join();
}
