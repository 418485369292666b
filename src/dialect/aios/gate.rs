//! A reviewer's decision about a story: in a gate file of three shapes (docs/formats/aios-stories.md#gate-files), or in the story
//! itself. Both are evidence only.

use super::kind;
pub(super) use crate::dialect::story::GateDecision;
use crate::{
    dialect::story::{Story, same_id},
    document::{Kind, Node},
    model::{FileSet, Finding, FindingCode, RelPath, Timestamp},
};

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gate {
    pub(super) file: RelPath,
    /// As named in the file, else the start of the file name.
    pub(super) story: String,
    pub(super) decision: GateDecision,
    /// The word as written.
    pub(super) word: String,
    /// From 1.
    pub(super) line: u32,
    /// Used to find the newest of several gates.
    pub(super) at: Option<Timestamp>,
    pub(super) iteration: Option<u32>,
    /// Reasons and issues to fix, as written.
    pub(super) reasons: Vec<String>,
    /// Whether the developer changed the story after it.
    pub(super) is_answered: bool,
}

/// Returns the newest gate of a story, by timestamp, then iteration, then name. Unreadable gate files become findings.
pub(super) fn newest(files: &FileSet, story: &str, findings: &mut Vec<Finding>) -> Option<Gate> {
    let mut gates = Vec::new();
    for path in files.files.keys().filter(|path| is_gate(path)) {
        let Some(bytes) = files.bytes(path) else { continue };
        match read(files, path, bytes) {
            Ok(gate) => gates.extend(gate.filter(|gate| same_id(&gate.story, story))),
            Err(finding) => findings.push(*finding),
        }
    }
    gates
        .into_iter()
        .max_by(|left, right| (left.at, left.iteration, &left.file).cmp(&(right.at, right.iteration, &right.file)))
}

/// Returns the newest decision about a story: that of its gate files, unless the story holds a verdict of a later day
/// (docs/formats/aios-stories.md#verdicts-in-a-story).
pub(super) fn of_story(
    files: &FileSet,
    path: &RelPath,
    story: &Story<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Gate> {
    let gate = newest(files, &story.id, findings);
    let Some(verdict) = &story.verdict else { return gate };
    let is_later = |gate: &Gate| {
        gate.at.zip(verdict.day.as_deref()).is_some_and(|(at, day)| day > &at.to_string()[.."2026-01-31".len()])
    };
    if gate.as_ref().is_some_and(|gate| !is_later(gate)) {
        return gate;
    }
    Some(Gate {
        file: path.clone(),
        story: story.id.clone(),
        decision: verdict.decision,
        word: verdict.word.clone(),
        line: verdict.line,
        at: None,
        iteration: None,
        reasons: Vec::new(),
        is_answered: verdict.is_answered,
    })
}

/// Returns all readable gates of a story, oldest first.
pub(super) fn all(files: &FileSet, story: &str) -> Vec<Gate> {
    let paths = files.files.keys().filter(|path| is_gate(path));
    let read = paths.filter_map(|path| read(files, path, files.bytes(path)?).ok()?);
    let mut gates: Vec<Gate> = read.filter(|gate| same_id(&gate.story, story)).collect();
    gates.sort_by(|left, right| (left.at, left.iteration, &left.file).cmp(&(right.at, right.iteration, &right.file)));
    gates
}

/// Returns whether a path is a gate file: `docs/qa/gates/{epic}.{story}-{slug}.yml`.
pub(super) fn is_gate(path: &RelPath) -> bool {
    let is_data = [".yml", ".yaml", ".json"].iter().any(|end| path.name().ends_with(end));
    is_data && path.parent().is_some_and(|folder| folder.name() == "gates")
}

fn read(files: &FileSet, path: &RelPath, bytes: &[u8]) -> Result<Option<Gate>, Box<Finding>> {
    let node = match kind::parse(bytes) {
        Ok(node) => node,
        Err(kind::ParseFailure::Broken(place, message)) => {
            let message = format!("the gate cannot be read: {message}");
            let finding = Finding::new(FindingCode::PartUnreadable, message).at(path);
            return Err(Box::new(finding.line(place.line, Some(place.column))));
        }
        Err(kind::ParseFailure::Empty | kind::ParseFailure::Documents) => {
            let message = "the gate cannot be read: it is not a single document";
            return Err(Box::new(Finding::new(FindingCode::PartUnreadable, message).at(path)));
        }
    };
    let first = |keys: &[&str]| keys.iter().find_map(|key| node.get(key).filter(|node| node.scalar().is_some()));
    let word = |keys: &[&str]| first(keys).and_then(Node::scalar);
    let Some(decided) = first(&["gate", "verdict", "decision"]) else { return Ok(None) };
    let decision = decided.scalar().unwrap_or_default();
    Ok(Some(Gate {
        file: path.clone(),
        story: about(&node).map_or_else(|| named(path), str::to_owned),
        decision: GateDecision::of_word(decision),
        word: decision.to_owned(),
        line: decided.place.line,
        at: word(&["updated", "reviewDate", "reviewed_at", "reviewedAt", "date"]).and_then(|text| files.time(text)),
        iteration: word(&["iteration"]).and_then(|text| text.parse().ok()),
        reasons: reasons(&node),
        is_answered: false,
    }))
}

/// Returns the story that a gate file is about.
pub(super) fn story_of(path: &RelPath, bytes: &[u8]) -> String {
    let node = kind::parse(bytes).ok();
    node.as_ref().and_then(about).map_or_else(|| named(path), str::to_owned)
}

fn about(node: &Node) -> Option<&str> {
    ["story", "storyId", "story_id"].iter().find_map(|key| node.get(key)?.scalar())
}

/// Returns the story in a file name: the number before the slug, else the whole name.
fn named(path: &RelPath) -> String {
    let stem = path.name().rsplit_once('.').map_or(path.name(), |(stem, _)| stem);
    let number = stem.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    match number {
        0 => stem.to_owned(),
        _ => stem[..number].trim_end_matches('.').to_owned(),
    }
}

/// Returns the reasons and issues to fix in a gate or a critique, as written.
pub(super) fn reasons(node: &Node) -> Vec<String> {
    let reason = ["status_reason", "statusReason", "reason"].iter().find_map(|key| node.get(key)?.scalar());
    let issues = ["top_issues", "issues"].iter().find_map(|key| node.get(key));
    let described = |issue: &Node| {
        let inner = ["finding", "description", "title", "issue"].iter().find_map(|key| issue.get(key)?.scalar());
        inner.or_else(|| issue.scalar()).map(str::to_owned)
    };
    let issues = match issues.map(|issues| &issues.kind) {
        Some(Kind::List(issues)) => issues.iter().filter_map(described).collect(),
        Some(_) | None => Vec::new(),
    };
    reason.map(str::to_owned).into_iter().chain(issues).collect()
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
