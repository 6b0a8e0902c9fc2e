#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| raddle_fuzzing::std_trace(data));
