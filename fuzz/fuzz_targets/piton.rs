#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| piton::fuzz::run("piton", data));
