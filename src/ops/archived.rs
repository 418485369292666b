//! Runs in an archive: how they are found, shown and brought back.
//!
//! An archive is a folder `{run}_{stamp}` with the state files of the run. It is in the data folder beside which the state was, or
//! where its system keeps archives (`Archives::archive_folder`). Of a workflow file it is the folder of the run, moved.
//! CCW keeps archived sessions as runs, so they are not among these.

use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::{OpError, opened_run::OpenedRun, project_context::ProjectContext, run_location::RunLocation};
use crate::{
    dialect::{DIALECTS, Dialect, piton},
    engine,
    model::{
        Candidate, Content, DialectId, Edit, EditKind, FileEntry, Finding, FindingCode, Listing, ListingEntry, Mode,
        ReadSpec, RelPath, RunStatus, Severity, Timestamp, human_age,
    },
    store::{self, RunLock, Scope},
};

/// Maximum number of archives that are searched for what a story was a part of.
const ARCHIVES_COMPARED: usize = 20;

/// An archived run.
#[derive(Clone, Debug)]
pub(super) struct ArchivedRun {
    pub(super) root: Utf8PathBuf,
    pub(super) folder: RelPath,
    pub(super) name: String,
    pub(super) at: Timestamp,
    pub(super) dialect: DialectId,
    /// The data folder of the run, which keeps its history.
    data_dir: RelPath,
    /// Each file in the archive, with the path that it had.
    pub(super) files: Vec<(RelPath, RelPath)>,
}

impl ArchivedRun {
    pub(super) fn restore_command(&self) -> String {
        format!("piton restore {}", self.word())
    }

    /// Returns RUN for it, quoted. The records of a workflow file are not in the project, so their run has its name.
    fn word(&self) -> String {
        let is_own = self.dialect == DialectId::Piton;
        engine::quoted(&if is_own { self.name.clone() } else { format!("./{}", self.folder) })
    }

    /// Returns the folder that archives of its series are in, if its system limits their number.
    pub(super) fn limited_folder(&self) -> Option<RelPath> {
        let folder = self.folder.parent()?;
        DIALECTS.iter().any(|dialect| is_archive_folder(*dialect, &folder)).then_some(folder)
    }
}

fn is_archive_folder(dialect: &dyn Dialect, folder: &RelPath) -> bool {
    folder.parent().and_then(|state_dir| dialect.archives().archive_folder(&state_dir)).as_ref() == Some(folder)
}

/// Returns every archived run, the newest first.
pub(super) fn find(ctx: &ProjectContext) -> Vec<ArchivedRun> {
    let mut found: Vec<ArchivedRun> = ctx.listings(ctx.scope()).iter().flat_map(in_listing).collect();
    found.extend(ctx.homes.iter().flat_map(|home| of_workflow_files(home.root())));
    found.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| b.folder.cmp(&a.folder)));
    found
}

/// Returns the archived runs of workflow files: each is the folder of its records.
pub(super) fn of_workflow_files(root: &Utf8Path) -> Vec<ArchivedRun> {
    let Ok(archives) = RelPath::parse("archive") else { return Vec::new() };
    let folder = |run: &str| Some(piton::candidate(run, None)?.data_dir);
    in_folder(root, &archives, &|run| folder(run).map(|folder| Place { home: Some(folder.clone()), data_dir: folder }))
}

fn in_listing(listing: &Listing) -> Vec<ArchivedRun> {
    let mut found = Vec::new();
    for data_dir in &listing.data_dirs {
        let home = data_dir.parent();
        for holder in store::archive::data_folders(&listing.root, data_dir) {
            let archives = holder.join("archive").ok();
            found.extend(archives.into_iter().flat_map(|archives| {
                in_folder(&listing.root, &archives, &|_| Some(Place { home: home.clone(), data_dir: holder.clone() }))
            }));
        }
    }
    for folder in listing.entries.iter().filter(|entry| entry.is_dir).map(|entry| &entry.path) {
        if let Some(home) =
            folder.parent().filter(|_| DIALECTS.iter().any(|dialect| is_archive_folder(*dialect, folder)))
            && let Ok(data_dir) = home.join(store::DATA_DIR)
        {
            found.extend(in_folder(&listing.root, folder, &|_| {
                Some(Place { home: Some(home.clone()), data_dir: data_dir.clone() })
            }));
        }
    }
    found
}

