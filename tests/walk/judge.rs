//! Whether a command did what the text around it says.

use serde_json::Value;

use super::{
    printed::Printed,
    walker::{Walker, group, quoted},
};
use crate::support::Output;

/// A command, split into what matters here.
pub(super) struct Call {
    pub(super) program: String,
    pub(super) verb: String,
    words: Vec<String>,
}

/// Verbs that change nothing.
const READS: &[&str] =
    &["context", "doctor", "history", "list", "logs", "plan", "schema", "show", "status", "validate", "workflows"];
/// Verbs that ask a person first where that matters; with `--yes` they do it.
const ASK_FIRST: &[&str] = &["close", "restore", "resume", "rollback"];
/// What stands before a command that comes after something else.
const CONDITIONS: &[&str] = &["then", "once"];

/// Words of a sentence that says that its command waits for a person or another process.
const PEOPLE: &[&str] = &["a person", "the user decides", "wait for it"];

impl Call {
    pub(super) fn of(command: &str) -> Self {
        let words = super::walker::words(command);
        let text = |at: usize| words.get(at).cloned().unwrap_or_default();
        Self { program: text(0), verb: text(1), words }
    }

    pub(super) fn has(&self, flag: &str) -> bool {
        self.words.iter().any(|word| word == flag)
    }

    pub(super) fn option(&self, flag: &str) -> Option<&str> {
        let at = self.words.iter().position(|word| word == flag);
        let tied = self.words.iter().find_map(|word| word.strip_prefix(flag)?.strip_prefix('='));
        at.and_then(|at| self.words.get(at + 1)).map(String::as_str).or(tied)
    }

    /// Returns the first word after the verb that is no flag and no value of one.
    pub(super) fn subject(&self) -> Option<&str> {
        self.arguments().first().copied()
    }

    /// Returns the words after the verb that are no flag and no value of one.
    fn arguments(&self) -> Vec<&str> {
        let (mut before, mut found): (&str, Vec<&str>) = ("", Vec::new());
        for word in self.words.iter().skip(2) {
            let has_value = before.starts_with("--") && !before.contains('=') && !FLAGS.contains(&before);
            if before == "--" || !word.starts_with('-') && !has_value {
                found.push(word);
                continue;
            }
            before = word;
        }
        found
    }

    /// Returns what it does: the answer of a decision, else the verb.
    fn act(&self) -> &str {
        let answer = if self.verb == "decide" { self.arguments().get(1).copied() } else { None };
        answer.unwrap_or(&self.verb)
    }

    /// Tells whether nothing may be different afterwards.
    pub(super) fn is_read(&self) -> bool {
        let is_preview = self.verb == "rollback" && !self.has("--yes");
        self.program == "piton" && (READS.contains(&self.act()) || is_preview || self.has("--dry-run"))
    }

    /// Returns the verb and the names of the flags: what commands have in common.
    pub(super) fn shape(&self) -> String {
        let flags = self.words.iter().skip(2).filter(|word| word.starts_with("--"));
        let flags = flags.map(|flag| flag.split('=').next().unwrap_or_default());
        [self.program.as_str(), self.verb.as_str()].into_iter().chain(flags).collect::<Vec<_>>().join(" ")
    }
}

/// Flags without a value.
const FLAGS: &[&str] = &["--again", "--all", "--dry-run", "--force", "--yes"];

