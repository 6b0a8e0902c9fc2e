#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| raddle_fuzzing::messages(data));
