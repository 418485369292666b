//! Reads the files of one session of the client into a digest: at a glance for a list, as a whole for a plan.

use crate::{
    dialect::claude::{self, Agent, Digest, Transcript, TranscriptReader, Workflow},
    model::RelPath,
    store::{ClientHome, client::ClientLine},
};

/// Bytes of a small file.
const SMALL_FILE: u64 = 64 << 10;
/// Bytes of a file that is read as a whole also for a list.
const WHOLE_FILE: u64 = 80 << 10;
/// Bytes of the end of a transcript that are read first.
const TAIL: u64 = 16 << 10;
/// Bytes of the end of a transcript that are read at most for a list.
const LONGEST_TAIL: u64 = 256 << 10;
/// Bytes of the beginning of a transcript that are read for a list.
const HEAD: u64 = 64 << 10;
/// Bytes of one line.
const LINE: usize = 1 << 20;
/// Bytes of a transcript that are read for a plan: its end.
const MOST_OF_A_FILE: u64 = 256 << 20;
/// Bytes of a journal.
const JOURNAL: u64 = 64 << 20;
/// Number of tasks in a list.
const TASKS: usize = 1_000;
/// Number of agents of a session that are looked at.
const AGENTS: usize = 1_000;

/// How much of the files of a session is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Beginnings and ends.
    Glance,
    Whole,
}

/// Reads the transcript of a session.
pub(super) fn main_transcript(home: &ClientHome, path: &RelPath, look: Look) -> Option<Transcript> {
    let size = home.size(path)?;
    if look == Look::Glance && size > WHOLE_FILE {
        return tail(home, path, size, false);
    }
    whole(home, path, size, false)
}

/// Adds the beginning of a transcript of which only the end was read.
pub(super) fn add_head(home: &ClientHome, path: &RelPath, main: &mut Transcript) {
    let Some(bytes) = home.piece(path, 0, HEAD).filter(|_| !main.is_whole) else { return };
    let mut reader = TranscriptReader::new(false);
    let end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    bytes[..end].split(|byte| *byte == b'\n').for_each(|line| reader.line(line));
    let head = reader.finish(main.bytes, false);
    main.first_cwd = head.first_cwd;
    main.first_uuid = head.first_uuid;
    main.first_at = head.first_at;
    main.first_prompt = head.first_prompt;
    main.title = main.title.take().or(head.title);
    main.made_title = main.made_title.take().or(head.made_title);
}

fn whole(home: &ClientHome, path: &RelPath, size: u64, is_agent: bool) -> Option<Transcript> {
    let from = size.saturating_sub(MOST_OF_A_FILE);
    let mut reader = TranscriptReader::new(is_agent);
    let mut is_inside = from > 0;
    let is_read = home.lines(path, from, LINE, &mut |line| match line {
        // The first line may begin before.
        _ if std::mem::take(&mut is_inside) => {}
        ClientLine::Text(bytes) => reader.line(bytes),
        ClientLine::Long(bytes) => reader.long_line(bytes),
    });
    is_read.then(|| reader.finish(size, from == 0))
}

/// Reads the end of a transcript: as much as it takes to find the last message.
fn tail(home: &ClientHome, path: &RelPath, size: u64, is_agent: bool) -> Option<Transcript> {
    let mut length = TAIL;
    loop {
        let bytes = home.piece(path, size.saturating_sub(length), length)?;
        let begin = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
        let mut reader = TranscriptReader::new(is_agent);
        bytes[begin..].split(|byte| *byte == b'\n').for_each(|line| reader.line(line));
        let found = reader.finish(size, false);
        if found.last.is_some() || length >= LONGEST_TAIL || length >= size {
            return Some(found);
        }
        length *= 4;
    }
}

/// Adds what the other files of a session say.
pub(super) fn add_sidecars(home: &ClientHome, transcript: &RelPath, digest: &mut Digest, look: Look) {
    let folder = transcript.parent().and_then(|parent| parent.join(&digest.session).ok());
    if let Some(folder) = folder {
        let (names, _) = home.names(&folder);
        if names.iter().any(|name| name == "subagents")
            && let Ok(agents) = folder.join("subagents")
        {
            (digest.agents, digest.more_agents) = agents_in(home, &agents, look);
            digest.leave_out_helpers();
            add_workflows(home, &folder, &agents, digest, look);
        }
    }
    add_tasks(home, digest);
}

