/* Quicksort on 2,000 elements: the two halves of the first partition are sorted by a thread
 * each, which note under a lock how many elements they have finished. */
#include <pthread.h>

#define COUNT 2000

struct range {
    int low, high;
};

static int numbers[COUNT];
static struct range halves[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sorted;

static int partition(int low, int high)
{
    int pivot = numbers[high], at = low;
    for (int i = low; i < high; i++)
        if (numbers[i] < pivot) {
            int swap = numbers[i];
            numbers[i] = numbers[at];
            numbers[at++] = swap;
        }
    numbers[high] = numbers[at];
    numbers[at] = pivot;
    return at;
}

static void quicksort(int low, int high)
{
    if (low >= high)
        return;
    int middle = partition(low, high);
    quicksort(low, middle - 1);
    quicksort(middle + 1, high);
}

static void *sort_half(void *arg)
{
    const struct range *range = arg;
    quicksort(range->low, range->high);
    pthread_mutex_lock(&lock);
    sorted += range->high - range->low + 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    unsigned seed = 1;
    for (int i = 0; i < COUNT; i++) {
        seed = seed * 1103515245u + 12345u;
        numbers[i] = (int)(seed >> 8 & 0xffff);
    }
    int middle = partition(0, COUNT - 1);
    halves[0].low = 0;
    halves[0].high = middle - 1;
    halves[1].low = middle + 1;
    halves[1].high = COUNT - 1;
    pthread_create(&threads[0], NULL, sort_half, &halves[0]);
    pthread_create(&threads[1], NULL, sort_half, &halves[1]);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    for (int i = 1; i < COUNT; i++)
        if (numbers[i - 1] > numbers[i])
            return 1;
    return sorted == COUNT - 1 ? 0 : 1;
}
