//! Reads the two files leniently, so that everything readable is planned.

use std::collections::BTreeMap;

use super::super::paths::base_of_run;
use super::super::paths::beside;
use super::super::state::missing;
use super::definition::step;
use super::definition::to_value;
use crate::document::Node;
use crate::document::OpenError;
use crate::document::Reader;
use crate::document::Syntax;
use crate::model::Content;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::ReadProblem;
use crate::model::RelPath;
use crate::model::Status;
use crate::model::sha256_hex;
use crate::workflow;
use crate::workflow::Workflow;

pub(super) const EXECUTION: &str = "execution.json";

/// Opens a file that must contain an object.
pub(super) fn open<'a>(files: &'a FileSet, path: &RelPath) -> Result<Reader<'a>, Box<Finding>> {
    let unreadable =
        |message: String| Box::new(Finding::new(FindingCode::StateUnreadable, format!("`{path}`: {message}")).at(path));
    let reader = Reader::open(files, path, Syntax::Json).map_err(|error| match error {
        OpenError::Unread(ReadProblem::Missing) if *path == files.state => Box::new(missing(path)),
        OpenError::Unread(problem) => unreadable(problem.to_string()),
        OpenError::Broken(error) => {
            let finding = *unreadable(format!("not valid JSON: {}", error.message));
            Box::new(finding.line(error.place.line, Some(error.place.column)))
        }
    })?;
    if !reader.node().is_map() {
        return Err(unreadable("it is not a JSON object".to_owned()));
    }
    Ok(reader)
}

/// Opens the task file beside the phase file.
pub(super) fn open_execution(files: &FileSet) -> Result<Reader<'_>, Box<Finding>> {
    match beside(&files.state, EXECUTION) {
        Some(path) => open(files, &path),
        None => Err(Box::new(Finding::new(FindingCode::StateUnreadable, "there is no path for execution.json"))),
    }
}

/// Returns the workflow file of a run, which is recorded relative to the folder that contains `memory/`.
pub(super) fn source_of(phase: &Node, state: &RelPath) -> Option<RelPath> {
    let path = RelPath::parse(phase.at("/definition_source/path")?.as_str()?).ok()?;
    RelPath::parse(&format!("{}{path}", base_of_run(state.as_str()).unwrap_or_default())).ok()
}

/// The definition in effect and how it differs from the stored one.
pub(super) struct EffectiveDefinition {
    pub(super) definition: Workflow,
    /// Whether the file is used and differs from the stored definition.
    pub(super) is_changed: bool,
    /// Digest of the file, if it is used and its bytes changed.
    pub(super) sha256: Option<String>,
    pub(super) findings: Vec<Finding>,
}

/// Chooses between the workflow file and the stored definition: the file wins if it exists and is valid.
pub(super) fn effective_definition(files: &FileSet, phase: &Reader<'_>) -> Result<EffectiveDefinition, Vec<Finding>> {
    let written = phase.node().get("definition");
    let stored = workflow::parse_tree(phase.file(), written.unwrap_or(&Node::null()));
    let Some(kept) = stored.workflow else {
        let first = stored.findings.first().map(|finding| finding.message.clone()).unwrap_or_default();
        let message = match written {
            Some(_) => format!("the definition in `{}` cannot be used: {}", phase.file(), first),
            None => format!("the definition of the run is missing in `{}`", phase.file()),
        };
        let finding = Finding::new(FindingCode::StateUnreadable, message).at(phase.file()).pointer("/definition");
        return Err(vec![finding.fix(format!("piton restore {}", phase.file()))]);
    };
    let keep =
        |findings| Ok(EffectiveDefinition { definition: kept.clone(), is_changed: false, sha256: None, findings });
    let Some(source) = source_of(phase.node(), phase.file()) else { return keep(Vec::new()) };
    let unreadable = |message: String| Finding::new(FindingCode::DefinitionUnreadable, message).at(&source);
    let bytes = match files.files.get(&source).map(|entry| &entry.content) {
        Some(Content::Bytes(bytes)) => bytes,
        Some(Content::Problem(problem)) => {
            let message = format!("the workflow file {source} cannot be read ({problem}); the stored copy is used");
            return keep(vec![unreadable(message)]);
        }
        Some(Content::NameOnly) | None => {
            let message = format!("the workflow file {source} is missing; the stored copy is used");
            let severity = crate::model::Severity::Info;
            return keep(vec![Finding { severity, ..unreadable(message) }]);
        }
    };
    // Unchanged bytes need no parsing.
    let known = phase.node().at("/definition_source/sha256").and_then(Node::as_str);
    let sha256 = sha256_hex(bytes);
    if known == Some(sha256.as_str()) {
        return keep(Vec::new());
    }
    let now = workflow::parse(&source, bytes);
    let Some(definition) = now.workflow else {
        let first = &now.findings[0];
        let line = first.line.unwrap_or(1);
        let message = format!(
            "the workflow file {source} has {} mistakes, the first in line {line}: {}; the stored copy is used",
            now.findings.len(),
            first.message
        );
        let finding = unreadable(message).line(line, first.column).fix(format!("piton validate {source}"));
        return keep(vec![finding]);
    };
    let is_changed = to_value(&definition) != to_value(&kept);
    Ok(EffectiveDefinition {
        findings: drift(&kept, &definition, &source),
        definition,
        is_changed,
        sha256: Some(sha256),
    })
}

/// Reports added and removed steps. Changes to completed steps are handled by the engine.
fn drift(before: &Workflow, now: &Workflow, source: &RelPath) -> Vec<Finding> {
    let gone = before.steps.iter().filter(|step| self::step(now, step.id.as_str()).is_none());
    let come = now.steps.iter().filter(|step| self::step(before, step.id.as_str()).is_none());
    let gone = gone.map(|step| format!("`{}` was removed from {source}; its outputs are kept", step.id));
    let come = come.map(|step| format!("`{}` was added to {source}", step.id));
    gone.chain(come).map(|message| Finding::new(FindingCode::DefinitionDrift, message).at(source)).collect()
}

/// Returns the tasks by id, with their index in the array.
pub(super) fn tasks(execution: &Node) -> BTreeMap<&str, (usize, &Node)> {
    let all = execution.get("tasks").map(Node::items).unwrap_or_default().iter().enumerate();
    all.filter_map(|(at, task)| Some((task.get("id")?.as_str()?, (at, task)))).collect()
}

/// Parses a status: dotagent's words for tasks (docs/formats/dotagent.md#task-vocabulary), plus Piton's for statuses that
/// dotagent lacks.
pub(super) fn status(word: &str) -> Option<Status> {
    Some(match word.trim().to_lowercase().as_str() {
        "pending" => Status::Pending,
        "running" | "in_progress" => Status::InProgress,
        "verified" | "complete" | "completed" => Status::Completed,
        "failed" => Status::Failed,
        "blocked" => Status::Blocked,
        "waiting_approval" => Status::WaitingApproval,
        "skipped" => Status::Skipped,
        "cancelled" => Status::Cancelled,
        _ => return None,
    })
}

/// Returns the word that is written.
pub(super) const fn word(status: Status) -> &'static str {
    match status {
        Status::Pending => "pending",
        Status::InProgress => "running",
        Status::Completed => "verified",
        Status::Failed => "failed",
        Status::WaitingApproval => "waiting_approval",
        Status::Blocked => "blocked",
        Status::Skipped => "skipped",
        Status::Cancelled => "cancelled",
    }
}
