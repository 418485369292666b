//! The project in which the steps of a case are carried out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::{Arc, LazyLock},
};

use camino::{Utf8Path, Utf8PathBuf};
use piton::cli::{self, Surroundings};
use regex::Regex;
use serde_json::Value;

use crate::{
    case::{Action, Case, Step},
    check::{self, FileCheck},
    support::{NOW, Output, Program, Sandbox, Tree},
};

/// The project of a case while it runs.
pub(crate) struct Scene<'a> {
    sandbox: Sandbox,
    folder: &'a Utf8Path,
    uses_program: bool,
    /// The time of the calls that have none of their own.
    now: &'a str,
    /// What the names in a case stand for.
    names: BTreeMap<String, String>,
    /// The ids of runs and steps that the files and the calls have.
    ids: BTreeSet<String>,
    before: Option<Output>,
}

impl<'a> Scene<'a> {
    /// Lays out the project of a case.
    pub(crate) fn new(case: &'a Case, folder: &'a Utf8Path, uses_program: bool) -> Result<Self, String> {
        let sandbox = Sandbox::new();
        let names = BTreeMap::from([
            ("ROOT", sandbox.root().into_string()),
            ("HOME", sandbox.home().into_string()),
            ("TOP", sandbox.top().to_string()),
            ("SLUG", sandbox.slug()),
            ("PROGRAM", env!("CARGO_BIN_EXE_piton").to_owned()),
            ("PID", std::process::id().to_string()),
            ("START", start_of_this_process()),
        ]);
        let names = names.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let (now, ids) = (case.now.as_deref().unwrap_or(NOW), BTreeSet::new());
        let mut scene = Self { sandbox, folder, uses_program, now, names, ids, before: None };
        if scene.lay_out(case, folder)? {
            scene.sandbox.git_init();
        }
        Ok(scene)
    }

    /// Writes the files of a case after those of the case that it is like, and tells whether it is a repository.
    fn lay_out(&mut self, case: &Case, folder: &Utf8Path) -> Result<bool, String> {
        let mut is_repository = case.git;
        if let Some(other) = &case.like {
            let other = folder.parent().expect("a case is in the folder of its system").join(other);
            is_repository |= self.lay_out(&Case::read(&other)?, &other)?;
        }
        let tree = folder.join("tree");
        if tree.is_dir() {
            Tree::of(&tree).write_to(&self.sandbox.root());
        }
        for (path, text) in &case.files {
            let path = self.named(path);
            match text {
                Some(text) => self.write(&path, &self.named(text)),
                None => _ = self.sandbox.remove(&self.place(&path)),
            }
        }
        for repeat in &case.repeat {
            for n in 1..=repeat.times {
                for (path, text) in &repeat.files {
                    let [path, text] = [path, text].map(|text| self.named(text).replace("{n}", &n.to_string()));
                    self.write(&path, &text);
                }
            }
        }
        Ok(is_repository)
    }

    /// Carries out one step, and checks what came of it.
    pub(crate) fn step(&mut self, written: &Value) -> Result<(), String> {
        let step = Step::read(&replaced(written, &|text| self.named(text)))?;
        let sandbox = &self.sandbox;
        match &step.action {
            Action::Piton(words) => {
                // Answers have names in place of the folders of the sandbox.
                let checks = Step::read(&replaced(written, &|text| sandbox.normalise(&self.named(text))))?;
                return self.call(&step, words, &checks);
            }
            Action::Write(files) => files.iter().for_each(|(path, text)| self.write(path, text)),
            Action::Replace(files) => {
                let mut texts = files.iter().flat_map(|(path, texts)| texts.iter().map(move |text| (path, text)));
                texts.try_for_each(|(path, (old, new))| self.replace(path, old, new))?;
            }
            Action::Remove(paths) => paths.iter().for_each(|path| _ = sandbox.remove(&self.place(path))),
            Action::Folder(paths) => paths.iter().for_each(|path| _ = sandbox.dir(&self.place(path))),
            Action::Link(links) => links.iter().for_each(|(path, target)| self.link(path, target)),
            Action::Move(paths) => {
                let moved = paths.iter().try_for_each(|(from, to)| fs::rename(self.place(from), self.place(to)));
                moved.map_err(|error| error.to_string())?;
            }
            Action::Mode(modes) => {
                let mode = |text: &String| u32::from_str_radix(text, 8).expect("a mode is written as \"600\"");
                modes.iter().for_each(|(path, text)| _ = sandbox.mode(&self.place(path), mode(text)));
            }
            Action::Modified(times) => {
                times.iter().for_each(|(path, time)| _ = sandbox.modified(&self.place(path), *time));
            }
            Action::Git(words) => {
                let printed = sandbox.git_words(Utf8Path::new(&self.folder_of(&step)), words);
                if step.prints.as_ref().is_some_and(|wanted| wanted.trim_end() != printed) {
                    return Err(format!("git printed {printed:?}"));
                }
            }
            Action::Commit(message) => {
                let id = sandbox.commit(message);
                self.names.extend(step.r#as.map(|name| (name, id)));
            }
            Action::After(files) => {
                let wrong = |(path, check): (&String, &Option<FileCheck>)| {
                    FileCheck::problem(check.as_ref(), Utf8Path::new(&self.place(path)))
                        .map(|wrong| format!("{path}: {wrong}"))
                };
                return files.iter().find_map(wrong).map_or(Ok(()), Err);
            }
        }
        Ok(())
    }

    /// Makes a call and checks its answer.
    fn call(&mut self, step: &Step, words: &[String], checks: &Step) -> Result<(), String> {
        self.ids.extend(words.iter().filter(|word| !word.starts_with('-')).cloned());
        let tree = step.changes.is_some().then(|| self.tree());
        let program = self.program(step, words);
        let output = if self.uses_program || step.program { program.run() } else { self.in_process(&program) };
        let changes = tree.map_or_else(Vec::new, |tree| tree.changes(&self.tree()));
        // The user's list names files by what they are on disk.
        let changes = changes.iter().filter(|line| !line.contains("/.local/state/piton/journals/"));
        let as_written = |line: &String| line.replacen(" project/", " ", 1).replacen(" home/", " ~/", 1);
        checks.check(&output, &changes.map(as_written).collect::<Vec<_>>(), self.before.as_ref())?;
        if let Some(name) = &step.r#as {
            let id = session_in(&output).ok_or("the call names no session")?;
            self.names.insert(name.clone(), id);
        }
        if let Some(file) = &step.text {
            check::compare(&self.folder.join(file), &without_marks(&output.stdout), &self.ids)?;
        }
        self.before = Some(output);
        Ok(())
    }

