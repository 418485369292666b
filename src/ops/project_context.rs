//! The project a verb works in, opened once per process.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    OpError, journal,
    opened_run::OpenedRun,
    run_location::{self, RunLocation, session_header},
    unfinished, unmatched,
    unread::{blocks, hides_runs},
    versions, workflow_file,
};
use crate::{
    dialect::{DIALECTS, Dialect, Leftover, PROJECT_SETTINGS, StateHome, claude::Digest, piton},
    engine,
    model::{
        About, Candidate, Clock, CommitLog, Content, Evidence, EvidenceRequest, Finding, FindingCode, GuestEvidence,
        Listing, ListingEntry, Mode, No, ReadProblem, RelPath, Run, RunFolder, StatementKind, Status, StepId,
        Suggested, Uid, Unread, Verb,
    },
    store::{self, Caller, Environment, Project, Scope, SessionHome},
};

/// Options that every verb has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) project: Option<String>,
    pub(crate) now: Option<String>,
    pub(crate) mode: Option<Mode>,
    /// RUN: id, number, or path.
    pub(crate) run: Option<String>,
    /// STEP of a change, as typed: where several runs fit, the only one that has it is selected.
    pub(crate) step: Option<String>,
}

/// The project, the clock and the settings of one command.
#[derive(Debug)]
pub(crate) struct ProjectContext {
    pub(crate) project: Project,
    pub(crate) environment: Environment,
    /// Where new runs of workflow files are kept.
    pub(crate) home: SessionHome,
    /// Every folder that such runs may be in.
    pub(crate) homes: Vec<SessionHome>,
    pub(crate) clock: Clock,
    /// The time was given by the caller.
    is_time_given: bool,
    /// The mode given by flag or environment.
    asked_mode: Option<Mode>,
    /// RUN, if it is not a path.
    pub(crate) run: Option<String>,
    /// RUN as an absolute path: only candidates at, below or around it match.
    pub(crate) run_path: Option<Utf8PathBuf>,
    /// STEP of a change, as typed.
    pub(crate) step: Option<String>,
    /// The sessions of the client that were looked at, by transcript, so that a list reads the ends of their files once.
    pub(super) glanced: Mutex<BTreeMap<RelPath, Digest>>,
}

/// The result of one walk through the project.
#[derive(Debug, Default)]
struct Walked {
    locations: Vec<RunLocation>,
    findings: Vec<Finding>,
    /// Data folders with an interrupted change, each with its root.
    pending: Vec<RunFolder>,
}

/// Finished runs and leftover files.
#[derive(Debug, Default)]
pub(crate) struct EndedRuns {
    /// States of finished runs, which other runs use as evidence.
    pub(crate) ended: Vec<RunLocation>,
    /// Files that no run needs, each with its root.
    pub(crate) leftovers: Vec<(Utf8PathBuf, Leftover)>,
}

