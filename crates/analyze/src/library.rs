//! The effects of library functions, by name.

/// The effect of a library function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownFunction {
    /// Returns fresh memory.
    Alloc,
    /// Returns fresh memory and frees that of its first argument.
    Realloc,
    /// Frees the memory of its first argument.
    Free,
    /// Copies memory from its second to its first argument.
    Copy,
    /// Writes to its first argument and reads the others.
    Fill,
    /// Reads memory of its arguments; the result is computed from that.
    Read,
    /// Accesses no memory of the program.
    Nothing,
    /// Returns a value that depends on other threads or on the environment.
    World,
    /// Never returns.
    Exit,
    /// Acquires a mutex (first argument).
    Lock,
    /// Tries to acquire it.
    TryLock,
    /// Releases a mutex or rwlock.
    Unlock,
    /// Acquires a rwlock for reading.
    ReadLock,
    /// Tries to acquire it for reading.
    TryReadLock,
    /// Acquires a rwlock for writing.
    WriteLock,
    /// Tries to acquire it for writing.
    TryWriteLock,
    /// Waits on a condition variable with a mutex.
    Wait,
    /// Any other operation on a synchronising object (first argument).
    Sync,
    /// Creates a thread.
    Create,
    /// Creates a thread by `std::thread`.
    CxxCreate,
    /// Joins.
    Join,
    /// Runs a function (second argument) once.
    Once,
    /// Ends the thread.
    ThreadExit,
    /// Registers a function that runs at the program's end.
    AtExit,
    /// Input and output, whose order other threads can observe.
    Io,
}

/// The effect of a function; `None` if it is unknown.
pub fn known(name: &str) -> Option<KnownFunction> {
    Some(match name {
        _ if name.starts_with("llvm.memcpy") || name.starts_with("llvm.memmove") => KnownFunction::Copy,
        _ if name.starts_with("llvm.memset") => KnownFunction::Fill,
        _ if name.starts_with("llvm.") => KnownFunction::Nothing,
        "malloc" | "calloc" | "aligned_alloc" | "_Znwm" | "_Znam" | "_ZnwmSt11align_val_t" | "strdup" | "strndup" => {
            KnownFunction::Alloc
        }
        "realloc" | "reallocarray" => KnownFunction::Realloc,
        "free" | "_ZdlPv" | "_ZdlPvm" | "_ZdaPv" | "_ZdaPvm" => KnownFunction::Free,
        "memcpy" | "memmove" | "strcpy" | "strncpy" | "strcat" | "stpcpy" => KnownFunction::Copy,
        "memset" | "bzero" | "sprintf" | "snprintf" | "vsnprintf" | "__isoc99_sscanf" | "strftime" => {
            KnownFunction::Fill
        }
        "strlen" | "strcmp" | "strncmp" | "memcmp" | "bcmp" | "strcasecmp" | "atoi" | "atol" | "atof" | "strtol"
        | "strtoul" | "strtod" => KnownFunction::Read,
        "sqrt"
        | "sin"
        | "cos"
        | "pow"
        | "floor"
        | "ceil"
        | "fabs"
        | "log"
        | "exp"
        | "abs"
        | "labs"
        | "isalpha"
        | "isdigit"
        | "isspace"
        | "toupper"
        | "tolower"
        | "pthread_attr_init"
        | "pthread_attr_destroy"
        | "pthread_attr_setdetachstate"
        | "pthread_attr_setstacksize"
        | "pthread_mutexattr_init"
        | "pthread_mutexattr_settype"
        | "pthread_mutexattr_destroy"
        | "pthread_condattr_init"
        | "pthread_condattr_destroy"
        | "pthread_self"
        | "getpid"
        | "__raddle_on_failed_poll"
        | "__cxa_allocate_exception"
        | "__cxa_free_exception"
        | "__cxa_begin_catch"
        | "__cxa_end_catch"
        | "__gxx_personality_v0"
        | "_ZSt9terminatev"
        | "__errno_location" => KnownFunction::Nothing,
        "usleep" | "sleep" | "nanosleep" | "sched_yield" | "time" | "clock" | "clock_gettime" | "gettimeofday"
        | "rand" | "random" | "srand" | "srandom" | "pthread_yield" => KnownFunction::World,
        "exit"
        | "_exit"
        | "abort"
        | "__assert_fail"
        | "quick_exit"
        | "_Exit"
        | "__cxa_throw"
        | "__cxa_rethrow"
        | "_ZSt17__throw_bad_allocv"
        | "_ZSt20__throw_length_errorPKc"
        | "_ZSt20__throw_system_errori"
        | "_ZSt19__throw_logic_errorPKc" => KnownFunction::Exit,
        "pthread_mutex_lock" | "pthread_spin_lock" => KnownFunction::Lock,
        "pthread_mutex_trylock" | "pthread_mutex_timedlock" | "pthread_spin_trylock" | "pthread_mutex_clocklock" => {
            KnownFunction::TryLock
        }
        "pthread_mutex_unlock" | "pthread_spin_unlock" | "pthread_rwlock_unlock" => KnownFunction::Unlock,
        "pthread_rwlock_rdlock" => KnownFunction::ReadLock,
        "pthread_rwlock_tryrdlock" | "pthread_rwlock_timedrdlock" => KnownFunction::TryReadLock,
        "pthread_rwlock_wrlock" => KnownFunction::WriteLock,
        "pthread_rwlock_trywrlock" | "pthread_rwlock_timedwrlock" => KnownFunction::TryWriteLock,
        "pthread_cond_wait" | "pthread_cond_timedwait" | "pthread_cond_clockwait" => KnownFunction::Wait,
        "pthread_mutex_init"
        | "pthread_mutex_destroy"
        | "pthread_rwlock_init"
        | "pthread_rwlock_destroy"
        | "pthread_cond_init"
        | "pthread_cond_destroy"
        | "pthread_cond_signal"
        | "pthread_cond_broadcast"
        | "sem_init"
        | "sem_destroy"
        | "sem_wait"
        | "sem_trywait"
        | "sem_timedwait"
        | "sem_post"
        | "pthread_barrier_init"
        | "pthread_barrier_destroy"
        | "pthread_barrier_wait"
        | "pthread_spin_init"
        | "pthread_spin_destroy" => KnownFunction::Sync,
        "pthread_create" => KnownFunction::Create,
        "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE" => {
            KnownFunction::CxxCreate
        }
        "pthread_join" | "_ZNSt6thread4joinEv" => KnownFunction::Join,
        "pthread_detach" => KnownFunction::Nothing,
        "pthread_once" => KnownFunction::Once,
        "pthread_exit" => KnownFunction::ThreadExit,
        "atexit" | "__cxa_atexit" => KnownFunction::AtExit,
        "printf" | "puts" | "putchar" | "fprintf" | "fputs" | "fputc" | "fwrite" | "fflush" | "perror" | "write"
        | "vprintf" | "vfprintf" | "putc" => KnownFunction::Io,
        "__VERIFIER_assume" => KnownFunction::World,
        _ => return None,
    })
}
