//! Functions of the C library whose accesses are known when they have returned.

/// Exports C functions: how many arguments they have, and which accesses a call was that returned
/// `result`. `called! { fn confstr, 3(name: i32, into: usize, room: usize) -> usize
/// |result, pc| writes(into, result.min(room), pc); }`.
macro_rules! called {
    ($(
        fn $name:ident, $count:tt($($arg:ident: $type:ty),*) -> $ret:ty |$result:ident, $pc:ident| $accesses:expr;
    )*) => {
        $crate::syscall::libc_real::real! { called: $(fn $name($($arg: $type),*) -> $ret;)* }
        $(
            const _: () = {
                extern "C" fn body($($arg: $type,)* $pc: u64) -> $ret {
                    // SAFETY: passes on what the caller gave.
                    let $result = unsafe { called::$name($($arg),*) };
                    $accesses;
                    $result
                }
                $crate::arch::entry::export!($name, $count => body);
            };
        )*
    };
}
pub(crate) use called;