    /// Prepares a call of the program.
    fn program(&self, step: &Step, words: &[String]) -> Program<'_> {
        let program = self.sandbox.piton([]).arguments(words.iter().map(String::as_str));
        let program = match step.now.as_deref().unwrap_or(self.now) {
            "real" => program.real_clock(),
            now => program.now(now),
        };
        let program = step.env.iter().fold(program, |program, (name, value)| program.env(name, value));
        let program = step.session.iter().fold(program, |program, id| program.session(id));
        let program = step.stdin.iter().fold(program, Program::stdin);
        let program = if step.without_git { program.without_git() } else { program };
        program.folder(Utf8Path::new(&self.folder_of(step)))
    }

    fn in_process(&self, program: &Program<'_>) -> Output {
        let (words, variables, folder, input) = program.parts();
        let surroundings = Arc::new(Surroundings::new(variables, folder, input));
        let code = cli::call(&words, Arc::clone(&surroundings));
        let printed = surroundings.printed();
        Output::of_call(&self.sandbox, i32::from(code), &printed.stdout, &printed.stderr)
    }

    /// Keeps the project as it is now and returns the command line of a step in it.
    pub(crate) fn by_hand(self, written: &Value) -> Result<String, String> {
        let step = Step::read(&replaced(written, &|text| self.named(text)))?;
        let Action::Piton(words) = &step.action else { return Ok(format!("cd {}", self.sandbox.keep())) };
        let line = self.program(&step, words).by_hand();
        drop(self.sandbox.keep());
        Ok(line)
    }

    /// Reads every byte of the project and the home.
    fn tree(&self) -> Tree {
        let is_project = |path: &Utf8Path| path.starts_with("project") || path.starts_with("home");
        Tree::of(self.sandbox.top()).only(is_project).without(".git").without_folders()
    }

    fn write(&mut self, path: &str, text: &str) {
        self.ids.extend(ids_in(text));
        self.sandbox.file(&self.place(path), text);
    }

    fn link(&self, path: &str, target: &str) {
        let place = Utf8PathBuf::from(self.place(path));
        self.sandbox.dir(place.parent().expect("a file is in a folder").as_str());
        std::os::unix::fs::symlink(target, place).unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    fn replace(&self, path: &str, old: &str, new: &str) -> Result<(), String> {
        let place = self.place(path);
        let text = self.sandbox.read(&place);
        if text.matches(old).count() != 1 {
            return Err(format!("{path} has `{old}` {} times, not once", text.matches(old).count()));
        }
        self.sandbox.file(&place, &text.replace(old, new));
        Ok(())
    }

    /// Returns the absolute place of a path of the case.
    fn place(&self, path: &str) -> String {
        let home = path.strip_prefix("~/").map(|below| self.sandbox.home().join(below));
        home.unwrap_or_else(|| self.sandbox.root().join(path)).into_string()
    }

    /// Returns the folder in which a step is carried out.
    fn folder_of(&self, step: &Step) -> String {
        self.place(step.r#in.as_deref().unwrap_or(""))
    }

    /// Returns a text with the names of the case replaced.
    fn named(&self, text: &str) -> String {
        self.names.iter().rev().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value))
    }
}

/// Returns a value with each of its texts replaced.
fn replaced(value: &Value, named: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => named(text).into(),
        Value::Array(list) => list.iter().map(|value| replaced(value, named)).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (named(key), replaced(value, named))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Returns the values of the fields of a state or workflow file that name a run or a step.
fn ids_in(text: &str) -> impl Iterator<Item = String> {
    const FIELD: &str = r#"\b(?:id|\w+_id|step|\w+_step|name|\w+_name)"?:\s*"?([A-Za-z][\w.-]*)"#;
    static IDS: LazyLock<Regex> = LazyLock::new(|| Regex::new(FIELD).expect("a pattern of our own"));
    IDS.captures_iter(text).map(|found| found[1].to_owned())
}

/// Returns the id of the session that a call names first.
fn session_in(output: &Output) -> Option<String> {
    let printed = format!("{}{}", output.stdout, output.stderr);
    let mut words = printed.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.find(|word| word.starts_with("session-2")).map(str::to_owned)
}

/// Returns a text without the marks of what is quoted from state files: they depend on the place of the project.
fn without_marks(text: &str) -> String {
    const MARK: &str = r"(state files|instructions) \([0-9a-fA-F]*";
    static MARKS: LazyLock<Regex> = LazyLock::new(|| Regex::new(MARK).expect("a pattern of our own"));
    MARKS.replace_all(text, "$1 (…").into_owned()
}

/// Returns when this process began, as the system counts it; nothing where there is no `/proc`.
fn start_of_this_process() -> String {
    let line = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let (_, rest) = line.rsplit_once(')').unwrap_or_default();
    rest.split_ascii_whitespace().nth(19).unwrap_or_default().to_owned()
}
