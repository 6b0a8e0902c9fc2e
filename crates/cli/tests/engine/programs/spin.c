// Computes for ever without an event: only the watchdog ends it.
// options: --hang-timeout 1
// status: 1
// says: it made no step for 1 seconds
int main(void) {
    for (;;)
        __asm__ volatile("");
}