fn agents_in(home: &ClientHome, folder: &RelPath, look: Look) -> (std::collections::BTreeMap<String, Agent>, usize) {
    let (_, names) = home.names(folder);
    let transcripts: Vec<&str> =
        names.iter().filter_map(|name| name.strip_prefix("agent-")?.strip_suffix(".jsonl")).collect();
    let metas = names.iter().filter_map(|name| name.strip_prefix("agent-")?.strip_suffix(".meta.json"));
    let mut ids: Vec<&str> = transcripts.iter().copied().chain(metas).collect();
    ids.sort_unstable();
    ids.dedup();
    let more = ids.len().saturating_sub(AGENTS);
    let agent = |id: &&str| {
        let path = folder.join(&format!("agent-{id}.jsonl")).ok()?;
        let meta = folder.join(&format!("agent-{id}.meta.json")).ok()?;
        let mut agent = claude::agent(path.as_str(), home.small_file(&meta, SMALL_FILE).as_deref());
        let size = home.size(&path);
        agent.transcript = size.and_then(|size| match look {
            Look::Glance if size > WHOLE_FILE => tail(home, &path, size, true),
            Look::Glance | Look::Whole => whole(home, &path, size, true),
        });
        Some(((*id).to_owned(), agent))
    };
    (ids.iter().take(AGENTS).filter_map(agent).collect(), more)
}

fn add_workflows(home: &ClientHome, session: &RelPath, agents: &RelPath, digest: &mut Digest, look: Look) {
    let Ok(folder) = agents.join("workflows") else { return };
    let scripts = session.join("workflows/scripts").ok();
    let script_names = scripts.as_ref().map(|scripts| home.names(scripts).1).unwrap_or_default();
    for id in home.names(&folder).0 {
        let Ok(run) = folder.join(&id) else { continue };
        let Ok(journal) = run.join("journal.jsonl") else { continue };
        let script = script_names.iter().find(|name| name.ends_with(&format!("-{id}.js")));
        let script = script.and_then(|name| scripts.as_ref()?.join(name).ok());
        let mut workflow = Workflow {
            path: journal.as_str().to_owned(),
            script: script.map(|script| script.as_str().to_owned()),
            has_end: session.join(&format!("workflows/{id}.json")).is_ok_and(|end| home.size(&end).is_some()),
            id,
            ..Workflow::default()
        };
        if home.size(&journal).is_some_and(|size| size <= JOURNAL) {
            let mut number = 0;
            home.lines(&journal, 0, LINE, &mut |line| {
                number += 1;
                match line {
                    ClientLine::Text(bytes) => workflow.line(number, bytes),
                    ClientLine::Long(_) => workflow.broken_lines += 1,
                }
            });
        }
        let (found, more) = agents_in(home, &run, look);
        workflow.agents = found;
        digest.more_agents += more;
        digest.workflows.push(workflow);
    }
}

/// Adds the task list: in one of two places, or in a list in which every id has the same subject.
fn add_tasks(home: &ClientHome, digest: &mut Digest) {
    let short: String = digest.session.chars().take(8).collect();
    for list in [digest.session.clone(), format!("session-{short}")] {
        add_list(home, &list, digest);
    }
    if !digest.task_files.is_empty() || digest.main.tasks.values().all(|task| task.is_todo) {
        return;
    }
    let Ok(folder) = RelPath::parse("tasks") else { return };
    for list in home.names(&folder).0 {
        let mut other = Digest::default();
        add_list(home, &list, &mut other);
        let is_same = |(id, task): (&String, &_)| {
            let task: &claude::TaskRecord = task;
            other.task_files.iter().any(|file| file.id == *id && file.subject == task.subject)
        };
        if !other.task_files.is_empty() && digest.main.tasks.iter().all(is_same) {
            digest.task_files = other.task_files;
            return;
        }
    }
}

/// Adds the older copies of a conversation. One that has no list of its own works on the list of the session that it comes from.
pub(super) fn add_older(home: &ClientHome, digest: &mut Digest, older: &[RelPath]) {
    digest.older = older.iter().map(|path| path.name().trim_end_matches(".jsonl").to_owned()).collect();
    for session in digest.older.clone() {
        if digest.task_files.is_empty() {
            add_list(home, &session, digest);
        }
    }
}

fn add_list(home: &ClientHome, list: &str, digest: &mut Digest) {
    let Ok(folder) = RelPath::parse(&format!("tasks/{list}")) else { return };
    let (_, names) = home.names(&folder);
    let ids = names.iter().filter_map(|name| name.strip_suffix(".json"));
    for id in ids.filter(|id| id.len() <= 9 && id.bytes().all(|byte| byte.is_ascii_digit())).take(TASKS) {
        let Ok(path) = folder.join(&format!("{id}.json")) else { continue };
        let Some(bytes) = home.small_file(&path, SMALL_FILE) else { continue };
        digest.task_files.retain(|known| known.id != id);
        digest.task_files.push(claude::task_file(id, path.as_str(), &bytes));
    }
}