impl ProjectContext {
    /// Opens the project of a request. A RUN that is a path opens the project of that path.
    pub(crate) fn open(request: &Request) -> Result<Self, OpError> {
        let environment = Environment::read();
        if let Some(name) = environment.relative {
            let message = format!("{name} is a relative path; it must be absolute, to name the same folder everywhere");
            return Err(OpError::Usage {
                message,
                hints: vec![format!("set {name} to an absolute path, or unset it").into()],
            });
        }
        let given_time = request.now.as_deref().or(environment.now.as_deref());
        let is_time_given = given_time.is_some();
        let clock = store::now(given_time)
            .map_err(|error| OpError::Usage { message: format!("--now: {error}"), hints: Vec::new() })?;
        let start = match &request.project {
            Some(dir) => store::surroundings::folder().join(dir),
            None => store::current_dir()?,
        };
        let run_path = request.run.as_deref().and_then(|run| store::existing_path(&start, run));
        if let Some(session) = run_path.as_deref().and_then(piton::session_of_prodigy) {
            return Err(not_ours(session));
        }
        let session = run_path.as_deref().and_then(SessionHome::containing);
        // A transcript is in the client's folder, and belongs to the project that is looked at.
        let is_transcript =
            |path: &&Utf8PathBuf| path.as_str().ends_with(".jsonl") && in_client_home(path, &environment);
        let transcript = run_path.as_ref().filter(is_transcript).cloned();
        let run_path = run_path.filter(|_| transcript.is_none());
        // The records of a session are outside of any project, and its worktree may be gone.
        let root = session.as_ref().and_then(|(home, id)| root_of(home, id));
        let mut project = Project::open(root.as_deref().or(run_path.as_deref()).unwrap_or(&start), &environment)?;
        if let Some(path) = run_path.as_ref().filter(|_| root.is_none() && !project.is_marked()) {
            // Nothing marks a project around the path: it is that of the caller, if the path is in it.
            let around = Project::open(&start, &environment)?;
            project = if path.starts_with(&around.root) { around } else { project };
        }
        let homes = SessionHome::all_of_project(&project, &environment);
        let (home, homes) = match session {
            Some((home, _)) => {
                // It is known with its worktrees, if it is one of the project's.
                let home = homes.into_iter().find(|known| known.root() == home.root()).unwrap_or(home);
                (home.clone(), vec![home])
            }
            None => (SessionHome::for_project(&project, &environment), homes),
        };
        let is_here = |id: &str| homes.iter().any(|home| store::is_folder(&home.session(id)));
        let elsewhere = request.run.as_deref().filter(|id| run_path.is_none() && !is_here(id));
        if let Some(place) = elsewhere.and_then(|id| project.trusted.place_of(id)) {
            return Self::open(&Request { run: Some(place.into_string()), ..request.clone() });
        }
        project.exclude_session_worktrees(&home.worktrees());
        let asked_mode = match (request.mode, &environment.mode) {
            (Some(mode), _) => Some(mode),
            (None, text) => text.as_deref().map(parse_mode).transpose()?,
        };
        let run =
            transcript.map(Utf8PathBuf::into_string).or_else(|| request.run.clone().filter(|_| run_path.is_none()));
        let step = request.step.clone().filter(|step| !step.is_empty());
        Ok(Self {
            project,
            environment,
            home,
            homes,
            clock,
            is_time_given,
            asked_mode,
            run,
            run_path,
            step,
            glanced: Mutex::default(),
        })
    }

    /// Returns the current time, or the time that the caller gave.
    pub(crate) fn later(&self) -> Clock {
        if self.is_time_given { self.clock } else { store::later(self.clock) }
    }

    /// Returns the mode for commands without a run.
    pub(crate) fn mode(&self) -> Mode {
        self.asked_mode.or(self.project.config.mode).unwrap_or_default()
    }

    /// Returns the mode of a run: the one the caller gave, else the one it was started in.
    pub(crate) fn mode_of(&self, run: &Run) -> Mode {
        self.asked_mode.or(run.mode).unwrap_or_else(|| self.mode())
    }

    /// Walks the project once and returns every run in it, with findings about files that are not runs.
    pub(crate) fn locations(&self) -> (Vec<RunLocation>, Vec<Finding>) {
        self.locations_in(self.scope())
    }

