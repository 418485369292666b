//! A case as it is written, and the project in which its steps are carried out.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
};

use camino::{Utf8Path, Utf8PathBuf};
use piton::cli::{self, Surroundings};
use regex::Regex;
use serde::Deserialize;

use crate::{
    answer::{Answer, Checks, FileCheck, WholeText},
    support::{self, NOW, Output, Program, Sandbox, Tree},
};

/// A case as its file has it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Case {
    pub(crate) program: bool,
    like: Option<String>,
    git: bool,
    now: Option<String>,
    files: BTreeMap<String, Option<String>>,
    repeat: Vec<Repeat>,
    pub(crate) steps: Vec<Step>,
}

/// Files that are alike but for a number.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeat {
    times: usize,
    files: BTreeMap<String, String>,
}

/// One step: an action, and what belongs to it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Step {
    piton: Option<Words>,
    now: Option<String>,
    env: BTreeMap<String, String>,
    session: Option<String>,
    stdin: Option<String>,
    r#in: Option<String>,
    without_git: bool,
    program: bool,
    code: Option<i32>,
    json: BTreeMap<String, serde_json::Value>,
    json_has: BTreeMap<String, Vec<String>>,
    json_lacks: BTreeMap<String, Vec<String>>,
    findings: Option<Vec<String>>,
    has: Vec<String>,
    lacks: Vec<String>,
    text: Option<String>,
    changes: Option<Vec<String>>,
    same: bool,
    write: BTreeMap<String, String>,
    replace: BTreeMap<String, BTreeMap<String, String>>,
    remove: Vec<String>,
    folder: Vec<String>,
    link: BTreeMap<String, String>,
    r#move: BTreeMap<String, String>,
    mode: BTreeMap<String, String>,
    modified: BTreeMap<String, u64>,
    git: Option<Words>,
    prints: Option<String>,
    commit: Option<String>,
    r#as: Option<String>,
    after: BTreeMap<String, Option<FileCheck>>,
}

/// The words of a command line: a text that is split at blanks, or a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Words {
    Line(String),
    List(Vec<String>),
}

impl Words {
    fn list(&self) -> Vec<String> {
        match self {
            Self::Line(line) => line.split_whitespace().map(str::to_owned).collect(),
            Self::List(list) => list.clone(),
        }
    }
}

impl Case {
    /// Reads `case.yaml` of a folder, and refuses a case that asserts nothing.
    pub(crate) fn read(folder: &Utf8Path) -> Result<Self, String> {
        let path = folder.join("case.yaml");
        Self::parse(&support::read(&path)).map_err(|problem| format!("{path}: {problem}"))
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let case: Self = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        for (at, step) in case.steps.iter().enumerate() {
            let actions = step.actions();
            if actions != 1 {
                return Err(format!("step {}: {actions} actions; a step has one", at + 1));
            }
            if step.piton.is_none() && step.checks_answer() {
                return Err(format!("step {}: checks of an answer without a call", at + 1));
            }
            // Times, digests and revisions have such parts.
            let is_chance = |text: &&String| text.len() < 6 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            if let Some(text) = step.lacks.iter().chain(step.json_lacks.values().flatten()).find(is_chance) {
                return Err(format!("step {}: `{text}` may be there by chance; name more of its sentence", at + 1));
            }
        }
        if case.steps.iter().any(|step| step.checks_answer() || step.prints.is_some() || !step.after.is_empty()) {
            Ok(case)
        } else {
            Err("it asserts nothing: no check but exit codes".to_owned())
        }
    }
}

impl Step {
    fn actions(&self) -> usize {
        let one = [self.piton.is_some(), self.git.is_some(), self.commit.is_some(), !self.after.is_empty()];
        let maps = [&self.write, &self.link, &self.r#move, &self.mode].map(|map| !map.is_empty());
        let lists =
            [!self.remove.is_empty(), !self.folder.is_empty(), !self.modified.is_empty(), !self.replace.is_empty()];
        [one, maps, lists].concat().into_iter().filter(|is_there| *is_there).count()
    }

    fn checks_answer(&self) -> bool {
        let maps = [!self.json.is_empty(), !self.json_has.is_empty(), !self.json_lacks.is_empty()];
        let lists = [!self.has.is_empty(), !self.lacks.is_empty(), self.findings.is_some(), self.text.is_some()];
        self.changes.is_some() || self.same || maps.contains(&true) || lists.contains(&true)
    }
}

/// The project of a case while it runs.
pub(crate) struct Scene<'a> {
    sandbox: Sandbox,
    folder: &'a Utf8Path,
    uses_program: bool,
    /// The time of the calls that have none of their own.
    now: Option<String>,
    /// Ids of commits by the names that the case gives them, and places in the sandbox.
    names: BTreeMap<String, String>,
    /// The ids of runs and steps that the files and the calls have.
    ids: BTreeSet<String>,
    before: Option<Output>,
}

