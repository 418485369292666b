//! Rebuilds the state of an epic from its plan, its stories and their gates.

use std::collections::BTreeSet;

use super::super::{
    document_index::{DocumentIndex, StoryLocation},
    execution::{self, Execution},
    gate::GateDecision,
    kinds::epic::id_of,
    layout,
};
use super::{gate, is_plan};
use crate::{
    dialect::{
        EditError,
        story::{self, SectionKind, Story, StoryStatus},
    },
    document::salvage,
    model::{FileSet, Reconstruction, RelPath, Suggested, Timestamp, Verb, clean_line},
};

/// The modes of an epic (docs/formats/aios.md#epic-state).
const MODES: [&str; 4] = ["yolo", "interactive", "preflight", "autopilot"];

/// Rebuilds the state.
///
/// # Errors
///
/// If no plan of the epic can be read: only a plan assigns stories to waves.
pub(super) fn reconstruct(files: &FileSet, at: Timestamp) -> Result<Reconstruction, EditError> {
    let broken = files.bytes(&files.state).unwrap_or_default();
    let base = layout::split(files.state.as_str()).map_or("", |parts| parts.base);
    let torn = || vec![format!("a line of the broken {}", files.state)];
    let mut rebuilt = Reconstruction::default();
    let id = match salvage::text(broken, "epicId") {
        Some(id) => {
            rebuilt.say("epicId", &id, torn());
            id
        }
        None => {
            let id = id_of(&files.state);
            rebuilt.say("epicId", &id, vec![format!("the name of {}", files.state)]);
            id
        }
    };
    let (path, plan) = plan(files, base, salvage::text(broken, "execution_plan").as_deref(), &id).ok_or_else(|| {
        EditError::Unsupported(format!("no execution plan of epic {id} can be read, and only a plan defines its waves"))
    })?;
    let named = path.as_str().strip_prefix(base).unwrap_or(path.as_str());
    rebuilt.say("execution_plan", named, vec![format!("{path} can be read and names the stories")]);
    let mode = salvage::text(broken, "mode").filter(|mode| MODES.contains(&mode.as_str()));
    match &mode {
        Some(mode) => rebuilt.say("mode", mode, torn()),
        None => rebuilt.not_known("the mode: `interactive` is written, which asks before acting"),
    }
    let started = salvage::text(broken, "started_at").filter(|stamp| files.time(stamp).is_some());
    match &started {
        Some(started) => rebuilt.say("started_at", started, torn()),
        None => rebuilt.not_known("the start time: `started_at` is null"),
    }
    let mut text = format!(
        "# Rebuilt by `{}`; `{}` has what it replaced.\n\
         epic_state:\n  epicId: {}\n  execution_plan: {}\n  mode: {}\n  started_at: {}\n  updated_at: \"{at}\"\n  \
         status: active\n",
        Suggested::new(Verb::Restore).flag("from-evidence"),
        Suggested::new(Verb::History),
        scalar(&id),
        scalar(named),
        mode.as_deref().unwrap_or("interactive"),
        started.as_deref().map_or_else(|| "null".to_owned(), scalar),
    );
    waves(files, base, &plan, &mut text, &mut rebuilt);
    text.push_str("  gate_verdicts: {}\n  bug_verification: {}\n");
    rebuilt.not_known("the verdicts of the gates: `gate_verdicts` is empty, so each gate is repeated");
    rebuilt.not_known("branches, executors and notes of the stories: they are omitted; the plan names the executors");
    rebuilt.files.push((files.state.clone(), text.into_bytes()));
    Ok(rebuilt)
}

fn plan(files: &FileSet, base: &str, torn: Option<&str>, id: &str) -> Option<(RelPath, Execution)> {
    let torn = torn.and_then(|path| RelPath::parse(&format!("{base}{path}")).ok());
    let named = files.files.keys().filter(|path| is_plan(path, id)).cloned();
    torn.into_iter().chain(named).find_map(|path| {
        let plan = execution::read(files.bytes(&path)?)?;
        let has_stories = !plan.stories.is_empty() || plan.waves.iter().any(|wave| !wave.stories.is_empty());
        has_stories.then_some((path, plan))
    })
}

