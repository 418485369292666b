//! One walk: a project, the calls that were made in it, and the calls of the program at one moment.

use std::time::Duration;

use camino::Utf8Path;
use serde_json::Value;

use super::{
    copy::Copy,
    placeholders::Values,
    printed::{self, Printed},
};
use crate::support::{Dice, NOW, Output, Sandbox};

/// The longest a command may take.
const LIMIT: Duration = Duration::from_secs(30);
/// Minutes between two moves.
const PACE: i64 = 7;

/// A project that a walk goes through.
pub(super) struct Walker {
    pub(super) sandbox: Sandbox,
    pub(super) dice: Dice,
    /// Minutes since the first call.
    pub(super) minute: i64,
    /// The number of the client's session that makes the calls.
    pub(super) session: usize,
    /// What was done so far, for the report of a failure.
    pub(super) history: Vec<String>,
    /// The answer to the last move.
    pub(super) last: Option<Answer>,
    /// Whether calls of the program are made in this process.
    pub(super) is_in_process: bool,
}

/// One answer of the program.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) call: String,
    pub(super) code: i32,
    pub(super) stdout: String,
}

/// A run as the program shows it.
#[derive(Clone, Debug)]
pub(super) struct RunSeen {
    pub(super) id: String,
    /// A word that names it even where ids are equal.
    pub(super) path: String,
    pub(super) plan: Value,
}

/// Everything that the program says in one state.
pub(super) struct Seen {
    pub(super) runs: Vec<RunSeen>,
    pub(super) printed: Vec<Printed>,
}

impl Walker {
    pub(super) fn new(sandbox: Sandbox, seed: u64) -> Self {
        let program = sandbox.top().join("bin/piton");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_piton"), program).expect("a link in a fresh folder");
        make_older(&sandbox);
        Self {
            sandbox,
            dice: Dice::new(seed),
            minute: 0,
            session: 1,
            history: Vec::new(),
            last: None,
            is_in_process: false,
        }
    }

    fn now(&self) -> chrono::DateTime<chrono::FixedOffset> {
        let start = chrono::DateTime::parse_from_rfc3339(NOW).expect("a time");
        start + chrono::Duration::minutes(self.minute)
    }

    pub(super) fn unix_seconds(&self) -> u64 {
        u64::try_from(self.now().timestamp()).expect("a time of this century")
    }

    /// Runs one command line through a shell, as a reader of it would.
    pub(super) fn shell(&self, command: &str) -> Output {
        let sandbox = &self.sandbox;
        let command = command
            .replace("$ROOT", sandbox.root().as_str())
            .replace("$HOME", sandbox.home().as_str())
            .replace("$TOP", sandbox.top().as_str());
        let now = self.now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        if self.is_in_process {
            return self.in_process(&command, &now);
        }
        let program = sandbox.tool("/bin/sh", ["-c", command.as_str()]).env("PITON_NOW", &now);
        let output = program.env("PITON_SESSION", &format!("walk-{}", self.session)).run_within(LIMIT);
        output.unwrap_or(Output { code: -1, stdout: String::new(), stderr: "it does not end".to_owned() })
    }

    /// Makes a call of the program in this process.
    fn in_process(&self, command: &str, now: &str) -> Output {
        let words = words(command);
        let (name, words) = words.split_first().expect("a command has a word");
        assert_eq!(name, "piton", "{command}");
        let program = self.sandbox.piton(words.iter().map(String::as_str)).real_clock().env("PITON_NOW", now);
        let program = program.env("PITON_SESSION", &format!("walk-{}", self.session));
        program.folder(Utf8Path::new("")).run_in_process()
    }

    pub(super) fn json(&self, command: &str) -> (i32, Value) {
        let output = self.shell(command);
        (output.code, serde_json::from_str(&output.stdout).unwrap_or(Value::Null))
    }

    /// Makes one call that may change the state.
    pub(super) fn make(&mut self, command: &str) -> Answer {
        self.minute += PACE;
        let output = self.shell(command);
        self.keep_time();
        self.history.push(format!("{command} [{}]", output.code));
        let answer = Answer { call: command.to_owned(), code: output.code, stdout: output.stdout };
        self.last = Some(answer.clone());
        answer
    }

    /// Gives the files that a call wrote the time of the walk: a summary from the future would prove a later attempt.
    fn keep_time(&self) {
        let now = self.unix_seconds();
        let walk = std::time::UNIX_EPOCH + Duration::from_secs(now);
        for path in self.sandbox.tree().without(".git").without(".piton").without_folders().paths() {
            let file = self.sandbox.root().join(&path);
            let is_later = std::fs::symlink_metadata(&file)
                .is_ok_and(|found| found.is_file() && found.modified().is_ok_and(|modified| modified > walk));
            if is_later {
                self.sandbox.modified(&path, now);
            }
        }
    }

    /// Returns the runs, those that are over last.
    pub(super) fn runs(&self) -> Vec<RunSeen> {
        let (_, list) = self.json("piton list --all");
        let runs = list["data"]["runs"].as_array().cloned().unwrap_or_default();
        let seen = runs.iter().take(3).map(|run| {
            let text = |key: &str| run[key].as_str().unwrap_or_default().to_owned();
            let path = quoted(&text("path"));
            let (_, plan) = self.json(&format!("piton plan {path} --steps"));
            RunSeen { id: text("id"), path, plan }
        });
        seen.collect()
    }

