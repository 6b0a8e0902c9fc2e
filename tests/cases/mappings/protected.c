// compilers: gcc clang
// check:
// flags: -DSEAL
// verdict: bug
// findings: at-least
// finding: data-race detail=protection line=62 line2=76
// check: --strategy optimal
// flags: -DSEAL -DREADS
// verdict: verified
// executions: 1
// check:
// flags: -DSEAL -DFORBID -DREADS
// verdict: bug
// findings: at-least
// finding: data-race detail=protection line=59 line2=76
// check:
// flags: -DGRANT
// verdict: bug
// findings: at-least
// finding: data-race detail=protection line=62 line2=76
// check: --strategy optimal
// flags: -DGRANT -DEACH -O2
// verdict: verified
// executions: 1
// check: --strategy optimal
// flags: -DUNSEAL -DREADS
// verdict: verified
// executions: 1
// check:
// flags: -DSEAL -DORDERED
// verdict: verified
// executions: 1
// check: --strategy optimal
// flags: -DSEAL -DSTATIC -DREADS
// verdict: verified
// executions: 1

// Access rights change while another thread uses the page. SEAL: it can no longer be written, or, with FORBID,
// not be accessed at all; READS: the other thread only reads. GRANT: it can be accessed from then on, and the
// other thread does so without an order; with EACH it asks for the rights itself first, so that it does not
// matter who comes first. UNSEAL: what can be read can be written, too. STATIC: the page belongs to a variable.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

enum { BOTH = PROT_READ | PROT_WRITE };

static _Alignas(4096) char variable[4096];
static char *page = variable;

static void *work(void *unused)
{
    (void)unused;
#ifdef EACH
    mprotect(page, 4096, BOTH);
#endif
#ifdef READS
    char seen = *(volatile char *)&page[100];
    (void)seen;
#else
    page[100] = 1;
#endif
    return NULL;
}

static void change(void)
{
    int rights = BOTH;
#ifdef SEAL
    rights = PROT_READ;
#endif
#ifdef FORBID
    rights = PROT_NONE;
#endif
    mprotect(page, 4096, rights);
}

int main(void)
{
    pthread_t thread;
    int before = BOTH;
#ifdef GRANT
    before = PROT_NONE;
#endif
#ifdef UNSEAL
    before = PROT_READ;
#endif
#ifndef STATIC
    page = mmap(NULL, 4096, before, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#else
    mprotect(page, 4096, before);
#endif
    pthread_create(&thread, NULL, work, NULL);
#ifdef ORDERED
    pthread_join(thread, NULL);
    change();
#else
    change();
    pthread_join(thread, NULL);
#endif
    return 0;
}