    /// Returns where runs are looked for: a whole id of a session is in no file of the project.
    pub(super) fn scope(&self) -> Scope<'static> {
        match &self.run {
            Some(run) if store::sessions::is_new_id(run) => Scope::Sessions,
            Some(_) | None => Scope::Whole,
        }
    }

    /// [`ProjectContext::locations`] in a part of the project.
    pub(crate) fn locations_in(&self, scope: Scope<'_>) -> (Vec<RunLocation>, Vec<Finding>) {
        let Walked { locations, findings, pending } = self.walk(scope);
        let own = |location: &RunLocation| {
            let own = store::journals::folder_of(&self.project, &location.root, &location.candidate);
            (location.root.clone(), own)
        };
        let pending = pending.into_iter().map(|own| (own.home.clone(), own));
        let places: BTreeSet<_> = locations.iter().map(own).chain(pending).collect();
        let finished = places.iter().filter(|(root, own)| store::finish_pending(&self.project, root, own));
        if finished.count() + store::journals::finish_all(&self.project) == 0 {
            return (locations, findings);
        }
        let Walked { locations, findings, .. } = self.walk(scope);
        (locations, findings)
    }

    /// Returns finished runs and leftovers that are not in [`ProjectContext::locations`].
    pub(crate) fn ended_runs(&self) -> EndedRuns {
        let mut ended = EndedRuns::default();
        for listing in self.listings(self.scope()) {
            let location = |candidate| RunLocation { root: listing.root.clone(), candidate };
            ended.ended.extend(
                dialects_in(StateHome::Project).flat_map(|dialect| dialect.probe(&listing).ended).map(location),
            );
            let leftovers = dialects_in(StateHome::Project).flat_map(|dialect| dialect.discovery().leftovers(&listing));
            ended.leftovers.extend(leftovers.map(|leftover| (listing.root.clone(), leftover)));
        }
        ended
    }

    /// Walks the project and reads every file that a dialect marks.
    pub(super) fn listings(&self, scope: Scope<'_>) -> Vec<Listing> {
        let marks = |path: &str| dialects_in(StateHome::Project).any(|dialect| dialect.marks(path));
        let mut listings = store::listings(&self.project, scope, &marks);
        for listing in &mut listings {
            let further: Vec<RelPath> = dialects_in(StateHome::Project)
                .flat_map(|dialect| dialect.discovery().extra_probe_paths(listing))
                .collect();
            store::probe_files(listing, &further);
        }
        listings
    }

    fn walk(&self, scope: Scope<'_>) -> Walked {
        let mut walked = Walked::default();
        let Walked { locations, findings, pending } = &mut walked;
        let (listings, unread) = store::unread::watched(|| self.listings(scope));
        for listing in &listings {
            let mut probed = Vec::new();
            probe(StateHome::Project, listing, locations, &mut probed);
            let unlisted = listing.unread.iter().filter(|unread| may_hold_runs(listing, unread));
            let unlisted: Vec<Finding> = unlisted.map(|unread| hides_runs(&listing.root, unread)).collect();
            findings.extend(unlisted.into_iter().filter(|unlisted| !is_named(&listing.root, unlisted, locations)));
            findings.append(&mut probed);
            findings.extend(unfinished::walk(listing));
        }
        add_unmatched(&self.project, listings, locations);
        findings.extend(self.project.foreign.iter().map(|marker| foreign_marker(marker)));
        findings.extend(unread.iter().map(|unread| hides_runs(&self.project.root, unread)));
        for home in self.homes.iter().filter(|home| scope.includes(home)) {
            let (sessions, unread) = store::unread::watched(|| home.listing(&self.project));
            findings.extend(unread.iter().map(|unread| hides_runs(home.root(), unread)));
            probe(StateHome::Home, &sessions.listing, locations, findings);
            pending.extend(sessions.pending);
            findings.extend(sessions.foreign.iter().map(|folder| foreign_folder(folder)));
        }
        walked
    }

    /// Loads a run, after waiting for a writer to finish its checkpoint.
    pub(crate) fn read(&self, location: &RunLocation) -> Result<OpenedRun, OpError> {
        if location.is_of_client() {
            return Ok(self.read_session(location));
        }
        let (candidate, untrusted) = run_location::readable(&self.project.trusted, location);
        let files = store::file_set(&self.project, &location.root, &candidate, self.clock)?;
        let mut opened = OpenedRun::new(candidate, files, &self.project.trusted);
        let ignored = self.project.ignored_settings.iter();
        opened.loaded.findings.extend(ignored.map(|what| Finding::new(FindingCode::SettingIgnored, what.as_str())));
        opened.loaded.findings.extend(unfinished::change(&opened));
        opened.loaded.findings.extend(untrusted);
        let opened = if opened.loaded.run.is_none() { versions::shown_from_history(opened) } else { opened };
        Ok(versions::offer_what_works(&self.project, opened))
    }

    /// Returns the location of a run after a change, which may have moved its state: that of a nine-step run goes into its worktree.
    pub(crate) fn relocated(&self, location: &RunLocation, written: &[RelPath]) -> RunLocation {
        let is_gone = |location: &RunLocation| {
            matches!(
                store::read_file(&location.root, &location.candidate.state),
                Content::Problem(ReadProblem::Missing)
            )
        };
        if written.len() < 2 || !is_gone(location) {
            return location.clone();
        }
        let (locations, _) = self.locations();
        let moved =
            locations.into_iter().find(|other| other.root == location.root && written.contains(&other.candidate.state));
        moved.unwrap_or_else(|| location.clone())
    }

    /// Returns the next record of this call.
    pub(crate) fn about(&self) -> About {
        About::new(store::new_uid(), self.driver())
    }

    /// Returns the name of the caller in records; `None` for a passing shell.
    pub(crate) fn driver(&self) -> Option<Uid> {
        store::driver(&self.environment, self.home.root())
    }

    /// Returns the caller, with the client's process as the owner if the client reported it.
    pub(super) fn caller(&self) -> Caller {
        store::session::caller(&store::journals::sessions_folders(&self.project), &self.environment)
    }

    /// Gathers the evidence a run asks for. `with_git` is false if no process may be started.
    pub(crate) fn evidence(&self, opened: &OpenedRun, with_git: bool) -> Evidence {
        let (mut evidence, unread) = store::unread::watched(|| self.gathered(opened, with_git));
        let unread = self.project.unread.iter().chain(&unread);
        evidence.findings = unread.map(|unread| blocks(&opened.files.root, unread)).collect();
        evidence.findings.dedup();
        evidence
    }

    fn gathered(&self, opened: &OpenedRun, with_git: bool) -> Evidence {
        let wanted = &*self.wanted(opened);
        let base = wanted.base(&opened.files.root);
        let without_git = || EvidenceRequest {
            outputs: wanted.outputs.clone(),
            documents: wanted.documents.clone(),
            owner_processes: wanted.owner_processes.clone(),
            base: wanted.base.clone(),
            ..EvidenceRequest::default()
        };
        let asked = if with_git { Cow::Borrowed(wanted) } else { Cow::Owned(without_git()) };
        let mut evidence = store::gather(&self.project, &opened.files, &asked, opened.records(), &self.environment);
        evidence.rollbacks = opened.rollbacks();
        evidence.agreed = journal::agreed(&opened.journal.entries, self.about().driver, self.clock.now);
        workflow_file::check_outputs(opened, &mut evidence);
        self.read_statements(opened, &mut evidence);
        if let Some(run) = &opened.loaded.run {
            store::inspect_files(base, &evidence.unrecorded_files(run.id.as_str()), &mut evidence);
        }
        inspect_witnesses(opened, base, &mut evidence);
        read_definitions(opened, &mut evidence);
        if let Some(request) = &wanted.guest {
            // Its newest commit is the age of the run, also where no step can be compared with git.
            let log = with_git && self.project.git.is_some();
            let log = if log { store::commit_log(&opened.files.root).map(Arc::new) } else { None };
            evidence.guest = GuestEvidence {
                files: store::declared_files(&opened.files.root, &request.files),
                state_folders: request.state_folders.iter().chain(&request.shared_folders).cloned().collect(),
                log: None,
                was_asked: with_git && request.wants_log,
            };
            add_log(opened, log, &mut evidence);
        } else if with_git {
            let unstamped = opened.loaded.run.as_ref().is_some_and(|run| run.stamp.is_none());
            if unstamped && self.project.git.is_some() {
                evidence.committed_at = store::git::committed_at(&opened.files.root, opened.files.state.as_str());
            }
        }
        if with_git {
            self.inspect_branch(opened, &mut evidence);
        }
        evidence
    }

    /// Returns what a run asks for, and the commits that its rollbacks gave up. The folder of its work is a word of its records: one that
    /// is not of this project is not looked at.
    pub(super) fn wanted<'a>(&self, opened: &'a OpenedRun) -> Cow<'a, EvidenceRequest> {
        let mut wanted = Cow::Borrowed(&opened.loaded.wanted);
        if wanted.base.as_ref().is_some_and(|base| !self.project.owns(base, &self.home.worktrees())) {
            let elsewhere = wanted.to_mut();
            (elsewhere.base, elsewhere.outside, elsewhere.workspace) = (None, None, None);
            elsewhere.outputs.clear();
        }
        let given_up = opened.given_up();
        if !given_up.is_empty() {
            wanted.to_mut().commits.extend(given_up);
        }
        wanted
    }

    /// Adds what was said about the run, and whether the drivers of its steps in progress are still there.
    fn read_statements(&self, opened: &OpenedRun, evidence: &mut Evidence) {
        let Some(run) = &opened.loaded.run else { return };
        evidence.statements = opened.statements(run);
        evidence.late = opened.late(run);
        evidence.presences =
            store::journals::presences(&opened.files, run, opened.open_attempts(), || (self.caller(), self.driver()));
    }

    /// Gathers the evidence of a change, with the state of the working folder. Git is only asked for the commits that a rollback gave up.
    pub(crate) fn workspace_evidence(&self, opened: &OpenedRun) -> Evidence {
        let mut evidence = self.evidence(opened, false);
        if self.project.git.is_some() {
            let (wanted, commits) = (self.wanted(opened), opened.given_up());
            evidence.workspace = store::workspace(&opened.files, &wanted);
            if !commits.is_empty() {
                let wanted = EvidenceRequest { commits, ..wanted.into_owned() };
                store::inspect_commits(wanted.base(&opened.files.root), &wanted, &mut evidence);
            }
            self.inspect_branch(opened, &mut evidence);
        }
        evidence
    }

    /// Finds out whether the run's branch exists, if another one is checked out.
    fn inspect_branch(&self, opened: &OpenedRun, evidence: &mut Evidence) {
        let branch = opened.loaded.run.as_ref().and_then(|run| run.workspace.branch.as_deref());
        if let (Some(found), Some(branch)) = (&mut evidence.workspace, branch)
            && found.branch.as_deref() != Some(branch)
        {
            found.branch_exists = store::git::branch_exists(&self.project.root, branch);
        }
    }
}

