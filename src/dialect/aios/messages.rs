//! The messages of `orchestrate-resume`, verbatim (docs/formats/aios.md#messages).

use super::{
    kind,
    resume_point::{self, ResumePoint},
};
use crate::{
    dialect::LogBlock,
    model::{
        AgeBand, Finding, FindingClass, FindingCode, Plan, Question, QuestionOption, RelPath, Run, Severity, Status,
        Step, StepId, Suggested, Timestamp, Verb, Verdict, clean_line, human_age, quoted,
    },
};

/// Message for a project without interrupted workflows.
pub(super) const NOTHING_SAVED: &str = "No saved state found: no interrupted workflows were detected";
pub(super) const NOTHING_SAVED_FIX: &str =
    "Run `orchestrate-status` to see current project state, or start a new workflow with `orchestrate`";

/// How a new run is started after the old one was archived.
pub(super) const START_ANEW: &str = "start it anew with `orchestrate`";

/// Maximum number of lines shown per list.
const SHOWN: usize = 20;
const LINE_CHARS: usize = 300;
const ANSWERS: [&str; 3] = ["yes", "restart from scratch", "cancel"];

/// The situation of a plan, as presented to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Situation {
    /// There is nothing to resume.
    Over,
    /// The run can be resumed, possibly after resolving conflicts.
    Resume,
    /// Some completed steps have to be redone.
    Partial,
    /// Critical files are missing, or the state contradicts the project.
    Cannot,
}

impl Situation {
    pub(super) fn of(run: &Run, plan: &Plan, findings: &[Finding]) -> Self {
        let is_lost = blocks(findings, FindingClass::Missing) || blocks(findings, FindingClass::Contradiction);
        match plan.verdict {
            Verdict::Complete | Verdict::Nothing => Self::Over,
            Verdict::Blocked if is_lost => Self::Cannot,
            Verdict::Resume | Verdict::Confirm if !plan.steps.invalid.is_empty() || !gaps(run).is_empty() => {
                Self::Partial
            }
            Verdict::Resume | Verdict::Confirm | Verdict::Blocked => Self::Resume,
        }
    }
}

/// Returns the phases of a spec without an artifact before one that has it: theirs was lost, or never made.
fn gaps(run: &Run) -> Vec<StepId> {
    let is_done = |step: &Step| step.status == Status::Completed;
    let last = run.steps.iter().rposition(is_done).filter(|_| run.workflow == "spec-pipeline").unwrap_or(0);
    let open = run.steps[..last].iter().filter(|step| !is_done(step) && step.status != Status::Skipped);
    open.map(|step| step.id.clone()).collect()
}

/// Returns whether a finding of a class blocks the run.
fn blocks(findings: &[Finding], class: FindingClass) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Blocking && finding.code.is_of(class))
}

/// Returns the summary of a plan, line by line, without the question.
pub(super) fn summary(run: &Run, plan: &Plan, findings: &[Finding]) -> Vec<String> {
    match Situation::of(run, plan, findings) {
        Situation::Over => Vec::new(),
        Situation::Resume => resume(run, plan, findings),
        Situation::Partial => partial(run, plan, findings),
        Situation::Cannot => cannot(run, findings),
    }
}

fn resume(run: &Run, plan: &Plan, findings: &[Finding]) -> Vec<String> {
    let mut lines = vec![format!("=== Resume: {} ===", resume_point::workflow_type(run)), String::new()];
    lines.push(format!("Interrupted: {}", since(plan)));
    lines.push(format!("State source: {}", source(run)));
    lines.extend(plan.age.band.map(age_words).map(|(age, advice)| format!("State age: {age} -- {advice}")));
    lines.push(String::new());
    lines.push("Completed Phases:".to_owned());
    let done: Vec<String> = points(run, &plan.steps.completed)
        .enumerate()
        .map(|(at, done)| {
            // Phases have numbers; stories and reviews are counted.
            let number = if done.label.starts_with("Phase ") { done.number.clone() } else { (at + 1).to_string() };
            format!("  {number}. {}{} -- Done", done.name, done.agent_suffix())
        })
        .collect();
    list(&mut lines, done, "  none");
    lines.push(String::new());
    lines.push("Resume Point:".to_owned());
    let next: Vec<String> = plan
        .next
        .iter()
        .filter_map(|next| ResumePoint::of(run, &next.step))
        .map(|next| format!("  -> {}: {}{}", next.label, next.name, next.agent_suffix()))
        .collect();
    list(&mut lines, next, "  none before the conflicts are resolved");
    lines.push(format!("  Input: {}", inputs(run, plan).join(", ")));
    for (head, severity) in
        [("Warnings:", Severity::Warning), ("Conflicts (must resolve before resuming):", Severity::Blocking)]
    {
        let items = items(findings, severity);
        if !items.is_empty() {
            lines.push(String::new());
            lines.push(head.to_owned());
            list(&mut lines, items, "");
        }
    }
    lines.push(String::new());
    lines
}

