#include "probe.h"
#include <pthread.h>
#include <stdatomic.h>

struct slot {
    int key;
    struct {
        short low, high;
    } range;
    union {
        int anonymous_number;
        char anonymous_bytes[6];
    };
    unsigned one : 3, two : 5;
    unsigned char after;
    unsigned alone : 4;
    int count;
};

typedef struct slot slot_t;

int balance;
static int hidden = 3;
slot_t table[8];
const volatile int *pointers[4];
int matrix[3][4][5];
pthread_mutex_t lock;
struct account {
    char owner[12];
    pthread_mutex_t lock;
    long amount;
} accounts[4];
_Atomic int flag_word;
atomic_long counter;
union number {
    double real;
    struct {
        int low, high;
    } halves;
} number;
struct {
    int single;
} wrapped;
int one_element[1];
enum colour { RED, BLUE } colour;
_Thread_local int own[4];
static _Thread_local slot_t own_slot;

static inline __attribute__((always_inline)) void innermost(void) { PLACE("innermost,middle,outer"); }
static inline __attribute__((always_inline)) void middle(void) { innermost(); }
__attribute__((noinline)) static void outer(void) { middle(); }

__attribute__((noinline)) static void locals(int parameter) {
    struct slot here;
    int numbers[6] = {0};
    struct slot *volatile keep = &here;
    int *volatile keep_numbers = numbers, *volatile keep_parameter = &parameter;
    LOCAL(here.count);
    LOCAL(numbers[2]);
#ifndef __OPTIMIZE__
    // Optimised code gets at it through a register that was not recorded.
    LOCAL(parameter);
#endif
    (void)keep, (void)keep_numbers, (void)keep_parameter;
}

// What the heap is called follows from the pointers at hand.
__attribute__((noinline)) static void heap(slot_t *item, long unrelated) {
    BLOCK(item, sizeof *item, item->count, "item->count");
    BLOCK(item, sizeof *item, item->range.high, "item->range.high");
    BLOCK(item, 4 * sizeof *item, item[2].key, "item[2].key");
    BLOCK(item, 5, item->key, "");
    (void)unrelated;
}
__attribute__((noinline)) static void two_of_a_kind(struct account *from, struct account *to) {
    BLOCK(from, sizeof *from, from->amount, "account#1.amount");
    (void)to;
}
__attribute__((noinline)) static void two_kinds(int *numbers, unsigned *others) {
    BLOCK(numbers, 40, numbers[3], "");
    (void)others;
}
__attribute__((noinline)) static void numbers_only(int *numbers, char *text) {
    BLOCK(numbers, 40, numbers[3], "numbers[3]");
    (void)text;
}

int main(void) {
    static int calls;
    DATA(balance);
    DATA(hidden);
    DATA(table);
    DATA(table[0]);
    DATA(table[3].count);
    DATA(table[7].key);
    DATA(table[2].range.high);
    DATA(table[1].anonymous_number);
    DATA(table[1].anonymous_bytes[5]);
    DATA(table[1].after);
    BYTES((char *)&table[5].after - 1, 1, "table[5].{one, two}");
    BYTES((char *)&table[5].after + 1, 1, "table[5].alone");
    // Two neighbours at once are no member: their owner is named.
    BYTES(&table[4].key, 8, "table[4]");
    BYTES((char *)&table[4].key + 1, 1, "table[4].key");
    BYTES(&table[1], 2 * sizeof(slot_t), "table");
    DATA(pointers[2]);
    DATA(matrix[2][3][4]);
    DATA(matrix[1][0][2]);
    DATA(lock);
    BYTES(&lock, 4, "lock");
    DATA(accounts[2].lock);
    BYTES((char *)&accounts[2].lock + 8, 4, "accounts[2].lock");
    DATA(accounts[3].amount);
    DATA(accounts[1].owner[11]);
    DATA(flag_word);
    DATA(counter);
    DATA(number.real);
    DATA(number.halves.high);
    DATA(wrapped.single);
    DATA(one_element[0]);
    DATA(colour);
    DATA(calls);
    TLS_AS(own[2], "own[2]");
    TLS_AS(own_slot.count, "own_slot.count");
    PLACE("main");
    outer();
    locals((int)(intptr_t)&hidden);
    heap(table, calls);
    two_of_a_kind(accounts, accounts + 1);
    two_kinds(&balance, 0);
    numbers_only(&balance, 0);
    print_modules();
    return hidden + calls - 3 - own[1] - own_slot.key;
}
