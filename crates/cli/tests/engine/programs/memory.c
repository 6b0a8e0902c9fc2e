// Takes ever more memory.
// options: --memory-limit 200000000
// status: 1
// says: used more than 190 MB
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void) {
    for (;;) {
        memset(malloc(1 << 20), 1, 1 << 20);
        // Slow enough for the watch to see it grow; the clock of the program itself is virtual.
        for (volatile int wait = 0; wait < 1000000; wait++)
            __asm__ volatile("");
    }
}
