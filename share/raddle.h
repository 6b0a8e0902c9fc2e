/* Annotations for raddle. Without raddle (or ThreadSanitizer) every macro is empty, so the header can
 * stay in the program.
 *
 * It needs nothing but itself: copy it, or add raddle's share folder to the include path.
 */
#ifndef RADDLE_H
#define RADDLE_H

#if defined(__SANITIZE_THREAD__)
#define RADDLE_ACTIVE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RADDLE_ACTIVE 1
#endif
#endif
#ifndef RADDLE_ACTIVE
#define RADDLE_ACTIVE 0
#endif

#if RADDLE_ACTIVE
#ifdef __cplusplus
extern "C" {
#endif
void AnnotateHappensBefore(const char *file, int line, const volatile void *address);
void AnnotateHappensAfter(const char *file, int line, const volatile void *address);
void AnnotateBenignRaceSized(const char *file, int line, const volatile void *address, unsigned long size, const char *why);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
void __VERIFIER_assume(int condition) __attribute__((weak));
unsigned raddle_choose(unsigned values) __attribute__((weak));
#ifdef __cplusplus
}
#endif
#define RADDLE_DO(call) (call)
#else
#define RADDLE_DO(call) ((void)0)
#endif

/* Everything before the first happens before everything after the second with the same address. */
#define RADDLE_HAPPENS_BEFORE(address) RADDLE_DO(AnnotateHappensBefore(__FILE__, __LINE__, (address)))
#define RADDLE_HAPPENS_AFTER(address) RADDLE_DO(AnnotateHappensAfter(__FILE__, __LINE__, (address)))

/* Races on these bytes are intended: the accesses become scheduling points, like relaxed atomics, and
 * every order of them is explored. Call it before the threads start. */
#define RADDLE_BENIGN_RACE(address, size, why) \
    RADDLE_DO(AnnotateBenignRaceSized(__FILE__, __LINE__, (address), (size), (why)))

/* The thread's data accesses in between are ignored. This can hide bugs. */
#define RADDLE_IGNORE_BEGIN() \
    RADDLE_DO((AnnotateIgnoreReadsBegin(__FILE__, __LINE__), AnnotateIgnoreWritesBegin(__FILE__, __LINE__)))
#define RADDLE_IGNORE_END() \
    RADDLE_DO((AnnotateIgnoreWritesEnd(__FILE__, __LINE__), AnnotateIgnoreReadsEnd(__FILE__, __LINE__)))

/* Executions in which the condition does not hold are discarded. */
#define RADDLE_ASSUME(condition) RADDLE_DO(__VERIFIER_assume ? __VERIFIER_assume(!!(condition)) : (void)0)

/* A number from 0 to values - 1. raddle explores every one of them; without raddle it is 0. */
#if RADDLE_ACTIVE
#define RADDLE_CHOOSE(values) (raddle_choose ? raddle_choose(values) : 0u)
#else
#define RADDLE_CHOOSE(values) ((void)(values), 0u)
#endif

#endif
