//! The sessions of Claude Code that belong to a project: found by the folder that they worked in, never by the name of their own folder
//! (docs/formats/claude.md#which-sessions-belong-to-a-project). They are read, never written.
//!
//! `read` turns the files of a session into a digest, `notice` says in a line what was cut off, `adopted` knows which were made into runs.

mod adopted;
mod notice;
mod read;

use adopted::adopted;
pub(crate) use adopted::{check_not_adopted, check_writable};
pub(crate) use notice::notice;

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError},
};

use camino::{Utf8Path, Utf8PathBuf};

use super::{opened_run::OpenedRun, project_context::ProjectContext, run_location::RunLocation};
use crate::{
    dialect::claude::{self, ClientProcess, Digest, Life},
    model::{Candidate, Claim, Content, DialectId, FileEntry, FileSet, Local, ReadSpec, RelPath, SessionEvent},
    store::{self, ClientHome, SessionLog},
};
use read::Look;

/// How long a session is offered after its last message, in seconds.
const OFFERED_SECONDS: i64 = 7 * 24 * 3_600;
/// Bytes of the file of a process.
const PROCESS_BYTES: u64 = 64 << 10;
/// Number of files of processes.
const PROCESSES: usize = 1_000;
/// Number of characters of a session id that name its run, where they are enough.
const ID_CHARS: usize = 8;
/// The priority of sessions among runs that a person chooses from.
const PRIORITY: u8 = 200;

/// The sessions of a project, as far as they were asked for.
#[derive(Debug, Default)]
pub(crate) struct ClientSessions {
    /// The client's folder.
    root: Utf8PathBuf,
    /// Newest first.
    pub(crate) found: Vec<FoundSession>,
}

/// Number of kept versions that are looked at; the client keeps fewer.
const VERSIONS: usize = 1_000;
/// Size of a file that is compared with kept versions.
const VERSION_BYTES: u64 = 1 << 20;

/// A session that belongs to the project.
#[derive(Debug)]
pub(crate) struct FoundSession {
    pub(crate) name: String,
    path: RelPath,
    /// The transcripts of older copies of its conversation.
    older: Vec<RelPath>,
    pub(crate) digest: Digest,
}

/// Which sessions are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionFilter<'a> {
    /// Those to continue: cut off or left open within the last days, by a client that is gone.
    Offered,
    /// All but the living ones.
    All,
    /// The one of this name, id or path, alive or not.
    Named(&'a str),
}

impl ProjectContext {
    /// Returns the locations of sessions of the client.
    pub(crate) fn client_locations(&self, filter: SessionFilter<'_>) -> Vec<RunLocation> {
        let ClientSessions { root, found } = sessions(self, filter);
        let mut glanced = self.glanced.lock().unwrap_or_else(PoisonError::into_inner);
        let location = |session: FoundSession| {
            let candidate = candidate(&session);
            glanced.insert(session.path, session.digest);
            RunLocation { root: root.clone(), candidate }
        };
        found.into_iter().map(location).collect()
    }

    /// Reads a session at a glance, as for a list. The flag tells whether all of it was read.
    pub(crate) fn glance_at(&self, location: &RunLocation) -> (OpenedRun, bool) {
        let path = &location.candidate.state;
        let known = self.glanced.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        let digest = known.or_else(|| digest_of(self, &location.candidate, Look::Glance));
        let is_whole = digest.as_ref().is_some_and(|digest| digest.main.is_whole);
        (opened(self, location, digest), is_whole)
    }

    /// Reads a session as a whole.
    pub(super) fn read_session(&self, location: &RunLocation) -> OpenedRun {
        opened(self, location, digest_of(self, &location.candidate, Look::Whole))
    }
}

/// Returns the number of all sessions of the project, with the versions of their clients, for a check of the installation.
pub(crate) fn seen(ctx: &ProjectContext) -> Vec<FoundSession> {
    sessions(ctx, SessionFilter::All).found
}

/// Returns the client's name for the API error that is the last message of a session of the project.
pub(crate) fn last_error(ctx: &ProjectContext, session: &str) -> Option<String> {
    let home = ClientHome::open(&ctx.environment)?;
    let found = transcripts(ctx, &home).into_iter().filter(|(_, id)| id == session);
    let last = found.filter_map(|(path, _)| read::main_transcript(&home, &path, Look::Glance)?.last);
    let newest = last.max_by_key(|last| last.at)?;
    newest.error().map(str::to_owned)
}

