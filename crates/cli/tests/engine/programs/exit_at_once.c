// Leaves without flushing.
// status: 6
// says: exit status 6
// prints: 
#include <stdio.h>
#include <unistd.h>

int main(void) {
    printf("lost");
    _exit(6);
}
