//! The files that lost or failed attempts at a step left half made, by name, for the brief of the next attempt.

use std::collections::BTreeSet;

use camino::Utf8PathBuf;

use super::{
    opened_run::OpenedRun,
    project_context::{ProjectContext, dialects_in},
};
use crate::{
    dialect::StateHome,
    engine::{self, HalfMade, Planned},
    model::{Next, RelPath, Run, Step},
    store,
};

/// Maximum number of files that are named.
const NAMED: usize = 20;

/// Looks for the files that attempts at the next step left half made. Asks git only if an attempt was lost or failed, and not a second time.
pub(super) fn look(ctx: &ProjectContext, opened: &OpenedRun, run: &Run, planned: &Planned, next: &mut Next) {
    let since = match engine::half_made(run, &planned.statements, next) {
        HalfMade::Nothing | HalfMade::Recorded(_) => return,
        HalfMade::Since(begun) => Some(begun),
        HalfMade::SinceUnknown => None,
    };
    // Until git says which.
    next.half_made = Some(Vec::new());
    let Some(step) = run.step(&next.step).filter(|_| ctx.project.git.is_some()) else { return };
    let known = planned.uncommitted.as_ref();
    let Some((folder, files)) = store::uncommitted_since(&opened.files, &ctx.wanted(opened), known, since) else {
        return;
    };
    let own = declared(run, step);
    let is_work = |path: &&Utf8PathBuf| {
        let inside = RelPath::below(path, &folder);
        let declared = RelPath::below(path, opened.base()).is_some_and(|path| own.contains(&path));
        declared || inside.is_none_or(|path| !is_state(ctx, opened, &path))
    };
    // As the other paths of the brief: below the root of the run, or of the work if that is elsewhere.
    let shown = |path: &Utf8PathBuf| {
        let below =
            [&opened.files.root, opened.base(), &folder].into_iter().find_map(|root| path.strip_prefix(root).ok());
        below.unwrap_or(path).as_str().to_owned()
    };
    let mut named: Vec<String> = files.iter().filter(is_work).map(shown).collect();
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    named.extend((more > 0).then(|| format!("and {more} more: `git status` shows them")));
    next.half_made = Some(named).filter(|named| !named.is_empty());
}

/// Returns the files that a step declares as its own.
fn declared(run: &Run, step: &Step) -> BTreeSet<RelPath> {
    let proof = &step.proof;
    let witnesses = proof.witnesses.iter().filter_map(|witness| witness.file.as_ref());
    let files = proof.outputs.iter().chain(&proof.summaries).chain(&proof.documents).chain(witnesses);
    let targets = step.detail.targets.iter().filter_map(|target| RelPath::parse(target).ok());
    files.cloned().chain(targets).filter(|path| !run.state_files.contains(path)).collect()
}

/// Tells whether a file is part of the state of a run, this one or another.
fn is_state(ctx: &ProjectContext, opened: &OpenedRun, path: &RelPath) -> bool {
    let folders = || std::iter::successors(path.parent(), RelPath::parent);
    let is_own = opened.loaded.run.iter().any(|run| run.state_files.contains(path));
    is_own
        || dialects_in(StateHome::Project).any(|dialect| {
            // Folders of programs that piton only reads have names that other folders have too.
            let is_written = || dialect.guest(&opened.files.root, &opened.candidate).is_none();
            let keeps = |folder: RelPath| dialect.keeps_state_in(&folder, &ctx.project.config);
            dialect.marks(path.as_str()) || (is_written() && folders().any(keeps))
        })
}