/// Adds the log of git to the evidence of a run that is only read, with the time of its last commit.
pub(super) fn add_log(opened: &OpenedRun, log: Option<Arc<CommitLog>>, evidence: &mut Evidence) {
    let Some(run) = &opened.loaded.run else { return };
    let own = opened.loaded.wanted.guest.iter().flat_map(|request| &request.state_folders);
    let state: Vec<RelPath> = run.state_files.iter().chain(own).cloned().collect();
    let names = || run.steps.iter().filter_map(|step| step.guest.as_ref()).flat_map(|proof| &proof.names);
    evidence.committed_at = log.as_ref().and_then(|log| log.last_change(&state, names()));
    evidence.guest.log = log;
}

/// Inspects the witness files of steps that a rollback reopened or that were begun: older ones do not count.
fn inspect_witnesses(opened: &OpenedRun, base: &Utf8Path, evidence: &mut Evidence) {
    let Some(run) = &opened.loaded.run else { return };
    let begun = evidence.statements.iter().filter_map(|statement| match &statement.kind {
        StatementKind::Begun(attempt) => Some(&attempt.step),
        StatementKind::Report(_) | StatementKind::Decision(_) => None,
    });
    let rolled_back = evidence.rollbacks.iter().flat_map(|rollback| &rollback.reopened);
    let reopened: BTreeSet<&StepId> = rolled_back.chain(begun).collect();
    let steps = run.steps.iter().filter(|step| step.status != Status::Completed && reopened.contains(&step.id));
    let files: Vec<RelPath> = steps.flat_map(|step| &step.proof.witnesses).filter_map(|one| one.file.clone()).collect();
    store::inspect_files(base, &files, evidence);
}

