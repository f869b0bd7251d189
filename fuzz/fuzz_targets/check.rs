//! Besides what libFuzzer does with bytes, lines and words of Go are put in other places.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|bytes: &[u8]| straggler_fuzz::run("check", bytes));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 3 == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mutated = straggler_fuzz::mutated(&data[..size], seed);
    let size = mutated.len().min(max_size);
    data[..size].copy_from_slice(&mutated[..size]);
    size
});
