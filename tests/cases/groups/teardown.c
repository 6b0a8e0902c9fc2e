// check:
// verdict: bug
// finding: data-race detail=use-after-free line=52 line2=87
// finding: crash detail=SIGSEGV
// finding: misuse
// findings: at-least
// groups: 1
// check: --jobs 2
// verdict: bug
// finding: data-race detail=use-after-free line=52 line2=87
// finding: crash detail=SIGSEGV
// finding: misuse
// findings: at-least
// groups: 1

// Modelled on the error of pbzip2 0.9.4: main destroys and frees the queue, its mutex and its
// condition variables, without waiting for the consumers. Every use that a consumer still makes is a
// race, a misuse or a crash, and behind the broken mutex the consumers race with each other.
#include <pthread.h>
#include <stdlib.h>

typedef struct {
    int *buffer;
    long head, tail;
    int full, empty;
    pthread_mutex_t *mutex;
    pthread_cond_t *not_full, *not_empty;
} queue;

static int all_done;

static queue *queue_init(void) {
    queue *q = malloc(sizeof *q);
    q->buffer = malloc(4 * sizeof(int));
    q->head = q->tail = 0;
    q->full = 0;
    q->empty = 1;
    q->mutex = malloc(sizeof *q->mutex);
    pthread_mutex_init(q->mutex, NULL);
    q->not_full = malloc(sizeof *q->not_full);
    pthread_cond_init(q->not_full, NULL);
    q->not_empty = malloc(sizeof *q->not_empty);
    pthread_cond_init(q->not_empty, NULL);
    return q;
}

static void queue_delete(queue *q) {
    if (q == NULL)
        return;
    if (q->mutex != NULL) {
        pthread_mutex_destroy(q->mutex);
        free(q->mutex);
        q->mutex = NULL;
    }
    if (q->not_full != NULL) {
        pthread_cond_destroy(q->not_full);
        free(q->not_full);
        q->not_full = NULL;
    }
    if (q->not_empty != NULL) {
        pthread_cond_destroy(q->not_empty);
        free(q->not_empty);
        q->not_empty = NULL;
    }
    free(q->buffer);
    free(q);
}

static void queue_add(queue *q, int v) {
    q->buffer[q->tail] = v;
    q->tail = (q->tail + 1) % 4;
    q->full = q->tail == q->head;
    q->empty = 0;
}

static int queue_take(queue *q) {
    int v = q->buffer[q->head];
    q->head = (q->head + 1) % 4;
    q->empty = q->head == q->tail;
    q->full = 0;
    return v;
}

static void *consumer(void *arg) {
    queue *q = arg;
    for (;;) {
        pthread_mutex_lock(q->mutex);
        while (q->empty) {
            if (all_done) {
                pthread_mutex_unlock(q->mutex);
                return NULL;
            }
            pthread_cond_wait(q->not_empty, q->mutex);
        }
        queue_take(q);
        pthread_mutex_unlock(q->mutex);
        pthread_cond_signal(q->not_full);
    }
}

int main(void) {
    queue *q = queue_init();
    pthread_t t[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, consumer, q);
        pthread_detach(t[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(q->mutex);
        while (q->full)
            pthread_cond_wait(q->not_full, q->mutex);
        queue_add(q, i);
        pthread_mutex_unlock(q->mutex);
        pthread_cond_signal(q->not_empty);
    }
    pthread_mutex_lock(q->mutex);
    all_done = 1;
    pthread_cond_broadcast(q->not_empty);
    pthread_mutex_unlock(q->mutex);
    queue_delete(q);
    return 0;
}
