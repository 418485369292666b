//! What the pages of several reports have in common: findings, reports of agents, a brief, marks around untrusted text.

use std::borrow::Cow;

use serde_json::Value;

use crate::{
    cli::output::{Text, Tone},
    model::{
        Context, Decision, DecisionKind, Finding, Question, ReadingItem, RelPath, ReviewVerdict, Severity, StepId,
        StepReport, Suggested, Verb, Verdict, clean_line, sha256_hex, value_in_words,
    },
    page::{Ink, Line},
};

/// Length of the digest in the marks around a text: too long to find a text that contains its own digest.
const FENCE_CHARS: usize = 12;

/// A text under construction, with how much detail the reader wants.
pub(in crate::cli) struct Page {
    pub(in crate::cli) text: Text,
    pub(in crate::cli) verbose: bool,
    pub(in crate::cli) quiet: bool,
    /// Whether the question of the plan follows.
    pub(super) asks: bool,
}

/// Returns the tone of a verdict.
pub(in crate::cli) const fn tone_of(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Resume | Verdict::Complete => Tone::Good,
        Verdict::Confirm => Tone::Warn,
        Verdict::Blocked => Tone::Bad,
        Verdict::Nothing => Tone::Dim,
    }
}

impl Page {
    /// Shows what was reported and decided.
    pub(in crate::cli) fn said(&mut self, reports: &[StepReport], decisions: &[Decision]) {
        let lists = [
            ("Reports", reports.iter().map(reported).collect()),
            ("Decisions", decisions.iter().map(decided).collect::<Vec<_>>()),
        ];
        for (head, items) in lists {
            if !items.is_empty() {
                self.text.end().bold(head).end();
            }
            for item in items {
                for (at, line) in item.lines().enumerate() {
                    self.text.line(format!("{}{line}", if at == 0 { "  " } else { "      " }));
                }
            }
        }
    }

    /// Shows the context as a prompt would contain it: text from state files is fenced.
    pub(in crate::cli) fn context(&mut self, context: &Context) {
        let head = match context.step.matches(&context.title) {
            true => context.step.to_string(),
            false => format!("{} — {}", context.step, context.title),
        };
        self.text.bold(head).end();
        self.text.line(format!("Position: {}", context.position));
        self.text.line(format!("Task: {}", context.next_action));
        if let Some(agent) = &context.agent {
            self.text.line(format!("Agent: {agent} (attempt {})", context.attempt));
        }
        for (at, line) in context.report.lines().enumerate() {
            self.text.line(if at == 0 { format!("Report: {line}") } else { line.to_owned() });
        }
        if !context.task.is_empty() {
            // It quotes names and values, and no line of it is to look like one around it.
            let lines: Vec<String> = context.task.lines().map(|line| format!("  {line}")).collect();
            self.fenced("your instructions", &lines.join("\n"));
        }
        self.text.line(&context.untrusted).end();
        self.fenced("untrusted text from state files", &untrusted(context));
        if !context.prompt.is_empty() {
            self.text.end();
            self.fenced("the prompt of this system, which quotes state files", &context.prompt);
        }
        for omitted in &context.omitted {
            self.text.dim(format!("Left out for lack of space: {} ({} bytes)", omitted.what, omitted.bytes)).end();
        }
    }

    /// Puts a text between two lines that it cannot contain itself, since they carry its digest.
    fn fenced(&mut self, what: &str, text: &str) {
        let mark = &sha256_hex(text.as_bytes())[..FENCE_CHARS];
        self.text.line(format!("--- begin of {what} ({mark}) ---")).block(text);
        self.text.line(format!("--- end of {what} ({mark}) ---"));
    }

