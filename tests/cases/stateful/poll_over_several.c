// compilers: gcc clang
// check: --strategy stateful
// verdict: verified
// most-runs: 200
// check: --strategy dpor
// verdict: verified
// check: --strategy stateful
// flags: -DWRONG
// verdict: bug
// finding: assertion detail=assert

// A server that waits for several pipes with poll. A state in which it is in the middle of poll can be
// compared with others. WRONG: the number of what was served first.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#define CLIENTS 2

static int requests[CLIENTS][2], answers[CLIENTS][2];
static int first = -1;

static void *ask(void *number)
{
    int me = *(int *)number;
    char text = 'a', answer = 0;
    if (write(requests[me][1], &text, 1) != 1 || read(answers[me][0], &answer, 1) != 1)
        return 0;
    assert(answer == 'A');
    close(requests[me][1]);
    return 0;
}

int main(void)
{
    pthread_t clients[CLIENTS];
    int numbers[CLIENTS];
    struct pollfd wanted[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        if (pipe(requests[i]) || pipe(answers[i]))
            return 1;
        wanted[i] = (struct pollfd){.fd = requests[i][0], .events = POLLIN};
        numbers[i] = i;
    }
    for (int i = 0; i < CLIENTS; i++)
        pthread_create(&clients[i], 0, ask, &numbers[i]);
    for (int open = CLIENTS; open;) {
        if (poll(wanted, CLIENTS, -1) < 0)
            return 1;
        for (int i = 0; i < CLIENTS; i++) {
            char text;
            if (wanted[i].fd < 0 || !wanted[i].revents)
                continue;
            if (read(wanted[i].fd, &text, 1) != 1) {
                wanted[i].fd = -1;
                open--;
                continue;
            }
            if (first < 0)
                first = i;
            text = 'A';
            if (write(answers[i][1], &text, 1) != 1)
                return 1;
        }
    }
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], 0);
#ifdef WRONG
    assert(first == 0);
#endif
    return 0;
}
