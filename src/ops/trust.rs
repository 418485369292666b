//! `trust`: what in a project may speak or run for this user. That is what they made on this machine, and what they said yes to; all verbs
//! ask here.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    OpError,
    error::ways_to_trust,
    exit::Exit,
    project_context::ProjectContext,
    report::{Body, Report},
    run_location::{RunLocation, header_bytes, sentence, stranger},
};
use crate::{
    model::JournalFile,
    store::{self, JournalStanding},
};

/// What speaks for this user in a project, and what would if they said yes (`trust/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TrustReport {
    pub(crate) subjects: Vec<TrustSubject>,
    /// What was done, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) done: Option<String>,
}

/// Something that counts only if it is this user's.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TrustSubject {
    /// What `trust` calls it: the id of a run, or the path of a journal.
    pub(crate) name: String,
    pub(crate) is_trusted: bool,
    /// Why it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

impl Body for TrustReport {
    const SCHEMA: &'static str = "trust/1";
}

/// Refuses a run that does not count, before anything is done for it.
///
/// # Errors
///
/// With the command that says yes.
pub(super) fn check(ctx: &ProjectContext, location: &RunLocation) -> Result<(), OpError> {
    let Some((home, id)) = location.own_run() else { return Ok(()) };
    match stranger(&ctx.project.trusted, home, id) {
        Some(stranger) => {
            Err(OpError::NotConfirmed { message: sentence(id, &stranger), hints: ways_to_trust(id).into() })
        }
        None => Ok(()),
    }
}

/// Lists what counts in a project only if it is this user's.
pub(crate) fn list(ctx: &ProjectContext) -> Report<TrustReport> {
    let (locations, findings) = ctx.locations();
    let runs = locations.iter().filter_map(RunLocation::own_run).map(|(home, id)| {
        let reason = stranger(&ctx.project.trusted, home, id).map(|stranger| sentence(id, &stranger));
        TrustSubject { name: id.to_owned(), is_trusted: reason.is_none(), reason }
    });
    let mut subjects: Vec<TrustSubject> = runs.collect();
    for journal in journals_of(ctx, &locations) {
        let is_trusted = store::journals::standing(&ctx.project.trusted, &journal).is_ok_and(JournalStanding::is_ours);
        let reason = (!is_trusted).then(|| "it came with the project, or was copied with it".to_owned());
        subjects.push(TrustSubject { name: shown(ctx, &journal), is_trusted, reason });
    }
    Report { exit: Exit::Ok, body: TrustReport { subjects, done: None }, findings }
}

/// Records what this user says about a run or a journal: yes, or no. A journal that gets a no is set aside, so that another one can be begun.
///
/// # Errors
///
/// If there is nothing of that name, or the answer cannot be kept.
pub(crate) fn decide(ctx: &ProjectContext, name: &str, is_yes: bool) -> Result<Report<TrustReport>, OpError> {
    let trusted = &ctx.project.trusted;
    let named = store::existing_path(&ctx.project.cwd, name).or_else(|| store::existing_path(&ctx.project.root, name));
    let journal = journals(ctx).into_iter().find(|journal| named.as_ref() == Some(&journal.file()));
    let done = match journal {
        Some(journal) if is_yes => {
            trusted.enter_journal(&journal.home, journal.bytes())?;
            format!("the reports and decisions in {name} count from now on")
        }
        Some(journal) => {
            trusted.forget_journal(&journal.home, journal.bytes())?;
            format!("nothing in it counts; it is kept as {}", store::journals::set_aside(&journal.file())?)
        }
        None => decide_run(ctx, name, is_yes)?,
    };
    Ok(Report::ok(TrustReport { subjects: list(ctx).body.subjects, done: Some(done) }))
}

/// Returns the journals of the runs of other systems that are begun.
pub(super) fn journals(ctx: &ProjectContext) -> Vec<JournalFile> {
    journals_of(ctx, &ctx.locations().0)
}

fn journals_of(ctx: &ProjectContext, locations: &[RunLocation]) -> Vec<JournalFile> {
    let journals = locations.iter().filter_map(|location| store::journals::of(&ctx.project, &location.candidate));
    let mut journals: Vec<JournalFile> = journals.filter(|journal| !journal.bytes().is_empty()).collect();
    journals.dedup_by(|one, other| one.file() == other.file());
    journals
}

/// Returns the path of a journal: relative to the project, if it is in it.
fn shown(ctx: &ProjectContext, journal: &JournalFile) -> String {
    let file = journal.file();
    file.strip_prefix(&ctx.project.root).unwrap_or(&file).to_string()
}

fn decide_run(ctx: &ProjectContext, name: &str, is_yes: bool) -> Result<String, OpError> {
    let (locations, _) = ctx.locations();
    let runs = locations.iter().filter_map(RunLocation::own_run);
    let Some((home, id)) = runs.clone().find(|(_, id)| *id == name) else {
        let known = runs.map(|(_, id)| id.to_owned()).collect();
        let (wanted, searched) = (name.to_owned(), ctx.project.root.to_string());
        return Err(OpError::UnknownRun { wanted, searched, known, near: Vec::new() });
    };
    let header = header_bytes(home, id).unwrap_or_default();
    let trusted = &ctx.project.trusted;
    if !is_yes {
        trusted.forget(id, &header, home)?;
        return Ok(format!("the run {id} does not speak for you; its records stay where they are"));
    }
    trusted.enter(id, &header, home)?;
    Ok(format!("the run {id} counts as yours from now on; its commands run when you resume it"))
}
