// Runs out of stack.
// status: 1
// says: crash: SIGSEGV (T0 at
static int deeper(int depth) {
    volatile char room[1000];
    room[0] = (char)depth;
    return deeper(depth + 1) + room[0];
}

int main(void) {
    return deeper(0);
}
