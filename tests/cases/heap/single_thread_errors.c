// compilers: gcc clang
// check:
// flags: -O2 -DREAD_FREED
// verdict: bug
// finding: memory detail=use-after-free line=71
// check:
// flags: -DWRITE_FREED
// verdict: bug
// finding: memory detail=use-after-free line=86
// check:
// flags: -DPRINT_FREED
// verdict: bug
// finding: memory detail=use-after-free line=90
// check:
// flags: -O2 -DREAD_BEHIND
// verdict: bug
// finding: memory detail=out-of-bounds line=94
// check:
// flags: -DWRITE_BEFORE
// verdict: bug
// finding: memory detail=out-of-bounds line=96
// check:
// flags: -DFILL_BEHIND
// verdict: bug
// finding: memory detail=out-of-bounds line=98
// check:
// flags: -DPRINT_BEHIND
// verdict: bug
// finding: memory detail=out-of-bounds line=100
// check:
// flags: -DFREE_TWICE
// verdict: bug
// finding: memory detail=double-free line=66
// check:
// flags: -DFREE_LOCAL
// verdict: bug
// finding: memory detail=bad-free line=66
// check:
// flags: -DFREE_WITHIN
// verdict: bug
// finding: memory detail=bad-free line=66
// check:
// verdict: verified

// Each use of the heap against its rules is found where it happens, whatever orders it: here there
// is only one thread.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cell {
    int value;
    struct cell *next;
};

static struct cell *make(void)
{
    struct cell *c = malloc(sizeof *c);
    c->value = 1;
    c->next = NULL;
    return c;
}

static volatile int results; static void *volatile kept[2]; static void drop(void *block)
{
    free(block);
}

static int value_of(const struct cell *c)
{
    return c->value;
}

int main(int argc, char **argv)
{
    struct cell *c = make();
    char *text = malloc(10);
    char local[4] = "", **where = &text;
    int sum = value_of(c);
    memset(text, 0, 10);
#ifdef READ_FREED
    drop(c);
    sum += value_of(c);
#elif defined WRITE_FREED
    drop(c);
    memset(c, 0, 4);
#elif defined PRINT_FREED
    strcpy(text, "abc");
    drop(text);
    puts(*where);
    text = malloc(100);
    drop(c);
#elif defined READ_BEHIND
    sum += text[argc + 9];
#elif defined WRITE_BEFORE
    text[argc - 2] = 0;
#elif defined FILL_BEHIND
    memset(text, 0, 11);
#elif defined PRINT_BEHIND
    sum += snprintf(text, 20, "%010d", argc);
#elif defined FREE_TWICE
    drop(c);
    drop(c);
#elif defined FREE_LOCAL
    drop(local);
#elif defined FREE_WITHIN
    drop(text + 4);
#else
    drop(c);
    drop(text);
    text = NULL;
#endif
    kept[0] = c, kept[1] = text; // No leaks here.
    results = sum + local[0] + (where == NULL);
    return 0;
}
