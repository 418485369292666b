//! Built and not ticked: over all steps of a check list, the files that open steps make show whether its boxes were kept
//! (docs/formats/checklist.md#built-and-not-ticked).
//!
//! Files that existed before the list was written are no measure. A file is new if it is missing, or was added since.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    history::{History, Since},
    standing::Judgement,
};
use crate::{
    engine::reconciled::EffectiveStatus,
    model::{
        DeclaredFile, DeclaredState, FileChange, Finding, FindingCode, GuestEvidence, GuestProof, LogReach, RelPath,
        Run, Status, Suggested, Verb, first_names, plural,
    },
};

/// New files that have to be there before a list counts as not kept.
const LEAST: usize = 3;
/// Number of files that a reason names.
const NAMED: usize = 3;

/// What the files of the open steps show.
#[derive(Default)]
pub(super) struct Unticked {
    /// What is known about each open step that names files, by position.
    steps: BTreeMap<usize, BuiltStep>,
    /// The boxes were not kept: open steps that nothing is known about wait.
    not_kept: Option<NotKept>,
}

/// What the files of an open step show.
struct BuiltStep {
    reason: String,
    /// How a person records that it is done.
    record: String,
    kind: Built,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Built {
    /// All of it is there.
    Whole,
    /// Some of it is there, since the list was written.
    Partly,
    /// Some files exist, which says nothing.
    Unknown,
}

/// A list of which the boxes were not kept.
struct NotKept {
    document: Option<RelPath>,
    there: usize,
    new: usize,
    commit: Option<String>,
    any_ticked: bool,
    /// Whether only files were looked at.
    is_weak: bool,
}

/// What is known about a file.
#[derive(Clone, Copy)]
struct BuiltFile {
    is_there: bool,
    /// `None` if nothing shows whether it existed before the list.
    is_new: Option<bool>,
    /// Whether a commit since the list touched it.
    is_touched: bool,
}

impl Unticked {
    pub(super) fn of(run: &Run, history: Option<&History<'_>>, evidence: &GuestEvidence) -> Self {
        let proofs = || run.steps.iter().enumerate().filter_map(|(at, step)| Some((at, step, step.guest.as_deref()?)));
        let is_open = |status: Status| matches!(status, Status::Pending | Status::InProgress | Status::Failed);
        let open: Vec<(usize, &GuestProof)> = proofs()
            .filter(|(_, step, proof)| is_open(step.status) && !proof.built.is_empty())
            .map(|(at, _, proof)| (at, proof))
            .collect();
        if open.is_empty() {
            return Self::default();
        }
        let claimed: BTreeSet<&RelPath> = proofs()
            .filter(|(_, step, _)| step.status == Status::Completed)
            .flat_map(|(_, _, proof)| &proof.built)
            .collect();
        let look = |path: &RelPath, proof: &GuestProof| look(path, proof, history, evidence);
        let mut files: BTreeMap<&RelPath, BuiltFile> = BTreeMap::new();
        for (_, proof) in &open {
            for path in &proof.built {
                files.entry(path).or_insert_with(|| look(path, proof));
            }
        }
        let is_weak = files.values().all(|file| file.is_new.is_none() || !file.is_there);
        // Files that are only changed existed before: they are no measure.
        let made: BTreeSet<&RelPath> = open
            .iter()
            .flat_map(|(_, proof)| proof.built.iter().filter(|path| !proof.changed.contains(path)))
            .collect();
        let is_counted = |path: &RelPath, file: &BuiltFile| {
            made.contains(path) && !claimed.contains(path) && file.is_new != Some(false)
        };
        let counted = || files.iter().filter(|(path, file)| is_counted(path, file));
        let (new, there) = (counted().count(), counted().filter(|(_, file)| file.is_there).count());
        let document = open.first().and_then(|(_, proof)| proof.document.clone());
        let not_kept = (there >= LEAST && there * 4 >= new * 3).then(|| NotKept {
            commit: history.and_then(|history| match history.since(document.as_ref()) {
                Since::Commit(at) => Some(history.commit(at).short().to_owned()),
                Since::Behind(_) | Since::Before | Since::Never => None,
            }),
            document,
            there,
            new,
            any_ticked: run.steps.iter().any(|step| step.status == Status::Completed),
            is_weak,
        });
        let mut steps: BTreeMap<usize, BuiltStep> = BTreeMap::new();
        for (at, proof) in &open {
            let own = || proof.built.iter().filter_map(|path| Some((path, files.get(path)?)));
            let is_changed = |path: &RelPath| {
                let changed = |history: &History<'_>| {
                    let since = history.since_of(proof);
                    history.is_changed(path, since, &|commit, change| {
                        history.is_of_another(run, *at, path, commit, change)
                    })
                };
                history.and_then(changed) == Some(true)
            };
            let evidence = own().map(|(path, file)| {
                let is_made = !proof.changed.contains(path);
                let is_of_others = is_made && history.is_some_and(|history| history.is_made_by_others(run, *at, path));
                let is_proof = is_made && file.is_there && file.is_new != Some(false) && !claimed.contains(path);
                FileEvidence {
                    is_there: file.is_there,
                    is_touched: if is_made { file.is_touched && !is_of_others } else { is_changed(path) },
                    is_proof: is_proof && !is_of_others,
                }
            });
            let kind = built(&evidence.collect::<Vec<_>>(), proof.changes_prove, not_kept.is_some());
            let (reason, record) = (in_words(own(), history), proof.record.clone());
            if kind != Built::Unknown || own().any(|(_, file)| file.is_there) {
                steps.insert(*at, BuiltStep { reason, record, kind });
            }
        }
        if not_kept.is_none() {
            add_followed(run, &open, &files, history, &mut steps);
        }
        Self { steps, not_kept }
    }