fn candidate(session: &FoundSession) -> Candidate {
    let reads = session.older.iter().cloned().map(ReadSpec::File).collect();
    Candidate {
        claim: Claim::Implied { priority: PRIORITY },
        ..Candidate::new(DialectId::Claude, session.name.clone(), session.path.clone(), reads)
    }
}

/// Finds the sessions of the project.
fn sessions(ctx: &ProjectContext, filter: SessionFilter<'_>) -> ClientSessions {
    let Some(home) = ClientHome::open(&ctx.environment) else { return ClientSessions::default() };
    let processes = processes(&home);
    let mut found = Vec::new();
    for (path, session) in transcripts(ctx, &home) {
        let is_other = match filter {
            SessionFilter::Named(name) => !is_named(name, &session, &path, &home),
            SessionFilter::Offered | SessionFilter::All => ctx.environment.session.as_deref() == Some(session.as_str()),
        };
        if is_other {
            continue;
        }
        let Some(digest) = glance(ctx, &home, &processes, &path) else { continue };
        let is_asked = match filter {
            SessionFilter::Offered => is_recent(ctx, &digest),
            SessionFilter::All => digest.life != Life::Alive,
            SessionFilter::Named(_) => true,
        };
        if is_asked {
            found.push(FoundSession { name: String::new(), path, older: Vec::new(), digest });
        }
    }
    if !found.is_empty() {
        let mut runs = adopted(ctx);
        for session in &mut found {
            session.digest.adopted_as = runs.remove(&session.digest.session).map(|adopted| adopted.run);
        }
    }
    found.sort_by(|a, b| b.digest.main.last_at.cmp(&a.digest.main.last_at).then_with(|| a.path.cmp(&b.path)));
    if filter == SessionFilter::Offered {
        keep_offered(ctx, &home, &mut found);
    }
    name(&mut found);
    ClientSessions { root: home.root().to_owned(), found }
}

/// Tells whether a session drove a run of the project and has nothing open besides: the row of that run has the cause.
fn is_of_another_run(ctx: &ProjectContext, digest: &Digest) -> bool {
    let open = claude::open_work(digest);
    if open.tasks > 0 || open.agents > 0 || open.workflows > 0 {
        return false;
    }
    let log = SessionLog::of(&store::journals::sessions_folders(&ctx.project), &digest.session);
    log.exists() && log.events().iter().any(|line| matches!(line.event, SessionEvent::Drives(_)))
}

fn is_recent(ctx: &ProjectContext, digest: &Digest) -> bool {
    digest.main.last_at.is_none_or(|at| ctx.clock.now.seconds_since(at) <= OFFERED_SECONDS)
}

/// Tells whether RUN names a session: its run, its id, or the path of its transcript.
fn is_named(name: &str, session: &str, path: &RelPath, home: &ClientHome) -> bool {
    let by_run =
        name.strip_prefix("claude-").is_some_and(|start| start.len() >= ID_CHARS && session.starts_with(start));
    by_run || name == session || *name == path.under(home.root())
}

/// Tells whether a session of this id or path is one of another project.
pub(crate) fn is_of_another_project(ctx: &ProjectContext, session: &str) -> bool {
    let (Some(home), Ok(projects)) = (ClientHome::open(&ctx.environment), RelPath::parse("projects")) else {
        return false;
    };
    if !claude::is_session_id(session) {
        return false;
    }
    let transcript = format!("{session}.jsonl");
    let (folders, _) = home.names(&projects);
    let folders = folders.iter().filter_map(|folder| projects.join(folder).ok());
    folders.into_iter().any(|folder| home.names(&folder).1.contains(&transcript))
}

