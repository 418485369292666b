//! Trying one printed command in the state in which it was printed.

use super::{
    copy::Copy,
    judge::{self, Call},
    moves,
    placeholders::{OTHER_PROJECT, OTHER_WORKFLOW},
    printed::Printed,
    walker::{RunSeen, Walker, quoted},
};
use crate::support::{self, Output, Tree};

/// What came of a command.
pub(super) struct Attempt {
    pub(super) output: Output,
    /// What is wrong; `None` if it did what its sentence says.
    pub(super) wrong: Option<String>,
    /// Whether it left the sandbox as it was.
    pub(super) is_unchanged: bool,
}

/// Runs a command as printed, checks it, and takes back what it did.
pub(super) fn attempt(walker: &Walker, command: &str, printed: &Printed, copy: &mut Copy) -> Attempt {
    let call = Call::of(command);
    prepare(walker, command, &call, printed);
    let mut output = walker.shell(command);
    if call.verb == "finish" && output.code == 1 && moves::write_outputs(walker, &output.stdout) {
        output = walker.shell(command);
    }
    let wrong = judge::problem_of_code(&call, printed, &output).map(str::to_owned);
    let wrong = wrong.or_else(|| judge::problem_of_state(walker, &call, &output));
    let changed = copy.restore();
    let is_state = |path: &&String| path.starts_with("project") && !is_lock(path);
    let written = changed.iter().find(|path| call.is_read() && is_state(path));
    let wrong = wrong.or_else(|| written.map(|path| format!("it should only read, and writes {path}")));
    Attempt { output, wrong, is_unchanged: changed.is_empty() }
}

/// Tells whether a path is one of Piton's own that is no part of the state: a lock, and the folders that it lies in.
fn is_lock(path: &str) -> bool {
    let is_own = path.contains("/.piton") || path.contains("/.git/piton/");
    let is_record = ["run.json", "journal.jsonl", "checkpoint.json"].iter().any(|name| path.ends_with(name));
    is_own && !is_record
}

/// Does what a reader has done before: begins the step of a brief before it is finished, and has the files that are named.
fn prepare(walker: &Walker, command: &str, call: &Call, printed: &Printed) {
    if command.contains(OTHER_WORKFLOW) {
        walker.sandbox.file(OTHER_WORKFLOW, "name: other\ncommands:\n  - id: one\n    shell: 'true'\n");
    }
    if command.contains(OTHER_PROJECT) {
        let example = Tree::of(&support::repository().join("examples/ccw"));
        let folder = walker.sandbox.root().join(OTHER_PROJECT);
        std::fs::create_dir_all(&folder).expect("a folder in the sandbox");
        example.write_to(&folder);
    }
    if let (true, "finish", Some(step)) = (is_brief(printed), call.verb.as_str(), call.subject()) {
        let run = call.option("--run").map(|run| format!(" --run {}", quoted(run))).unwrap_or_default();
        walker.shell(&format!("piton begin {}{run}", quoted(step)));
    }
}

fn is_brief(printed: &Printed) -> bool {
    ["/report", "/prompt", "line", "agent_context"].iter().any(|part| printed.place.contains(part))
}

/// Tells whether there is nothing to try: a verb that is only named, git without a repository, or the brief of a step that is
/// not next, which was asked for with `--step`.
pub(super) fn is_no_case(walker: &Walker, call: &Call, printed: &Printed, runs: &[RunSeen]) -> bool {
    if call.program == "git" {
        // There is no remote.
        return !walker.sandbox.exists(".git") || call.has("push") || call.has("ls-remote");
    }
    let is_named =
        printed.command != printed.sentence && ["piton run", "piton start"].contains(&printed.command.as_str());
    let is_later = || {
        let step = call.subject().unwrap_or_default();
        let is_next = |run: &RunSeen| {
            let next = run.plan["data"]["next"].as_array();
            next.into_iter().flatten().any(|next| next["step"] == step)
                || run.group("in_progress").iter().any(|id| id == step)
        };
        printed.place.contains("--step") && is_brief(printed) && !runs.iter().any(is_next)
    };
    is_named || is_later()
}
