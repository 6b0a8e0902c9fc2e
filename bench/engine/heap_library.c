// A library that fills BYTES of heap when it is loaded: before the first run, so that no run
// touches them.
#include <stdlib.h>
#include <string.h>

char *heap_of_library;

__attribute__((constructor)) static void fill(void)
{
	heap_of_library = malloc(BYTES);
	memset(heap_of_library, 1, BYTES);
}
