//! Runs in an archive: how they are found and shown; `archive` brings them back.
//!
//! A system that keeps archives of its own (`Archives::archive_folder`) has a folder `{run}_{stamp}` with the state files of the run. Of any
//! other system, the journal has the files; a new run of the name moves it to `archive/` in the home. Of a workflow file it is the folder of the run, moved.
//! CCW keeps archived sessions as runs, so they are not among these.

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::{OpError, journal, opened_run::OpenedRun, project_context::ProjectContext, run_location::RunLocation};
use crate::{
    dialect::{DIALECTS, Dialect, by_id, piton},
    engine::{self, VersionFiles},
    model::{
        Candidate, Content, DialectId, FileEntry, Finding, FindingCode, JournalFile, Listing, ListingEntry, Mode, No,
        ReadSpec, RelPath, RunStatus, Severity, Suggested, Timestamp, Verb, human_age, is_journal_folder,
        run_of_journal,
    },
    store::{self, Scope},
};

/// Maximum number of archives that are searched for what a story was a part of.
const ARCHIVES_COMPARED: usize = 20;

/// An archived run.
#[derive(Clone, Debug)]
pub(super) struct ArchivedRun {
    /// The root of its files; of a workflow file its home.
    pub(super) root: Utf8PathBuf,
    /// The folder of the archive; absolute.
    pub(super) folder: Utf8PathBuf,
    pub(super) name: String,
    pub(super) at: Timestamp,
    pub(super) dialect: DialectId,
    pub(super) kept: Kept,
}

/// Where the files of an archived run are.
#[derive(Clone, Debug)]
pub(super) enum Kept {
    /// In the archive, each with the path that it had, and the folder that they were in.
    Files { files: Vec<(RelPath, RelPath)>, back: RelPath },
    /// In its journal.
    Journal { journal: JournalFile, files: VersionFiles },
}

impl ArchivedRun {
    /// Returns its folder, if its system limits the number of archives.
    pub(super) fn limited_folder(&self) -> Option<RelPath> {
        let is_limited = self.dialect != DialectId::Piton && matches!(self.kept, Kept::Files { .. });
        RelPath::below(&self.folder, &self.root).filter(|_| is_limited)
    }

    /// Returns each of its files, with the path that it had.
    pub(super) fn contents(&self) -> Vec<(RelPath, Content)> {
        match &self.kept {
            Kept::Files { files, .. } => {
                let read =
                    |(path, original): &(RelPath, RelPath)| (original.clone(), store::read_file(&self.root, path));
                files.iter().map(read).collect()
            }
            Kept::Journal { files, .. } => {
                let recorded = files.iter();
                recorded.map(|(path, bytes)| (path.clone(), Content::Bytes(bytes.as_slice().into()))).collect()
            }
        }
    }

    /// Returns the run as it lies in its archive, if its whole folder was moved there.
    pub(super) fn as_it_lies(&self) -> Option<RunLocation> {
        let Kept::Files { files, .. } = &self.kept else { return None };
        let own = piton::candidate(&self.name, None).filter(|_| self.dialect == DialectId::Piton)?;
        let state = RelPath::below(&self.folder, &self.root)?.join(own.state.name()).ok()?;
        let reads = files.iter().map(|(path, _)| ReadSpec::File(path.clone())).collect();
        Some(RunLocation { root: self.root.clone(), candidate: Candidate { state, reads, ..own } })
    }

    /// Returns the paths that its files had.
    pub(super) fn originals(&self) -> Vec<RelPath> {
        match &self.kept {
            Kept::Files { files, .. } => files.iter().map(|(_, original)| original.clone()).collect(),
            Kept::Journal { files, .. } => files.keys().cloned().collect(),
        }
    }
}

/// Returns the folder of an archive for people: from the top of the project where it is below that.
pub(super) fn shown(ctx: &ProjectContext, folder: &Utf8Path) -> String {
    folder.strip_prefix(&ctx.project.root).unwrap_or(folder).as_str().to_owned()
}

/// Returns RUN for an archived run: its folder, because an open run may have its name.
fn word_of(ctx: &ProjectContext, folder: &Utf8Path) -> String {
    let shown = shown(ctx, folder);
    if shown.starts_with('/') { shown } else { format!("./{shown}") }
}

/// Returns the command that brings an archived run back.
pub(super) fn restore_command(ctx: &ProjectContext, folder: &Utf8Path) -> Suggested {
    Suggested::of(Verb::Restore, word_of(ctx, folder))
}

/// Returns every archived run, the newest first.
pub(super) fn find(ctx: &ProjectContext) -> Vec<ArchivedRun> {
    let mut found: Vec<ArchivedRun> = ctx.listings(ctx.scope()).iter().flat_map(of_systems).collect();
    found.extend(in_journals(ctx));
    found.extend(ctx.homes.iter().flat_map(|home| of_workflow_files(home.root())));
    found.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| b.folder.cmp(&a.folder)));
    found
}

