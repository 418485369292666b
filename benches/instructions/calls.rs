//! The calls that are counted: small projects that never change, each call in one of its own.

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use crate::fixture::Scratch;

const STEP: &str = "5:3";
const TASK: &str = "IMPL-051";

/// Is a call whose instructions are counted.
pub(crate) struct Call {
    pub(crate) name: &'static str,
    /// Makes the project that it runs in.
    pub(crate) project: fn(&Scratch, &str) -> PathBuf,
    /// Calls that lead up to it and are not counted.
    pub(crate) before: &'static [&'static [&'static str]],
    pub(crate) arguments: &'static [&'static str],
    /// Whether it is the hook of a client, which sends an event.
    pub(crate) is_hook: bool,
    /// How often it is counted; the least is its figure.
    pub(crate) tries: usize,
}

const fn call(name: &'static str, project: fn(&Scratch, &str) -> PathBuf, arguments: &'static [&'static str]) -> Call {
    Call { name, project, before: &[], arguments, is_hook: false, tries: 1 }
}

impl Call {
    const fn after(mut self, before: &'static [&'static [&'static str]]) -> Self {
        self.before = before;
        self
    }

    const fn hook(mut self) -> Self {
        self.is_hook = true;
        self
    }

    /// Its threads take turns as they like, so it is counted more than once.
    const fn threaded(mut self) -> Self {
        self.tries = 5;
        self
    }
}

/// Every call, in the order of the record.
pub(crate) const CALLS: &[Call] = &[
    call("version", empty, &["--version"]),
    call("plan, nine-step, 100 steps", nine_step, &["plan"]),
    call("begin, nine-step, 100 steps", nine_step, &["begin", STEP]),
    call("finish, nine-step, 100 steps", nine_step, &["finish", STEP]).after(&[&["begin", STEP]]),
    call("status, nine-step, 100 steps", nine_step, &["status"]),
    call("context, nine-step, 100 steps", nine_step, &["context"]),
    call("history, nine-step, 100 steps", nine_step, &["history"]).after(&[&["begin", STEP], &["finish", STEP]]),
    call("plan, ccw, 100 steps", ccw, &["plan"]),
    call("begin, ccw, 100 steps", ccw, &["begin", TASK]),
    call("finish, ccw, 100 steps", ccw, &["finish", TASK]).after(&[&["begin", TASK]]),
    call("plan, dotagent", dotagent, &["plan"]),
    call("begin, dotagent", dotagent, &["begin", "task-001:verify"]),
    call("plan, aios", aios, &["plan"]),
    call("begin, aios", aios, &["begin", "7.2"]),
    call("list, 20 runs in 1,000 files", forest, &["list"]),
    call("hook session-start, 20 runs", forest, &["hook", "session-start"]).hook(),
    call("hook prompt, 20 runs", forest, &["hook", "prompt"]).hook(),
    call("run, 20 shell steps", script, &["run", "w.yml"]).threaded(),
];

fn empty(scratch: &Scratch, name: &str) -> PathBuf {
    let project = scratch.top().join(name);
    std::fs::create_dir(&project).unwrap();
    project
}

fn nine_step(scratch: &Scratch, name: &str) -> PathBuf {
    scratch.nine_step(name, 10).project().to_owned()
}

fn ccw(scratch: &Scratch, name: &str) -> PathBuf {
    scratch.ccw(name, 100).project().to_owned()
}

fn dotagent(scratch: &Scratch, name: &str) -> PathBuf {
    example(scratch, name, "dotagent")
}

fn aios(scratch: &Scratch, name: &str) -> PathBuf {
    example(scratch, name, "aios")
}

fn forest(scratch: &Scratch, name: &str) -> PathBuf {
    scratch.forest(name, 20, 1_000)
}

fn script(scratch: &Scratch, name: &str) -> PathBuf {
    let project = empty(scratch, name);
    std::fs::write(project.join("w.yml"), "- shell: 'true'\n".repeat(20)).unwrap();
    project
}

fn example(scratch: &Scratch, name: &str, dialect: &str) -> PathBuf {
    let from = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).join(dialect);
    let project = scratch.top().join(name);
    crate::run(Command::new("cp").arg("-R").arg(from).arg(&project));
    project
}