impl<'a> Scene<'a> {
    /// Lays out the project of a case.
    pub(crate) fn new(case: &Case, folder: &'a Utf8Path, uses_program: bool) -> Result<Self, String> {
        let sandbox = Sandbox::new();
        let names = BTreeMap::from([
            ("ROOT", sandbox.root().to_string()),
            ("HOME", sandbox.home().to_string()),
            ("TOP", sandbox.top().to_string()),
            ("SLUG", sandbox.slug()),
            ("PROGRAM", env!("CARGO_BIN_EXE_piton").to_owned()),
            ("PID", std::process::id().to_string()),
            ("START", start_of_this_process()),
        ]);
        let names = names.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let (now, ids) = (case.now.clone(), BTreeSet::new());
        let mut scene = Self { sandbox, folder, uses_program, now, names, ids, before: None };
        let calls = case.steps.iter().filter_map(|step| step.piton.as_ref());
        scene.ids.extend(calls.flat_map(Words::list).filter(|word| !word.starts_with('-')));
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
            match text {
                Some(text) => self.write(path, text),
                None => self.remove(path),
            }
        }
        for repeat in &case.repeat {
            for n in 1..=repeat.times {
                let numbered = |text: &String| text.replace("{n}", &n.to_string());
                for (path, text) in &repeat.files {
                    self.write(&numbered(path), &numbered(text));
                }
            }
        }
        Ok(is_repository)
    }

    /// Carries out one step. Returns the whole text that a call has to print, to be compared at the end.
    pub(crate) fn step(&mut self, step: &Step) -> Result<Option<WholeText>, String> {
        if let Some(words) = &step.piton {
            return self.call(step, &words.list());
        }
        for (path, text) in &step.write {
            self.write(path, text);
        }
        step.remove.iter().for_each(|path| self.remove(path));
        for (path, texts) in &step.replace {
            texts.iter().try_for_each(|(old, new)| self.replace(path, old, new))?;
        }
        for path in &step.folder {
            std::fs::create_dir_all(self.place(path)).map_err(|error| format!("{path}: {error}"))?;
        }
        for (path, target) in &step.link {
            let place = self.place(path);
            std::fs::create_dir_all(place.parent().expect("a file is in a folder")).expect("a folder in the sandbox");
            std::os::unix::fs::symlink(self.named(target), place).map_err(|error| format!("{path}: {error}"))?;
        }
        for (from, to) in &step.r#move {
            std::fs::rename(self.place(from), self.place(to)).map_err(|error| format!("{from}: {error}"))?;
        }
        for (path, mode) in &step.mode {
            let mode = u32::from_str_radix(mode, 8).map_err(|_| format!("{mode} is no mode; write it as \"600\""))?;
            self.sandbox.mode(self.place(path).as_str(), mode);
        }
        for (path, time) in &step.modified {
            self.sandbox.modified(self.place(path).as_str(), *time);
        }
        if let Some(words) = &step.git {
            let words: Vec<String> = words.list().iter().map(|word| self.named(word)).collect();
            let printed = self.sandbox.git_words(&self.place(step.r#in.as_deref().unwrap_or("")), &words);
            if let Some(wanted) = step.prints.as_ref().filter(|wanted| wanted.trim_end() != printed) {
                return Err(format!("git printed {printed:?}, expected {wanted:?}"));
            }
        }
        if let Some(message) = &step.commit {
            let id = self.sandbox.commit(&self.named(message));
            step.r#as.iter().for_each(|name| drop(self.names.insert(name.clone(), id.clone())));
        }
        for (path, check) in &step.after {
            let check = check.as_ref().map(|check| check.map(&|text| self.named(text)));
            FileCheck::holds(check.as_ref(), &self.place(path)).map_err(|problem| format!("{path}: {problem}"))?;
        }
        Ok(None)
    }

    /// Makes a call and checks its answer.
    fn call(&mut self, step: &Step, words: &[String]) -> Result<Option<WholeText>, String> {
        let before = step.changes.is_some().then(|| self.tree());
        let program = self.program(step, words);
        let output = if self.uses_program || step.program { program.run() } else { self.in_process(&program) };
        let named = |text: &String| self.named(text);
        let shown = |text: &String| self.sandbox.normalise(&self.named(text));
        let list = |texts: &[String]| -> Vec<String> { texts.iter().map(shown).collect() };
        let map = |texts: &BTreeMap<String, Vec<String>>| -> BTreeMap<String, Vec<String>> {
            texts.iter().map(|(pointer, texts)| (named(pointer), list(texts))).collect()
        };
        let checks = Checks {
            code: step.code.unwrap_or(0),
            json: step.json.iter().map(|(at, value)| (named(at), answer_value(value, &shown))).collect(),
            json_has: map(&step.json_has),
            json_lacks: map(&step.json_lacks),
            findings: step.findings.clone(),
            has: list(&step.has),
            lacks: list(&step.lacks),
            changes: step.changes.as_deref().map(list),
        };
        let changes = before.map(|before| before.changes(&self.tree()));
        // The user's list names files by what they are on disk.
        let is_listed = |line: &&String| line.contains("/.local/state/piton/logs/");
        let changes =
            changes.map(|lines| lines.iter().filter(|line| !is_listed(line)).map(|line| home_as_tilde(line)).collect());
        let answer = Answer { output: &output, changes };
        answer.check(&checks)?;
        if step.same && self.before.as_ref().is_none_or(|before| before.stdout != output.stdout) {
            return Err(format!("stdout is not that of the call before\n{output}"));
        }
        if let Some(name) = &step.r#as {
            let id = session_in(&output).ok_or("the call names no session")?;
            self.names.insert(name.clone(), id);
        }
        let text = step
            .text
            .as_ref()
            .map(|file| (self.folder.join(file), without_marks(&output.stdout), self.ids.clone()))
            .map(|(file, text, ids)| WholeText { file, text, ids });
        self.before = Some(output);
        Ok(text)
    }

    /// Prepares a call of the program.
    fn program(&self, step: &Step, words: &[String]) -> Program<'_> {
        let words: Vec<String> = words.iter().map(|word| self.named(word)).collect();
        let mut program = self.sandbox.piton([]).arguments(words.iter().map(String::as_str));
        program = match step.now.as_deref().or(self.now.as_deref()) {
            Some("real") => program.real_clock(),
            now => program.now(now.unwrap_or(NOW)),
        };
        for (name, value) in &step.env {
            program = program.env(name, &self.named(value));
        }
        if let Some(session) = &step.session {
            program = program.session(session);
        }
        if step.without_git {
            program = program.without_git();
        }
        if let Some(text) = &step.stdin {
            program = program.stdin(self.named(text));
        }
        match &step.r#in {
            Some(folder) => program.folder(&self.place(folder)),
            None => program,
        }
    }

    fn in_process(&self, program: &Program<'_>) -> Output {
        let (words, variables, folder, input) = program.parts();
        let surroundings = Arc::new(Surroundings::new(variables, folder, input));
        let code = cli::call(&words, Arc::clone(&surroundings));
        let printed = surroundings.printed();
        Output::of_call(&self.sandbox, i32::from(code), &printed.stdout, &printed.stderr)
    }

    /// Keeps the project as it is now and returns the command line of a step in it.
    pub(crate) fn by_hand(self, step: &Step) -> Result<String, String> {
        let words = step.piton.as_ref().map(Words::list).ok_or("no call; see the files of the case")?;
        let line = self.program(step, &words).by_hand();
        self.sandbox.keep();
        Ok(line)
    }

    /// Reads every byte of the project and the home.
    fn tree(&self) -> Tree {
        let is_project = |path: &Utf8Path| path.starts_with("project") || path.starts_with("home");
        Tree::of(self.sandbox.top()).only(is_project).without(".git").without_folders()
    }

    fn write(&mut self, path: &str, text: &str) {
        self.ids.extend(ids_in(text));
        let place = self.place(path);
        std::fs::create_dir_all(place.parent().expect("a file is in a folder")).expect("a folder in the sandbox");
        std::fs::write(&place, self.named(text)).unwrap_or_else(|error| panic!("{place}: {error}"));
    }

    fn remove(&self, path: &str) {
        self.sandbox.remove(self.place(path).as_str());
    }

    fn replace(&self, path: &str, old: &str, new: &str) -> Result<(), String> {
        let (place, old) = (self.place(path), self.named(old));
        let text = support::read(&place);
        if text.matches(&old).count() != 1 {
            return Err(format!("{path} has `{old}` {} times, not once", text.matches(&old).count()));
        }
        std::fs::write(&place, text.replace(&old, &self.named(new))).map_err(|error| format!("{path}: {error}"))
    }

    /// Returns the absolute place of a path of the case.
    fn place(&self, path: &str) -> Utf8PathBuf {
        let path = self.named(path);
        match path.strip_prefix("~/") {
            Some(below) => self.sandbox.home().join(below),
            None => self.sandbox.root().join(path),
        }
    }

    /// Returns a text with the names of the case replaced.
    fn named(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value))
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
    let word =
        printed.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').find(|word| word.starts_with("session-2"));
    word.map(str::to_owned)
}

/// Returns a value with each of its strings replaced.
pub(crate) fn answer_value(value: &serde_json::Value, shown: &impl Fn(&String) -> String) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::String(text) => Value::String(shown(text)),
        Value::Array(list) => list.iter().map(|value| answer_value(value, shown)).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), answer_value(value, shown))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Returns a line of a list of changes with paths as a case writes them.
fn home_as_tilde(line: &str) -> String {
    line.replacen(" project/", " ", 1).replacen(" home/", " ~/", 1)
}

/// Returns a text without the marks of what is quoted from state files: they depend on the place of the project.
fn without_marks(text: &str) -> String {
    ["state files (", "instructions ("].iter().fold(text.to_owned(), |text, mark| {
        let mut parts = text.split(mark);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| text + mark + "…" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
    })
}

/// Returns when this process began, as the system counts it; nothing where there is no `/proc`.
fn start_of_this_process() -> String {
    let line = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let (_, rest) = line.rsplit_once(')').unwrap_or_default();
    rest.split_ascii_whitespace().nth(19).unwrap_or_default().to_owned()
}
