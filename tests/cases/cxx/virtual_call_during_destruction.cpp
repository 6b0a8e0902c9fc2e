// check:
// verdict: bug
// findings: at-least
// finding: data-race

// A thread calls a virtual function while the destructor rewrites the vtable pointer.
#include <thread>

struct Base {
    std::thread worker;
    virtual void step() {}
    void start()
    {
        worker = std::thread([this] { step(); });
    }
    virtual ~Base() { worker.join(); }
};

struct Derived : Base {
    int steps = 0;
    void step() override { steps++; }
};

int main()
{
    Derived d;
    d.start();
}
