//! Task lists of Task Master, `.taskmaster/tasks/tasks.json` (docs/formats/taskmaster.md). They are read, never written.

mod commands;
mod order;
mod others;
mod read;
mod tags;
mod task;

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use serde_json::{Value, json};

use super::edit::FileEditor;
use crate::{
    dialect::{Comparison, Dialect, EditError, Guest, Loaded, Probed, guest, optional::Wording},
    document::{Syntax, parse_json},
    model::{
        Action, Answer, AnswerWord, Brief, Candidate, Change, DialectId, Edit, FileSet, Finding, FindingCode, Listing,
        ListingEntry, Next, Plan, Rank, ReadSpec, RelPath, Run, Status, Step, StepId, Suggestion, Suggestions,
    },
};
use commands::Commands;

/// The dialect of Task Master.
pub(crate) struct Taskmaster;

const WORKFLOW: &str = "taskmaster";
/// A task list, in the folder of its system or, in older versions, of the project.
const TASKS: &str = "tasks/tasks.json";

impl Dialect for Taskmaster {
    fn id(&self) -> DialectId {
        DialectId::Taskmaster
    }

    fn marks(&self, path: &str) -> bool {
        is_tasks(path) || path.ends_with(".taskmaster/state.json")
    }

    fn probe(&self, listing: &Listing) -> Probed {
        let is_list = |entry: &&ListingEntry| {
            !entry.is_dir && is_tasks(entry.path.as_str()) && above(&entry.path).len() <= guest::PACKAGE_DEPTH
        };
        let found: Vec<(&ListingEntry, Vec<String>, bool)> = listing
            .entries
            .iter()
            .filter(is_list)
            // At the older place, whose name is common, a list is one of Task Master by what is in it; any other is read by its path only.
            .map(|entry| (entry, tags_in(entry), is_of_task_master(entry) && is_listed(listing, &entry.path)))
            .filter(|(_, tags, _)| !tags.is_empty())
            .collect();
        let foreign = found.iter().filter(|(entry, _, _)| !is_of_task_master(entry)).map(|(entry, _, _)| {
            let message = format!("{} is the task list of another tool: it is not read", entry.path);
            Finding::new(FindingCode::FileUnclassified, message).at(&entry.path)
        });
        let mut probed = Probed { findings: foreign.collect(), ..Probed::default() };
        let is_alone = found.iter().filter(|(_, _, is_listed)| *is_listed).count() < 2;
        for (entry, tags, is_listed) in &found {
            let folder = if is_alone && *is_listed { String::new() } else { tags::folder_of(&above(&entry.path)) };
            let candidates = candidates(listing, entry, tags, &folder);
            candidates.into_iter().for_each(|candidate| probed.add(candidate, *is_listed));
        }
        probed
    }

    fn load(&self, files: &FileSet) -> Loaded {
        read::load(files)
    }

    fn edit(&self, _files: &FileSet, _change: &Change) -> Result<Vec<Edit>, EditError> {
        Err(EditError::Unsupported(
            "the tasks belong to Task Master: piton reads them and never writes them".to_owned(),
        ))
    }

    fn guest(&self, _root: &Utf8Path, candidate: &Candidate) -> Option<Guest> {
        let files = guest::named_files(candidate);
        Some(Guest {
            refusal: "belongs to Task Master: piton reads it and never writes it".to_owned(),
            command: commands::list(files),
            has_brief: true,
        })
    }

    fn native(&self, native: &Value, _run: &Run, plan: &Plan, _findings: &[Finding]) -> Value {
        let commands = Commands::from_value(native.clone());
        let command = plan.next.first().map_or_else(
            || commands.list(),
            |next| match next.action {
                Action::Run | Action::Exec | Action::Retry => commands.begin(next.step.as_str()),
                Action::Verify | Action::Approve | Action::Return | Action::Merge | Action::Archive => {
                    commands.show(next.step.as_str())
                }
            },
        );
        json!({ "next": command, "tools": commands.tools() })
    }

    fn brief(&self, files: &FileSet, _run: &Run, plan: &Plan, next: &Next) -> Brief {
        let mut brief = read::brief(files, &next.step);
        let tools = plan.native.get("tools").and_then(Value::as_array).map(Vec::as_slice);
        if let Some([show, set]) = tools {
            let name = |tool: &Value| tool.as_str().unwrap_or_default().to_owned();
            brief.notes.push(format!("its tools: {} shows a task, {} sets its status", name(show), name(set)));
        }
        brief
    }

    fn comparison(&self) -> &dyn Comparison {
        self
    }

    fn wording(&self) -> &dyn Wording {
        self
    }
}