/// Adds the definitions of steps that were recorded with one, where the run does not hold them.
fn read_definitions(opened: &OpenedRun, evidence: &mut Evidence) {
    let Some(run) = &opened.loaded.run else { return };
    let recorded: BTreeSet<&StepId> =
        evidence.records.iter().filter(|record| record.definition.is_some()).map(|record| &record.step).collect();
    let steps = run.steps.iter().filter(|step| step.definition.is_null() && recorded.contains(&step.id));
    evidence.definitions = steps.filter_map(|step| Some((step.id.clone(), opened.definition_digest(step)?))).collect();
}

/// Tells whether a path is below the client's folder.
fn in_client_home(path: &Utf8Path, environment: &Environment) -> bool {
    store::ClientHome::open(environment).is_some_and(|home| path.starts_with(home.root()))
}

/// Refuses a checkpoint of Prodigy that is named by its path.
fn not_ours(session: &str) -> OpError {
    let session = engine::quoted(session);
    let message = format!("{session} is a session of Prodigy, which Piton neither reads nor writes");
    OpError::InTheWay {
        why: No::NotYours,
        message,
        hints: vec![Suggested::Other(format!("prodigy resume {session}")).into()],
    }
}

/// Returns the folder that a session was started in, if it is known and still exists.
fn root_of(home: &SessionHome, id: &str) -> Option<Utf8PathBuf> {
    store::existing_path(&session_header(home.root(), id)?.root, ".")
}

/// Returns the output format from the environment.
pub(crate) fn wanted_format() -> Option<String> {
    store::variable("PITON_FORMAT").filter(|format| !format.is_empty())
}

/// Returns the dialects that keep their runs there.
pub(super) fn dialects_in(state_home: StateHome) -> impl Iterator<Item = &'static dyn Dialect> {
    DIALECTS.iter().copied().filter(move |dialect| dialect.state_home() == state_home)
}

