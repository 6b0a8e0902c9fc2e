//! The effects of library functions, by name.
//!
//! Rule: an entry covers every access that the runtime records for the function, and every pointer
//! that it stores. A function that does more has no entry: nothing is pruned around it. So have no
//! entry functions that take a `va_list`, scan, sort, or use memory that the C library keeps, and
//! `__cxa_end_catch`, which may end an exception that threads share.

/// The effect of a library function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownFunction {
    /// Returns fresh memory.
    Alloc,
    /// Returns fresh memory and frees that of its first argument.
    Realloc,
    /// Frees the memory of its first argument.
    Free,
    /// Copies memory from its second to its first argument, which it returns.
    Copy,
    /// Writes to its first argument, which it returns.
    Fill,
    /// Reads memory of its arguments; the result is computed from that.
    Read,
    /// As [`KnownFunction::Read`]; stores a pointer into the first argument through its second.
    Parse,
    /// Neither synchronises nor returns anything that depends on other threads.
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

/// Arguments of a function, by number: a bit for each.
pub type ArgumentSet = u32;

/// The argument of this number and all that follow.
const fn from(first: u32) -> ArgumentSet {
    !0 << first
}

/// The memory behind the arguments of a library function that it accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Arguments whose memory is read.
    pub read: ArgumentSet,
    /// Arguments whose memory is written.
    pub written: ArgumentSet,
}

impl Buffers {
    const fn new(read: ArgumentSet, written: ArgumentSet) -> Self {
        Self { read, written }
    }

    /// Those of the call's arguments whose memory is read.
    pub fn read<'a, T: Copy>(&self, args: &'a [T]) -> impl Iterator<Item = T> + use<'a, T> {
        chosen(self.read, args)
    }

    /// Those of the call's arguments whose memory is written.
    pub fn written<'a, T: Copy>(&self, args: &'a [T]) -> impl Iterator<Item = T> + use<'a, T> {
        chosen(self.written, args)
    }
}

fn chosen<T: Copy>(set: ArgumentSet, args: &[T]) -> impl Iterator<Item = T> + use<'_, T> {
    args.iter().enumerate().filter(move |(number, _)| set >> (*number).min(31) & 1 != 0).map(|(_, &arg)| arg)
}

/// What a known function accesses.
pub fn buffers(name: &str) -> Buffers {
    use KnownFunction::{Copy, Fill, Free, Io, Nothing, Parse, Read, Realloc};
    match name {
        "strdup" | "strndup" => Buffers::new(1, 0),
        // A format can ask for the number of characters so far, so every argument may be written.
        "printf" => Buffers::new(from(0), from(1)),
        "fprintf" => Buffers::new(from(0), from(2)),
        "sprintf" => Buffers::new(from(1), 1 | from(2)),
        "snprintf" => Buffers::new(from(2), 1 | from(3)),
        "nanosleep" => Buffers::new(1, 2),
        "time" => Buffers::new(0, 1),
        "clock_gettime" => Buffers::new(0, 2),
        "gettimeofday" => Buffers::new(0, 3),
        "pthread_create" => Buffers::new(2, 1),
        "pthread_join" => Buffers::new(0, 2),
        "pthread_mutex_init" | "pthread_rwlock_init" | "pthread_cond_init" | "pthread_barrier_init" => {
            Buffers::new(2, 0)
        }
        "pthread_mutex_timedlock" | "pthread_rwlock_timedrdlock" | "pthread_rwlock_timedwrlock" | "sem_timedwait" => {
            Buffers::new(2, 0)
        }
        "pthread_mutex_clocklock" | "pthread_cond_timedwait" => Buffers::new(4, 0),
        "pthread_cond_clockwait" => Buffers::new(8, 0),
        _ => match known(name) {
            Some(Copy | Fill) => Buffers::new(from(1), 1),
            Some(Free | Realloc) => Buffers::new(0, 1),
            Some(Read | Io) => Buffers::new(from(0), 0),
            Some(Parse) => Buffers::new(1, 2),
            Some(Nothing) if name.starts_with("pthread_") && name.contains("attr_") => Buffers::new(0, 1),
            _ => Buffers::default(),
        },
    }
}