    pub(in crate::cli) fn findings(&mut self, findings: &[Finding]) {
        for finding in findings {
            let tone = match finding.severity {
                Severity::Blocking => Tone::Bad,
                Severity::Warning => Tone::Warn,
                Severity::Info => Tone::Dim,
            };
            self.text.put(tone, format!("  {:<9}", finding.severity.as_str())).plain(&finding.message);
            self.text.dim(format!("  [{}]{}", finding.code, place(finding))).end();
            if let Some(fix) = finding.fix.as_ref().filter(|_| finding.severity != Severity::Info || self.verbose) {
                self.text.line(format!("           → {fix}"));
            }
        }
    }
}

/// Shows a command that comes next, and says whose it is if only a person may decide.
pub(super) fn next_command(command: &Suggested) -> String {
    let is_decision = command.verb() == Some(Verb::Decide);
    let person = if is_decision { "   # a person decides" } else { "" };
    format!("→ {command}{person}")
}

/// Shows what there is to judge a question by.
pub(in crate::cli) fn clues(text: &mut Text, question: &Question) {
    for clue in &question.evidence {
        text.dim(format!("  {}", clue.in_words())).end();
    }
}

/// Returns the untrusted part of a context: text from state files.
fn untrusted(context: &Context) -> String {
    let mut text = context.goal.as_ref().map_or_else(String::new, |goal| format!("Goal: {goal}\n"));
    if !context.instructions.is_empty() {
        bullets(&mut text, "Instructions", std::slice::from_ref(&context.instructions));
    }
    // With the prompt, which says them in its own form, they would be said twice.
    if let Some(fields) = context.agent_context.as_object().filter(|_| context.prompt.is_empty()) {
        for (name, value) in fields {
            let (name, say) = (name.replace('_', " "), |value: &Value| value_in_words(value).replace('\n', " "));
            match value {
                Value::Array(rows) if rows.iter().any(Value::is_object) => {
                    bullets(&mut text, &name, &rows.iter().map(say).collect::<Vec<String>>());
                }
                Value::Object(fields) => {
                    let rows = fields.iter().map(|(key, value)| format!("{}: {}", key.replace('_', " "), say(value)));
                    bullets(&mut text, &name, &rows.collect::<Vec<String>>());
                }
                _ => text.push_str(&format!("{name}: {}\n", say(value))),
            }
        }
    }
    if let (Some(root), Some(worktree)) = (&context.root, &context.worktree) {
        text.push_str(&format!("Work in {worktree}; paths are relative to {root}\n"));
    }
    bullets(&mut text, "Read first", &readings(&context.required_reading));
    bullets(&mut text, "Touch", &context.files_to_touch);
    bullets(&mut text, "Changed since the last attempt began, not committed", &context.half_made);
    bullets(&mut text, "Open findings", &context.findings_to_address);
    bullets(&mut text, "Required", &context.requirements);
    bullets(&mut text, "Accepted when", &context.acceptance);
    if !context.variables.is_null() {
        text.push_str(&format!("Variables: {}\n", context.variables));
    }
    bullets(&mut text, "Reported before", &context.reports.iter().map(reported).collect::<Vec<_>>());
    bullets(&mut text, "Decided by people", &context.decisions.iter().map(decided).collect::<Vec<_>>());
    bullets(&mut text, "Done", &readings(&context.done));
    bullets(&mut text, "Open questions", &context.open_questions);
    text
}

/// Describes a report: its step, result and summary, then a line for everything else.
pub(in crate::cli) fn reported(report: &StepReport) -> String {
    let part = report.part.as_ref().map_or_else(String::new, |part| format!(", part {part}"));
    let agent = report.agent.as_ref().map_or_else(String::new, |agent| format!(" by {agent}"));
    let result = report.verdict.map_or(report.status.as_str(), ReviewVerdict::as_str);
    let summary = report.summary.as_ref().map_or_else(String::new, |summary| format!(": {summary}"));
    let mut text = match report.late {
        false => format!("{}{part} is {result}{agent}{summary}", report.step),
        true => {
            let attempt = report.attempt;
            format!(
                "{}{part}: a late report of attempt {attempt}{agent}, which does not count: {result}{summary}",
                report.step
            )
        }
    };
    let lines = report.error.iter().map(|error| ("Error", error));
    let lines = lines.chain(report.conditions.iter().map(|condition| ("Condition", condition)));
    for (name, line) in lines.chain(report.findings.iter().map(|finding| ("Finding", finding))) {
        text.push_str(&format!("\n{name}: {line}"));
    }
    if !report.files.is_empty() {
        let files: Vec<&str> = report.files.iter().map(RelPath::as_str).collect();
        text.push_str(&format!("\nFiles: {}", files.join(", ")));
    }
    if let Some(commit) = &report.commit {
        text.push_str(&format!("\nCommit: {commit}"));
    }
    text
}

