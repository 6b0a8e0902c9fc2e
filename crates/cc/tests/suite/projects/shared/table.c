/* Numbers from a table that a program makes at build time. */
#include "table.h"
#include "generated.h"

int table_sum(int from, int to) {
    int sum = 0;
    for (int i = from; i < to; i++)
        sum += generated_table[i];
    return sum;
}

int table_size(void) { return sizeof generated_table / sizeof generated_table[0]; }
