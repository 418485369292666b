//! The program that is measured: what `PITON_BIN` says, else as it is shipped, which is not as `cargo build` makes it.

use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

/// Returns where it lies, built by `.ci/ship` with these arguments unless `PITON_BIN` names one.
pub(crate) fn program(how: &[&str]) -> PathBuf {
    if let Some(program) = std::env::var_os("PITON_BIN") {
        return program.into();
    }
    let mut ship = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.ci/ship"));
    let output = ship.args(how).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{ship:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().into()
}
