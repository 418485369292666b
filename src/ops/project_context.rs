//! The project a verb works in, opened once per process.

use std::collections::BTreeSet;

use camino::Utf8Path;
use camino::Utf8PathBuf;

use super::OpError;
use super::restore;
use super::workflow;
use crate::dialect::DIALECTS;
use crate::dialect::Dialect;
use crate::dialect::Leftover;
use crate::dialect::Loaded;
use crate::dialect::StateHome;
use crate::dialect::by_id;
use crate::dialect::script::candidate;
use crate::dialect::script::prodigy;
use crate::dialect::script::record::HEADER;
use crate::dialect::script::record::Header;
use crate::engine;
use crate::model::Candidate;
use crate::model::Clock;
use crate::model::Content;
use crate::model::DialectId;
use crate::model::Evidence;
use crate::model::EvidenceRequest;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Listing;
use crate::model::Mode;
use crate::model::ReadProblem;
use crate::model::RelPath;
use crate::model::Run;
use crate::model::RunHeader;
use crate::model::StepId;
use crate::model::sha256_hex_of;
use crate::store;
use crate::store::CheckpointMeta;
use crate::store::Environment;
use crate::store::Project;
use crate::store::Scope;
use crate::store::SessionHome;

/// Is what the command line says about every verb.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) project: Option<String>,
    pub(crate) now: Option<String>,
    pub(crate) mode: Option<Mode>,
    /// RUN: id, number, or path.
    pub(crate) run: Option<String>,
    /// Where Prodigy keeps sessions that are to be seen too.
    pub(crate) prodigy_home: Option<String>,
}

/// Is the project, the clock and the settings.
#[derive(Debug)]
pub(crate) struct ProjectContext {
    pub(crate) project: Project,
    pub(crate) environment: Environment,
    /// Where the sessions of this repository are; `None` where the environment names no place for state.
    pub(crate) home: Option<SessionHome>,
    pub(crate) clock: Clock,
    /// The caller says what time it is.
    is_time_given: bool,
    /// What the caller asked for, by flag or environment.
    asked_mode: Option<Mode>,
    /// RUN, when it was given and is no path that `project` was opened at.
    pub(crate) run: Option<String>,
    /// The path RUN named, absolute: only candidates at or below it, or around it, are meant.
    pub(crate) run_path: Option<Utf8PathBuf>,
    /// What Prodigy keeps, when it is to be seen.
    prodigy: Option<Listing>,
}

/// Is a run found but not read.
#[derive(Clone, Debug)]
pub(crate) struct RunLocation {
    pub(crate) root: Utf8PathBuf,
    pub(crate) candidate: Candidate,
}

impl RunLocation {
    /// Returns the session of the runner that the run is: the folder of all sessions, and its name.
    pub(crate) fn session(&self) -> Option<(&Utf8Path, &str)> {
        let is_ours = self.candidate.dialect == DialectId::Script && self.take_over().is_none();
        is_ours.then(|| (self.root.as_path(), self.candidate.name.as_str()))
    }

    /// Returns the command that takes the run over when it is another program's.
    pub(crate) fn take_over(&self) -> Option<String> {
        by_id(self.candidate.dialect).takeover_command(&self.root, &self.candidate)
    }

    /// Refuses to go on with, or to write, what is another program's.
    pub(crate) fn check_ours(&self) -> Result<(), OpError> {
        let Some(take_over) = self.take_over() else { return Ok(()) };
        let message = format!("{} is another program's: it is read here, never written", self.candidate.name);
        Err(OpError::InTheWay { message, hints: vec![take_over] })
    }
}

/// Is what one walk through the project found.
#[derive(Debug, Default)]
struct Walked {
    locations: Vec<RunLocation>,
    findings: Vec<Finding>,
    /// Where a change to several files was cut off, with the root that each folder lies below.
    pending: Vec<(Utf8PathBuf, RelPath)>,
}

/// Is what is left of runs that are over.
#[derive(Debug, Default)]
pub(crate) struct EndedRuns {
    /// States that are evidence and no runs.
    pub(crate) ended: Vec<RunLocation>,
    /// Files that no run needs, each with the root that it lies below.
    pub(crate) leftovers: Vec<(Utf8PathBuf, Leftover)>,
}

