#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| straggler_fuzz::run("facts", bytes));
