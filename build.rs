//! Tests start the program thousands of times. Without optimisation it has 200,000 addresses that are corrected at every start (8 ms of 13);
//! linked for a fixed place in memory it has none. What people get is linked as ever.

#![expect(clippy::disallowed_methods, reason = "cargo tells a build script what it asks for in the environment")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
