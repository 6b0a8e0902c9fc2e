// check: --memory rc11
// flags: -DSB
// verdict: verified
// executions: 4
// check: --memory tso
// flags: -DSB
// verdict: verified
// executions: 4
// check: --memory rc11
// flags: -DSB -DW=release -DR=acquire
// verdict: verified
// executions: 4
// check: --memory rc11
// flags: -DSB -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 3
// check: --memory tso
// flags: -DSB -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DSB -DFENCES -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 3
// check: --memory tso
// flags: -DSB -DFENCES -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DSB -DFENCES -DW=release -DR=acquire
// verdict: verified
// executions: 4
// check: --memory rc11
// flags: -DMP
// verdict: verified
// executions: 4
// check: --memory tso
// flags: -DMP
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DMP -DW=release -DR=acquire
// verdict: verified
// executions: 3
// check: --memory tso
// flags: -DMP -DW=release -DR=acquire
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DMP -DFENCES -DW=release -DR=acquire
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DMP -DW=release
// verdict: verified
// executions: 4
// check: --memory rc11
// flags: -DLB
// verdict: verified
// executions: 3
// check: --memory tso
// flags: -DLB
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DS
// verdict: verified
// executions: 4
// check: --memory tso
// flags: -DS
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DS -DW=release -DR=acquire
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DS -DFENCES -DW=release -DR=acquire
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DR_
// verdict: verified
// executions: 4
// check: --memory tso
// flags: -DR_
// verdict: verified
// executions: 4
// check: --memory rc11
// flags: -DR_ -DW=release -DR=acquire
// verdict: verified
// executions: 4
// check: --memory rc11
// flags: -DR_ -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 3
// check: --memory tso
// flags: -DR_ -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DR_ -DFENCES -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 3
// check: --memory tso
// flags: -DR_ -DFENCES -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DTWO_PLUS_2W
// verdict: verified
// executions: 4
// check: --memory tso
// flags: -DTWO_PLUS_2W
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DTWO_PLUS_2W -DW=release -DR=acquire
// verdict: verified
// executions: 4
// check: --memory rc11
// flags: -DTWO_PLUS_2W -DFENCES -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 3
// check: --memory tso
// flags: -DTWO_PLUS_2W -DFENCES -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DWRC
// verdict: verified
// executions: 8
// check: --memory tso
// flags: -DWRC
// verdict: verified
// executions: 7
// check: --memory rc11
// flags: -DWRC -DW=release -DR=acquire
// verdict: verified
// executions: 7
// check: --memory rc11
// flags: -DISA2
// verdict: verified
// executions: 8
// check: --memory tso
// flags: -DISA2
// verdict: verified
// executions: 7
// check: --memory rc11
// flags: -DISA2 -DW=release -DR=acquire
// verdict: verified
// executions: 7
// check: --memory rc11
// flags: -DRWC
// verdict: verified
// executions: 8
// check: --memory tso
// flags: -DRWC
// verdict: verified
// executions: 8
// check: --memory rc11
// flags: -DRWC -DW=release -DR=acquire
// verdict: verified
// executions: 8
// check: --memory rc11
// flags: -DRWC -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 7
// check: --memory tso
// flags: -DRWC -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 7
// check: --memory rc11
// flags: -DRWC -DFENCES -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 7
// check: --memory tso
// flags: -DRWC -DFENCES -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 7
// check: --memory rc11
// flags: -DIRIW
// verdict: verified
// executions: 16
// check: --memory tso
// flags: -DIRIW
// verdict: verified
// executions: 15
// check: --memory rc11
// flags: -DIRIW -DW=release -DR=acquire
// verdict: verified
// executions: 16
// check: --memory rc11
// flags: -DIRIW -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 15
// check: --memory tso
// flags: -DIRIW -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 15
// check: --memory rc11
// flags: -DIRIW -DFENCES -DW=seq_cst -DR=seq_cst
// verdict: verified
// executions: 15
// check: --memory rc11
// flags: -DCORR
// verdict: verified
// executions: 12
// check: --memory tso
// flags: -DCORR
// verdict: verified
// executions: 12
// check: --memory rc11
// flags: -DCOWR
// verdict: verified
// executions: 3
// check: --memory tso
// flags: -DCOWR
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DADD
// verdict: verified
// executions: 6
// check: --memory tso
// flags: -DADD
// verdict: verified
// executions: 6
// check: --memory rc11
// flags: -DCAS
// verdict: verified
// executions: 2
// check: --memory tso
// flags: -DCAS
// verdict: verified
// executions: 2
// check: --memory rc11
// flags: -DCAS -DW=seq_cst
// verdict: verified
// executions: 2
// check: --memory tso
// flags: -DCAS -DW=seq_cst
// verdict: verified
// executions: 2
// check: --memory rc11
// flags: -DRS
// verdict: verified
// executions: 6
// check: --memory tso
// flags: -DRS
// verdict: verified
// executions: 6
// check: --memory rc11
// flags: -DRS -DOTHER
// verdict: verified
// executions: 8
// check: --memory tso
// flags: -DRS -DOTHER
// verdict: verified
// executions: 7
// check: --memory rc11
// flags: -DRS -DOWN
// verdict: verified
// executions: 3
// check: --memory tso
// flags: -DRS -DOWN
// verdict: verified
// executions: 3
// Shapes of programs that tell memory models apart, by their names in the literature (Alglave, Maranget and
// Tautschnig, TOPLAS 2014). Of the combinations of what each load reads and how each location's stores are
// ordered, each model leaves out those that it forbids:
//
// SB    4 combinations; both loads read 0: only if both threads store before they load in no common order
// MP    4; the flag and not the message
// LB    4; each load reads what the other thread stores later: forbidden by all models here
// S     2 loads x 2 orders; the flag is seen and the store behind it comes first
// R     2 orders x 2 loads; the second store to y comes last, and x is not seen
// 2W    2 x 2 orders of two locations (2+2W); each thread's first store is the last one
// WRC, ISA2  8; a message that goes through a third thread is not seen
// RWC   8; the reader sees x and not y, and the writer of y does not see x
// IRIW  16; the readers see the two stores in different orders
// CORR  2 orders of the stores, and 6 pairs of reads that do not go back
// COWR  2 orders; the load reads the own store or, if that is overwritten, the other one
// ADD   3! orders of three additions
// CAS   either one succeeds first, and the other one fails
// RS    2 orders of y's stores x 3 loads, and 2 loads of x where y is 2; x is seen if y is a part of the release
//       sequence. OTHER: it is not. OWN: one order, and it is, in C
#include <pthread.h>
#include <stdatomic.h>