/// Returns the transcripts in the folders whose names are those of the project or of folders below it.
fn transcripts(ctx: &ProjectContext, home: &ClientHome) -> Vec<(RelPath, String)> {
    let Ok(projects) = RelPath::parse("projects") else { return Vec::new() };
    let slugs: Vec<Option<String>> = places(ctx).map(|place| claude::slug(place.as_str())).collect();
    // The client shortens the names of long paths in a way of its own.
    let has_long = slugs.iter().any(Option::is_none);
    let (folders, _) = home.names(&projects);
    let may_be_ours = |folder: &&String| has_long || slugs.iter().flatten().any(|slug| claude::may_be_of(folder, slug));
    let mut all = Vec::new();
    for folder in folders.iter().filter(may_be_ours).filter_map(|folder| projects.join(folder).ok()) {
        let (_, names) = home.names(&folder);
        let ids = names.iter().filter_map(|name| name.strip_suffix(".jsonl")).filter(|id| claude::is_session_id(id));
        all.extend(ids.filter_map(|id| Some((folder.join(&format!("{id}.jsonl")).ok()?, id.to_owned()))));
    }
    all
}

/// Returns the root of the project and its linked worktrees.
fn places(ctx: &ProjectContext) -> impl Iterator<Item = &Utf8PathBuf> {
    std::iter::once(&ctx.project.root).chain(ctx.project.worktrees())
}

/// Returns the place of the project that contains a folder: the innermost one.
fn place_of<'a>(ctx: &'a ProjectContext, cwd: Option<&str>) -> Option<&'a Utf8PathBuf> {
    let cwd = Utf8Path::new(cwd?);
    places(ctx).filter(|place| cwd.starts_with(place)).max_by_key(|place| place.as_str().len())
}

/// Reads the ends of the files of a session; `None` if it does not belong to the project.
fn glance(ctx: &ProjectContext, home: &ClientHome, processes: &[ClientProcess], path: &RelPath) -> Option<Digest> {
    let mut main = read::main_transcript(home, path, Look::Glance)?;
    if place_of(ctx, main.last_cwd.as_deref()).is_none() {
        read::add_head(home, path, &mut main);
    }
    let place = place_of(ctx, main.last_cwd.as_deref()).or_else(|| place_of(ctx, main.first_cwd.as_deref()))?;
    // Only local commands, or only lines of agents: nothing was asked.
    let is_empty = main.is_whole && main.last.is_none();
    if is_empty || main.is_sidechain {
        return None;
    }
    let mut digest = digest(home, path, main, place.as_str(), processes);
    read::add_sidecars(home, path, &mut digest, Look::Glance);
    add_sharers(ctx, home, processes, &mut digest);
    Some(digest)
}

fn digest(
    client: &ClientHome,
    path: &RelPath,
    mut main: claude::Transcript,
    root: &str,
    processes: &[ClientProcess],
) -> Digest {
    let session = path.name().trim_end_matches(".jsonl");
    let (mut life, mut process) = life_of(session, processes);
    if let Some(next) = main.continued_in.take().filter(|next| claude::is_session_id(next)) {
        let (life_of_next, process_of_next) = life_of(&next, processes);
        if life_of_next == Life::Alive {
            (life, process) = (life_of_next, process_of_next);
        }
        // What it went on in may have ended before it wrote anything.
        let transcript = path.parent().and_then(|folder| folder.join(&format!("{next}.jsonl")).ok());
        let has_written = transcript.is_some_and(|transcript| client.size(&transcript).is_some());
        main.continued_in = (life_of_next == Life::Alive || has_written).then_some(next);
    }
    let cd = main.last_cwd.as_deref().and_then(store::client::shell_folder);
    let home = store::client::user_home().map(Utf8PathBuf::into_string);
    Digest { session: session.to_owned(), main, life, process, root: root.to_owned(), home, cd, ..Digest::default() }
}

/// Returns the processes that the files of the client name.
fn processes(home: &ClientHome) -> Vec<ClientProcess> {
    let Ok(folder) = RelPath::parse("sessions") else { return Vec::new() };
    let (_, names) = home.names(&folder);
    let files = names.iter().filter(|name| name.ends_with(".json")).take(PROCESSES);
    let bytes = files.filter_map(|name| home.small_file(&folder.join(name).ok()?, PROCESS_BYTES));
    bytes.filter_map(|bytes| claude::client_process(&bytes)).collect()
}

