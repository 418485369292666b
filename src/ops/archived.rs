//! Runs in an archive: how they are found, shown and brought back.
//!
//! A system that keeps archives of its own (`Archives::archive_folder`) has a folder `{run}_{stamp}` with the state files of the run. Of any
//! other system, the journal has the files; a new run of the name moves it to `archive/` in the home. Of a workflow file it is the folder of the run, moved.
//! CCW keeps archived sessions as runs, so they are not among these.

use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::{
    OpError, commit, journal, lifecycle::gone, opened_run::OpenedRun, project_context::ProjectContext,
    run_location::RunLocation,
};
use crate::{
    dialect::{DIALECTS, Dialect, piton},
    engine::{self, VersionFiles},
    model::{
        Candidate, Content, DialectId, Edit, EditKind, Entry, FileEntry, Finding, FindingCode, JournalFile, Listing,
        ListingEntry, LostContent, LostState, Mode, No, ReadProblem, ReadSpec, RelPath, RunFolder, RunStatus, Severity,
        Suggested, Timestamp, Verb, human_age, is_journal_folder, run_of_journal,
    },
    store::{self, CheckpointMeta, RunLock, Scope},
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
    kept: Kept,
}

/// Where the files of an archived run are.
#[derive(Clone, Debug)]
enum Kept {
    /// In the archive, each with the path that it had, and the folder that they were in.
    Files { files: Vec<(RelPath, RelPath)>, back: RelPath },
    /// In its journal.
    Journal { journal: JournalFile, files: VersionFiles },
}

impl ArchivedRun {
    pub(super) fn restore_command(&self, ctx: &ProjectContext) -> Suggested {
        Suggested::of(Verb::Restore, self.word(ctx))
    }

    /// Returns RUN for it. The records of a workflow file have its name.
    fn word(&self, ctx: &ProjectContext) -> String {
        if self.dialect == DialectId::Piton {
            return self.name.clone();
        }
        let shown = shown(ctx, &self.folder);
        if shown.starts_with('/') { shown } else { format!("./{shown}") }
    }

    /// Returns the folder that archives of its series are in, if its system limits their number.
    pub(super) fn limited_folder(&self) -> Option<RelPath> {
        let folder = RelPath::below(self.folder.parent()?, &self.root)?;
        let is_limited = self.dialect != DialectId::Piton && matches!(self.kept, Kept::Files { .. });
        is_limited.then_some(folder)
    }

