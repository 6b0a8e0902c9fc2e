//! The functions of libc that the runtime hides: found with `dlsym(RTLD_NEXT)` at first use.

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// Looks up the hidden function; ends the process if libc does not have it.
pub fn find(cache: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let known = cache.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: a plain look-up with a valid string.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if found.is_null() {
        crate::interpose::process::failure::exit_with_error(
            name.to_str().unwrap_or("?"),
            "is not in the C library that this program runs with",
        );
    }
    cache.store(found, Ordering::Relaxed);
    found
}

/// Declares functions that the runtime hides, in a module of the given name. For example
/// `real! { hidden: fn free(block: u64); }` makes `hidden::free`. The contract is that of the C
/// function.
macro_rules! real {
    ($module:ident: $(fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
        #[allow(non_snake_case, reason = "mangled names of C++ functions")]
        mod $module {
            #[allow(unused_imports, reason = "which types the declarations need differs from use to use")]
            use super::*;
            $(
                /// Calls the function of this name that the runtime hides.
                #[inline]
                pub unsafe fn $name($($arg: $type),*) $(-> $ret)? {
                    static CACHE: core::sync::atomic::AtomicPtr<core::ffi::c_void> =
                        core::sync::atomic::AtomicPtr::new(core::ptr::null_mut());
                    const NAME: &core::ffi::CStr =
                        match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                            Ok(name) => name,
                            Err(_) => panic!("a name without a zero inside"),
                        };
                    let address = $crate::syscall::libc_real::find(&CACHE, NAME);
                    type Function = unsafe extern "C" fn($($type),*) $(-> $ret)?;
                    // SAFETY: the C declaration of the function of this name.
                    let function: Function = unsafe { core::mem::transmute(address) };
                    // SAFETY: the contract of the C function, which is passed on to the caller.
                    unsafe { function($($arg),*) }
                }
            )*
        }
    };
}
pub(crate) use real;
