//! The `piton` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    piton::cli::main()
}