    /// Returns each of its files, with the path that it had.
    fn contents(&self) -> Vec<(RelPath, Content)> {
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
    let Ok(archives) = RelPath::parse("archive") else { return Vec::new() };
    let archived = |archive: store::archive::Archive| {
        let own = piton::candidate(&archive.series, None).filter(|_| !is_journal_folder(&archive.series))?;
        let back = own.state.parent()?;
        let folder = archives.join(&archive.folder).ok()?;
        let kept = Kept::Files { files: files(&archive, &folder, &back), back };
        let (root, folder) = (root.to_owned(), folder.under(root));
        Some(ArchivedRun { root, folder, name: archive.series, at: archive.at, dialect: DialectId::Piton, kept })
    };
    store::archive::archives(root, &archives).into_iter().filter_map(archived).collect()
}

/// Returns the files in an archive, each with the path that it had below the folder that the run was in.
fn files(archive: &store::archive::Archive, folder: &RelPath, home: &RelPath) -> Vec<(RelPath, RelPath)> {
    archive.files.iter().filter_map(|name| Some((folder.join(name).ok()?, home.join(name).ok()?))).collect()
}

/// Returns the archives that systems keep themselves.
fn of_systems(listing: &Listing) -> Vec<ArchivedRun> {
    let folders = listing.entries.iter().filter(|entry| entry.is_dir).map(|entry| &entry.path);
    let archives = folders.filter_map(|folder| {
        let home = folder.parent()?;
        let is_archive = |dialect: &&&dyn Dialect| dialect.archives().archive_folder(&home).as_ref() == Some(folder);
        Some((DIALECTS.iter().find(is_archive)?.id(), folder, home))
    });
    archives.flat_map(|(dialect, folder, home)| of_system(listing, dialect, folder, &home)).collect()
}

fn of_system(listing: &Listing, dialect: DialectId, archives: &RelPath, home: &RelPath) -> Vec<ArchivedRun> {
    let root = &listing.root;
    let archived = |archive: store::archive::Archive| {
        let folder = archives.join(&archive.folder).ok()?;
        let files = files(&archive, &folder, home);
        let is_of = |dialect: &&&dyn Dialect| files.iter().any(|(_, original)| dialect.marks(original.as_str()));
        DIALECTS.iter().filter(|other| other.id() == dialect).find(is_of)?;
        let kept = Kept::Files { files, back: home.clone() };
        let (name, at) = (archive.series, archive.at);
        Some(ArchivedRun { root: root.clone(), folder: folder.under(root), name, at, dialect, kept })
    };
    store::archive::archives(root, archives).into_iter().filter_map(archived).collect()
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
    let show = Suggested::of(Verb::History, archived.word(ctx));
    OpError::InTheWay { why: No::Already, message, hints: vec![archived.restore_command(ctx).into(), show.into()] }
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
            let folder = engine::quoted(&archived.word(ctx));
            let run = engine::quoted(&candidate.name);
            let fix = format!(
                "`piton plan --patch {folder}` shows how to set its status back; to go on with it: `piton resume {run} --mode interactive`"
            );
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
fn candidate(ctx: &ProjectContext, archived: &ArchivedRun) -> Candidate {
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
    found_in(&listing, archived, &originals).unwrap_or_else(|| {
        let folder = match &archived.kept {
            Kept::Files { back, .. } => back.clone(),
            Kept::Journal { .. } => RelPath::parse(store::DATA_DIR).expect("a constant is a path"),
        };
        let state = originals.first().cloned().unwrap_or(folder);
        Candidate::new(archived.dialect, archived.name.clone(), state, Vec::new())
    })
}

fn found_in(listing: &Listing, archived: &ArchivedRun, originals: &[RelPath]) -> Option<Candidate> {
    let dialects = DIALECTS.iter().filter(|dialect| dialect.id() == archived.dialect);
    let probed = dialects.map(|dialect| dialect.probe(listing));
    let mut found = probed.flat_map(|probed| probed.candidates.into_iter().chain(probed.ended));
    found.find(|candidate| originals.contains(&candidate.state))
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
    let finding = Finding::new(FindingCode::SessionArchived, message).fix(archived.restore_command(ctx));
    let finding = Finding { file: RelPath::parse(&folder).ok(), ..finding };
    opened.loaded.findings.push(Finding { severity: Severity::Warning, ..finding });
    if let Some(run) = &mut opened.loaded.run {
        run.status = RunStatus::Archived;
    }
    Ok(opened)
}

/// Moves the files of an archived run back, unless others are in their place.
pub(super) fn bring_back(ctx: &ProjectContext, archived: &ArchivedRun) -> Result<(), OpError> {
    if let (DialectId::Piton, Kept::Files { back, .. }) = (archived.dialect, &archived.kept) {
        return move_back(ctx, archived, back);
    }
    let contents = archived.contents();
    for (original, content) in &contents {
        if store::read_file(&archived.root, original) != Content::Problem(ReadProblem::Missing) {
            let state = engine::quoted(&format!("./{}", candidate(ctx, archived).state));
            let message = format!("{original} is there already; nothing was restored");
            return Err(in_the_way(ctx, archived, &state, message));
        }
        if let Content::Problem(problem) = content {
            let (path, problem) = (archived.folder.join(original.name()), problem.clone());
            return Err(OpError::Store(store::StoreError::Unreadable { path, problem }));
        }
    }
    let created = contents.iter().filter_map(|(original, content)| {
        let Content::Bytes(bytes) = content else { return None };
        Some(Edit { path: original.clone(), kind: EditKind::Create { after: bytes.to_vec() } })
    });
    match &archived.kept {
        Kept::Journal { journal, .. } => from_journal(ctx, archived, journal, created.collect()),
        Kept::Files { files, .. } => {
            let removed = files.iter().zip(&contents).filter_map(|((path, _), (_, content))| {
                let Content::Bytes(before) = content else { return None };
                Some(Edit { path: path.clone(), kind: EditKind::Remove { before: before.clone() } })
            });
            let edits: Vec<Edit> = created.chain(removed).collect();
            let candidate = candidate(ctx, archived);
            let lock = lock(ctx, archived, &candidate)?;
            match store::journals::of(&ctx.project, &candidate) {
                Some(journal) if store::journals::standing(&ctx.project.trusted, &journal)?.is_ours() => {
                    let entry = restored(ctx, &journal);
                    commit::commit_to(&ctx.project.trusted, &lock, &journal, entry, &edits)?;
                }
                Some(_) | None => store::commit(&lock, &edits, &CheckpointMeta::new("restore"))?,
            }
            let folder = RelPath::below(&archived.folder, &archived.root);
            Ok(folder.map_or(Ok(()), |folder| store::archive::remove_empty(&lock, &folder))?)
        }
    }
}

/// Makes the files of a run again from its journal, which is moved back first if it was moved away.
fn from_journal(
    ctx: &ProjectContext,
    archived: &ArchivedRun,
    journal: &JournalFile,
    edits: Vec<Edit>,
) -> Result<(), OpError> {
    let candidate = candidate(ctx, archived);
    check_folder(ctx, archived)?;
    let lock = lock(ctx, archived, &candidate)?;
    let is_back = store::journals::of(&ctx.project, &candidate).is_some_and(|there| there.file() == journal.file());
    let back = if is_back {
        Some(journal.clone())
    } else {
        make_room(ctx, &candidate)?;
        store::journals::bring_back(journal)?
    };
    let Some(back) = back else {
        let message = format!("a run {} is there already; nothing was restored", archived.name);
        return Err(in_the_way(ctx, archived, &engine::quoted(&archived.name), message));
    };
    let entry = restored(ctx, &back);
    commit::commit_to(&ctx.project.trusted, &lock, &back, entry, &edits)
}

fn lock(ctx: &ProjectContext, archived: &ArchivedRun, candidate: &Candidate) -> Result<RunLock, OpError> {
    let own = store::journals::folder_of(&ctx.project, &archived.root, candidate);
    Ok(RunLock::acquire(&archived.root, &own, ctx.project.lock_timeout)?)
}

/// Returns the record of a run that is brought back. An abort that archived it is taken back.
fn restored(ctx: &ProjectContext, journal: &JournalFile) -> Entry {
    let at = ctx.clock.now;
    let read = journal::read(&ctx.project.trusted, journal);
    let said = read.entries.last().filter(|_| read.is_archived()).map_or(&[][..], |last| &last.said);
    let said = said.iter().filter_map(|said| said.taken_back(at)).collect();
    Entry { said, session: ctx.environment.session.clone(), ..Entry::new("restore", None, at) }
}

/// Moves the journal of a run of the same name away if that one is archived too.
fn make_room(ctx: &ProjectContext, candidate: &Candidate) -> Result<(), OpError> {
    let Some(there) = store::journals::of(&ctx.project, candidate) else { return Ok(()) };
    if journal::read(&ctx.project.trusted, &there).is_archived() {
        store::journals::archive(&there, ctx.clock.now)?;
    }
    Ok(())
}

/// Refuses if the worktree that held the state is gone, with how to make it again.
fn check_folder(ctx: &ProjectContext, archived: &ArchivedRun) -> Result<(), OpError> {
    let listing = ctx.listings(Scope::Whole).into_iter().find(|listing| listing.root == archived.root);
    let lost = archived.contents().into_iter().filter_map(|(path, content)| match content {
        Content::Bytes(content) => Some(LostState { path, content }),
        Content::Problem(_) | Content::NameOnly => None,
    });
    let listing = Listing { lost: lost.collect(), ..listing.unwrap_or_default() };
    let Some(candidate) = found_in(&listing, archived, &archived.originals()) else { return Ok(()) };
    let mut files = store::file_set(&ctx.project, &archived.root, &candidate, ctx.clock)?;
    let content = listing.lost.iter().find(|lost| lost.path == candidate.state).map(|lost| Arc::clone(&lost.content));
    let has_folder = candidate.state.parent().is_none_or(|folder| store::unread::exists(&folder.under(&archived.root)));
    (files.lost, files.journal) = (content.map(|bytes| LostContent { bytes, has_folder }), None);
    let opened = OpenedRun::new(candidate, files, &ctx.project.trusted);
    gone(&opened).filter(|_| !has_folder).map_or(Ok(()), |refusal| Err(OpError::Refused(refusal)))
}

fn in_the_way(ctx: &ProjectContext, archived: &ArchivedRun, other: &str, message: String) -> OpError {
    let hints = vec![format!("piton close {other} --abort"), archived.restore_command(ctx).into()];
    OpError::InTheWay { why: No::Already, message, hints }
}

/// Moves the folder of a run back, unless a run of its name is there.
fn move_back(ctx: &ProjectContext, archived: &ArchivedRun, back: &RelPath) -> Result<(), OpError> {
    let folder = RelPath::below(&archived.folder, &archived.root).expect("an archive is in its home");
    let own = RunFolder { home: archived.root.clone(), path: folder.clone() };
    let lock = RunLock::acquire(&archived.root, &own, ctx.project.lock_timeout)?;
    if store::is_folder(&back.under(&archived.root)) {
        let message = format!("a run {} is there already; nothing was restored", archived.name);
        return Err(in_the_way(ctx, archived, &engine::quoted(&archived.word(ctx)), message));
    }
    Ok(store::move_folder(&lock, &folder, back)?)
}
