//! A project with a workflow whose steps count their own executions, outside of any worktree.

use camino::Utf8PathBuf;
use serde_json::Value;

use crate::support::{Output, Program, Sandbox};

/// A sandbox with a workflow in it.
pub(super) struct Stage {
    pub(super) sandbox: Sandbox,
    /// Whether it is outside of git.
    is_plain: bool,
}

impl Stage {
    /// Makes a repository with this workflow file in it.
    pub(super) fn new(workflow: &str) -> Self {
        Self::on(Sandbox::with_git(), workflow, false)
    }

    /// Makes a plain folder with this workflow file in it; there are no worktrees then.
    pub(super) fn in_place(workflow: &str) -> Self {
        Self::on(Sandbox::new(), workflow, true)
    }

    fn on(sandbox: Sandbox, workflow: &str, is_plain: bool) -> Self {
        let stage = Self { sandbox, is_plain };
        for (name, program) in
            [("sleep", "/bin/sleep"), ("cat", "/bin/cat"), ("rm", "/bin/rm"), ("head", "/usr/bin/head")]
        {
            std::os::unix::fs::symlink(program, stage.sandbox.top().join("bin").join(name))
                .expect("the sandbox is ours");
        }
        stage.workflow(workflow);
        stage
    }

    /// Writes the workflow file. `LOG` stands for the file in which steps count.
    pub(super) fn workflow(&self, text: &str) -> &Self {
        let log = self.log();
        self.sandbox.file("w.yml", &text.replace("LOG", log.as_str()));
        self
    }

    pub(super) fn log(&self) -> Utf8PathBuf {
        self.sandbox.top().join("tmp/executions")
    }

    /// Returns what the steps counted, in the order of their executions.
    pub(super) fn executions(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Counts executions that the test itself is the program of.
    pub(super) fn append(&self, lines: &str) {
        use std::io::Write as _;
        let file = std::fs::OpenOptions::new().create(true).append(true).open(self.log());
        file.and_then(|mut file| file.write_all(lines.as_bytes())).expect("the sandbox is ours");
    }

    /// Removes all sessions and the counts.
    pub(super) fn forget(&self) {
        for folder in [self.state(), self.home()].iter().filter(|folder| folder.exists()) {
            std::fs::remove_dir_all(folder).expect("the sandbox is ours");
        }
        std::fs::write(self.log(), "").expect("the sandbox is ours");
    }

    /// Returns how often a step was executed.
    pub(super) fn count(&self, step: &str) -> usize {
        self.executions().iter().filter(|line| *line == step).count()
    }

    /// Calls piton with its state home in the sandbox. Outside of git the workflow file is run in place.
    pub(super) fn piton<'a>(&'a self, arguments: impl IntoIterator<Item = &'a str>) -> Program<'a> {
        let mut arguments: Vec<&str> = arguments.into_iter().collect();
        let is_new = arguments.contains(&"run") && arguments.iter().any(|word| word.ends_with(".yml"));
        if is_new && self.is_plain && !arguments.contains(&"--no-worktree") {
            let at = arguments.iter().position(|word| *word == "run").map_or(0, |at| at + 1);
            arguments.insert(at, "--no-worktree");
        }
        self.sandbox.piton(arguments).real_clock().env("PITON_HOME", self.state().as_str())
    }

    pub(super) fn state(&self) -> Utf8PathBuf {
        self.sandbox.top().join("state")
    }

    /// Returns the home of the runs.
    pub(super) fn home(&self) -> Utf8PathBuf {
        self.sandbox.root().join(if self.is_plain { ".piton" } else { ".git/piton" })
    }

    /// Returns the journal of a run, if there is one.
    pub(super) fn journal(&self) -> Option<String> {
        let mut runs = self.home().join("runs").read_dir_utf8().ok()?;
        runs.find_map(|run| std::fs::read_to_string(run.ok()?.path().join("journal.jsonl")).ok())
    }

    /// Runs the workflow and returns what it said with the name of its session.
    pub(super) fn run(&self, more: &[&str]) -> (Output, String) {
        let output = self.piton(["run", "w.yml"].into_iter().chain(more.iter().copied())).run();
        let id = session_of(&output.stderr);
        (output, id)
    }

    pub(super) fn resume(&self, id: &str) -> Output {
        self.piton(["resume", id]).run()
    }

    /// Returns the folder that keeps the records of a session.
    pub(super) fn folder(&self, id: &str) -> Utf8PathBuf {
        let folder = self.home().join("runs").join(id);
        assert!(folder.is_dir(), "no session {id}");
        folder
    }

    pub(super) fn worktree(&self, id: &str) -> Utf8PathBuf {
        let own = self.state().read_dir_utf8().expect("a run made it").map(|entry| entry.expect("the sandbox is ours"));
        let own = own.map(|entry| entry.path().join("worktrees")).find(|folder| folder.is_dir());
        own.unwrap_or_else(|| self.state().join("none")).join(id)
    }

    /// Returns the last checkpoint of a session.
    pub(super) fn checkpoint(&self, id: &str) -> Value {
        let text = std::fs::read_to_string(self.folder(id).join("checkpoint.json")).expect("a checkpoint");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Puts a program on the PATH before the real one.
    pub(super) fn program(&self, name: &str, script: &str) -> &Self {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.sandbox.top().join("bin").join(name);
        let script = script.replace("LOG", self.log().as_str()).replace("TMP", self.sandbox.top().join("tmp").as_str());
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("the sandbox is ours");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("the sandbox is ours");
        self
    }

    /// Writes a file outside of the project and its worktrees, for a step to look at.
    pub(super) fn outside(&self, name: &str, text: &str) -> Utf8PathBuf {
        let path = self.sandbox.top().join("tmp").join(name);
        std::fs::write(&path, text).expect("the sandbox is ours");
        path
    }
}

/// Finds the name of a session in a text.
pub(super) fn session_of(text: &str) -> String {
    let at = text.find("session-").unwrap_or_else(|| panic!("no session is named in:\n{text}"));
    let end = text[at..].find(|c: char| !c.is_ascii_alphanumeric() && c != '-').map_or(text.len(), |end| at + end);
    text[at..end].to_owned()
}

/// Waits for a condition; fails the test after a timeout.
pub(super) fn until(what: &str, is_true: impl Fn() -> bool) {
    let started = std::time::Instant::now();
    while !is_true() {
        assert!(started.elapsed().as_secs() < 120, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Ends a process without a chance to clean up.
pub(super) fn kill(pid: u32) {
    crate::support::run_tool("/bin/sh".as_ref(), &["-c", &format!("kill -KILL {pid}")], &[]);
}
