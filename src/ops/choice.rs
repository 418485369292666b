//! What a caller chooses from where RUN fits several runs or none.

use super::{OpError, entries::RunEntry, error::RunChoice, project_context::ProjectContext};
use crate::{
    model::{clean_line, human_age, nearness},
    store,
};

/// Number of similar names that are suggested.
const NEAR_SHOWN: usize = 5;
const REMARK_CHARS: usize = 160;

/// Returns the choices for some of the listed runs.
pub(super) fn choices(ctx: &ProjectContext, listed: &[RunEntry], among: &[&RunEntry]) -> Vec<RunChoice> {
    among.iter().map(|entry| choice(ctx, listed, entry)).collect()
}

fn choice(ctx: &ProjectContext, listed: &[RunEntry], entry: &RunEntry) -> RunChoice {
    let row = &entry.row;
    let age = row.age_seconds.map_or_else(|| "unknown age".to_owned(), |age| format!("{} ago", human_age(age)));
    let is_named = is_unique(ctx, listed, entry);
    let (run, name) = match is_named {
        // Piton named it, and the person knows its workflow.
        true if entry.location.session().is_some() => (row.id.as_str().to_owned(), format!("{}, ", row.title)),
        true => (row.id.as_str().to_owned(), String::new()),
        false => (row.path.clone(), format!("{}, ", row.id)),
    };
    let remark = clean_line(&format!("{}. {name}{}, {age}", row.number, row.position), REMARK_CHARS);
    RunChoice { id: row.id.clone(), run, remark }
}

/// Tells whether the id of a run selects it and nothing else.
fn is_unique(ctx: &ProjectContext, listed: &[RunEntry], entry: &RunEntry) -> bool {
    let id = entry.row.id.as_str();
    let is_named = |entry: &RunEntry| entry.location.candidate.name == id;
    let is_only = match listed.iter().filter(|other| is_named(other)).count() {
        0 => listed.iter().filter(|other| other.row.id.as_str() == id).count() == 1 && id.parse::<usize>().is_err(),
        1 => is_named(entry),
        _ => false,
    };
    // A path selects among the runs at that path only, and other runs may have the same name.
    let is_whole = ctx.run_path.is_none();
    is_only && is_whole && !id.is_empty() && store::existing_path(&ctx.project.cwd, id).is_none()
}

/// Returns the runs with a name, folder or branch similar to the typed one, the most similar first.
pub(super) fn near(ctx: &ProjectContext, listed: &[RunEntry], wanted: &str) -> Vec<RunChoice> {
    let distance = |entry: &RunEntry| {
        let names = [entry.row.id.as_str(), entry.location.candidate.name.as_str()];
        let names = names.into_iter().chain(entry.aliases.iter().map(String::as_str));
        names.filter_map(|name| nearness(wanted, name)).min()
    };
    let mut near: Vec<(usize, &RunEntry)> = listed.iter().filter_map(|entry| Some((distance(entry)?, entry))).collect();
    near.sort_by_key(|(distance, entry)| (*distance, entry.row.number));
    let near: Vec<&RunEntry> = near.into_iter().take(NEAR_SHOWN).map(|(_, entry)| entry).collect();
    choices(ctx, listed, &near)
}

/// Returns the runs that have a step of this name.
pub(super) fn with_step<'a>(
    ctx: &ProjectContext,
    entries: &[&'a RunEntry],
    step: &str,
) -> Result<Vec<&'a RunEntry>, OpError> {
    let mut having = Vec::new();
    for entry in entries {
        let opened = ctx.read(&entry.location)?;
        if opened.loaded.run.as_ref().is_some_and(|run| run.resolve(step).is_some()) {
            having.push(*entry);
        }
    }
    Ok(having)
}