    /// Adds what the files show to what the other witnesses of a step say.
    pub(super) fn judge(&self, at: usize, judged: Judgement) -> Judgement {
        let is_weaker = matches!(judged.status, EffectiveStatus::Open | EffectiveStatus::Interrupted);
        if !is_weaker {
            return judged;
        }
        match self.steps.get(&at) {
            Some(step) if step.kind == Built::Whole => Judgement { status: EffectiveStatus::Verify, ..judged }
                .first(step.reason.clone())
                .because(step.record.clone())
                .built()
                .counts(FindingCode::StatusDrift, "built as it seems, but not ticked"),
            // What else is there of it has to wait for a person who knows which boxes count.
            _ if self.not_kept.is_some() => Judgement { status: EffectiveStatus::Unreadable, ..judged },
            Some(step) if step.kind == Built::Partly => {
                Judgement { status: EffectiveStatus::Interrupted, ..judged }.first(step.reason.clone())
            }
            Some(step) => judged.because(step.reason.clone()),
            None => judged,
        }
    }

    pub(super) fn finding(&self) -> Option<Finding> {
        let list = self.not_kept.as_ref()?;
        let ticked = if list.any_ticked { "the rest of its boxes was not ticked" } else { "no box is ticked" };
        let since = list.commit.as_ref().map(|commit| format!(" since {commit}")).unwrap_or_default();
        let weak = if list.is_weak { "; without commits nothing shows which of them existed before" } else { "" };
        let name = list.document.as_ref().map_or("the list", RelPath::as_str);
        let message = format!(
            "{name}: {ticked}, but {} of {} that open tasks name are there{since}{weak}",
            list.there,
            plural(list.new, "new file")
        );
        let finding = Finding::new(FindingCode::StatusDrift, message);
        let patch = Suggested::new(Verb::Plan).flag("patch");
        let finding = finding.fix(format!("check the open tasks and tick those that are done: {patch} shows how"));
        Some(match &list.document {
            Some(document) => finding.at(document),
            None => finding,
        })
    }
}

/// What one file of a step shows about it.
struct FileEvidence {
    is_there: bool,
    is_touched: bool,
    /// It came with the work.
    is_proof: bool,
}