#ifndef W
#define W relaxed
#endif
#ifndef R
#define R relaxed
#endif
#define JOIN(a, b) a##b
#define ORDER(order) JOIN(memory_order_, order)
#ifdef FENCES
#define FENCE_W atomic_thread_fence(ORDER(W));
#define FENCE_R atomic_thread_fence(ORDER(R));
#define STORE(x, value) atomic_store_explicit(&x, value, memory_order_relaxed)
#define LOAD(x) atomic_load_explicit(&x, memory_order_relaxed)
#else
#define FENCE_W
#define FENCE_R
#define STORE(x, value) atomic_store_explicit(&x, value, ORDER(W))
#define LOAD(x) atomic_load_explicit(&x, ORDER(R))
#endif
#define ADD_1(x) atomic_fetch_add_explicit(&x, 1, memory_order_relaxed)

#if defined SB
#define ONE STORE(x, 1); FENCE_W LOAD(y);
#define TWO STORE(y, 1); FENCE_W LOAD(x);
#elif defined MP
#define ONE STORE(x, 1); FENCE_W STORE(y, 1);
#define TWO LOAD(y); FENCE_R LOAD(x);
#elif defined LB
#define ONE LOAD(x); STORE(y, 1);
#define TWO LOAD(y); STORE(x, 1);
#elif defined S
#define ONE STORE(x, 2); FENCE_W STORE(y, 1);
#define TWO LOAD(y); FENCE_R STORE(x, 1);
#elif defined R_
#define ONE STORE(x, 1); FENCE_W STORE(y, 1);
#define TWO STORE(y, 2); FENCE_W LOAD(x);
#elif defined TWO_PLUS_2W
#define ONE STORE(x, 1); FENCE_W STORE(y, 2);
#define TWO STORE(y, 1); FENCE_W STORE(x, 2);
#elif defined WRC
#define ONE STORE(x, 1);
#define TWO LOAD(x); STORE(y, 1);
#define THREE LOAD(y); FENCE_R LOAD(x);
#elif defined ISA2
#define ONE STORE(x, 1); STORE(y, 1);
#define TWO LOAD(y); STORE(z, 1);
#define THREE LOAD(z); LOAD(x);
#elif defined RWC
#define ONE STORE(x, 1);
#define TWO LOAD(x); FENCE_R LOAD(y);
#define THREE STORE(y, 1); FENCE_W LOAD(x);
#elif defined IRIW
#define ONE STORE(x, 1);
#define TWO STORE(y, 1);
#define THREE LOAD(x); FENCE_R LOAD(y);
#define FOUR LOAD(y); FENCE_R LOAD(x);
#elif defined CORR
#define ONE STORE(x, 1);
#define TWO STORE(x, 2);
#define THREE LOAD(x); LOAD(x);
#elif defined COWR
#define ONE STORE(x, 1); LOAD(x);
#define TWO STORE(x, 2);
#elif defined ADD
#define ONE ADD_1(x);
#define TWO ADD_1(x);
#define THREE ADD_1(x);
#elif defined CAS
#define ONE TRY(1);
#define TWO TRY(2);
#define TRY(value) \
    int none = 0;  \
    atomic_compare_exchange_strong_explicit(&x, &none, value, ORDER(W), memory_order_relaxed)
#elif defined RS
// The flag is released by a store, and what one addition or (OWN) one store of the same thread makes of it is
// acquired. OTHER: a store of another thread comes between, and ends the sequence.
#ifdef OWN
#define ONE STORE(x, 1); atomic_store_explicit(&y, 1, memory_order_release); \
    atomic_store_explicit(&y, 2, memory_order_relaxed);
#define TWO
#else
#define ONE STORE(x, 1); atomic_store_explicit(&y, 1, memory_order_release);
#ifdef OTHER
#define TWO atomic_store_explicit(&y, 2, memory_order_relaxed);
#else
#define TWO ADD_1(y);
#endif
#endif
#define THREE if (atomic_load_explicit(&y, memory_order_acquire) == 2) LOAD(x);
#endif

static atomic_int x, y, z;

static void *one(void *arg) { ONE; return arg; }
static void *two(void *arg) { TWO; return arg; }
#ifdef THREE
static void *three(void *arg) { THREE; return arg; }
#endif
#ifdef FOUR
static void *four(void *arg) { FOUR; return arg; }
#endif

int main(void) {
    pthread_t thread[4];
    int count = 2;
    (void)z;
    pthread_create(&thread[0], NULL, one, NULL);
    pthread_create(&thread[1], NULL, two, NULL);
#ifdef THREE
    pthread_create(&thread[count++], NULL, three, NULL);
#endif
#ifdef FOUR
    pthread_create(&thread[count++], NULL, four, NULL);
#endif
    for (int at = 0; at < count; at++)
        pthread_join(thread[at], NULL);
    return 0;
}
