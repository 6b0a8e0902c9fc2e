// compilers: gcc clang
// check: --strategy stateful
// verdict: verified
// most-runs: 4000

// A server answers three clients over pipes. What waits in a pipe is part of the state; without matching states, the search
// makes tens of thousands of runs.
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

enum { CLIENTS = 3, REQUESTS = 2 };

struct request {
    int client, value;
};

static int requests[2], answers[CLIENTS][2];

static void *serve(void *unused)
{
    struct request request;
    while (read(requests[0], &request, sizeof request) == sizeof request) {
        int answer = request.value * 2;
        if (write(answers[request.client][1], &answer, sizeof answer) != sizeof answer)
            return NULL;
    }
    return unused;
}

static void *ask(void *arg)
{
    int own = *(int *)arg;
    for (int value = 1; value <= REQUESTS; value++) {
        struct request request = { own, value };
        int answer;
        if (write(requests[1], &request, sizeof request) != sizeof request)
            return NULL;
        if (read(answers[own][0], &answer, sizeof answer) != sizeof answer)
            return NULL;
        assert(answer == 2 * value);
    }
    return NULL;
}

int main(void)
{
    static int numbers[CLIENTS] = { 0, 1, 2 };
    pthread_t server, clients[CLIENTS];
    int failed = pipe(requests);
    for (int i = 0; i < CLIENTS; i++)
        failed |= pipe(answers[i]);
    if (failed)
        return 2;
    pthread_create(&server, NULL, serve, NULL);
    for (int i = 0; i < CLIENTS; i++)
        pthread_create(&clients[i], NULL, ask, &numbers[i]);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    close(requests[1]);
    pthread_join(server, NULL);
    return 0;
}
