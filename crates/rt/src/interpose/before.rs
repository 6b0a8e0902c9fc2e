//! Functions of the C library before which the runtime acts. They continue as the C library's own,
//! with all arguments that they were given: some take any number.

/// The first arguments of a call that are integers or pointers.
pub type Arguments = [usize; 4];

/// Exports C functions that act first, one line for all that act alike:
/// `before! { fputs fputs_unlocked => |a, pc| output(a[1], pc); }`.
macro_rules! before {
    ($($($name:ident)+ => $act:expr;)+) => { $($(
        const _: () = {
            use core::ffi::{CStr, c_void};
            use core::sync::atomic::AtomicPtr;

            /// Acts, and returns where to continue.
            extern "C" fn act(a: usize, b: usize, c: usize, d: usize, pc: u64) -> *mut c_void {
                static REAL: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
                const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name without a zero inside"),
                };
                let act: fn($crate::interpose::before::Arguments, u64) = $act;
                act([a, b, c, d], pc);
                $crate::syscall::libc_real::find(&REAL, NAME)
            }

            $crate::arch::entry::intercept!($name => act);
        };
    )+)+ };
}
pub(crate) use before;