fn foreign_marker(marker: &Utf8Path) -> Finding {
    let message = format!("{marker} belongs to another user: it does not make a project of the folder that it is in");
    let list = Suggested::new(Verb::List).project(marker.parent().map_or("/", Utf8Path::as_str));
    let fix = format!("if it is to count: {list}");
    Finding::new(FindingCode::SessionForeign, message).fix(fix)
}

fn foreign_folder(folder: &Utf8Path) -> Finding {
    let message = format!("{folder} belongs to another user, or is a link: its sessions are not read");
    let fix = format!("check its owner: ls -ld {}", engine::quoted(folder.as_str()));
    Finding::new(FindingCode::SessionForeign, message).fix(fix)
}

/// Tells whether runs could be in a place that could not be looked into. Folders without permission are normal in a project; any other failure
/// is not.
fn may_hold_runs(listing: &Listing, unread: &Unread) -> bool {
    match (&unread.problem, RelPath::below(&unread.path, &listing.root)) {
        (ReadProblem::Permission | ReadProblem::FolderLink, Some(folder)) => {
            let is_file = |entry: &ListingEntry| entry.path == folder && !entry.is_dir;
            let is_asked_for = unread.problem == ReadProblem::Permission && listing.entries.iter().any(is_file);
            is_asked_for
                || store::is_place_of_runs(&folder)
                || DIALECTS.iter().any(|dialect| dialect.keeps_state_in(&folder, &listing.config))
        }
        // Where there are no settings, the sandbox of the client puts a device, so that none are made.
        (ReadProblem::NotRegular, Some(file)) => !PROJECT_SETTINGS.contains(&file.as_str()),
        _ => true,
    }
}

/// Tells whether a run that was found names the same file when it is read.
fn is_named(root: &Utf8Path, unlisted: &Finding, locations: &[RunLocation]) -> bool {
    locations.iter().any(|run| run.root == *root && Some(&run.candidate.state) == unlisted.file.as_ref())
}

fn probe(state_home: StateHome, listing: &Listing, locations: &mut Vec<RunLocation>, findings: &mut Vec<Finding>) {
    for dialect in dialects_in(state_home) {
        let mut probed = dialect.probe(listing);
        findings.append(&mut probed.findings);
        let found = probed.candidates.into_iter();
        locations.extend(found.map(|candidate| RunLocation { root: listing.root.clone(), candidate }));
    }
}

/// Names the runs whose states do not tell it by their journals, and adds those of which only the journal is left.
fn add_unmatched(project: &Project, listings: Vec<Listing>, locations: &mut Vec<RunLocation>) {
    let main = listings.into_iter().find(|listing| listing.root == project.root);
    let mut lost = Vec::new();
    for unmatched in unmatched::all(project, locations) {
        let is_of = |run: &&mut RunLocation| {
            let candidate = &run.candidate;
            !candidate.is_named && candidate.dialect == unmatched.dialect && unmatched.has(&candidate.state)
        };
        match locations.iter_mut().find(is_of) {
            Some(run) => run.candidate = Candidate { name: unmatched.run, is_named: true, ..run.candidate.clone() },
            None => match main.as_ref().and_then(|main| unmatched.damaged(main, locations)) {
                Some(damaged) => locations.push(damaged),
                None => lost.extend(unmatched.lost(project)),
            },
        }
    }
    let Some(mut main) = main.filter(|_| !lost.is_empty()) else { return };
    let paths: Vec<RelPath> = lost.iter().map(|lost| lost.path.clone()).collect();
    main.lost = lost;
    let probed = DIALECTS.iter().filter(|dialect| dialect.copies().can_be_lost()).map(|dialect| dialect.probe(&main));
    let found = probed.flat_map(|probed| probed.candidates).filter(|found| paths.contains(&found.state));
    locations.extend(found.map(|candidate| RunLocation { root: main.root.clone(), candidate }));
}

fn parse_mode(text: &str) -> Result<Mode, OpError> {
    match text {
        "autopilot" => Ok(Mode::Autopilot),
        "interactive" => Ok(Mode::Interactive),
        "preflight" => Ok(Mode::Preflight),
        _ => Err(OpError::Usage {
            message: format!("PITON_MODE is `{text}`; it is autopilot, interactive or preflight"),
            hints: Vec::new(),
        }),
    }
}