fn cannot(run: &Run, findings: &[Finding]) -> Vec<String> {
    let unreadable = findings.iter().find(|finding| finding.code == FindingCode::StateUnreadable);
    let reason = match (blocks(findings, FindingClass::Missing), blocks(findings, FindingClass::Contradiction)) {
        _ if unreadable.is_some() => "the state cannot be read",
        (true, true) => "critical files are missing, and the state contradicts the project",
        (true, false) => "critical files are missing",
        (false, _) => "the state contradicts the project or itself",
    };
    let mut lines = vec![
        format!("=== Cannot Resume: {} ===", resume_point::workflow_type(run)),
        String::new(),
        format!("Reason: {reason}"),
    ];
    list(&mut lines, items(findings, Severity::Blocking), "");
    let copy = findings.iter().find(|finding| finding.code == FindingCode::RestoredFromHistory);
    lines.extend(copy.and_then(|copy| copy.file.as_ref()).map(|file| format!("  - {file} is a good copy")));
    if let Some(fix) = unreadable.and_then(|finding| finding.fix.as_ref()) {
        lines.push(format!("  → {}", clean_line(&fix.to_string(), LINE_CHARS)));
    }
    lines.push(String::new());
    lines.push("Options:".to_owned());
    for (at, (option, command)) in OPTIONS.iter().zip(option_commands(run, findings)).enumerate() {
        lines.push(format!("  {}. {option}", at + 1));
        lines.extend(command.map(|command| format!("     → {command}")));
    }
    lines.push(String::new());
    lines
}

const OPTIONS: [&str; 3] = [
    "Start the workflow from scratch (preserves existing artifacts)",
    "Start from a specific phase (if some phases are still valid)",
    "Clean up the stale state and cancel",
];

/// Returns the command of each of [`OPTIONS`]; `None` if it has none.
fn option_commands(run: &Run, findings: &[Finding]) -> [Option<String>; 3] {
    // A state that contradicts itself names no reliable phase to start from.
    let is_lost = |finding: &Finding| match finding.code {
        FindingCode::StateCorrupt => finding.severity == Severity::Blocking,
        code => code == FindingCode::StateUnreadable,
    };
    let open = run.position.as_ref().or_else(|| run.steps.first().map(|step| &step.id));
    let open = open.filter(|_| !findings.iter().any(is_lost));
    let archive =
        resume_point::is_archivable(run).then(|| Suggested::of(Verb::Close, &run.id).flag("abort").to_string());
    let from = open.map(|open| Suggested::of(Verb::Resume, &run.id).option("from", open));
    let from = from.map(|resume| format!("once what is in the way is resolved: `{resume}`"));
    [archive.clone(), from, archive]
}