/// Describes a decision in a sentence.
pub(in crate::cli) fn decided(decision: &Decision) -> String {
    let what = decision.step.as_ref().map_or("the run", StepId::as_str);
    let by = decision.by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
    // An override names the rule in a sentence, the others what was said about the step.
    let although = if decision.decision == DecisionKind::Override { " although" } else { " although it was" };
    let despite = decision.despite.as_ref().map_or_else(String::new, |despite| format!("{although} {despite}"));
    let note = decision.note.as_ref().map_or_else(String::new, |note| format!(". Note: {note}"));
    let choice = decision.choice.as_ref().map_or_else(String::new, |choice| format!(", with {choice}"));
    format!("{what} was {}{by}{choice}{despite}{note}", decision.decision.as_past())
}

/// Adds a list; continuation lines of an item are indented below its first.
fn bullets(text: &mut String, head: &str, items: &[String]) {
    if !items.is_empty() {
        text.push_str(&format!("{head}:\n"));
    }
    for item in items {
        text.push_str(&format!("  - {}\n", item.trim_end().replace('\n', "\n    ")));
    }
}

fn readings(items: &[ReadingItem]) -> Vec<String> {
    let reading = |item: &ReadingItem| match &item.path {
        Some(path) => format!("{path} ({})", item.what),
        None => item.what.clone(),
    };
    items.iter().map(reading).collect()
}

fn place(finding: &Finding) -> String {
    match (&finding.file, finding.line, finding.column) {
        (Some(file), Some(line), Some(column)) => format!(" {file}:{line}:{column}"),
        (Some(file), Some(line), None) => format!(" {file}:{line}"),
        (Some(file), None, _) => format!(" {file}"),
        (None, _, _) => String::new(),
    }
}

/// Returns where a nine-step run is, in the words of its resume command: the phase, and how its last step ended.
pub(super) fn position_lines(state: &Value) -> Vec<String> {
    let text = |key: &str| word(state.get(key)?).map(|text| clean_line(&text, 200)).filter(|text| !text.is_empty());
    let phase = text("current_phase").map(|phase| {
        let total = text("total_phases").map_or_else(String::new, |total| format!("/{total}"));
        let about = text("phase_description").map_or_else(String::new, |about| format!(" - {about}"));
        format!("Phase: {phase}{total}{about}")
    });
    let is_begun = text("last_status").is_some_and(|status| status != "pending");
    let last = text("last_step").filter(|_| is_begun).map(|step| {
        let agent = text("last_agent").map_or_else(String::new, |agent| format!(" ({agent})"));
        format!("Last Step: {step}{agent} - {}", text("last_status").unwrap_or_default())
    });
    phase.into_iter().chain(last).collect()
}

/// Returns a value that is a word or a number, as text.
pub(super) fn word(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(text.into()),
        Value::Number(number) => Some(number.to_string().into()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Adds a line to a text.
pub(in crate::cli) fn put(text: &mut Text, line: &Line) {
    for (ink, span) in &line.spans {
        let tone = match ink {
            Ink::Plain => Tone::Plain,
            Ink::Bold => Tone::Bold,
            Ink::Dim => Tone::Dim,
            Ink::Good => Tone::Good,
            Ink::Warn => Tone::Warn,
            Ink::Bad => Tone::Bad,
        };
        text.put(tone, span);
    }
    text.end();
}
