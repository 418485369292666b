//! What the next agent is handed: goal, position, the one thing to do, what to read first. Deterministic, within a budget.

use std::collections::BTreeSet;

use serde_json::Map;
use serde_json::Value;

use crate::model::Action;
use crate::model::Brief;
use crate::model::Context;
use crate::model::Next;
use crate::model::Omitted;
use crate::model::Plan;
use crate::model::Reading;
use crate::model::Run;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::Verdict;
use crate::model::clean;
use crate::model::mask_secrets;

/// Puts a context together within `budget` bytes of JSON.
///
/// What does not fit is left out in this order and listed: what is done, acceptance criteria, requirements, variables, open
/// questions, the prompt text, files to touch, the reading list, findings from the last one on. Position, next action and the
/// fields that the system's agents require always stay.
pub(crate) fn assemble(run: &Run, plan: &Plan, next: &Next, brief: Brief, budget: usize) -> Context {
    let step = run.step(&next.step);
    let mut context = Context {
        run: run.id.clone(),
        step: next.step.clone(),
        title: next.title.clone(),
        action: next.action,
        agent: next.agent.clone(),
        attempt: next.attempt,
        goal: run.goal.as_deref().map(safe),
        position: position(run, plan, next),
        next_action: next_action(next),
        findings_to_address: step.map(|step| findings(run, step)).unwrap_or_default(),
        required_reading: reading(run, step, brief.reading),
        files_to_touch: step
            .map(|step| step.targets.iter().chain(&step.focus).map(|text| safe(text)).collect())
            .unwrap_or_default(),
        requirements: step.map(|step| step.requirements.iter().map(|text| safe(text)).collect()).unwrap_or_default(),
        acceptance: step.map(|step| step.acceptance.iter().map(|text| safe(text)).collect()).unwrap_or_default(),
        done: done(run, plan),
        open_questions: questions(plan, brief.notes),
        variables: step.map_or(Value::Null, variables),
        agent_context: brief.agent_context,
        prompt: brief.prompt,
        omitted: Vec::new(),
    };
    fit(&mut context, budget);
    context
}

/// A stranger's text, fit to be handed on: without control characters, without what is shaped like a key.
fn safe(text: &str) -> String {
    mask_secrets(&clean(text)).into_owned()
}

fn position(run: &Run, plan: &Plan, next: &Next) -> String {
    let group = run.step(&next.step).and_then(|step| step.group.as_ref());
    let group = group.map_or_else(String::new, |group| format!(" of {}", safe(group)));
    format!(
        "{} of {} steps done; next is {}{group}: {}, attempt {}",
        plan.progress.done,
        plan.progress.total,
        next.step,
        next.action.as_str(),
        next.attempt
    )
}

fn next_action(next: &Next) -> String {
    let what = match next.action {
        Action::Run => "Do",
        Action::Retry => "Do again",
        Action::Return => "Rework",
        Action::Verify => "Look at the evidence for",
        Action::Approve => "Ask a person to approve",
        Action::Merge => "Merge, after a person agreed:",
        Action::Archive => "Close the run:",
    };
    format!("{what} {} ({}). {}.", next.step, safe(&next.title), next.reason.trim_end_matches('.'))
}

/// Returns what has to be addressed: the words of reviews that sent the run back to this step and have not passed since, then
/// of its own failure.
fn findings(run: &Run, step: &Step) -> Vec<String> {
    let returning =
        run.steps.iter().filter(|other| other.returns_to.as_ref() == Some(&step.id) && !is_over(other.status));
    let mut findings = Vec::new();
    for failed in returning.chain([step]) {
        let lines = failed.error.iter().flat_map(|error| error.lines());
        let lines = lines.map(|line| safe(line.trim().trim_start_matches(['-', '*', '•']).trim()));
        findings.extend(lines.filter(|line| !line.is_empty()));
        let conditions = failed.review.iter().filter_map(|review| review.open_conditions.as_ref()).flatten();
        findings.extend(conditions.map(|condition| safe(condition)));
    }
    let mut seen = BTreeSet::new();
    findings.retain(|finding| seen.insert(finding.clone()));
    findings
}