    /// Asks for every answer that has commands in it.
    pub(super) fn look(&mut self) -> Seen {
        let mut calls: Vec<String> =
            ["piton list", "piton list --all", "piton plan", "piton status", "piton context", "piton validate"]
                .map(str::to_owned)
                .to_vec();
        calls.extend(
            ["piton plan --format text -v", "piton status --format text", "piton list --format text"]
                .map(str::to_owned),
        );
        let runs = self.runs();
        if runs.len() > 1 || self.dice.below(4) == 0 {
            for run in &runs {
                calls.extend(["plan", "status", "context"].map(|verb| format!("piton {verb} {}", run.path)));
            }
        }
        if let Some(run) = runs.first() {
            calls.extend(self.rarer(run));
        }
        let mut printed: Vec<Printed> = Vec::new();
        let last = self.last.take();
        let answers = calls.iter().map(|call| {
            let output = self.shell(call);
            Answer { call: call.clone(), code: output.code, stdout: output.stdout }
        });
        for answer in last.into_iter().chain(answers) {
            printed.extend(printed::commands(&answer.call, answer.code, &answer.stdout));
        }
        Seen { runs, printed }
    }

    /// Returns calls that are made now and then: they differ little from one state to the next.
    fn rarer(&mut self, run: &RunSeen) -> Vec<String> {
        let step = self.any_step(run);
        let path = &run.path;
        let all = [
            format!("piton history {path}"),
            format!("piton decide --run {path}"),
            format!("piton decide {step} --run {path}"),
            format!("piton rollback {path}"),
            format!("piton restore {path} --from-evidence"),
            format!("piton plan {path} --retry"),
            format!("piton plan {path} --force"),
            format!("piton plan {path} --from {step}"),
            format!("piton plan {path} --skip {step}"),
            format!("piton plan {path} --retry {step}"),
            format!("piton plan {path} --mode preflight"),
            format!("piton plan {path} --mode autopilot"),
            format!("piton plan {path} --format markdown"),
            format!("piton context {path} --step {step}"),
            format!("piton context {path} --format text"),
            format!("piton status {path} --format text -v"),
            format!("piton plan {path} --patch"),
            "piton plan nothing-like-this".to_owned(),
            "piton list --all".to_owned(),
            format!("piton rollback {path} --to last"),
            "piton doctor".to_owned(),
        ];
        (0..3).map(|_| all[self.dice.below(all.len())].clone()).collect()
    }

    /// Returns a step of the run, quoted.
    pub(super) fn any_step(&mut self, run: &RunSeen) -> String {
        let steps = run.steps();
        if steps.is_empty() { "none".to_owned() } else { quoted(&steps[self.dice.below(steps.len())]) }
    }

    /// Returns what placeholders stand for in this state.
    pub(super) fn values(&self, seen: &Seen) -> Values {
        let Some(run) = seen.runs.first() else { return Values::default() };
        let next = &run.plan["data"]["next"][0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (_, history) = self.json(&format!("piton history {}", run.path));
        let checkpoints = history["data"]["checkpoints"].as_array().cloned().unwrap_or_default();
        let newest = checkpoints.iter().map(|checkpoint| text(&checkpoint["id"])).max();
        let file = run.plan["data"]["run"]["state_files"][0].as_str();
        Values {
            run: run.id.clone(),
            step: next["step"].as_str().map(str::to_owned).or_else(|| run.steps().first().cloned()).unwrap_or_default(),
            part: text(&next["parts"][0]["name"]),
            checkpoint: newest.unwrap_or_default(),
            file: file.unwrap_or("piton.toml").to_owned(),
            ids: seen.runs.iter().flat_map(RunSeen::steps).collect(),
        }
    }

    pub(super) fn copy(&self) -> Copy {
        Copy::of(&self.sandbox)
    }
}

impl RunSeen {
    /// Returns the steps in one of the groups of the plan.
    pub(super) fn group(&self, name: &str) -> Vec<String> {
        group(&self.plan, name)
    }

    pub(super) fn steps(&self) -> Vec<String> {
        let groups = self.plan["data"]["steps"].as_object();
        let all = groups.into_iter().flatten().flat_map(|(_, ids)| ids.as_array()).flatten();
        all.filter_map(|id| id.as_str().map(str::to_owned)).collect()
    }
}

/// Returns the steps in one of the groups of a plan.
pub(super) fn group(plan: &Value, name: &str) -> Vec<String> {
    let ids = plan["data"]["steps"][name].as_array();
    ids.into_iter().flatten().filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

/// Makes every file an hour older than the first call.
fn make_older(sandbox: &Sandbox) {
    let start = chrono::DateTime::parse_from_rfc3339(NOW).expect("a time");
    let then = u64::try_from(start.timestamp() - 3_600).expect("a time of this century");
    for path in sandbox.tree().without(".git").without_folders().paths() {
        if !sandbox.root().join(&path).is_symlink() {
            sandbox.modified(&path, then);
        }
    }
}

/// Quotes one word for the shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Splits a command line as a shell does: blanks, quotes and comments.
pub(super) fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote, mut is_open) = (String::new(), None, false);
    let mut characters = command.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None, '#') if !is_open => break,
            (None, ' ' | '\t') => {
                if is_open {
                    words.push(std::mem::take(&mut word));
                }
                is_open = false;
                continue;
            }
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), close) if open == close => quote = None,
            (None | Some('"'), '\\') => word.extend(characters.next()),
            (None | Some(_), other) => word.push(other),
        }
        is_open = true;
    }
    if is_open {
        words.push(word);
    }
    words
}

#[test]
fn a_command_line_is_split_as_by_a_shell() {
    assert_eq!(words("piton plan 'a b' \"c'd\"  e\\ f   # why"), ["piton", "plan", "a b", "c'd", "e f"]);
    assert_eq!(words("x '' 'it'\\''s'"), ["x", "", "it's"]);
}
