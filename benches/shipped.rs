//! The program that is measured: as it is shipped, which is not as `cargo build` makes it.

use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::sync::LazyLock;

/// Is where it lies: what `PITON_BIN` says, else what `.ci/ship` builds.
pub(crate) static PROGRAM: LazyLock<PathBuf> = LazyLock::new(program);

fn program() -> PathBuf {
    if let Some(program) = std::env::var_os("PITON_BIN") {
        return program.into();
    }
    let mut ship = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.ci/ship"));
    let output = ship.stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{ship:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().into()
}