/// Returns what is wrong with the exit code of a command; `None` if it is one that the reader was told to expect.
pub(super) fn problem_of_code(call: &Call, printed: &Printed, output: &Output) -> Option<&'static str> {
    let code = output.code;
    if call.program == "git" {
        return (code != 0).then_some("git fails");
    }
    match code {
        -1 => return Some("it does not end"),
        2 => return Some("it is not a valid command line"),
        3 => return Some("what it names is not there"),
        8 => return Some("it is ambiguous"),
        70 => return Some("it crashes"),
        0 => return None,
        _ => {}
    }
    let verb = call.verb.as_str();
    let waits = matches!(code, 6 | 9);
    let is_read = match verb {
        "plan" => code == 1 && (call.has("--patch") || call.has("--if-dependencies-met")),
        "context" => waits,
        "validate" | "doctor" => code == 1,
        _ => false,
    };
    let is_asked = output.stdout.contains("--yes") || output.stderr.contains("--yes");
    let is_asked = is_asked || output.stdout.contains("\"rollback/1\"");
    let is_preview = ASK_FIRST.contains(&verb) && !call.has("--yes") && code == 9 && is_asked;
    let is_told = waits && PEOPLE.iter().any(|words| printed.sentence.contains(words));
    let before = printed.sentence.split(printed.command.as_str()).next().unwrap_or_default();
    let mut before = before.split(|c: char| !c.is_alphabetic());
    let is_condition = matches!(code, 1 | 6 | 9) && before.any(|word| CONDITIONS.contains(&word));
    // A session of `run` goes on, and one of its steps fails again.
    let is_session = code == 7 && matches!(verb, "run" | "resume");
    // A broken state is broken to every reader of it.
    let is_broken = code == 4 && READS.contains(&verb);
    if is_read || is_preview || is_told || is_condition || is_broken || is_session {
        None
    } else {
        Some("it is refused")
    }
}

/// Returns what the state does not say although the command was successful.
pub(super) fn problem_of_state(walker: &Walker, call: &Call, output: &Output) -> Option<String> {
    if call.program != "piton" || output.code != 0 {
        return None;
    }
    let answer: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
    let data = &answer["data"];
    if let Some(problem) = problem_of_subject(walker, call, data) {
        return Some(problem);
    }
    let run = data["run"].as_str().map(str::to_owned);
    match call.act() {
        "override" => {
            // It lets the step begin, be approved, or end.
            let step = format!("{} --run {}", quoted(call.subject()?), quoted(&run?));
            let (code, answer) = walker.json(&format!("piton begin {step}"));
            let id = quoted(call.subject()?);
            let approve = format!("piton decide {id} approve --by Ada {}", &step[id.len()..]);
            let others = [approve, format!("piton finish {step}")];
            let is_lifted = code == 0 || others.iter().any(|other| walker.json(other).0 == 0);
            let why = answer["error"]["message"].as_str().unwrap_or_default();
            (!is_lifted).then(|| format!("begin of the step exits {code} afterwards: {why}"))
        }
        "begin" | "finish" | "skip" | "approve" | "accept" | "redo" => {
            let step = data["step"].as_str().map(str::to_owned).or_else(|| call.subject().map(str::to_owned))?;
            if call.option("--part").is_some() {
                return None;
            }
            let (_, plan) = walker.json(&format!("piton plan --steps {}", quoted(&run?)));
            problem_of_step(walker, call, &step, &plan)
        }
        "close" if !call.has("--all") && !call.has("--dry-run") => {
            is_listed(walker, &run?).then(|| "the run is still listed".to_owned())
        }
        "start" if !call.has("--print") => {
            let run = run?;
            (!is_listed(walker, &run)).then(|| "the run is not listed".to_owned())
        }
        "resume" => {
            // A session of `run` prints what its steps print.
            let is_session = answer.is_null() || data["session"].is_string();
            let is_over =
                data["plan"]["verdict"] == "complete" || data["verdict"] == "complete" || call.has("--dry-run");
            (data["context"].is_null() && !is_session && !is_over).then(|| "there is no context".to_owned())
        }
        "rollback" if call.has("--yes") => (data["written"] != true).then(|| "nothing was written".to_owned()),
        "restore" => {
            let from = data["from"].as_str()?;
            let is_other = call.option("--to").is_some_and(|to| to != from);
            if is_other {
                return Some(format!("checkpoint {from} was restored"));
            }
            let (code, _) = walker.json(&format!("piton plan {}", call.subject().map(quoted).unwrap_or_default()));
            (call.has("--yes") && code == 4).then(|| "the state is still unreadable".to_owned())
        }
        _ => None,
    }
}