/// Returns the archived runs of workflow files: each is the folder of its records.
pub(super) fn of_workflow_files(root: &Utf8Path) -> Vec<ArchivedRun> {
    let back = |series: &str| {
        piton::candidate(series, None).filter(|_| !is_journal_folder(series)).and_then(|own| own.state.parent())
    };
    let archives = RelPath::parse("archive").ok();
    archives.map_or_else(Vec::new, |archives| in_folder(root, DialectId::Piton, &archives, back))
}

/// Returns the archived runs in a folder. `back` is the folder that the files of a run were in.
fn in_folder(
    root: &Utf8Path,
    dialect: DialectId,
    archives: &RelPath,
    back: impl Fn(&str) -> Option<RelPath>,
) -> Vec<ArchivedRun> {
    let archived = |archive: store::archive::Archive| {
        let (folder, back) = (archives.join(&archive.folder).ok()?, back(&archive.series)?);
        let file = |name: &String| Some((folder.join(name).ok()?, back.join(name).ok()?));
        let files = archive.files.iter().filter_map(file).collect();
        let (name, at, kept) = (archive.series, archive.at, Kept::Files { files, back });
        Some(ArchivedRun { root: root.to_owned(), folder: folder.under(root), name, at, dialect, kept })
    };
    store::archive::archives(root, archives).into_iter().filter_map(archived).collect()
}

/// Returns the archives that systems keep themselves.
fn of_systems(listing: &Listing) -> Vec<ArchivedRun> {
    let folders = listing.entries.iter().filter(|entry| entry.is_dir).map(|entry| &entry.path);
    let archives = folders.filter_map(|folder| {
        let home = folder.parent()?;
        let is_archive = |dialect: &&&dyn Dialect| dialect.archives().archive_folder(&home).as_ref() == Some(folder);
        Some((DIALECTS.iter().find(is_archive)?.id(), folder, home))
    });
    let found =
        archives.flat_map(|(dialect, folder, home)| in_folder(&listing.root, dialect, folder, |_| Some(home.clone())));
    let is_of =
        |archived: &ArchivedRun| archived.originals().iter().any(|path| by_id(archived.dialect).marks(path.as_str()));
    found.filter(is_of).collect()
}

/// Returns the archived runs whose journals have their files.
fn in_journals(ctx: &ProjectContext) -> Vec<ArchivedRun> {
    let journals =
        store::journals::archived(&ctx.project).into_iter().chain(store::journals::all(&ctx.project, |_| true));
    journals.filter_map(|journal| in_journal(ctx, journal)).collect()
}

fn in_journal(ctx: &ProjectContext, journal: JournalFile) -> Option<ArchivedRun> {
    if !journal::may_be_archived(&journal) {
        return None;
    }
    let read = journal::read(&ctx.project.trusted, &journal);
    let entries = read.is_archived().then_some(&read.entries)?;
    let last = entries.last()?;
    if last.files.iter().any(|file| file.written.is_some()) {
        // Its system has the files.
        return None;
    }
    let folder = journal.file().parent()?.to_owned();
    let run = folder.file_name()?;
    let run = store::archive::series_of(run).unwrap_or(run);
    let (dialect, name) = run_of_journal(run)?;
    let was_there = |path: &RelPath| last.files.iter().any(|file| file.path == *path && file.after.is_none());
    let files = engine::versions::before(entries, entries.len()).unwrap_or_default();
    let files = files.into_iter().filter(|(path, _)| was_there(path)).collect();
    let root = match last.note.get("worktree").and_then(Value::as_str) {
        None => ctx.project.root.clone(),
        Some(name) => ctx.project.worktrees().iter().find(|tree| tree.file_name() == Some(name))?.clone(),
    };
    let at = last.at;
    Some(ArchivedRun { root, folder, name, at, dialect, kept: Kept::Journal { journal, files } })
}

/// Returns the archived run that RUN names: by its folder, its number in `list --all`, or as the newest of its id.
pub(super) fn named(ctx: &ProjectContext) -> Option<ArchivedRun> {
    let all = find(ctx);
    match (&ctx.run_path, &ctx.run) {
        (Some(path), _) => all.into_iter().find(|archived| path.starts_with(&archived.folder)),
        (None, Some(name)) => {
            let number = name.parse::<usize>().ok();
            // `list --all` numbers them after the others.
            let before = || ctx.locations().0.len() + ctx.ended_runs().ended.len();
            let at = number.and_then(|number| number.checked_sub(before() + 1));
            let numbered = at.and_then(|at| all.get(at).cloned());
            all.into_iter().find(|archived| archived.name == *name).or(numbered)
        }
        (None, None) => None,
    }
}

/// Returns the error for a verb that needs the run where it was.
pub(super) fn refusal(ctx: &ProjectContext, archived: &ArchivedRun) -> OpError {
    let message = format!("{} is archived in {}", archived.name, shown(ctx, &archived.folder));
    let show = Suggested::of(Verb::History, word_of(ctx, &archived.folder));
    let hints = [restore_command(ctx, &archived.folder), show].map(Into::into).into();
    OpError::InTheWay { why: No::Already, message, hints }
}

