// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=Counter::total line=14 line2=14

// A static data member, written by a member function that two threads run on different objects.
#include <thread>

class Counter {
public:
    void hit()
    {
        own++;
        total++;
    }

private:
    int own = 0;
    static int total;
};

int Counter::total;

int main()
{
    Counter x, y;
    std::thread a([&] { x.hit(); }), b([&] { y.hit(); });
    a.join();
    b.join();
}
