// Ends by a system call that cannot be intercepted.
// status: 3
// says: exited with status 9
int main(void) {
    __asm__ volatile("syscall" ::"a"(231), "D"(9));
    return 0;
}
