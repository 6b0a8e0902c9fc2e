//! Functions of the C and C++ libraries that do not come back. Compilers put other code behind
//! calls of them, which such a call never reaches.

use core::ffi::CStr;

use crate::state::Global;

const NAMES: [&CStr; 30] = [
    c"abort",
    c"exit",
    c"_exit",
    c"_Exit",
    c"quick_exit",
    c"pthread_exit",
    c"thrd_exit",
    c"longjmp",
    c"siglongjmp",
    c"__longjmp_chk",
    c"__assert_fail",
    c"__assert_perror_fail",
    c"__stack_chk_fail",
    c"__chk_fail",
    c"_Unwind_Resume",
    c"__cxa_throw",
    c"__cxa_rethrow",
    c"__cxa_bad_cast",
    c"__cxa_throw_bad_array_new_length",
    c"_ZSt9terminatev",
    c"_ZSt16__throw_bad_castv",
    c"_ZSt17__throw_bad_allocv",
    c"_ZSt19__throw_logic_errorPKc",
    c"_ZSt20__throw_length_errorPKc",
    c"_ZSt20__throw_out_of_rangePKc",
    c"_ZSt20__throw_system_errori",
    c"_ZSt20__throw_future_errori",
    c"_ZSt24__throw_out_of_range_fmtPKcz",
    c"_ZSt25__throw_bad_function_callv",
    c"_ZSt28__throw_bad_array_new_lengthv",
];

static ADDRESSES: Global<[usize; NAMES.len()]> = Global::new([0; NAMES.len()]);

/// Looks the functions up. Called once, before the program has threads.
pub fn find() {
    for (index, name) in NAMES.iter().enumerate() {
        // SAFETY: a plain look-up with a valid string; rule 4 of the crate.
        unsafe { (*ADDRESSES.get())[index] = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as usize };
    }
}

/// Whether the function at this address does not come back.
pub fn never_returns(function: usize) -> bool {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    function != 0 && unsafe { (*ADDRESSES.get()).contains(&function) }
}
