// Becomes another program, which raddle does not control.
// status: 3
// says: another program
// prints: here I am
#include <unistd.h>

int main(void) {
    execl("/bin/echo", "echo", "here", "I", "am", (char *)0);
    return 1;
}