/// Finds out whether a session is alive: any living process that a file names for it is enough.
fn life_of(session: &str, processes: &[ClientProcess]) -> (Life, Option<ClientProcess>) {
    let mut life = Life::Unnamed;
    let mut named: Option<&ClientProcess> = None;
    for process in processes.iter().filter(|process| process.session == session) {
        let found = match store::client::is_running(process.pid, process.start, process.domain.as_deref()) {
            Some(true) => Life::Alive,
            None => Life::Elsewhere,
            Some(false) => Life::Dead,
        };
        let rank = |life: Life| match life {
            Life::Unnamed => 0,
            Life::Dead => 1,
            Life::Elsewhere => 2,
            Life::Alive => 3,
        };
        let is_later = named.is_none_or(|known| process.started_at >= known.started_at);
        if rank(found) > rank(life) || (found == life && is_later) {
            (life, named) = (found, Some(process));
        }
    }
    (life, named.cloned())
}

/// Keeps the sessions to continue. Of the copies of a conversation, which begin with the same message, the newest counts, also if it is alive
/// or has nothing open.
fn keep_offered(ctx: &ProjectContext, home: &ClientHome, found: &mut Vec<FoundSession>) {
    let is_offered = |session: &FoundSession| {
        let digest = &session.digest;
        let is_left = digest.life != Life::Alive && digest.adopted_as.is_none();
        is_left && claude::is_offered(digest) && !is_of_another_run(ctx, digest)
    };
    // Only what is newer than an offered one can be its newest copy; they come newest first.
    found.truncate(found.iter().rposition(is_offered).map_or(0, |last| last + 1));
    let mut heads: BTreeMap<String, usize> = BTreeMap::new();
    let mut kept: Vec<FoundSession> = Vec::new();
    for mut session in found.drain(..) {
        read::add_head(home, &session.path, &mut session.digest.main);
        let first = session.digest.main.first_uuid.clone().filter(|id| !id.is_empty());
        match first.as_ref().and_then(|first| heads.get(first)) {
            Some(at) => {
                let head = &mut kept[*at];
                head.older.push(session.path);
                read::add_older(home, &mut head.digest, &head.older);
            }
            None => {
                heads.extend(first.map(|first| (first, kept.len())));
                kept.push(session);
            }
        }
    }
    kept.retain(is_offered);
    *found = kept;
}

/// Names each run after its session: with more characters where two sessions share them.
fn name(found: &mut [FoundSession]) {
    let ids: Vec<String> = found.iter().map(|session| session.digest.session.clone()).collect();
    for session in found {
        let id = &session.digest.session;
        let is_unique =
            |length: &usize| ids.iter().filter(|other| other.get(..*length) == id.get(..*length)).count() <= 1;
        let length = (ID_CHARS..id.len()).find(is_unique).unwrap_or(id.len());
        session.name = format!("claude-{}", id.get(..length).unwrap_or(id));
    }
}

/// Reads the files of a session.
fn digest_of(ctx: &ProjectContext, candidate: &Candidate, look: Look) -> Option<Digest> {
    let path = &candidate.state;
    let home = ClientHome::open(&ctx.environment)?;
    let mut main = read::main_transcript(&home, path, look)?;
    read::add_head(&home, path, &mut main);
    let place = place_of(ctx, main.last_cwd.as_deref()).or_else(|| place_of(ctx, main.first_cwd.as_deref()));
    let place = place.unwrap_or(&ctx.project.root);
    let session = path.name().trim_end_matches(".jsonl");
    let mut digest = digest(&home, path, main, place.as_str(), &processes(&home));
    read::add_sidecars(&home, path, &mut digest, look);
    let older = candidate.reads.iter().filter_map(|read| match read {
        ReadSpec::File(path) => Some(path.clone()),
        ReadSpec::Contents { .. } | ReadSpec::Tree { .. } | ReadSpec::Names { .. } | ReadSpec::Elsewhere { .. } => None,
    });
    read::add_older(&home, &mut digest, &older.collect::<Vec<_>>());
    add_sharers(ctx, &home, &processes(&home), &mut digest);
    digest.adopted_as = adopted(ctx).remove(session).map(|adopted| adopted.run);
    Some(digest)
}