impl Wording for Taskmaster {
    fn stamps(&self, files: &FileSet) -> Vec<String> {
        let root = files.bytes(&files.state).and_then(|bytes| parse_json(bytes).ok());
        root.map(|root| tags::stamps(&root, tags::tag_of(&root, files))).unwrap_or_default()
    }
}

impl Comparison for Taskmaster {
    /// Suggests to close a task whose subtasks are all over, and one that was built, as its declared files or commits show.
    fn suggest(&self, files: &FileSet, run: &Run, done: &[StepId]) -> Suggestions {
        let mut suggestions = Suggestions::default();
        let done: BTreeSet<&StepId> = done.iter().collect();
        let statuses: BTreeMap<&StepId, Status> = run.steps.iter().map(|step| (&step.id, step.status)).collect();
        let is_done = |id: &StepId| statuses.get(id) == Some(&Status::Completed) && done.contains(id);
        let is_over = |id: &StepId| is_done(id) || statuses.get(id) == Some(&Status::Skipped);
        let reason = |step: &Step| {
            let proof = step.guest.as_ref().filter(|proof| proof.doubts.is_empty())?;
            match () {
                () if !matches!(step.status, Status::Pending | Status::InProgress) => None,
                () if step.children.iter().any(is_done) && step.children.iter().all(is_over) => {
                    Some(format!("all subtasks of {} are over", step.id))
                }
                () if !proof.is_sum && done.contains(&step.id) => {
                    let witness = if proof.results.is_empty() { "commits" } else { "files" };
                    Some(format!("{} was built, as its {witness} show", step.id))
                }
                () => None,
            }
        };
        let closed: Vec<(&StepId, String)> =
            run.steps.iter().filter_map(|step| Some((&step.id, reason(step)?))).collect();
        if let (false, Ok(mut file)) = (closed.is_empty(), FileEditor::open(files, &files.state, Syntax::Json)) {
            let mut reasons = Vec::new();
            for (id, reason) in closed {
                let pointer = tags::pointer(file.root(), tags::tag_of(file.root(), files), id.as_str());
                if pointer.is_some_and(|pointer| file.set(&format!("{pointer}/status"), &json!("done")).is_ok()) {
                    reasons.push(reason);
                }
            }
            let after = file.into_edit().after().unwrap_or_default().to_vec();
            suggestions.files.push(Suggestion { file: files.state.clone(), after, reasons });
        }
        suggestions.or("nothing lags behind that evidence proves")
    }

    /// A task that is done with open subtasks: the subtasks are done too, or the task is in progress. Any other: its status. What was
    /// cancelled or deferred stays so.
    fn answers(&self, files: &FileSet, run: &Run, step: &Step) -> Vec<Answer> {
        let steps: BTreeMap<&StepId, &Step> = run.steps.iter().map(|step| (&step.id, step)).collect();
        let open = open_below(step, &steps);
        let own = || vec![&step.id];
        let children = || step.children.iter().filter_map(|id| steps.get(id));
        let is_dropped = !step.children.is_empty() && children().all(|child| child.status == Status::Skipped);
        let changes = match step.status {
            Status::Completed => vec![(AnswerWord::Done, open, "done"), (AnswerWord::Open, own(), "in-progress")],
            Status::InProgress | Status::Pending if is_dropped => {
                vec![(AnswerWord::Done, own(), "done"), (AnswerWord::Dropped, own(), "cancelled")]
            }
            Status::InProgress | Status::Pending => {
                let done = (AnswerWord::Done, own().into_iter().chain(open).collect(), "done");
                let opened = can_be_open(run, step, &steps).then(|| (AnswerWord::Open, own(), "pending"));
                std::iter::once(done).chain(opened).collect()
            }
            Status::Failed | Status::WaitingApproval | Status::Blocked | Status::Skipped | Status::Cancelled => {
                return Vec::new();
            }
        };
        let answers = changes.into_iter().filter_map(|(word, ids, status)| {
            let suggestion = with_status(files, &ids, status)?;
            Some(Answer { word, suggestion })
        });
        answers.collect()
    }
}

/// Tells whether `pending` ends the doubt about an open task: its status is the doubt, and nothing else in the list calls it done.
fn can_be_open(run: &Run, step: &Step, steps: &BTreeMap<&StepId, &Step>) -> bool {
    let is_open = |id: &StepId| steps.get(id).is_some_and(|on| !on.status.satisfies());
    let waits = step.depends_on.iter().any(|on| !step.children.contains(on) && is_open(on));
    let has_doubts = step.guest.as_ref().is_some_and(|proof| !proof.doubts.is_empty());
    let is_over = !step.children.is_empty() && !step.children.iter().any(is_open);
    let has_followers =
        run.steps.iter().any(|other| other.status == Status::Completed && other.depends_on.contains(&step.id));
    (has_doubts || (step.status == Status::InProgress && waits)) && !is_over && !has_followers
}