/// Where an archived run was.
struct Place {
    /// The folder of its files; `None` for the top of the project.
    home: Option<RelPath>,
    data_dir: RelPath,
}

/// Returns the archives in a folder, each with the place that its run had.
fn in_folder(root: &Utf8Path, archives: &RelPath, place_of: &dyn Fn(&str) -> Option<Place>) -> Vec<ArchivedRun> {
    let archived = |archive: store::archive::Archive| {
        let folder = archives.join(&archive.folder).ok()?;
        let Place { home, data_dir } = place_of(&archive.series)?;
        let original = |name: &String| match &home {
            Some(home) => home.join(name).ok(),
            None => RelPath::parse(name).ok(),
        };
        let paths = |name: &String| Some((folder.join(name).ok()?, original(name)?));
        let files: Vec<(RelPath, RelPath)> = archive.files.iter().filter_map(paths).collect();
        let is_of = |dialect: &&&dyn Dialect| files.iter().any(|(_, original)| dialect.marks(original.as_str()));
        let dialect = DIALECTS.iter().find(is_of)?.id();
        Some(ArchivedRun {
            root: root.to_owned(),
            name: archive.series,
            at: archive.at,
            dialect,
            data_dir,
            files,
            folder,
        })
    };
    store::archive::archives(root, archives).into_iter().filter_map(archived).collect()
}