/// Tells whether nobody has to look at what was found in a step any more.
const fn is_over(status: Status) -> bool {
    match status {
        Status::Completed | Status::Skipped | Status::Cancelled => true,
        Status::Pending | Status::InProgress | Status::Failed | Status::WaitingApproval | Status::Blocked => false,
    }
}

/// Returns what to read, in order: the documents of the system, then the summaries of what the step builds on.
fn reading(run: &Run, step: Option<&Step>, first: Vec<Reading>) -> Vec<Reading> {
    let mut reading = first;
    let Some(step) = step else { return reading };
    for id in &step.depends_on {
        let Some(on) = run.step(id) else { continue };
        reading.extend(on.summaries.iter().map(|path| path.reading(format!("summary of {id}"))));
    }
    reading.extend(step.summaries.iter().map(|path| path.reading(format!("what {} left before", step.id))));
    let mut seen = BTreeSet::new();
    reading.retain(|item| seen.insert(item.path.clone().unwrap_or_else(|| item.what.clone())));
    reading
}

fn done(run: &Run, plan: &Plan) -> Vec<Reading> {
    let with_summary = |id: &StepId| {
        let step = run.step(id)?;
        let what = match &step.commit {
            Some(commit) => format!("{id}: {} (commit {})", safe(&step.title), safe(commit)),
            None => format!("{id}: {}", safe(&step.title)),
        };
        Some(Reading { what, path: step.summaries.first().map(|path| path.as_str().to_owned()) })
    };
    plan.steps.completed.iter().filter_map(with_summary).collect()
}

fn questions(plan: &Plan, notes: Vec<String>) -> Vec<String> {
    let decides = plan.verdict == Verdict::Blocked;
    let question = plan.question.iter().filter(|_| decides).map(|question| question.text.clone());
    question.chain(notes.iter().map(|note| safe(note))).collect()
}

fn variables(step: &Step) -> Value {
    let known = step.parts.iter().filter_map(|part| {
        let (name, value) = part.output.as_ref()?;
        Some((name.clone(), value.clone()?))
    });
    let others = step.variables.iter().map(|(name, value)| (name.clone(), value.clone()));
    let variables: Map<String, Value> = known.chain(others).collect();
    if variables.is_empty() { Value::Null } else { Value::Object(variables) }
}

fn size(context: &Context) -> usize {
    serde_json::to_vec(context).map_or(0, |bytes| bytes.len())
}

/// Empties a section and returns how many bytes that saves.
type LeaveOut = fn(&mut Context) -> usize;

fn fit(context: &mut Context, budget: usize) {
    let sections: [(&str, LeaveOut); 8] = [
        ("done", |context| taken(&mut context.done)),
        ("acceptance", |context| taken(&mut context.acceptance)),
        ("requirements", |context| taken(&mut context.requirements)),
        ("variables", |context| {
            let bytes = serde_json::to_vec(&context.variables).map_or(0, |bytes| bytes.len());
            context.variables = Value::Null;
            bytes
        }),
        ("open_questions", |context| taken(&mut context.open_questions)),
        ("prompt", |context| std::mem::take(&mut context.prompt).len()),
        ("files_to_touch", |context| taken(&mut context.files_to_touch)),
        ("required_reading", |context| taken(&mut context.required_reading)),
    ];
    for (what, leave_out) in sections {
        if size(context) <= budget {
            return;
        }
        let bytes = leave_out(context);
        if bytes > 4 {
            context.omitted.push(Omitted { what: what.to_owned(), bytes });
        }
    }
    let mut bytes = 0;
    while size(context) + 64 > budget
        && let Some(finding) = context.findings_to_address.pop()
    {
        bytes += finding.len();
    }
    if bytes > 0 {
        context.omitted.push(Omitted { what: "findings_to_address".to_owned(), bytes });
    }
}

fn taken<T: serde::Serialize>(section: &mut Vec<T>) -> usize {
    let bytes = serde_json::to_vec(section).map_or(0, |bytes| bytes.len());
    section.clear();
    if bytes > 2 { bytes } else { 0 }
}
