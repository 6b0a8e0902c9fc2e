// check: --granularity access --jobs 1
// verdict: verified
// executions: 6
// check: --granularity access --jobs 3
// verdict: verified
// executions: 6
// check: --granularity access --strategy dpor
// verdict: verified
// executions: 6

// The search does not know the value of a plain write (of a constructor here), so it cannot predict
// a compare-exchange.
#include <atomic>
#include <thread>

struct Queue {
    std::atomic<size_t> sequence[2], in{0};

    Queue()
    {
        for (int i = 0; i < 2; i++)
            sequence[i].store(i);
    }

    void push()
    {
        size_t position = in.load();
        for (;;) {
            long distance = (long)sequence[position % 2].load() - (long)position;
            if (distance < 0)
                return;
            if (distance > 0) {
                position = in.load();
            } else if (in.compare_exchange_weak(position, position + 1)) {
                sequence[position % 2].store(position + 1);
                return;
            }
        }
    }
};

static Queue queue;

int main()
{
    std::thread a([] { queue.push(); }), b([] { queue.push(); });
    a.join();
    b.join();
}
