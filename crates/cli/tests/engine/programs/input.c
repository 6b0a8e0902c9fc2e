// Reads what it is given: nothing, unless --stdin says otherwise.
// status: 0
// prints: 0 bytes
#include <stdio.h>

int main(void) {
    int count = 0;
    while (getchar() != EOF)
        count++;
    printf("%d bytes\n", count);
    return 0;
}
