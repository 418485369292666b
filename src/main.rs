//! The `piton` binary.

use std::process::ExitCode;

/// musl's allocator costs a `plan` half a millisecond more, which `finish` does not have (docs/performance.md#what-was-tried).
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    piton::cli::main()
}
