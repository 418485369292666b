//! The `piton` binary.

use std::process::ExitCode;

/// The one of musl asks the system for nearly every piece of memory, which doubles what a call costs.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    piton::cli::main()
}
