// long:
// check:
// verdict: bug
// finding: crash detail=SIGXCPU line=14
// check: --strategy optimal
// verdict: bug
// executions: 0
// finding: crash detail=SIGXCPU line=14

// A loop that never makes an operation: the watchdog ends each run behind its patience. As there is
// nothing else to explore, the search ends with the first. The finding says where the thread is.
static void spin(void) {
    for (;;)
        __asm__ volatile("");
}

int main(void) { spin(); }