/// Returns the archived run that RUN names: by its folder, its number in `list --all`, or as the newest of its id.
pub(super) fn named(ctx: &ProjectContext) -> Option<ArchivedRun> {
    let all = find(ctx);
    match (&ctx.run_path, &ctx.run) {
        (Some(path), _) => all.into_iter().find(|archived| path.starts_with(archived.folder.under(&archived.root))),
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
pub(super) fn refusal(archived: &ArchivedRun) -> OpError {
    let message = format!("{} is archived in {}", archived.name, archived.folder);
    let show = format!("piton history {}", archived.word());
    OpError::InTheWay { message, hints: vec![archived.restore_command(), show] }
}

/// Returns the location that the run had.
pub(super) fn location(ctx: &ProjectContext, archived: &ArchivedRun) -> RunLocation {
    RunLocation { root: archived.root.clone(), candidate: candidate(ctx, archived) }
}

/// Says of each run without a saved state what it was a part of, if that was archived. Autopilot does not take up what a person put away or
/// gave up.
pub(super) fn mark_left_over(ctx: &ProjectContext, locations: &mut [RunLocation]) {
    let is_implied = |location: &&mut RunLocation| location.candidate.claim.is_implied();
    if !locations.iter_mut().any(|location| is_implied(&location)) {
        return;
    }
    let listings = ctx.listings(Scope::Whole);
    let mut archived: Vec<(&Listing, ArchivedRun)> = listings
        .iter()
        .flat_map(|listing| in_listing(listing).into_iter().map(move |archived| (listing, archived)))
        .collect();
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
            let folder = engine::quoted(&format!("./{}", archived.folder));
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
    for (path, original) in &archived.files {
        let content = match store::read_file(&archived.root, path) {
            Content::Bytes(bytes) => Some(bytes),
            Content::Problem(_) | Content::NameOnly => None,
        };
        let entry = ListingEntry { path: original.clone(), is_dir: false, content };
        match listing.entries.binary_search_by(|other| other.path.cmp(original)) {
            Ok(at) => listing.entries[at] = entry,
            Err(at) => listing.entries.insert(at, entry),
        }
    }
    let probed =
        DIALECTS.iter().filter(|dialect| dialect.id() == archived.dialect).map(|dialect| dialect.probe(&listing));
    let of_archive = |candidate: &Candidate| archived.files.iter().any(|(_, original)| *original == candidate.state);
    let mut found = probed.flat_map(|probed| probed.candidates.into_iter().chain(probed.ended));
    found.find(of_archive).unwrap_or_else(|| {
        let (state, data_dir) = (archived.files[0].1.clone(), archived.data_dir.clone());
        Candidate::new(archived.dialect, archived.name.clone(), state, data_dir, Vec::new())
    })
}

/// Loads an archived run as it was. Nothing of it continues.
pub(super) fn open(ctx: &ProjectContext, archived: &ArchivedRun) -> Result<OpenedRun, OpError> {
    let candidate = candidate(ctx, archived);
    let mut files = store::file_set(&ctx.project, &archived.root, &candidate, ctx.clock)?;
    for (path, original) in &archived.files {
        files.files.insert(original.clone(), FileEntry::new(store::read_file(&archived.root, path), None));
    }
    let mut opened = OpenedRun::new(candidate, files, &ctx.project.trusted);
    let message = format!("{} is in the archive {}", archived.name, archived.folder);
    let finding = Finding::new(FindingCode::SessionArchived, message).at(&archived.folder);
    let finding = finding.fix(archived.restore_command());
    opened.loaded.findings.push(Finding { severity: Severity::Warning, ..finding });
    if let Some(run) = &mut opened.loaded.run {
        run.status = RunStatus::Archived;
    }
    Ok(opened)
}

/// Moves the files of an archived run back, unless others are in their place.
pub(super) fn bring_back(ctx: &ProjectContext, archived: &ArchivedRun) -> Result<(), OpError> {
    if archived.dialect == DialectId::Piton {
        return move_back(ctx, archived);
    }
    let lock = RunLock::acquire(&archived.root, &archived.data_dir, ctx.project.lock_timeout)?;
    let mut edits = Vec::new();
    for (path, original) in &archived.files {
        let is_taken =
            !matches!(store::read_file(&archived.root, original), Content::Problem(crate::model::ReadProblem::Missing));
        if is_taken {
            let message = format!("{original} is there already; nothing was restored");
            let state = engine::quoted(&format!("./{}", candidate(ctx, archived).state));
            let hints = vec![format!("piton archive {state} --yes"), archived.restore_command()];
            return Err(OpError::InTheWay { message, hints });
        }
        let before: Arc<[u8]> = match store::read_file(&archived.root, path) {
            Content::Bytes(bytes) => bytes,
            Content::Problem(problem) => {
                let path = path.under(&archived.root);
                return Err(OpError::Store(store::StoreError::Unreadable { path, problem }));
            }
            Content::NameOnly => continue,
        };
        edits.push(Edit { path: original.clone(), kind: EditKind::Create { after: before.to_vec() } });
        edits.push(Edit { path: path.clone(), kind: EditKind::Remove { before } });
    }
    store::commit(&lock, &edits, &ctx.checkpoint("restore"))?;
    store::archive::remove_empty(&lock, &archived.folder)?;
    Ok(())
}

/// Moves the folder of a run back, unless a run of its name is there.
fn move_back(ctx: &ProjectContext, archived: &ArchivedRun) -> Result<(), OpError> {
    let lock = RunLock::acquire(&archived.root, &archived.folder, ctx.project.lock_timeout)?;
    if store::is_folder(&archived.data_dir.under(&archived.root)) {
        let message = format!("a run {} is there already; nothing was restored", archived.name);
        let hints = vec![format!("piton archive {} --yes", archived.word()), archived.restore_command()];
        return Err(OpError::InTheWay { message, hints });
    }
    Ok(store::move_folder(&lock, &archived.folder, &archived.data_dir)?)
}