/// Is a run with everything that was read of it.
#[derive(Debug)]
pub(crate) struct OpenedRun {
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) candidate: Candidate,
    pub(crate) files: FileSet,
    pub(crate) loaded: Loaded,
}

impl ProjectContext {
    /// Opens the project of a request. A RUN that is a path opens the project of that path.
    pub(crate) fn open(request: &Request) -> Result<Self, OpError> {
        let environment = Environment::read();
        let given_time = request.now.as_deref().or(environment.now.as_deref());
        let is_time_given = given_time.is_some();
        let clock = store::now(given_time)
            .map_err(|error| OpError::Usage { message: format!("--now: {error}"), hints: Vec::new() })?;
        let start = match &request.project {
            Some(dir) => Utf8PathBuf::from(dir),
            None => store::current_dir()?,
        };
        let run_path = request.run.as_deref().and_then(|run| store::existing_path(&start, run));
        let session = run_path.as_deref().and_then(|path| SessionHome::around(path, &environment));
        // The records of a session lie in no project, and it may have lost its worktree.
        let root = session.as_ref().and_then(|(home, id)| root_of(home, id));
        let marks = |path: &str| on(StateHome::Home).any(|dialect| dialect.marks(path));
        let named = request.prodigy_home.as_ref().map(|folder| start.join(folder));
        let prodigy = named.or_else(|| prodigy::home_of(run_path.as_deref()?).map(Utf8Path::to_owned));
        let prodigy = prodigy.map(|folder| prodigy_listing(&folder, &marks)).transpose()?;
        let mut project = Project::open(root.as_deref().or(run_path.as_deref()).unwrap_or(&start), &environment)?;
        let home = match session {
            Some((home, _)) => Some(home),
            None => SessionHome::of(&project, &environment),
        };
        home.iter().for_each(|home| project.leave_out(home));
        let asked_mode = match (request.mode, &environment.mode) {
            (Some(mode), _) => Some(mode),
            (None, text) => text.as_deref().map(parse_mode).transpose()?,
        };
        let run = request.run.clone().filter(|_| run_path.is_none());
        Ok(Self { project, environment, home, clock, is_time_given, asked_mode, run, run_path, prodigy })
    }

    /// Returns what time it is by now, unless the caller says what it is.
    pub(crate) fn later(&self) -> Clock {
        if self.is_time_given { self.clock } else { store::later(self.clock) }
    }

    /// Names a checkpoint that is written now and is about a run as a whole.
    pub(crate) fn checkpoint(&self, change: &str) -> CheckpointMeta {
        CheckpointMeta::new(change, self.clock.now, self.project.config.limits.history)
    }

    /// Returns the home of Prodigy that is looked into.
    pub(crate) fn prodigy_home(&self) -> Option<&Utf8Path> {
        self.prodigy.as_ref().map(|listing| listing.root.as_path())
    }

    /// Returns the mode where no run is spoken of.
    pub(crate) fn mode(&self) -> Mode {
        self.asked_mode.or(self.project.config.mode).unwrap_or_default()
    }

    /// Returns the mode of a run: what the caller asked for, else the one it was started in.
    pub(crate) fn mode_of(&self, run: &Run) -> Mode {
        self.asked_mode.or(run.mode).unwrap_or_else(|| self.mode())
    }

    /// Walks the project once and returns every run in it, with what only looks like one.
    pub(crate) fn locations(&self) -> (Vec<RunLocation>, Vec<Finding>) {
        self.locations_in(Scope::Whole)
    }

    /// Does the same for a caller who reads none of the runs: what discovery found out about each is among the findings.
    pub(crate) fn all_told(&self) -> (Vec<RunLocation>, Vec<Finding>) {
        let (locations, mut findings) = self.locations();
        findings.extend(locations.iter().flat_map(|location| location.candidate.findings.iter().cloned()));
        (locations, findings)
    }

