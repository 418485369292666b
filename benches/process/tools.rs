//! What piton is compared to: programs that are built here, and scripts that need what is on this machine.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const SHELL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/checkpoint.sh");
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/checkpoint.py");

pub(crate) struct Tools {
    pub(crate) piton: PathBuf,
    /// A Rust program that does nothing.
    empty: PathBuf,
    /// A C program that replaces files durably and does nothing else.
    floor: PathBuf,
    /// A C program that runs shell commands, with two durable records for each, and does nothing else.
    pub(crate) steps: PathBuf,
    pub(crate) peers: Vec<Peer>,
}

/// A script that does what piton does.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) is_durable: bool,
    program: PathBuf,
    arguments: Vec<&'static str>,
}

impl Tools {
    pub(crate) fn build(into: &Path) -> Self {
        let (empty, floor, steps) = (into.join("empty"), into.join("floor"), into.join("steps"));
        let source = into.join("empty.rs");
        std::fs::write(&source, "fn main() {}\n").unwrap();
        let rustc = ["-C", "opt-level=3", "-C", "strip=symbols", "--edition=2024", "-o"];
        super::run(Command::new("rustc").args(rustc).arg(&empty).arg(&source));
        let floor_c = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/floor.c");
        let steps_c = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/steps.c");
        for (program, source) in [(&floor, floor_c), (&steps, steps_c)] {
            super::run(Command::new("cc").args(["-O2", "-o"]).arg(program).arg(source));
        }
        // A copy, as `setup` and releases install it: from what a linker leaves in memory, pages come one by one, which takes a call half
        // a millisecond more.
        let piton = into.join("piton");
        std::fs::copy(shipped(), &piton).unwrap();
        Self { piton, empty, floor, steps, peers: peers() }
    }

    pub(crate) fn piton(&self, project: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.piton);
        command.args(arguments).current_dir(project).env_clear();
        for name in ["PATH", "HOME"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.env("PITON_HOME", self.home(project));
        command
    }

    /// Returns where the sessions of a project are kept: beside it, so that each finds its own only.
    pub(crate) fn home(&self, project: &Path) -> PathBuf {
        project.with_extension("home")
    }

    pub(crate) fn empty(&self) -> Command {
        Command::new(&self.empty)
    }

    pub(crate) fn floor(&self, files: &[PathBuf]) -> Command {
        given(&self.floor, files)
    }
}

impl Peer {
    pub(crate) fn command(&self, arguments: &[&OsStr]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(arguments).env_remove("NOW");
        command
    }
}

/// Returns where the program lies that is measured, built by `.ci/ship` unless `PITON_BIN` names one.
fn shipped() -> PathBuf {
    if let Some(program) = std::env::var_os("PITON_BIN") {
        return program.into();
    }
    let mut ship = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.ci/ship"));
    let output = ship.stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{ship:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().into()
}

/// Returns a program with arguments.
pub(crate) fn given(program: impl AsRef<OsStr>, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

fn peers() -> Vec<Peer> {
    let mut peers = Vec::new();
    if answer("jq", &["--version"]).is_some() {
        for (name, is_durable) in [("`sh` and `jq`, not durable", false), ("`sh` and `jq`", true)] {
            let how = if is_durable { "durable" } else { "plain" };
            peers.push(Peer { name, is_durable, program: "sh".into(), arguments: vec![SHELL, how] });
        }
    }
    // What is called `python3` may be a script that looks for it.
    if let Some(python) = answer("python3", &["-c", "import sys; print(sys.executable)"]) {
        peers.push(Peer { name: "Python", is_durable: true, program: python.into(), arguments: vec![PYTHON] });
    }
    peers
}

/// Prints what the figures were measured with, and what is missing.
pub(crate) fn describe(scratch: &Path) {
    let said = |program: &str, arguments: &[&str]| answer(program, arguments).unwrap_or_else(|| "unknown".to_owned());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let system = said("uname", &["-sr"]);
    let disk = said("stat", &["--file-system", "--format=%T", scratch.to_str().unwrap()]);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    println!("{system}, {disk}, {cores} cores, load {load} at the start; {}.", said("rustc", &["--version"]));
    for (program, rows) in [("jq", "the shell scripts"), ("python3", "the Python script")] {
        match answer(program, &["--version"]) {
            Some(version) => println!("{version}."),
            None => println!("No `{program}` here: {rows} are left out."),
        }
    }
}

/// Returns what a program says; nothing when it is not there.
fn answer(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
