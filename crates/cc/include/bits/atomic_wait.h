/* Found before libstdc++'s header of the same name. `std::latch`, `std::barrier`, `std::counting_semaphore` and `wait` of the atomics
 * look a number of times before they sleep. Nothing depends on how often they looked, so the runtime is told between two looks
 * that the last one was in vain, and lets the next one pass as its repetition, if there is nothing else to be seen. */
#pragma GCC system_header

/* What the header includes, first: the names below are meant where it lets time pass itself. */
#include <bits/gthr.h>
#include <bits/std_mutex.h>

extern "C" void __raddle_looked_in_vain(bool yields) noexcept;

#define __builtin_ia32_pause() __raddle_looked_in_vain(false)
#define __gthread_yield() (__raddle_looked_in_vain(true), __gthread_yield())
#include_next <bits/atomic_wait.h>
#undef __builtin_ia32_pause
#undef __gthread_yield