    /// Does the same as [`ProjectContext::locations`] in a part of the project.
    pub(crate) fn locations_in(&self, scope: Scope<'_>) -> (Vec<RunLocation>, Vec<Finding>) {
        let Walked { locations, findings, pending } = self.walk(scope);
        let of_locations = locations.iter().map(|location| (&location.root, &location.candidate.data_dir));
        let places: BTreeSet<_> = of_locations.chain(pending.iter().map(|(root, own)| (root, own))).collect();
        let finished = places.into_iter().filter(|(root, own)| store::finish_pending(&self.project, root, own));
        if finished.count() == 0 {
            return (locations, findings);
        }
        let Walked { locations, findings, .. } = self.walk(scope);
        (locations, findings)
    }

    /// Returns what is left of runs that are over, besides [`ProjectContext::locations`].
    pub(crate) fn ended_runs(&self) -> EndedRuns {
        let mut remains = EndedRuns::default();
        for listing in self.listings(Scope::Whole) {
            let location = |candidate| RunLocation { root: listing.root.clone(), candidate };
            remains
                .ended
                .extend(on(StateHome::Project).flat_map(|dialect| dialect.probe(&listing).ended).map(location));
            let leftovers = on(StateHome::Project).flat_map(|dialect| dialect.leftovers(&listing));
            remains.leftovers.extend(leftovers.map(|leftover| (listing.root.clone(), leftover)));
        }
        remains
    }

    /// Walks over the project, looking into every file that a dialect marks.
    fn listings(&self, scope: Scope<'_>) -> Vec<Listing> {
        let marks = |path: &str| on(StateHome::Project).any(|dialect| dialect.marks(path));
        let mut listings = store::listings(&self.project, scope, &marks);
        for listing in &mut listings {
            let further: Vec<RelPath> =
                on(StateHome::Project).flat_map(|dialect| dialect.extra_probe_paths(listing)).collect();
            store::look_further(listing, &further);
        }
        listings
    }

    fn walk(&self, scope: Scope<'_>) -> Walked {
        let mut walked = Walked::default();
        let Walked { locations, findings, pending } = &mut walked;
        for listing in &self.listings(scope) {
            probe(StateHome::Project, listing, locations, findings);
            findings.extend(listing.closed.iter().filter_map(|folder| self.closed(listing, folder)));
            pending.extend(listing.pending.iter().map(|own| (listing.root.clone(), own.clone())));
        }
        if let Some(home) = self.home.as_ref().filter(|home| scope.may_mean(home)) {
            let sessions = home.listing(&self.project.config);
            probe(StateHome::Home, &sessions.listing, locations, findings);
            findings.extend(sessions.foreign.iter().map(|folder| foreign(folder)));
        }
        if let (Scope::Whole, Some(listing)) = (scope, &self.prodigy) {
            probe(StateHome::Home, listing, locations, findings);
        }
        walked
    }

    /// Says that a folder in which runs would be could not be looked into.
    fn closed(&self, listing: &Listing, folder: &RelPath) -> Option<Finding> {
        let keeps_state = DIALECTS.iter().any(|dialect| dialect.keeps_state_in(folder, &listing.config));
        keeps_state.then(|| {
            let message = format!("{folder} cannot be looked into: permission denied; runs in it are not seen");
            let fix = open_up(&folder.under(&listing.root));
            Finding::new(FindingCode::FolderClosed, message).at(folder).fix(fix)
        })
    }

    /// Reads a run, waiting for a writer that is in the middle of a checkpoint.
    pub(crate) fn read(&self, location: &RunLocation) -> Result<OpenedRun, OpError> {
        let files = store::file_set(&self.project, &location.root, &location.candidate, self.clock)?;
        let opened = OpenedRun::new(location.candidate.clone(), files);
        Ok(if opened.loaded.run.is_none() { restore::shown_from_history(opened) } else { opened })
    }