/// Returns what the files of a step show together.
fn built(files: &[FileEvidence], changes_prove: bool, is_not_kept: bool) -> Built {
    let are_there = files.iter().all(|file| file.is_there);
    let are_touched = files.iter().all(|file| file.is_touched);
    let is_proved = files.iter().any(|file| file.is_proof) && files.iter().all(|file| file.is_touched || file.is_proof);
    if are_there && (is_proved || (are_touched && (is_not_kept || changes_prove))) {
        Built::Whole
    } else if changes_prove && files.iter().any(|file| file.is_touched) {
        Built::Partly
    } else {
        Built::Unknown
    }
}

/// Adds the open steps whose files were changed since the list was written, if a later group has a step that was built.
fn add_followed(
    run: &Run,
    open: &[(usize, &GuestProof)],
    files: &BTreeMap<&RelPath, BuiltFile>,
    history: Option<&History<'_>>,
    steps: &mut BTreeMap<usize, BuiltStep>,
) {
    let last = steps.iter().rev().find(|(_, step)| step.kind == Built::Whole).map(|(at, _)| *at);
    let Some(last) = last else { return };
    for (at, proof) in open.iter().filter(|(at, _)| *at < last && run.steps[*at].group != run.steps[last].group) {
        let own = || proof.built.iter().filter_map(|path| Some((path, files.get(path)?)));
        if own().all(|(_, file)| file.is_there && file.is_touched) {
            let reason = format!("{}, and {} behind it was built", in_words(own(), history), run.steps[last].id);
            steps.insert(*at, BuiltStep { reason, record: proof.record.clone(), kind: Built::Whole });
        }
    }
}

fn look(path: &RelPath, proof: &GuestProof, history: Option<&History<'_>>, evidence: &GuestEvidence) -> BuiltFile {
    let is_there = match evidence.files.get(&DeclaredFile::plain(path.clone())) {
        Some(DeclaredState::Present { .. } | DeclaredState::Unread(_)) => true,
        Some(DeclaredState::Missing) | None => false,
    };
    let Some(history) = history else {
        return BuiltFile { is_there, is_new: (!is_there).then_some(true), is_touched: false };
    };
    let since = history.since_of(proof);
    let changes = history.changes(path);
    let is_touched = changes.iter().any(|(at, _)| since.allows(*at)) && since != Since::Never;
    let was_added = changes.iter().any(|(at, change)| *change == FileChange::Added && since.allows(*at));
    let is_new = match (is_there, since) {
        (false, _) => Some(true),
        // Without the commit of the list, nothing shows what is older.
        (true, Since::Never) => None,
        (true, Since::Before) if changes.is_empty() && history.reach() != LogReach::Whole => None,
        (true, Since::Before | Since::Behind(_) | Since::Commit(_)) => {
            Some(was_added || (changes.is_empty() && history.reach() == LogReach::Whole))
        }
    };
    // A file of unknown age that was changed since tells as much as a new one.
    let is_new = if is_new == Some(false) && since == Since::Before && is_touched { None } else { is_new };
    BuiltFile { is_there, is_new, is_touched }
}

/// Returns which files of a step are there, in words.
fn in_words<'a>(files: impl Iterator<Item = (&'a RelPath, &'a BuiltFile)>, history: Option<&History<'_>>) -> String {
    let files: Vec<(&RelPath, &BuiltFile)> = files.collect();
    let there: Vec<&str> = files.iter().filter(|(_, file)| file.is_there).map(|(path, _)| path.as_str()).collect();
    let named = first_names(&there, NAMED);
    let verb = if there.len() == 1 { "exists" } else { "exist" };
    let touched = files.iter().filter(|(_, file)| file.is_touched);
    let newest = history.and_then(|history| {
        let at = touched.filter_map(|(path, _)| history.changes(path).first().map(|(at, _)| *at)).min()?;
        Some(format!(" (last changed in {})", history.commit(at).short()))
    });
    let newest = newest.unwrap_or_default();
    match files.len() - there.len() {
        0 => format!("{named} {verb}{newest}"),
        _ if there.is_empty() => "none of its files exists".to_owned(),
        missing => format!("{named} {verb}, {missing} of its files do not"),
    }
}
