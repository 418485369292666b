//! A project, a state or a repository made by an attacker: nothing in it is executed, nothing outside
//! of the project is read into an answer or changed, and every call ends in time with one clean document.
//!
//! Each test names the row of `SECURITY.md` that it holds; `threats.rs` compares the two.

mod git;
mod guests;
mod links;
mod names;
mod owner;
mod records;
mod secrets;
mod size;
mod state;
mod text;
mod threats;

use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;

use crate::{
    cli::projects,
    support::{Output, Program, Sandbox, Tree},
};

/// One kind of run, taken from its example.
pub(super) struct Kind {
    /// The folder below `examples/`.
    pub(super) name: &'static str,
    /// The file that identifies the run.
    pub(super) state: &'static str,
    /// The folder that holds the state.
    pub(super) folder: &'static str,
    /// The folder of Piton's own data.
    pub(super) own: &'static str,
    /// A step that can begin.
    pub(super) step: &'static str,
}

pub(super) const KINDS: [Kind; 5] = [
    Kind {
        name: "nine-step",
        state: projects::NINE_STEP,
        folder: ".worktree/user-auth",
        own: ".piton/runs/nine-step.user-auth",
        step: "2:3",
    },
    Kind {
        name: "ccw",
        state: ".workflow/active/WFS-user-auth/workflow-session.json",
        folder: projects::SESSION,
        own: ".piton/runs/ccw.WFS-user-auth",
        step: "IMPL-002",
    },
    Kind {
        name: "aios",
        state: ".aios/epic-7-state.yaml",
        folder: ".aios",
        own: ".piton/runs/aios.epic-7",
        step: "7.2",
    },
    Kind {
        name: "dotagent",
        state: "memory/state/execution.json",
        folder: "memory/state",
        own: ".piton/runs/dotagent.user-auth",
        step: "task-001:verify",
    },
    Kind { name: "own-workflow", state: records::FILES[1], folder: records::RUN, own: records::RUN, step: "api" },
];

impl Kind {
    /// Copies the example into a new project.
    pub(super) fn project(&self) -> Sandbox {
        let sandbox = projects::example(self.name);
        if self.has_records() {
            records::add_snapshot(&sandbox);
        }
        sandbox
    }

    /// Tells whether it is a run of a workflow file.
    pub(super) fn has_records(&self) -> bool {
        self.folder == records::RUN
    }

    /// Returns the files that are its state.
    pub(super) fn states(&self) -> Vec<&'static str> {
        if self.has_records() { records::FILES.to_vec() } else { vec![self.state] }
    }
}

/// Every read-only verb, with its most detailed options.
pub(super) const READS: [&[&str]; 14] = [
    &["list", "--all"],
    &["plan"],
    &["plan", "-v", "--format", "text"],
    &["plan", "--patch"],
    &["plan", "--format", "markdown"],
    &["status", "--format", "text"],
    &["context"],
    &["context", "--format", "text"],
    &["context", "--format", "markdown"],
    &["context", "--format", "yaml"],
    &["validate"],
    &["history"],
    &["doctor"],
    &["sessions"],
];

/// Every verb that may write; `STEP` stands for a step that can begin.
pub(super) const WRITES: [&[&str]; 8] = [
    &["resume", "--yes"],
    &["begin", "STEP"],
    &["finish", "STEP", "--summary", "done", "--error", "none"],
    &["pause"],
    &["restore", "--yes"],
    &["decide", "STEP", "skip", "--note", "no", "--by", "Ann"],
    &["abort"],
    &["close", "--abort"],
];

/// Runs every verb that reads and every event of the client, and hands each answer to `check`.
pub(super) fn read_all(sandbox: &Sandbox, check: &mut dyn FnMut(&str, &Output)) {
    for words in READS {
        check(&words.join(" "), &within(sandbox.piton(words.iter().copied())));
    }
    let input = json!({ "session_id": "s", "cwd": sandbox.root(), "source": "startup" }).to_string();
    for words in [
        &["hook", "session-start"][..],
        &["hook", "prompt"],
        &["hook", "subagent-start"],
        &["hook", "subagent-stop"],
        &["statusline"],
    ] {
        let output = sandbox.piton(words.iter().copied()).session("s").stdin(&input).run();
        assert_eq!(output.code, 0, "{words:?}\n{output}");
        check(&words.join(" "), &output);
    }
}

/// Runs every verb that may write, one after the other, and hands each answer to `check`.
pub(super) fn write_all(sandbox: &Sandbox, step: &str, check: &mut dyn FnMut(&str, &Output)) {
    for words in WRITES {
        let words = words.iter().map(|word| if *word == "STEP" { step } else { word });
        let line = words.clone().collect::<Vec<&str>>().join(" ");
        check(&line, &within(sandbox.piton(words).session("s")));
    }
}

/// Checks the guarantees of every answer: an exit code of the contract, and one document if JSON was requested.
#[track_caller]
pub(super) fn check_answer(line: &str, output: &Output) {
    assert!((0..=9).contains(&output.code), "{line}: exit {}\n{output}", output.code);
    assert!(!output.stderr.contains("panicked"), "{line}\n{output}");
    let is_json = !line.contains("--format") && !line.starts_with("hook") && !line.starts_with("statusline");
    if is_json && !(line == "plan --patch" && output.code == 0) {
        projects::document(output);
    }
}

/// Tells whether a character could control a terminal, reverse text or hide in it.
pub(super) fn is_harmful(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Runs it, and fails if it hangs.
#[track_caller]
pub(super) fn within(program: Program<'_>) -> Output {
    let started = Instant::now();
    let output = program.run_within(Duration::from_secs(120));
    output.unwrap_or_else(|| panic!("still running after {:?}", started.elapsed()))
}

/// A folder outside the project with files that no call may touch or reveal.
pub(super) struct Outside {
    pub(super) folder: Utf8PathBuf,
    before: Tree,
}

/// The secret that no answer may contain.
pub(super) const SECRET: &str = "CANARY-5f2b";

impl Outside {
    /// Puts a folder beside the project: files of every name that Piton looks for, each with the secret in it.
    pub(super) fn of(sandbox: &Sandbox) -> Self {
        let folder = sandbox.top().join("outside");
        let state = format!("{{\"feature_name\": \"{SECRET}\", \"current_phase\": 1, \"session_id\": \"{SECRET}\"}}\n");
        let plain = ["secret.txt", "lock", "local.json", "exclude", ".gitignore"];
        for (name, text) in plain.map(|name| (name, SECRET)).into_iter().chain([("state.json", state.as_str())]) {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder in the sandbox");
            std::fs::write(path, text).expect("a file in the sandbox");
        }
        Self { before: Tree::of(&folder), folder }
    }

    /// Records the current files as those that must stay.
    pub(super) fn seen(folder: &Utf8Path) -> Self {
        Self { before: Tree::of(folder), folder: folder.to_owned() }
    }

    /// Checks that nothing was changed.
    #[track_caller]
    pub(super) fn is_untouched(&self, what: &str) {
        assert_eq!(self.before.changes(&Tree::of(&self.folder)), [""; 0], "{what}");
    }
}

/// Checks that an answer reveals nothing from outside.
#[track_caller]
pub(super) fn check_silent(line: &str, output: &Output) {
    assert!(
        !output.stdout.contains(SECRET) && !output.stderr.contains(SECRET),
        "{line} tells what lies outside\n{output}"
    );
}