fn partial(run: &Run, plan: &Plan, findings: &[Finding]) -> Vec<String> {
    let head = format!("=== Partial Resume Possible: {} ===", resume_point::workflow_type(run));
    let mut lines = vec![head, String::new(), "Valid phases (can be preserved):".to_owned()];
    let valid: Vec<ResumePoint> = points(run, &plan.steps.completed).collect();
    let kept = valid.iter().map(|valid| format!("  - {}: {} -- Output still valid", valid.label, valid.name));
    list(&mut lines, kept.collect(), "  none");
    lines.push(String::new());
    lines.push("Invalid phases (must be re-run):".to_owned());
    let again = plan.steps.invalid.iter().filter_map(|id| {
        let point = ResumePoint::of(run, id)?;
        Some(format!("  - {}: {} -- {}", point.label, point.name, why_invalid(id, plan, findings)))
    });
    let missing = gaps(run).into_iter().filter(|id| !plan.steps.invalid.contains(id));
    let missing = missing.filter_map(|id| {
        let point = ResumePoint::of(run, &id)?;
        Some(format!("  - {}: {} -- Output is missing or cannot be used", point.label, point.name))
    });
    list(&mut lines, again.chain(missing).collect(), "");
    lines.push(String::new());
    if let Some(next) = plan.next.first().and_then(|next| ResumePoint::of(run, &next.step)) {
        let at = |id: &StepId| run.steps.iter().position(|step| step.id == *id);
        let next_at = plan.next.first().and_then(|next| at(&next.step));
        let before: Vec<ResumePoint> = points(run, &plan.steps.completed)
            .zip(&plan.steps.completed)
            .filter(|(_, id)| at(id) < next_at)
            .map(|(point, _)| point)
            .collect();
        let using = match before.as_slice() {
            [] => String::new(),
            [one] => format!(", using {} outputs", one.label),
            [first, .., last] => format!(", using {}-{} outputs", first.label, last.number),
        };
        lines.push(format!("Suggestion: Resume from {}{using}.", next.label));
    }
    lines
}

fn why_invalid(step: &StepId, plan: &Plan, findings: &[Finding]) -> String {
    // A person or a review wants it again.
    let wanted =
        plan.next.iter().find(|next| next.step == *step && matches!(next.rule.as_str(), "4.redo" | "4.return"));
    if let Some(wanted) = wanted {
        return clean_line(&wanted.reason, LINE_CHARS);
    }
    let why = |code: FindingCode| WHY_INVALID.iter().find(|(known, _)| *known == code).map(|(_, why)| *why);
    let mut of_step = findings.iter().filter(|finding| finding.step.as_ref() == Some(step));
    of_step.find_map(|finding| why(finding.code)).unwrap_or("A phase before it must be re-run").to_owned()
}

const WHY_INVALID: [(FindingCode, &str); 7] = [
    (FindingCode::OutputMissing, "Output is missing"),
    (FindingCode::OutputChanged, "Referenced files changed"),
    (FindingCode::OutputUnparsable, "Output cannot be used"),
    (FindingCode::OutputInvalid, "Output cannot be used"),
    (FindingCode::OutputOlder, "Output belongs to an earlier run"),
    (FindingCode::OutputRejected, "Output belongs to an earlier run"),
    (FindingCode::DefinitionChanged, "Its definition changed"),
];

/// Returns the confirmation of a resume.
pub(super) fn resuming(run: &Run, plan: &Plan, findings: &[Finding]) -> Vec<String> {
    let goes_on = matches!(plan.verdict, Verdict::Resume | Verdict::Confirm);
    let next = plan.next.first().filter(|_| goes_on);
    let Some(point) = next.and_then(|next| ResumePoint::of(run, &next.step)) else { return Vec::new() };
    let mut lines = vec![format!("=== Resuming: {} ===", resume_point::workflow_type(run))];
    if let Some(story) = next.and_then(|next| resume_point::story_of(run, &next.step)) {
        lines.push(format!("Story: {}", clean_line(story, LINE_CHARS)));
    }
    let unit = if point.label.starts_with("Wave ") { "Wave" } else { "Phase" };
    lines.push(format!("{unit}: {} -- {}", point.number, point.name));
    let agent = point.agent.as_ref().map_or_else(|| "the current agent".to_owned(), |agent| format!("@{agent}"));
    lines.push(format!("Agent: {agent}"));
    lines.push(format!("State age: {}", age(plan)));
    lines.push(format!("Validation: {}", validation(findings)));
    lines.push(String::new());
    lines.push(format!("Handing off to {agent}..."));
    lines
}

/// Returns the message for a failed resume.
pub(super) fn failure(title: &str, state: &RelPath, reason: &str, action: &str) -> Vec<String> {
    let one_line = |text: &str| clean_line(text, LINE_CHARS);
    // What cannot be read has no title.
    let workflow = match kind::by_name(state).filter(|_| title == state.name()) {
        Some(kind) => kind.descriptor().workflow_type,
        None => title,
    };
    vec![
        "=== Resume Failed ===".to_owned(),
        format!("Workflow: {}", one_line(workflow)),
        format!("Reason: {}", one_line(reason)),
        format!("State file: {state}"),
        String::new(),
        format!("Recommended action: {}", one_line(action)),
    ]
}

