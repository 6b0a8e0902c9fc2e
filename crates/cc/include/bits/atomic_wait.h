/* Found before libstdc++'s header of the same name. `std::latch`, `std::barrier`, `std::counting_semaphore`
 * and `wait` of the atomics poll a number of times before they sleep. Nothing depends on how often they
 * polled. So the runtime is told between two polls that the last one failed, and treats the next one as its
 * repetition if it would read the same value. */
#pragma GCC system_header

/* The headers that it includes come first: the macros below are meant only for its own pauses and yields. */
#include <bits/gthr.h>
#include <bits/std_mutex.h>

extern "C" void __raddle_on_failed_poll(bool yields) noexcept;

#define __builtin_ia32_pause() __raddle_on_failed_poll(false)
#define __gthread_yield() (__raddle_on_failed_poll(true), __gthread_yield())
#include_next <bits/atomic_wait.h>
#undef __builtin_ia32_pause
#undef __gthread_yield
