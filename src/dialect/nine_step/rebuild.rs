//! Rebuilds a state from other evidence: steps whose end Piton recorded, commits that name a phase, and the plan.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    layout,
    rules::{StepNumber, StepPosition},
    start,
};
use crate::{
    dialect::EditError,
    document::salvage,
    model::{CommitTrace, FileSet, Reconstruction, RelPath, StartSpec, StepKind, Timestamp, Traces, clean_line},
};

/// Rebuilds the state.
///
/// # Errors
///
/// When there is no evidence of a finished step.
pub(super) fn reconstruct(files: &FileSet, traces: &Traces, at: Timestamp) -> Result<Reconstruction, EditError> {
    let steps = steps(files, traces);
    let Some((last, newest)) = steps.last_key_value() else {
        let message = "no finished step is known: neither Piton's record nor a commit names one";
        return Err(EditError::Unsupported(message.to_owned()));
    };
    let broken = files.bytes(&files.state).unwrap_or_default();
    let mut rebuilt = Reconstruction::default();
    let read = |key: &str| salvage::text(broken, key);
    let torn = || vec![format!("a line of the broken {}", files.state)];
    let feature = match read("feature_name") {
        Some(feature) => {
            rebuilt.say("feature_name", &feature, torn());
            feature
        }
        None => {
            rebuilt.say("feature_name", &files.name, vec![format!("the location of {}", files.state)]);
            files.name.clone()
        }
    };
    let plan = plan(files, &feature);
    let phases = plan.as_ref().and_then(|(path, bytes)| Some((path, phases_of(&String::from_utf8_lossy(bytes))?)));
    match phases {
        Some((path, count)) => rebuilt.say("total_phases", count.to_string(), vec![path.to_string()]),
        None => rebuilt.not_known("the number of phases: `total_phases` is omitted"),
    }
    let spec = StartSpec {
        phases: phases.map(|(_, count)| count),
        branch: read("branch_name").inspect(|branch| rebuilt.say("branch_name", branch, torn())),
        ..StartSpec::new("nine-step", &feature)
    };
    let mut state = start::state(files, &spec, at);
    let first = steps.values().map(|proof| proof.at).min().unwrap_or(at);
    state["started_at"] = json!(first);
    rebuilt.say("started_at", first.to_string(), vec!["the first step that is known to have ended".to_owned()]);
    if spec.branch.is_none() {
        state.as_object_mut().map(|state| state.remove("branch_name"));
        rebuilt.not_known("the branch: `branch_name` is omitted");
    }
    let config = &files.config.nine_step;
    let entry = |position: &StepPosition, proof: &StepEvidence| {
        let status = if position.step.kind() == StepKind::Review { "approved" } else { "completed" };
        let mut entry = json!({ "phase": position.phase, "step": position.step.to_value() });
        if let Some(role) = position.step.role() {
            entry["agent"] = json!(role.name(config));
        }
        entry["status"] = json!(status);
        entry["timestamp"] = json!(proof.at);
        if let Some(sha) = &proof.sha {
            entry["commit_sha"] = json!(sha);
        }
        entry
    };
    state["completed_steps"] =
        steps.iter().map(|(position, proof)| entry(position, proof)).collect::<Vec<Value>>().into();
    state["last_execution"] = entry(last, newest);
    state["current_phase"] = json!(last.phase);
    state["current_step"] = last.step.to_value();
    for (position, proof) in &steps {
        rebuilt.say(position.to_string(), "completed", proof.evidence.clone());
    }
    rebuilt.not_known("verdicts, findings and attempt counts: reviews of unlisted steps are repeated");
    let mut text = serde_json::to_string_pretty(&state).unwrap_or_default();
    text.push('\n');
    rebuilt.files.push((files.state.clone(), text.into_bytes()));
    Ok(rebuilt)
}

/// Evidence that a step ended.
struct StepEvidence {
    at: Timestamp,
    sha: Option<String>,
    evidence: Vec<String>,
}

/// Returns the steps known to have ended, in order.
fn steps(files: &FileSet, traces: &Traces) -> BTreeMap<StepPosition, StepEvidence> {
    let mut steps: BTreeMap<StepPosition, StepEvidence> = BTreeMap::new();
    for trace in &traces.finished {
        if let Some(position) = StepPosition::parse(trace.step.as_str()) {
            let evidence = vec![format!("piton recorded its end at {}", trace.at)];
            steps.insert(position, StepEvidence { at: trace.at, sha: None, evidence });
        }
    }
    for commit in traces.commits.iter().rev() {
        let Some(phase) = phase_in(&commit.subject) else { continue };
        let commit_evidence = commit_evidence(commit);
        let proof = steps.entry(StepPosition::new(phase, StepNumber::Commit));
        let at = commit.at.unwrap_or(files.clock.now);
        let proof = proof.or_insert_with(|| StepEvidence { at, sha: None, evidence: Vec::new() });
        proof.sha = Some(commit.sha.clone());
        proof.evidence.push(commit_evidence);
    }
    steps
}

fn commit_evidence(commit: &CommitTrace) -> String {
    let sha: String = commit.sha.chars().take(12).collect();
    format!("commit {sha}: {}", clean_line(&commit.subject, 80))
}

/// Returns the number after the word `phase`.
fn phase_in(subject: &str) -> Option<u32> {
    let lower = subject.to_lowercase();
    lower.match_indices("phase").find_map(|(at, word)| {
        let rest = lower[at + word.len()..].trim_start_matches([' ', '-', '_', '#', ':']);
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok().filter(|phase| (1..=1000).contains(phase))
    })
}

fn plan<'a>(files: &'a FileSet, feature: &str) -> Option<(RelPath, &'a [u8])> {
    let path = RelPath::parse(&layout::plan_by_convention(feature, &files.config.nine_step)).ok()?;
    let bytes = files.bytes(&path)?;
    Some((path, bytes))
}

/// Counts the phases of a plan: headings that name one, else the items of a numbered list.
fn phases_of(plan: &str) -> Option<u32> {
    let headings = plan.lines().filter(|line| line.starts_with('#')).filter_map(phase_in).max();
    let numbered = plan.lines().filter_map(|line| line.split_once(". ")?.0.parse().ok());
    headings.or_else(|| numbered.max()).filter(|count| (1..=1000).contains(count))
}