/// Returns the entry for the orchestration log. The log lies beside the state and is named after the start time of the run, so
/// that all resumes share it.
pub(super) fn log(run: &Run, plan: &Plan, findings: &[Finding], at: Timestamp) -> LogBlock {
    let point = plan.next.first().and_then(|next| ResumePoint::of(run, &next.step));
    let point = point.map_or_else(|| "none".to_owned(), |point| format!("{}{}", point.label, point.agent_suffix()));
    let text = format!(
        "[{}] Workflow resumed: {}\nState source: {}\nResume point: {point}\nInterruption duration: {}\nValidation: {}\n",
        at.in_seconds(),
        clean_line(&run.title, LINE_CHARS),
        source(run),
        age(plan),
        validation(findings),
    );
    let state = run.state_files.first().filter(|_| !resume_point::is_implied(run));
    let name = format!("orchestration-log-{}.md", run.started_at.unwrap_or(at).compact());
    let file = state.and_then(|state| state.parent()?.join(&name).ok());
    LogBlock { text, file }
}

/// Returns the row of a run in a list to choose from.
pub(super) fn list_row(run: &Run, plan: &Plan) -> String {
    let point = plan.next.first().and_then(|next| ResumePoint::of(run, &next.step));
    let point = point.map(|point| match point.label.starts_with("Phase ") {
        true => format!(" -- {} ({})", point.label, point.name),
        false => format!(" -- {}", point.label),
    });
    format!(
        "{} -- Interrupted {}{}",
        clean_line(&run.title, LINE_CHARS),
        since(plan),
        point.unwrap_or_else(|| " -- conflicts must be resolved first".to_owned())
    )
}

/// Returns the message for an ambiguous choice of runs.
pub(super) fn choice_prompt(rows: &[(usize, &str)]) -> Vec<String> {
    let mut lines = vec!["=== Multiple Interrupted Workflows Found ===".to_owned(), String::new()];
    lines.extend(rows.iter().map(|(number, row)| format!("  {number}. {row}")));
    let (first, last) = (rows.first().map_or(0, |row| row.0), rows.last().map_or(0, |row| row.0));
    let numbers = if last + 1 - first == rows.len() {
        format!("{first}-{last}")
    } else {
        let numbers: Vec<String> = rows.iter().map(|(number, _)| number.to_string()).collect();
        numbers.join(", ")
    };
    lines.push(String::new());
    lines.push(format!("Which would you like to resume? ({numbers}, or \"none\" to start fresh)"));
    lines
}

/// Returns the question of a plan; `None` keeps the planner's question, if any.
pub(super) fn question(run: &Run, plan: &Plan, findings: &[Finding]) -> Option<Question> {
    let _id = quoted(run.id.as_str());
    let archive = |label: &str| {
        let option =
            QuestionOption::new("restart", label, Suggested::of(Verb::Close, &run.id).flag("abort")).by_person();
        resume_point::is_archivable(run).then_some(option)
    };
    let cancel = QuestionOption::leave("cancel", "leave it as it is", Suggested::of(Verb::Status, &run.id));
    let opening = match Situation::of(run, plan, findings) {
        Situation::Cannot if plan.questions.is_empty() => {
            // In the order of `OPTIONS`. Nothing can be resumed yet.
            let from = QuestionOption::leave(
                "from",
                "start from a specific phase, once you have resolved what is in the way",
                Suggested::of(Verb::Status, &run.id),
            );
            let clean = QuestionOption { id: "clean".to_owned(), ..archive("clean up the stale state and cancel")? };
            let unreadable = findings.iter().find(|finding| finding.code == FindingCode::StateUnreadable);
            let repair = unreadable.and_then(|finding| finding.fix.as_ref()?.command().cloned());
            let repair = repair.filter(|command| command.verb().is_some());
            let repair = repair.map(|command| QuestionOption::new("repair", "repair the state", command).by_person());
            let options =
                [archive("start from scratch")?, from, clean].into_iter().chain(repair).chain([cancel]).collect();
            return Some(Question::of_run("Which would you prefer?", options, None));
        }
        Situation::Over | Situation::Cannot => return None,
        Situation::Resume => "Resume this workflow?",
        Situation::Partial => "Proceed?",
    };
    let default = match plan.verdict {
        Verdict::Resume => "yes",
        Verdict::Confirm => "cancel",
        Verdict::Blocked | Verdict::Complete | Verdict::Nothing => return None,
    };
    let yes = plan.question()?.option("yes")?.clone();
    let restart = archive("restart from scratch");
    let text = match restart.is_some() {
        true => format!("{opening} ({})", ANSWERS.join(" / ")),
        false => format!("{opening} (yes / cancel)"),
    };
    let options = std::iter::once(yes).chain(restart).chain([cancel]).collect();
    Some(Question::of_run(text, options, Some(default)))
}