    /// Returns where a run is after files were written: a change may have moved its state.
    pub(crate) fn found_again(&self, location: &RunLocation, written: &[RelPath]) -> RunLocation {
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

    /// Gathers the evidence a run wants. `with_git` is false where a process must not be started.
    pub(crate) fn evidence(&self, opened: &OpenedRun, with_git: bool) -> Evidence {
        let wanted = &opened.loaded.wanted;
        if with_git {
            let mut evidence = store::gather(&self.project, &opened.files, wanted, &self.environment);
            let unstamped = opened.loaded.run.as_ref().is_some_and(|run| run.stamp.is_none());
            if unstamped && self.project.git.is_some() {
                evidence.committed_at = store::git::committed_at(&opened.files.root, opened.files.state.as_str());
            }
            workflow::check_outputs(opened, &mut evidence);
            look_at_witnesses(opened, &mut evidence);
            self.look_for_branch(opened, &mut evidence);
            return evidence;
        }
        let (outputs, owner_processes) = (wanted.outputs.clone(), wanted.owner_processes.clone());
        let without = EvidenceRequest { outputs, owner_processes, ..EvidenceRequest::default() };
        let mut evidence = store::gather(&self.project, &opened.files, &without, &self.environment);
        workflow::check_outputs(opened, &mut evidence);
        look_at_witnesses(opened, &mut evidence);
        evidence
    }

    /// Adds to evidence gathered without git where the work would happen now; that takes files only.
    pub(crate) fn look_at_workspace(&self, opened: &OpenedRun, evidence: &mut Evidence) {
        if self.project.git.is_some() {
            evidence.workspace = store::workspace(&opened.files, &opened.loaded.wanted);
            self.look_for_branch(opened, evidence);
        }
    }

    /// Finds out whether the branch that the run wants exists, where another one is checked out.
    fn look_for_branch(&self, opened: &OpenedRun, evidence: &mut Evidence) {
        let branch = opened.loaded.run.as_ref().and_then(|run| run.workspace.branch.as_deref());
        if let (Some(found), Some(branch)) = (&mut evidence.workspace, branch)
            && found.is_git
            && found.branch.as_deref() != Some(branch)
        {
            found.branch_exists = store::git::branch_exists(&self.project.root, branch);
        }
    }
}

/// Finds out when the witnesses of steps that a rollback opened again were written: what they say of the work before counts no more.
fn look_at_witnesses(opened: &OpenedRun, evidence: &mut Evidence) {
    let Some(run) = opened.loaded.run.as_ref().filter(|_| !evidence.rollbacks.is_empty()) else { return };
    let reopened: BTreeSet<&StepId> = evidence.rollbacks.iter().flat_map(|rollback| &rollback.reopened).collect();
    let steps = run.steps.iter().filter(|step| reopened.contains(&step.id));
    let files: Vec<RelPath> = steps.flat_map(|step| &step.proof.witnesses).filter_map(|one| one.file.clone()).collect();
    store::look_at(&opened.files.root, &files, evidence);
}

fn prodigy_listing(folder: &Utf8Path, marks: &dyn Fn(&str) -> bool) -> Result<Listing, OpError> {
    store::tree(folder, marks).map_err(|error| OpError::Usage {
        message: format!("--prodigy-home: {error}"),
        hints: vec!["name the folder that holds `state/` and `sessions/`: usually ~/.prodigy".to_owned()],
    })
}

/// Returns the folder that a session was started in, when it says so and is still there.
fn root_of(home: &SessionHome, id: &str) -> Option<Utf8PathBuf> {
    let header = candidate(id, None)?.data_dir.join(HEADER).ok()?;
    let Content::Bytes(bytes) = store::read_file(home.root(), &header) else { return None };
    let header: Header = serde_json::from_slice(&bytes).ok()?;
    store::existing_path(&header.root, ".")
}

/// Returns where Prodigy keeps its sessions when nobody says where.
pub(crate) fn usual_prodigy_home() -> Option<String> {
    Environment::read().prodigy_home.map(Utf8PathBuf::into_string)
}

/// Returns the format that the environment asks for.
pub(crate) fn wanted_format() -> Option<String> {
    store::variable("PITON_FORMAT").filter(|format| !format.is_empty())
}

/// Returns the dialects whose runs are there.
fn on(ground: StateHome) -> impl Iterator<Item = &'static dyn Dialect> {
    DIALECTS.iter().copied().filter(move |dialect| dialect.state_home() == ground)
}

