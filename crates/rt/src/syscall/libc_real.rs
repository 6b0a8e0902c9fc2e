//! The functions of libc that the runtime hides: found with `dlsym(RTLD_NEXT)`, at the start of a
//! controlled process and otherwise at first use.
//!
//! A look-up changes the loader's memory. If a run made the first one, the states of that run would
//! differ from the same states of later runs.

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// A hidden function: where its address is kept, and its name.
pub struct HiddenFunction {
    pub cache: &'static AtomicPtr<c_void>,
    pub name: &'static CStr,
}

unsafe extern "C" {
    /// The linker puts these around the list of hidden functions.
    #[link_name = "__start_raddle_hidden"]
    static FIRST: u8;
    #[link_name = "__stop_raddle_hidden"]
    static END: u8;
}

/// Looks up all hidden functions that there are.
pub fn find_all() {
    let [mut at, end] = [&raw const FIRST, &raw const END].map(<*const u8>::cast::<HiddenFunction>);
    while at < end {
        // SAFETY: between the two symbols lie the entries that `real!` has made, one behind the
        // other.
        let HiddenFunction { cache, name } = unsafe { &*at };
        // SAFETY: a plain look-up with a valid string.
        cache.store(unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }, Ordering::Relaxed);
        // SAFETY: not behind the end.
        at = unsafe { at.add(1) };
    }
}

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
                    #[used]
                    #[unsafe(link_section = "raddle_hidden")]
                    static ENTRY: $crate::syscall::libc_real::HiddenFunction =
                        $crate::syscall::libc_real::HiddenFunction { cache: &CACHE, name: NAME };
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
