//! Random C programs in which two threads copy objects of many types and in many ways.

use std::fmt::Write;

/// Variables in one program, each with its own type and its own two accesses.
pub const VARIABLES: usize = 10;

/// A sequence that a seed determines (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

const SCALARS: [&str; 15] = [
    "char",
    "short",
    "int",
    "long",
    "float",
    "double",
    "long double",
    "__int128",
    "_Complex float",
    "_Complex double",
    "_Complex long double",
    "Vector8",
    "Vector16",
    "Vector32",
    "Vector64",
];

const FIELDS: [&str; 9] =
    ["char", "short", "int", "long", "float", "double", "long double", "_Complex double", "struct { char c[3]; }"];

const HEAD: &str = "\
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#if MODE == 1
#define LOCK pthread_mutex_lock(&mutex)
#define UNLOCK pthread_mutex_unlock(&mutex)
#else
#define LOCK
#define UNLOCK
#endif
#if MODE == 2
#define READ 1
#else
#define READ 0
#endif

typedef int Vector8 __attribute__((vector_size(8)));
typedef float Vector16 __attribute__((vector_size(16)));
typedef double Vector32 __attribute__((vector_size(32)));
typedef char Vector64 __attribute__((vector_size(64)));

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

NOINLINE void use(const void *bytes) { __asm__ volatile(\"\" : : \"r\"(bytes) : \"memory\"); }

NOINLINE void fill(void *bytes, unsigned long count, int value)
{
    for (unsigned long i = 0; i < count; i++)
        ((unsigned char *)bytes)[i] = value;
    __asm__ volatile(\"\" : : \"r\"(bytes) : \"memory\");
}
";

/// The program of a seed. `MODE` is 0 for accesses that race, 1 for the same under a lock, 2 for
/// accesses of neighbouring elements.
pub fn generate(seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = HEAD.to_owned();
    for number in 0..VARIABLES {
        text.push_str(&variable(number, &mut random));
    }
    for (thread, access) in [("first", "write"), ("second", "read")] {
        let _ = writeln!(text, "\nvoid *{thread}(void *argument)\n{{\n    LOCK;");
        for number in 0..VARIABLES {
            let at = if access == "read" { "READ" } else { "0" };
            let _ = writeln!(text, "    {access}{number}({at});");
        }
        text.push_str("    UNLOCK;\n    return 0;\n}\n");
    }
    text.push_str(
        "\nint main(void)\n{\n    pthread_t thread;\n    pthread_create(&thread, 0, first, 0);\n    second(0);\n    \
         pthread_join(thread, 0);\n    return 0;\n}\n",
    );
    text
}

/// A variable with its type, the functions that make and take its values, and its two accesses.
fn variable(number: usize, random: &mut Random) -> String {
    let n = number;
    let aggregate = random.below(3) != 0;
    let base = if aggregate { aggregate_type(random) } else { random.pick(&SCALARS).to_owned() };
    let packed = random.below(4) == 0;
    let (holder, element) = if packed {
        (format!("struct __attribute__((packed)) {{ char before; T{n} of[2]; }} v{n};"), format!("v{n}.of"))
    } else if random.below(3) == 0 {
        (format!("struct {{ long before; T{n} of[2]; }} v{n};"), format!("v{n}.of"))
    } else {
        (format!("T{n} v{n}[2];"), format!("v{n}"))
    };
    // An index that the compiler knows, or does not.
    let write_at = if random.below(2) == 0 { format!("{element}[0]") } else { format!("{element}[at]") };
    let read_at = if random.below(2) == 0 { format!("{element}[READ]") } else { format!("{element}[at]") };
    let promoted = ["char", "short", "float"].contains(&base.as_str());
    let write = random.pick(&writes(!promoted)).replace("OBJECT", &write_at);
    let read = random.pick(&reads(!promoted)).replace("OBJECT", &read_at);
    let text = format!(
        "
typedef {base} TYPE;
static {holder}
NOINLINE TYPE makeN(int value)
{{
    TYPE made;
    fill(&made, sizeof made, value);
    return made;
}}
NOINLINE void takeN(TYPE taken) {{ use(&taken); }}
NOINLINE void listN(int count, ...)
{{
    va_list list;
    va_start(list, count);
    TYPE taken = va_arg(list, TYPE);
    use(&taken);
    va_end(list);
}}
NOINLINE TYPE getN(int at) {{ return {read_at}; }}
NOINLINE void writeN(int at) {{ {write} }}
NOINLINE void readN(int at) {{ {read} }}
"
    );
    text.replace("TYPE", &format!("T{n}"))
        .replace("makeN", &format!("make{n}"))
        .replace("takeN", &format!("take{n}"))
        .replace("listN", &format!("list{n}"))
        .replace("getN", &format!("get{n}"))
        .replace("writeN", &format!("write{n}"))
        .replace("readN", &format!("read{n}"))
}

fn aggregate_type(random: &mut Random) -> String {
    let bytes = match random.below(3) {
        0 => 1 + random.below(16),
        _ => 1 + random.below(200),
    };
    match random.below(6) {
        0 | 1 => format!("struct {{ char c[{bytes}]; }}"),
        2 => format!("union {{ char c[{bytes}]; long l; short s; }}"),
        3 => {
            let width = |random: &mut Random| 1 + random.below(20);
            let (a, b, c) = (width(random), width(random), width(random));
            format!("struct {{ unsigned a : {a}; unsigned b : {b}; long c : {c}; char d; }}")
        }
        kind => {
            let packed = if kind == 4 { "" } else { "__attribute__((packed)) " };
            let fields: String = (0..1 + random.below(8)).map(|i| format!(" {} f{i};", random.pick(&FIELDS))).collect();
            format!("struct {packed}{{{fields} }}")
        }
    }
}

/// Ways to write a whole object. Arguments of an open list are of types that are not promoted.
fn writes(any_argument: bool) -> Vec<&'static str> {
    let mut all = vec![
        "OBJECT = makeN(at + 1);",
        "TYPE own = makeN(at + 1); OBJECT = own;",
        "TYPE own = makeN(at + 1); memcpy(&OBJECT, &own, sizeof own);",
        "TYPE own = makeN(at + 1); memmove(&OBJECT, &own, sizeof own);",
        "TYPE own = makeN(at + 1); __builtin_memcpy(&OBJECT, &own, sizeof own);",
        "TYPE own = makeN(at + 1); __builtin_memmove(&OBJECT, &own, sizeof own);",
        "memset(&OBJECT, at + 1, sizeof(TYPE));",
        "__builtin_memset(&OBJECT, 1, sizeof(TYPE));",
        "__builtin_memset(&OBJECT, 0, sizeof(TYPE));",
        "OBJECT = (TYPE){0};",
        "if (at) OBJECT = makeN(at); else OBJECT = makeN(at + 1);",
        "struct { TYPE of; char more; } own = {makeN(at + 1), 1}; OBJECT = own.of;",
    ];
    if any_argument {
        all.push("TYPE own = makeN(at + 1); listN(1, own); OBJECT = own;");
    }
    all
}

/// Ways to read a whole object.
fn reads(any_argument: bool) -> Vec<&'static str> {
    let mut all = vec![
        "takeN(OBJECT);",
        "takeN(OBJECT);",
        "TYPE own = OBJECT; use(&own);",
        "TYPE own; memcpy(&own, &OBJECT, sizeof own); use(&own);",
        "TYPE own; __builtin_memcpy(&own, &OBJECT, sizeof own); use(&own);",
        "TYPE own; __builtin_memmove(&own, &OBJECT, sizeof own); use(&own);",
        "TYPE own = getN(at); use(&own);",
        "takeN(getN(at));",
        "TYPE own[2] = {OBJECT, OBJECT}; use(own);",
        "struct { char more; TYPE of; } own = {1, OBJECT}; use(&own);",
        "TYPE zero; fill(&zero, sizeof zero, 0); int same = memcmp(&OBJECT, &zero, sizeof zero); use(&same);",
        "TYPE zero; fill(&zero, sizeof zero, 0); int same = !__builtin_memcmp(&OBJECT, &zero, sizeof zero); \
         use(&same);",
    ];
    if any_argument {
        all.extend(["listN(1, OBJECT);", "listN(2, OBJECT, OBJECT);"]);
    }
    all
}