/// Returns `clean` or the number of conflicts and warnings.
pub(super) fn validation(findings: &[Finding]) -> String {
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let some = |count: usize, noun: &str| match count {
        0 => None,
        1 => Some(format!("1 {noun}")),
        _ => Some(format!("{count} {noun}s")),
    };
    let parts = [some(count(Severity::Blocking), "conflict"), some(count(Severity::Warning), "warning")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "clean".to_owned() } else { parts.join(", ") }
}

/// Returns how old a state is, and what that recommends.
pub(super) const fn age_words(band: AgeBand) -> (&'static str, &'static str) {
    match band {
        AgeBand::Fresh => ("Fresh", "Resume safely"),
        AgeBand::Recent => ("Recent", "Resume with quick validation"),
        AgeBand::Moderate => ("Moderate", "Resume with careful validation"),
        AgeBand::Stale => ("Stale", "Consider restarting -- project may have changed significantly"),
    }
}

fn points<'a>(run: &'a Run, ids: &'a [StepId]) -> impl Iterator<Item = ResumePoint> + 'a {
    ids.iter().filter_map(|id| ResumePoint::of(run, id))
}

fn items(findings: &[Finding], severity: Severity) -> Vec<String> {
    let of_severity = findings.iter().filter(|finding| finding.severity == severity);
    let item = |finding: &Finding| match (&finding.file, finding.line) {
        // What the parser says does not name the file.
        (Some(file), Some(line)) if finding.code == FindingCode::StateUnreadable => {
            format!("  - {file}:{line}: {}", clean_line(&finding.message, LINE_CHARS))
        }
        _ => format!("  - {}", clean_line(&finding.message, LINE_CHARS)),
    };
    of_severity.map(item).collect()
}

fn list(lines: &mut Vec<String>, items: Vec<String>, none: &str) {
    if items.is_empty() && !none.is_empty() {
        lines.push(none.to_owned());
    }
    let more = items.len().saturating_sub(SHOWN);
    lines.extend(items.into_iter().take(SHOWN));
    if more > 0 {
        lines.push(format!("  ... and {more} more"));
    }
}

/// Returns the inputs of the next step: its file and earlier outputs, else the state.
pub(super) fn inputs(run: &Run, plan: &Plan) -> Vec<String> {
    let next: Vec<_> = plan.next.iter().filter_map(|next| run.step(&next.step)).collect();
    let of_next = next.iter().filter_map(|step| step.file.as_ref());
    let done = plan.steps.completed.iter().filter_map(|id| run.step(id));
    let left = done.flat_map(|step| &step.proof.outputs).filter(|_| !next.is_empty());
    let mut inputs: Vec<String> = Vec::new();
    for path in of_next.chain(left) {
        if !inputs.iter().any(|input| input == path.as_str()) && inputs.len() < SHOWN {
            inputs.push(path.as_str().to_owned());
        }
    }
    if inputs.is_empty() { vec![source(run)] } else { inputs }
}

fn source(run: &Run) -> String {
    run.state_files.first().map_or_else(|| "none".to_owned(), |path| path.as_str().to_owned())
}

fn age(plan: &Plan) -> String {
    plan.age.seconds.map_or_else(|| "unknown".to_owned(), human_age)
}

fn since(plan: &Plan) -> String {
    plan.age.seconds.map_or_else(|| "at an unknown time".to_owned(), |seconds| format!("{} ago", human_age(seconds)))
}

#[cfg(test)]
#[path = "messages_tests.rs"]
mod tests;
