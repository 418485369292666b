//! The `piton` binary.

use std::process::ExitCode;

/// musl's allocator makes a system call for nearly every allocation, which doubles the time of a call.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    piton::cli::main()
}