/// Says of each run without a saved state what it was a part of, if that was archived. Autopilot does not take up what a person put away or
/// gave up.
pub(super) fn mark_left_over(ctx: &ProjectContext, locations: &mut [RunLocation]) {
    let is_implied = |location: &&mut RunLocation| location.candidate.claim.is_implied();
    if !locations.iter_mut().any(|location| is_implied(&location)) {
        return;
    }
    let listings = ctx.listings(Scope::Whole);
    let of_listing = |listing| of_systems(listing).into_iter().map(move |archived| (listing, archived));
    let mut archived: Vec<(&Listing, ArchivedRun)> = listings.iter().flat_map(of_listing).collect();
    let of_journal = |archived: ArchivedRun| {
        let listing = listings.iter().find(|listing| listing.root == archived.root)?;
        Some((listing, archived))
    };
    archived.extend(in_journals(ctx).into_iter().filter_map(of_journal));
    archived.sort_by_key(|(_, archived)| std::cmp::Reverse(archived.at));
    for (listing, archived) in archived.iter().take(ARCHIVES_COMPARED) {
        let reads = candidate_in((*listing).clone(), archived).reads;
        for location in locations.iter_mut().filter(is_implied).filter(|location| location.root == archived.root) {
            let candidate = &mut location.candidate;
            let is_marked = candidate.findings.iter().any(|finding| finding.code == FindingCode::StateLeftover);
            if is_marked
                || candidate.dialect != archived.dialect
                || !reads.contains(&ReadSpec::File(candidate.state.clone()))
            {
                continue;
            }
            let age = human_age(ctx.clock.now.seconds_since(archived.at));
            let message = format!("left over from {}, which was archived {age} ago", archived.name);
            let finding = Finding::new(FindingCode::StateLeftover, message).at(&candidate.state);
            let patch = Suggested::of(Verb::Plan, word_of(ctx, &archived.folder)).flag("patch");
            let resume = Suggested::of(Verb::Resume, &candidate.name).option("mode", "interactive");
            let fix = format!("`{patch}` shows how to set its status back; to go on with it: `{resume}`");
            candidate.findings.push(finding.fix(fix));
        }
    }
    if ctx.mode() == Mode::Autopilot {
        let findings = locations.iter_mut().filter(is_implied).flat_map(|location| &mut location.candidate.findings);
        let left_over = findings.filter(|finding| finding.code == FindingCode::StateLeftover);
        left_over.for_each(|finding| finding.severity = Severity::Blocking);
    }
}

/// Finds the run as discovery would if its files were back.
pub(super) fn candidate(ctx: &ProjectContext, archived: &ArchivedRun) -> Candidate {
    let listing = ctx.listings(Scope::Whole).into_iter().find(|listing| listing.root == archived.root);
    candidate_in(listing.unwrap_or_default(), archived)
}

fn candidate_in(mut listing: Listing, archived: &ArchivedRun) -> Candidate {
    listing.root.clone_from(&archived.root);
    let originals = archived.originals();
    for (original, content) in archived.contents() {
        let content = match content {
            Content::Bytes(bytes) => Some(bytes),
            Content::Problem(_) | Content::NameOnly => None,
        };
        let entry = ListingEntry { path: original, is_dir: false, content };
        match listing.entries.binary_search_by(|other| other.path.cmp(&entry.path)) {
            Ok(at) => listing.entries[at] = entry,
            Err(at) => listing.entries.insert(at, entry),
        }
    }
    let probed = by_id(archived.dialect).probe(&listing);
    let mut found = probed.candidates.into_iter().chain(probed.ended);
    found.find(|candidate| originals.contains(&candidate.state)).unwrap_or_else(|| {
        let folder = match &archived.kept {
            Kept::Files { back, .. } => back.clone(),
            Kept::Journal { .. } => RelPath::parse(store::DATA_DIR).expect("a constant is a path"),
        };
        let state = originals.first().cloned().unwrap_or(folder);
        Candidate::new(archived.dialect, archived.name.clone(), state, Vec::new())
    })
}

/// Loads an archived run as it was. Nothing of it continues.
pub(super) fn open(ctx: &ProjectContext, archived: &ArchivedRun) -> Result<OpenedRun, OpError> {
    let candidate = candidate(ctx, archived);
    let mut files = store::file_set(&ctx.project, &archived.root, &candidate, ctx.clock)?;
    for (original, content) in archived.contents() {
        files.files.insert(original, FileEntry::new(content, None));
    }
    if let Kept::Journal { journal, .. } = &archived.kept {
        files.journal = Some(journal.clone());
    }
    let mut opened = OpenedRun::new(candidate, files, &ctx.project.trusted);
    let folder = shown(ctx, &archived.folder);
    let message = format!("{} is in the archive {folder}", archived.name);
    let finding = Finding::new(FindingCode::SessionArchived, message).fix(restore_command(ctx, &archived.folder));
    let finding = Finding { file: RelPath::parse(&folder).ok(), ..finding };
    opened.loaded.findings.push(Finding { severity: Severity::Warning, ..finding });
    if let Some(run) = &mut opened.loaded.run {
        run.status = RunStatus::Archived;
    }
    Ok(opened)
}