/// Compares the run and the step of an answer with those that the command names.
fn problem_of_subject(walker: &Walker, call: &Call, data: &Value) -> Option<String> {
    let is_about_step = call.option("--run").is_some() || call.verb == "context";
    let step = if call.verb == "context" { call.option("--step") } else { call.subject().filter(|_| is_about_step) };
    if let (Some(wanted), Some(found)) = (step, data["step"].as_str())
        && wanted != found
    {
        return Some(format!("it is about step {found}"));
    }
    let run = call.option("--run").or_else(|| call.subject().filter(|_| !is_about_step || call.verb == "context"))?;
    let found = data["run"].as_str().or_else(|| data["run"]["id"].as_str())?;
    let is_id = walker.runs().iter().any(|known| known.id == run);
    (is_id && run != found).then(|| format!("it is about run {found}"))
}

fn is_listed(walker: &Walker, run: &str) -> bool {
    let (_, list) = walker.json("piton list");
    list["data"]["runs"].as_array().into_iter().flatten().any(|other| other["id"] == run)
}

/// Compares the status of a step with what the command was to do.
fn problem_of_step(walker: &Walker, call: &Call, step: &str, plan: &Value) -> Option<String> {
    const GROUPS: [&str; 7] = ["completed", "in_progress", "failed", "pending", "blocked", "skipped", "invalid"];
    let found = GROUPS.iter().find(|name| group(plan, name).iter().any(|id| id == step)).copied().unwrap_or("gone");
    let is_next = || plan["data"]["next"].as_array().into_iter().flatten().any(|next| next["step"] == step);
    let expected: &[&str] = match call.act() {
        "begin" => &["in_progress"],
        "skip" => &["skipped", "completed"],
        "approve" | "accept" => &["completed"],
        "redo" => {
            // A gate that is reopened is put to a person again.
            let gates = plan["data"]["next"].as_array().into_iter().flatten();
            if gates.into_iter().any(|next| next["step"] == step && next["action"] == "approve") {
                return None;
            }
            // Piton runs what is a command.
            if plan["data"]["commands"]["begin"].is_null() && plan["data"]["commands"]["resume"].is_string() {
                return None;
            }
            let (code, _) = walker.json(&format!("piton begin --run {}", quoted(plan["data"]["run"]["id"].as_str()?)));
            return (code != 0).then(|| format!("begin without a step exits {code} afterwards"));
        }
        _ => match (call.option("--verdict"), call.option("--status")) {
            // A loop of reviews and fixes has a review for each round.
            (Some("NEEDS_REVISION" | "REJECTED"), _) if step.starts_with("review-") => &["completed"],
            (Some("NEEDS_REVISION" | "REJECTED"), _) => &["failed", "pending"],
            (Some("APPROVED_WITH_CONDITIONS"), _) => return None,
            (_, Some("failed")) => &["failed"],
            (_, Some("waiting_approval")) => return None,
            (None, None) if call.option("--error").is_some() => &["failed"],
            _ => &["completed"],
        },
    };
    // Some states keep no steps that are done.
    let is_as_said = expected.contains(&found) || found == "gone" && expected.contains(&"completed");
    (!is_as_said).then(|| {
        let next = if is_next() { ", and is next" } else { "" };
        format!("{} is {found}{next}, not {}", "the step", expected[0])
    })
}

/// Hides what differs from one failure to the next of the same kind.
pub(super) fn kind_of_text(text: &str) -> String {
    let word = |word: &str| {
        let is_mark = |c: char| c.is_ascii_digit() || matches!(c, '/' | '_' | '`' | '\'' | '$' | '{');
        let is_inside = |mark: char| word.trim_matches(|c: char| !c.is_alphanumeric()).contains(mark);
        let is_name = word.chars().any(is_mark) || [':', '-', '.'].into_iter().any(is_inside);
        if is_name { "#".to_owned() } else { word.to_owned() }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn calls_are_taken_apart() {
    let call = Call::of("piton finish --run r -- '-x'");
    assert_eq!((call.verb.as_str(), call.subject(), call.option("--run")), ("finish", Some("-x"), Some("r")));
    let call = Call::of("piton begin 2:3 --run=user --agent a");
    assert_eq!((call.subject(), call.option("--run")), (Some("2:3"), Some("user")));
    assert_eq!(call.shape(), "piton begin --run --agent");
    assert_eq!(kind_of_text("2:3 still waits for `a`"), "# still waits for #");
}