fn foreign(folder: &Utf8Path) -> Finding {
    let message = format!("{folder} belongs to another user, or is a link: no session in it is read");
    let fix = format!("look whose it is: ls -ld {}", engine::quoted(folder.as_str()));
    Finding::new(FindingCode::SessionForeign, message).fix(fix)
}

fn probe(ground: StateHome, listing: &Listing, locations: &mut Vec<RunLocation>, findings: &mut Vec<Finding>) {
    for dialect in on(ground) {
        let mut probed = dialect.probe(listing);
        findings.append(&mut probed.findings);
        let found = probed.candidates.into_iter();
        locations.extend(found.map(|candidate| RunLocation { root: listing.root.clone(), candidate }));
    }
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

impl OpenedRun {
    pub(crate) fn new(candidate: Candidate, files: FileSet) -> Self {
        let dialect = by_id(candidate.dialect);
        let loaded = load(dialect, &candidate, &files);
        Self { dialect, candidate, files, loaded }
    }

    /// Returns the run, or why there is none to speak of.
    pub(crate) fn run(&self) -> Result<&Run, OpError> {
        self.loaded.run.as_ref().ok_or_else(|| {
            let why = self.loaded.findings.iter().min_by_key(|finding| finding.severity);
            let message = why.map_or_else(|| format!("{}: nothing could be read", self.candidate.state), located);
            OpError::Unreadable { message, findings: self.loaded.findings.clone() }
        })
    }

    /// Returns a short digest that changes with every change of the state files.
    pub(crate) fn revision(&self) -> String {
        let pieces = self
            .state_files()
            .iter()
            .flat_map(|path| [path.as_str().as_bytes(), &[0], self.files.bytes(path).unwrap_or_default(), &[0]]);
        let mut digest = sha256_hex_of(pieces);
        digest.truncate(16);
        digest
    }

    fn state_files(&self) -> &[RelPath] {
        self.loaded.run.as_ref().map(|run| run.state_files.as_slice()).unwrap_or_default()
    }

    pub(crate) fn header(&self, run: &Run, revision: String) -> RunHeader {
        RunHeader {
            id: run.id.clone(),
            dialect: run.dialect,
            title: run.title.clone(),
            workflow: run.workflow.clone(),
            root: self.files.root.as_str().to_owned(),
            state_files: run.state_files.clone(),
            branch: run.workspace.branch.clone(),
            base_branch: run.workspace.base_branch.clone(),
            worktree: run.workspace.worktree.as_ref().map(|path| path.as_str().to_owned()),
            plan_reference: run.workspace.plan_reference.clone(),
            resumes: run.resumes,
            revision,
        }
    }
}

/// Reads a run, with what discovery found out about it.
fn load(dialect: &dyn Dialect, candidate: &Candidate, files: &FileSet) -> Loaded {
    let mut loaded = dialect.load(files);
    loaded.findings.extend(candidate.findings.iter().cloned());
    for finding in &mut loaded.findings {
        // A file that may not be read is none to restore, and none to correct by hand.
        let is_closed = |path: &&RelPath| files.problem(path) == Some(ReadProblem::Permission);
        if let Some(path) = finding.file.as_ref().filter(is_closed) {
            finding.fix = Some(open_up(&path.under(&files.root)));
        }
        if finding.code == FindingCode::StateUnreadable && finding.fix.is_none() {
            finding.fix = Some(format!("piton repair {}", engine::quoted(&format!("./{}", candidate.state))));
        }
    }
    loaded
}

/// Returns the command that gives this user the permission that a path lacks.
pub(crate) fn open_up(path: &Utf8Path) -> String {
    let denied = store::denied(path).unwrap_or_else(|| path.to_owned());
    format!("chmod u+rwX {}", engine::quoted(denied.as_str()))
}

/// Says what a finding says, with the file, line and column that it is about.
pub(crate) fn located(finding: &Finding) -> String {
    let message = match &finding.file {
        Some(file) if !finding.message.contains(file.as_str()) => format!("{file}: {}", finding.message),
        Some(_) | None => finding.message.clone(),
    };
    match (finding.line, finding.column) {
        (Some(line), Some(column)) => format!("{message} (line {line}, column {column})"),
        (Some(line), None) => format!("{message} (line {line})"),
        (None, _) => message,
    }
}