/// Returns the subtasks of a task that are not over, with those below them.
fn open_below<'a>(step: &'a Step, steps: &BTreeMap<&StepId, &'a Step>) -> Vec<&'a StepId> {
    let mut found = Vec::new();
    let mut left: Vec<&StepId> = step.children.iter().rev().collect();
    while let Some(child) = left.pop().and_then(|id| steps.get(id)) {
        if !child.status.is_over() {
            found.push(&child.id);
            left.extend(child.children.iter().rev());
        }
    }
    found
}

/// Returns the list with another status of these tasks.
fn with_status(files: &FileSet, ids: &[&StepId], status: &str) -> Option<Suggestion> {
    let mut file = FileEditor::open(files, &files.state, Syntax::Json).ok()?;
    let mut reasons = Vec::new();
    for id in ids {
        let pointer = tags::pointer(file.root(), tags::tag_of(file.root(), files), id.as_str())?;
        file.set(&format!("{pointer}/status"), &json!(status)).ok()?;
        reasons.push(format!("{id} is {status}"));
    }
    let after = file.into_edit().after()?.to_vec();
    (!reasons.is_empty()).then_some(Suggestion { file: files.state.clone(), after, reasons })
}

/// Tells whether a path is that of a task list.
fn is_tasks(path: &str) -> bool {
    path.strip_suffix(TASKS).is_some_and(|above| above.is_empty() || above.ends_with('/'))
}

/// Tells whether a task list is listed: one of an older version is not where there is one of the new version.
fn is_listed(listing: &Listing, list: &RelPath) -> bool {
    let base = list.as_str().strip_suffix(TASKS).unwrap_or_default();
    let new = format!("{base}.taskmaster/{TASKS}");
    let is_replaced = listing.entries.iter().any(|entry| entry.path.as_str() == new && !tags_in(entry).is_empty());
    let is_copy = guest::has_copies(above(list).into_iter());
    guest::is_listed(listing, list, is_copy || is_replaced)
}

/// Returns the folders above a task list that are not its own.
pub(super) fn above(list: &RelPath) -> Vec<&str> {
    let above = list.as_str().strip_suffix(TASKS).unwrap_or_default();
    let above = above.strip_suffix(".taskmaster/").unwrap_or(above);
    above.split_terminator('/').collect()
}

fn is_of_new_version(list: &RelPath) -> bool {
    list.as_str().ends_with(".taskmaster/tasks/tasks.json")
}

/// Tells whether a task list is at the place that only Task Master has, or has its marks.
fn is_of_task_master(entry: &ListingEntry) -> bool {
    let root = || entry.content.as_deref().and_then(|bytes| parse_json(bytes).ok());
    is_of_new_version(&entry.path) || root().is_some_and(|root| tags::is_marked(&root))
}

/// Returns the tags of a task list; none for a file of another tool.
fn tags_in(entry: &ListingEntry) -> Vec<String> {
    match entry.content.as_deref().map(parse_json) {
        Some(Ok(root)) => tags::names(&root),
        // A name alone is nothing, but a broken file in its own folder is a broken list.
        Some(Err(_)) if is_of_new_version(&entry.path) => vec![tags::MASTER.to_owned()],
        Some(Err(_)) | None => Vec::new(),
    }
}

/// Returns a candidate for each tag of a task list. `folder` tells it from lists in other folders.
fn candidates(listing: &Listing, entry: &ListingEntry, tags: &[String], folder: &str) -> Vec<Candidate> {
    let Some(home) = entry.path.parent() else { return Vec::new() };
    let own = home.parent().filter(|_| is_of_new_version(&entry.path));
    let beside = |name: &str| own.as_ref().and_then(|own| own.join(name).ok());
    let state = beside("state.json").and_then(|path| {
        let found = listing.entries.iter().find(|entry| entry.path == path)?;
        parse_json(found.content.as_deref()?).ok()
    });
    let active = tags::active(state.as_ref(), listing.branch.as_deref(), tags);
    let own_files = [Some(entry.path.clone()), beside("state.json"), beside("config.json")].into_iter().flatten();
    let reads: Vec<ReadSpec> = own_files.chain(commands::files(listing)).map(ReadSpec::File).collect();
    let candidate = |tag: &String| {
        let rank = Rank { home: home.clone(), order: u8::from(Some(tag.as_str()) != active.as_deref()) };
        let (name, state) = (format!("{WORKFLOW}-{tag}{folder}"), entry.path.clone());
        let candidate = guest::candidate(DialectId::Taskmaster, name, state, reads.clone());
        // The commands of the project lie elsewhere.
        Candidate { rank: Some(rank), may_be_replaced: listing.named.is_some(), ..candidate }
    };
    tags.iter().map(candidate).collect()
}
