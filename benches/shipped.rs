//! The program that is measured: as it is shipped, which is not as `cargo build` makes it.

use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::sync::LazyLock;

use serde_json::Value;

/// Is where it lies: what `PITON_BIN` says, else what `cargo ship` builds.
pub(crate) static PROGRAM: LazyLock<PathBuf> = LazyLock::new(program);

fn program() -> PathBuf {
    if let Some(program) = std::env::var_os("PITON_BIN") {
        return program.into();
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["ship", "--message-format=json-render-diagnostics"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = cargo.stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{cargo:?}");
    let messages = String::from_utf8(output.stdout).unwrap();
    let executable = |message: Value| message["executable"].as_str().map(PathBuf::from);
    let mut executables = messages.lines().filter_map(|line| executable(serde_json::from_str(line).ok()?));
    executables.next_back().unwrap_or_else(|| panic!("{cargo:?} made no program"))
}