/// Intrinsics of LLVM that access memory in ways that are not followed.
const MEMORY_INTRINSICS: [&str; 8] = [
    "llvm.masked.",
    "llvm.vp.",
    "llvm.x86.",
    "llvm.matrix.",
    "llvm.va_copy",
    "llvm.load.relative",
    "llvm.experimental.vp",
    "llvm.memset.element",
];

/// The effect of a function; `None` if it is unknown.
pub fn known(name: &str) -> Option<KnownFunction> {
    Some(match name {
        _ if name.starts_with("llvm.memcpy") || name.starts_with("llvm.memmove") => KnownFunction::Copy,
        _ if MEMORY_INTRINSICS.iter().any(|start| name.starts_with(start)) => return None,
        _ if name.starts_with("llvm.memset") => KnownFunction::Fill,
        _ if name.starts_with("llvm.") => KnownFunction::Nothing,
        "malloc" | "calloc" | "aligned_alloc" | "_Znwm" | "_Znam" | "_ZnwmSt11align_val_t" | "strdup" | "strndup" => {
            KnownFunction::Alloc
        }
        "realloc" | "reallocarray" => KnownFunction::Realloc,
        "free" | "_ZdlPv" | "_ZdlPvm" | "_ZdaPv" | "_ZdaPvm" => KnownFunction::Free,
        "memcpy" | "memmove" | "strcpy" | "strncpy" | "strcat" | "stpcpy" => KnownFunction::Copy,
        "memset" | "bzero" | "sprintf" | "snprintf" | "strftime" => KnownFunction::Fill,
        "strlen" | "strcmp" | "strncmp" | "memcmp" | "bcmp" | "strcasecmp" | "atoi" | "atol" | "atof" => {
            KnownFunction::Read
        }
        "strtol" | "strtoul" | "strtod" => KnownFunction::Parse,
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
        | "putc" => KnownFunction::Io,
        "__VERIFIER_assume" => KnownFunction::World,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The runtime's sources, which say what it records.
    const RUNTIME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../rt/src/interpose");

    /// Functions whose accesses the runtime records in its files of that folder, as far as the
    /// analyser knows them, and which arguments the table says they access.
    fn recorded(folder: &str) -> Vec<(String, Buffers)> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(format!("{RUNTIME}/{folder}")).expect("a folder") {
            let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("text");
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let names = words.map(|word| word.strip_prefix("__wrap_").unwrap_or(word));
            found.extend(names.filter(|name| known(name).is_some()).map(|name| (name.to_owned(), buffers(name))));
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found.dedup();
        found
    }

    #[test]
    fn what_the_runtime_records_is_in_the_table() {
        let mut names = Vec::new();
        for folder in ["buffers", "memory"] {
            for (name, buffers) in recorded(folder) {
                let none = buffers == Buffers::default();
                let allocates = known(&name) == Some(KnownFunction::Alloc);
                // Words of the sources that name no function of theirs.
                let a_word = ["_ZSt17__throw_bad_allocv", "__errno_location", "clock", "exit"].contains(&name.as_str());
                assert!(!none || allocates || a_word, "{name} accesses memory that the table does not name");
                names.push(name);
            }
        }
        for name in ["strtol", "snprintf", "printf", "memcpy", "strlen", "strndup", "pthread_attr_init"] {
            assert!(names.iter().any(|found| found == name), "{name} is not among {names:?}");
        }
    }

    #[test]
    fn arguments_are_chosen_by_number() {
        let args = [10, 11, 12, 13];
        let snprintf = buffers("snprintf");
        assert_eq!(snprintf.read(&args).collect::<Vec<_>>(), [12, 13]);
        assert_eq!(snprintf.written(&args).collect::<Vec<_>>(), [10, 13]);
        assert_eq!(buffers("strtol"), Buffers::new(1, 2));
        assert_eq!(buffers("pthread_mutexattr_settype"), Buffers::new(0, 1));
        assert_eq!(buffers("malloc"), Buffers::default());
    }

    #[test]
    fn what_is_not_followed_is_unknown() {
        for name in
            ["vsnprintf", "__isoc99_sscanf", "qsort", "read", "llvm.masked.load.v8i32.p0", "llvm.x86.avx.maskload.ps"]
        {
            assert_eq!(known(name), None, "{name}");
        }
        assert_eq!(known("llvm.dbg.value"), Some(KnownFunction::Nothing));
    }
}
