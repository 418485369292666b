//! The project in which the steps of a case are carried out.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use crate::{
    case::{Action, Case, Step},
    check::{self, FileCheck},
    support::{NOW, Output, Program, Sandbox, Tree, repository},
    texts,
};

/// The project of a case while it runs.
pub(crate) struct Scene<'a> {
    case: &'a Case,
    folder: &'a Utf8Path,
    uses_program: bool,
    sandbox: Sandbox,
    /// What the names in a case stand for, as it is written in a text of JSON.
    names: BTreeMap<String, String>,
}

impl<'a> Scene<'a> {
    /// Lays out the project of a case.
    pub(crate) fn new(case: &'a Case, folder: &'a Utf8Path, uses_program: bool) -> Self {
        let sandbox = Sandbox::new();
        let names = [
            ("ROOT", sandbox.root().into_string()),
            ("HOME", sandbox.home().into_string()),
            ("TOP", sandbox.top().to_string()),
            ("SLUG", sandbox.slug()),
            ("PROGRAM", env!("CARGO_BIN_EXE_piton").to_owned()),
            ("PID", std::process::id().to_string()),
        ];
        let mut scene = Self { case, folder, uses_program, sandbox, names: BTreeMap::new() };
        names.into_iter().for_each(|(name, value)| scene.name(Some(name), &value));
        for example in &case.examples {
            Tree::of(&repository().join("examples").join(example)).write_to(&scene.sandbox.root());
        }
        let (files, gone): (BTreeMap<_, _>, BTreeMap<_, _>) = case.files.iter().partition(|(_, text)| text.is_some());
        gone.keys().filter(|path| scene.sandbox.exists(path)).for_each(|path| _ = scene.sandbox.remove(path));
        scene.step(&json!({ "write": files })).expect("files are written");
        if case.git {
            scene.sandbox.git_init();
        }
        scene
    }

    /// Carries out one step, and checks what came of it.
    pub(crate) fn step(&mut self, written: &Value) -> Result<(), String> {
        let step = Step::read(&self.named(written))?;
        match &step.action {
            Action::Piton(_) | Action::Sh(_) => return self.call(step, written),
            Action::Commit(message) => {
                let id = self.sandbox.commit(message);
                self.name(step.r#as.as_deref(), &id);
            }
            Action::Write(files) => {
                files.iter().for_each(|(path, text)| _ = self.sandbox.file(self.place(path).as_str(), text));
            }
            Action::Replace(files) => {
                let mut texts = files.iter().flat_map(|(path, texts)| texts.iter().map(move |text| (path, text)));
                texts.try_for_each(|(path, (old, new))| self.replace(path, old, new))?;
            }
            Action::After(files) => {
                let wrong = |(path, check): (&String, &Option<FileCheck>)| {
                    let problem = FileCheck::problem(check.as_ref(), &self.place(path));
                    problem.map(|problem| format!("{path}: {problem}"))
                };
                return files.iter().find_map(wrong).map_or(Ok(()), Err);
            }
        }
        Ok(())
    }

    /// Makes a call and checks its answer.
    fn call(&mut self, step: Step, written: &Value) -> Result<(), String> {
        let tree = step.changes.is_some().then(|| self.tree());
        let program = self.program(&step);
        let is_here = matches!(step.action, Action::Piton(_)) && !self.uses_program && !step.program;
        let output = if is_here { program.run_in_process() } else { program.run() };
        let changes = tree.map_or_else(Vec::new, |tree| tree.changes(&self.tree()));
        let as_written = |line: &String| line.replacen(" project/", " ", 1).replacen(" home/", " ~/", 1);
        // Answers have names in place of the folders of the sandbox.
        let checks = Step::read(&self.sandbox.normalise(&self.named(written)))?;
        let printed = without_attempts(&output.stdout);
        let shown = Output { stdout: printed, stderr: output.stderr.clone(), ..output };
        checks.check(&shown, &changes.iter().map(as_written).collect::<Vec<_>>())?;
        if let Some(file) = &step.text {
            texts::compare(&self.folder.join(file), &shown.stdout, &self.case.source)?;
        }
        self.name(step.r#as.as_deref(), check::line_of(&output.stdout));
        Ok(())
    }

    /// Prepares the call of a step.
    fn program(&self, step: &Step) -> Program<'_> {
        let program = match &step.action {
            Action::Sh(script) => {
                let path = format!("{}/bin:/usr/bin:/bin", self.sandbox.top());
                self.sandbox.tool("/bin/sh", []).arguments(["-ec", script]).env("PATH", &path)
            }
            Action::Piton(words) => {
                let program = self.sandbox.piton([]).arguments(words.iter().map(String::as_str));
                match step.now.as_ref().or(self.case.now.as_ref()).map_or(NOW, String::as_str) {
                    "real" => program.real_clock(),
                    now => program.now(now),
                }
            }
            Action::Commit(_) | Action::Write(_) | Action::Replace(_) | Action::After(_) => {
                self.sandbox.tool("/bin/ls", [])
            }
        };
        let program = step.env.iter().fold(program, |program, (name, value)| program.env(name, value));
        let program = step.session.iter().fold(program, |program, id| program.session(id));
        let program = step.stdin.iter().fold(program, Program::stdin);
        program.folder(&self.place(step.r#in.as_deref().unwrap_or("")))
    }

    /// Keeps the project as it is now and returns the command line of a step in it; where it is no call, one that shows the project.
    pub(crate) fn by_hand(self, written: &Value) -> Result<String, String> {
        let line = self.program(&Step::read(&self.named(written))?).by_hand();
        drop(self.sandbox.keep());
        Ok(line)
    }

    /// Reads every byte of the project and the home but for the user's list, which names files by what they are on disk.
    fn tree(&self) -> Tree {
        let is_project = |path: &Utf8Path| path.starts_with("project") || path.starts_with("home");
        let counts = |path: &Utf8Path| is_project(path) && !path.starts_with("home/.local/state/piton/index");
        Tree::of(self.sandbox.top()).only(counts).without(".git").without_folders()
    }

    fn replace(&self, path: &str, old: &str, new: &str) -> Result<(), String> {
        let place = self.place(path);
        let text = self.sandbox.read(place.as_str());
        if text.matches(old).count() != 1 {
            return Err(format!("{path} has `{old}` {} times, not once", text.matches(old).count()));
        }
        self.sandbox.file(place.as_str(), &text.replace(old, new));
        Ok(())
    }

    /// Returns the absolute place of a path of the case.
    fn place(&self, path: &str) -> Utf8PathBuf {
        let home = path.strip_prefix("~/").map(|below| self.sandbox.home().join(below));
        home.unwrap_or_else(|| self.sandbox.root().join(path))
    }

    /// Gives a name to a text.
    fn name(&mut self, name: Option<&str>, text: &str) {
        let quoted = Value::from(text).to_string();
        self.names.extend(name.map(|name| (name.to_owned(), quoted[1..quoted.len() - 1].to_owned())));
    }

    /// Returns what is written of a step with the names of the case replaced.
    fn named(&self, written: &Value) -> String {
        let names = self.names.iter().rev();
        names.fold(written.to_string(), |text, (name, value)| text.replace(&format!("${name}"), value))
    }
}

/// Replaces the names of attempts, which are drawn, by `$ATTEMPT`.
fn without_attempts(text: &str) -> String {
    let mut parts = text.split("--begun ");
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (name, rest) = part.split_at(if digits == 8 { digits } else { 0 });
        replaced += &format!("--begun {}{rest}", if name.is_empty() { "" } else { "$ATTEMPT" });
    }
    replaced
}