/// Names the tasks in progress that a living session works on too: its transcript has the same task of the same list in progress.
fn add_sharers(ctx: &ProjectContext, home: &ClientHome, processes: &[ClientProcess], digest: &mut Digest) {
    let begun: Vec<&claude::TaskFile> = digest.task_files.iter().filter(|task| task.status == "in_progress").collect();
    let is_other = |process: &&ClientProcess| process.session != digest.session;
    if begun.is_empty() || !processes.iter().any(|process| is_other(&process)) {
        return;
    }
    let mut worked_on = BTreeMap::new();
    for (path, session) in transcripts(ctx, home) {
        if session == digest.session || life_of(&session, processes).0 != Life::Alive {
            continue;
        }
        let Some(other) = read::main_transcript(home, &path, Look::Glance) else { continue };
        let is_at_it = |task: &&&claude::TaskFile| {
            let record = other.tasks.get(&task.id).filter(|record| record.subject == task.subject);
            record.is_some_and(|record| record.changes.last().is_some_and(|change| change.to == "in_progress"))
        };
        let short = session.get(..ID_CHARS).unwrap_or(&session).to_owned();
        worked_on.extend(begun.iter().filter(is_at_it).map(|task| (task.id.clone(), short.clone())));
    }
    digest.worked_on = worked_on;
}

/// Makes a run of a session; without a digest its transcript cannot be read.
fn opened(ctx: &ProjectContext, location: &RunLocation, mut digest: Option<Digest>) -> OpenedRun {
    let path = &location.candidate.state;
    let root = digest.as_ref().map_or_else(|| ctx.project.root.clone(), |digest| Utf8PathBuf::from(&digest.root));
    if let Some(digest) = &mut digest {
        look_at_edits(ctx, &root, digest);
    }
    let bytes = digest.and_then(|digest| serde_json::to_vec(&digest).ok());
    let files = bytes.map(|bytes| (path.clone(), FileEntry::new(Content::Bytes(bytes.into()), None)));
    let files = FileSet {
        main_root: (root != ctx.project.root).then(|| ctx.project.root.clone()),
        root,
        name: location.candidate.name.clone(),
        state: path.clone(),
        own: store::journals::folder_of(&ctx.project, &location.root, &location.candidate),
        files: files.into_iter().collect(),
        journal: None,
        local: Local::default(),
        lost: None,
        worktrees: Vec::new(),
        clock: ctx.clock,
        config: Arc::clone(&ctx.project.config),
    };
    OpenedRun::new(location.candidate.clone(), files, &ctx.project.trusted)
}

/// Compares the edits that were cut off with their files.
fn look_at_edits(ctx: &ProjectContext, root: &Utf8Path, digest: &mut Digest) {
    let session = digest.session.clone();
    for call in digest.main.in_flight.iter_mut().chain(&mut digest.main.rejected) {
        let path = call.path.as_deref().and_then(|path| RelPath::below(Utf8Path::new(path), root));
        if let Some(path) = path.filter(|_| call.edit.is_some()) {
            call.took_effect = match store::read_file(root, &path) {
                // An earlier version of the session is there: what was to be written was not.
                Content::Bytes(bytes) => call
                    .took_effect_in(Some(&bytes))
                    .or_else(|| is_earlier_version(ctx, &session, &bytes).then_some(false)),
                Content::Problem(crate::model::ReadProblem::Missing) => call.took_effect_in(None),
                Content::NameOnly | Content::Problem(_) => None,
            };
        }
        call.edit = None;
    }
}

/// Tells whether a content is one that the client kept of a file before it edited that.
fn is_earlier_version(ctx: &ProjectContext, session: &str, content: &[u8]) -> bool {
    let Some(home) = ClientHome::open(&ctx.environment) else { return false };
    let Ok(folder) = RelPath::parse(&format!("file-history/{session}")) else { return false };
    let (_, names) = home.names(&folder);
    let versions = names.iter().take(VERSIONS).filter_map(|name| folder.join(name).ok());
    let size = content.len() as u64;
    let mut of_its_size = versions.filter(|version| size <= VERSION_BYTES && home.size(version) == Some(size));
    of_its_size.any(|version| home.small_file(&version, VERSION_BYTES).is_some_and(|kept| *kept == *content))
}