/// Quotes a value so that YAML reads it as text.
fn scalar(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

fn waves(files: &FileSet, base: &str, plan: &Execution, text: &mut String, rebuilt: &mut Reconstruction) {
    let all = || plan.stories.iter().map(|story| story.id.clone()).collect::<Vec<_>>();
    let mut waves: Vec<(String, Option<String>, Vec<String>)> =
        plan.waves.iter().map(|wave| (wave.number.clone(), wave.name.clone(), wave.stories.clone())).collect();
    if waves.is_empty() {
        rebuilt.not_known("the waves: the plan has none, so all stories are in one wave");
        waves.push(("1".to_owned(), None, all()));
    }
    let mut known = BTreeSet::new();
    waves.iter_mut().for_each(|wave| wave.2.retain(|id| known.insert(id.clone())));
    let left_out: Vec<String> = all().into_iter().filter(|id| !waves.iter().any(|wave| wave.2.contains(id))).collect();
    if !left_out.is_empty() {
        rebuilt.not_known(format!("the wave of {}: it is in no wave of the plan and is omitted", left_out.join(", ")));
    }
    let documents = DocumentIndex::of_files(files);
    let mut body = String::new();
    let mut current = None;
    for (number, name, ids) in &waves {
        let stories: Vec<(&String, RebuiltStatus)> =
            ids.iter().map(|id| (id, rebuilt_status(files, &documents.locate(base, Some(plan), id), id))).collect();
        let is_over = |story: &RebuiltStatus| matches!(story.word, "completed" | "skipped");
        let status = if !stories.is_empty() && stories.iter().all(|(_, story)| is_over(story)) {
            "gate_review"
        } else if stories.iter().any(|(_, story)| story.word != "pending") {
            "in_progress"
        } else {
            "pending"
        };
        current.get_or_insert(number);
        rebuilt.say(format!("wave {number}"), status, vec!["the stories in it".to_owned()]);
        let name = name.as_deref().map_or_else(|| format!("Wave {number}"), str::to_owned);
        body.push_str(&format!(
            "    {}:\n      name: {}\n      status: {status}\n      stories:{}\n",
            key(number),
            scalar(&name),
            if stories.is_empty() { " {}" } else { "" },
        ));
        for (id, story) in stories {
            let completed =
                story.completed.map_or_else(String::new, |day| format!("\n          completed_at: \"{day}\""));
            body.push_str(&format!("        {}:\n          status: {}{completed}\n", scalar(id), story.word));
            rebuilt.say(format!("story {id}"), story.word, story.evidence);
        }
    }
    let current = current.map_or("1", String::as_str);
    text.push_str(&format!("  current_wave: {}\n  total_waves: {}\n  waves:\n{body}", key(current), waves.len()));
}

/// Formats the key of a wave; anything but a number is quoted.
fn key(number: &str) -> String {
    if number.parse::<u32>().is_ok() { number.to_owned() } else { scalar(number) }
}

/// The status of a story, with its evidence.
struct RebuiltStatus {
    word: &'static str,
    evidence: Vec<String>,
    completed: Option<Timestamp>,
}

/// Determines the status of a story; the least advanced source wins.
fn rebuilt_status(files: &FileSet, at: &StoryLocation, id: &str) -> RebuiltStatus {
    let pending = |why: String| RebuiltStatus { word: "pending", evidence: vec![why], completed: None };
    let path = match at {
        StoryLocation::At(path) | StoryLocation::Renamed { found: path, .. } => path,
        StoryLocation::Several { named, .. } => {
            return pending(format!("{named} is missing, and several files have this id"));
        }
        StoryLocation::Missing(path) => return pending(format!("{path} is missing")),
        StoryLocation::NotFound => return pending(format!("no story file of {id} was found")),
    };
    let Some(bytes) = files.bytes(path) else { return pending(format!("{path} cannot be read")) };
    let story = story::parse(path, bytes);
    let mut evidence = Vec::new();
    let mut word = match story.status() {
        Some(mention) => {
            evidence.push(format!("{path}:{} says `{}`", mention.line, clean_line(&mention.raw, 40)));
            word_of(mention.status)
        }
        None => match of_change_log(&story) {
            Some((line, status)) => {
                evidence.push(format!("{path} has no status, but its change log says `{line}`"));
                word_of(status)
            }
            None => return pending(format!("{path} has no status")),
        },
    };
    let contradictions: Vec<&str> =
        story.contradictions().filter(|mention| mention.counts).map(|mention| mention.raw.as_str()).collect();
    if word == "completed" && !contradictions.is_empty() {
        word = "in_progress";
        evidence.push(format!("it says `{}` as well", clean_line(&contradictions.join("`, `"), 80)));
    }
    let open = story.tasks.iter().filter(|task| !task.done).count();
    if !story.tasks.is_empty() {
        evidence.push(format!("{} of {} tasks are ticked", story.tasks.len() - open, story.tasks.len()));
    }
    if word == "completed" && open > 0 {
        word = "in_progress";
    }
    let mut completed = None;
    if let Some(gate) = gate::newest(files, id, &mut Vec::new()) {
        evidence.push(format!("{} says `{}`", gate.file, clean_line(&gate.word, 40)));
        completed = gate.at.filter(|_| word == "completed" && gate.decision == GateDecision::Pass);
        if word == "completed" && gate.decision != GateDecision::Pass {
            word = "in_progress";
        }
    }
    RebuiltStatus { word, evidence, completed }
}

const fn word_of(status: StoryStatus) -> &'static str {
    match status {
        StoryStatus::Done => "completed",
        StoryStatus::TerminalOther => "skipped",
        StoryStatus::InProgress | StoryStatus::InReview => "in_progress",
        StoryStatus::Blocked => "blocked",
        StoryStatus::Draft | StoryStatus::Ready | StoryStatus::Unknown => "pending",
    }
}

/// Returns the last change log row that names a status after an arrow or a colon.
fn of_change_log(story: &Story<'_>) -> Option<(String, StoryStatus)> {
    let rows = story.section(SectionKind::ChangeLog);
    rows.iter().rev().find_map(|row| {
        let lower = row.to_lowercase();
        let from = lower.find("status").filter(|at| row.is_char_boundary(*at))?;
        let words = row[from..].split(['→', ':', '|', '>']).skip(1);
        let statuses = words.map(|word| story::status_of(word.trim_start_matches(['-', ' '])));
        let status = statuses.filter(|status| *status != StoryStatus::Unknown).last()?;
        Some((clean_line(row, 80), status))
    })
}
