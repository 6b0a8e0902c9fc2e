// A program under test prints what the symboliser should answer: one line per question, fields separated by tabs.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <link.h>
#include <stdio.h>
#include <stdint.h>

// The name that the bytes of an expression should get is the expression itself, or whatever is given.
#define DATA_AS(expression, name) \
    printf("data\t%p\t%zu\t%s\n", (void *)&(expression), sizeof(expression), name)
#define DATA(expression) DATA_AS(expression, #expression)

// Bytes that have no expression of their own.
#define BYTES(address, size, name) printf("data\t%p\t%zu\t%s\n", (void *)(address), (size_t)(size), name)

#define TLS_AS(expression, name) \
    printf("tls\t%p\t%zu\t%s\t%p\n", (void *)&(expression), sizeof(expression), name, __builtin_thread_pointer_())
static inline void *__builtin_thread_pointer_(void) {
    void *pointer;
    __asm__("mov %%fs:0,%0" : "=r"(pointer));
    return pointer;
}

__attribute__((noinline)) static void place(int line, const char *functions) {
    printf("pc\t%p\t%d\t%s\n", __builtin_return_address(0), line, functions);
    // Not a tail call: the return address must be the caller's.
    __asm__ volatile("" ::: "memory");
}
#define PLACE(functions)                \
    do {                                \
        place(__LINE__, functions);     \
        __asm__ volatile("" ::: "memory"); \
    } while (0)

// Registers at a call inside the function that owns the variable.
#define LOCAL(expression)                                                                                         \
    do {                                                                                                          \
        void *sp, *bp;                                                                                            \
        __asm__ volatile("mov %%rsp,%0\n\tmov %%rbp,%1" : "=r"(sp), "=r"(bp));                                    \
        local_((void *)&(expression), sizeof(expression), #expression, sp, bp);                                   \
    } while (0)
__attribute__((noinline)) static void local_(void *at, size_t size, const char *name, void *sp, void *bp) {
    printf("local\t%p\t%zu\t%s\t%p\t%p\t%p\n", at, size, name, __builtin_return_address(0), sp, bp);
    __asm__ volatile("" ::: "memory");
}

// A block of some size that starts at a pointer; the name is what the function should call a part of it.
#define BLOCK(start, block, part, name)                                                              \
    do {                                                                                             \
        block_((size_t)(block), (size_t)((char *)&(part) - (char *)(start)), sizeof(part), name);    \
        __asm__ volatile("" ::: "memory");                                                           \
    } while (0)
__attribute__((noinline)) static void block_(size_t block, size_t offset, size_t size, const char *name) {
    printf("block\t%p\t%zu\t%zu\t%zu\t%s\n", __builtin_return_address(0), block, offset, size, name);
    __asm__ volatile("" ::: "memory");
}

// Where the files of this process start in memory. The program itself has no name here.
static int print_module_(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size, (void)data;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uintptr_t linked = info->dlpi_phdr[i].p_vaddr & ~(uintptr_t)0xfff;
            printf("module\t0x%lx\t%s\n", (unsigned long)(info->dlpi_addr + linked), info->dlpi_name);
            break;
        }
    }
    return 0;
}
static void print_modules(void) {
    dl_iterate_phdr(print_module_, 0);
}
