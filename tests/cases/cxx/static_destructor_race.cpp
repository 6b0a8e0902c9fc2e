// check:
// verdict: bug
// findings: at-least
// finding: data-race var=log_size line=14 line2=23

// A static destructor reads what a detached thread still writes.
#include <thread>

int log_size, flushed;

struct Logger {
    ~Logger()
    {
        flushed = log_size;
    }
};

Logger logger;

int main()
{
    std::thread t([] {
        log_size = 1;
    });
    t.detach();
}
