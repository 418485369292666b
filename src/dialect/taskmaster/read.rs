//! Reads the tasks of one tag as steps (docs/formats/taskmaster.md#steps).

use std::collections::{BTreeMap, BTreeSet};

use super::{
    WORKFLOW,
    commands::Commands,
    order,
    others::Others,
    tags,
    task::{TITLE, UNDEFINED, Word, dependencies_of, full_id, id_of, priority_of, status_word, subtasks_of},
};
use crate::{
    dialect::{Loaded, guest},
    document::{Node, parse_json},
    model::{
        Brief, CommitName, DeclaredFile, DialectId, Doubt, FileSet, Finding, FindingCode, Followers, GuestProof, Hold,
        ReadingItem, Records, RelPath, Run, Severity, Status, Step, StepId, clean, clean_line, first_names,
        mask_secrets, plural, quoted,
    },
};

/// Maximum number of steps of a run.
const STEPS: usize = 20_000;
/// Characters of what came of a task.
const SAID: usize = 300;
/// Relevant files of a task that its brief names.
const FILES: usize = 20;
/// Maximum number of ids that a finding names.
const NAMED: usize = 5;

/// Reads a run.
pub(super) fn load(files: &FileSet) -> Loaded {
    read(files).unwrap_or_else(|unreadable| *unreadable)
}

fn read(files: &FileSet) -> Result<Loaded, Box<Loaded>> {
    let root = parse_json(guest::state(files)?)
        .map_err(|error| guest::unreadable(files, error.to_string(), Some(error.place.line)))?;
    let tag = tags::tag_of(&root, files);
    let Some((tasks, _)) = tags::tasks(&root, tag) else {
        return Err(guest::unreadable(files, format!("there is no tag {}", clean_line(tag, TITLE)), None));
    };
    let tag_flag = tags::flag(&root, tag);
    let state = state_of(files);
    let others = Others::of(files, &root, state.as_ref().map(|(_, state)| state), tag);
    let mut reader = TaskReader::new(files, tasks, tag_flag.clone(), others);
    reader.findings.extend(repeated_tag(files, &root, tag));
    reader.findings.extend(state.and_then(|(path, state)| lost_tag(&path, &state, &root, tag)));
    reader.findings.extend(other_storage(files));
    let nothing = Inherited::default();
    for task in tasks.items() {
        reader.task(task, &nothing);
    }
    let stamps =
        tags::metadata(&root, tag).into_iter().flat_map(|data| ["updated", "lastModified"].map(|key| data.get(key)));
    let stamps = stamps.chain(tasks.items().iter().map(|task| task.get("updatedAt"))).flatten();
    let stamp = stamps.filter_map(|stamp| files.time(stamp.as_str()?)).max();
    let title = format!("Task Master, tag {}", clean_line(tag, 60));
    let run = Run::new(&files.name, DialectId::Taskmaster, title, WORKFLOW, vec![files.state.clone()]);
    let folder = files.state.parent();
    let own = folder.as_ref().and_then(RelPath::parent).filter(|own| own.name() == ".taskmaster");
    let folders = own.or(folder).into_iter().collect();
    let steps = reader.ordered();
    reader.findings.extend(reader.is_cut.then(|| guest::cut(&files.state, "tasks", STEPS)));
    reader.findings.extend(deferred(&steps));
    let package = guest::package(&files.state, &[".taskmaster", "tasks"]);
    let wanted = guest::wanted(&steps, folders, None, package);
    let run = Run { steps, stamp, own_choice: order::own_choice(tasks), records: Records::NONE, ..run };
    let native = Commands::of(files, &tag_flag).into_value();
    Ok(Loaded { run: Some(run), findings: reader.findings, wanted, native, ..Loaded::default() })
}

/// Names what was put off: nothing runs it, and its list counts as complete without it.
fn deferred(steps: &[Step]) -> Option<Finding> {
    let ids: Vec<&str> =
        steps.iter().filter(|step| step.status == Status::Cancelled).map(|step| step.id.as_str()).collect();
    let message = format!("deferred, and left out until its status changes: {}", first_names(&ids, NAMED));
    let finding = Finding { severity: Severity::Info, ..Finding::new(FindingCode::StepHeld, message) };
    (!ids.is_empty()).then_some(finding)
}

/// Names a storage of the settings that is not the file: what is there may be newer.
fn other_storage(files: &FileSet) -> Option<Finding> {
    let path = files.state.parent()?.parent()?.join("config.json").ok()?;
    let config = parse_json(files.bytes(&path)?).ok()?;
    let storage = config.at("/storage/type").and_then(Node::as_str)?;
    let message = format!("the tasks are kept in the storage \"{}\": the file may be older", clean_line(storage, 40));
    (!["file", "auto"].contains(&storage)).then(|| Finding::new(FindingCode::JobNotResumed, message).at(&path))
}

/// Returns what Task Master keeps about its tags, with the path.
fn state_of(files: &FileSet) -> Option<(RelPath, Node)> {
    let path = files.state.parent()?.parent()?.join("state.json").ok()?;
    let state = parse_json(files.bytes(&path)?).ok()?;
    Some((path, state))
}

/// Names a tag that the list has more than once.
fn repeated_tag(files: &FileSet, root: &Node, tag: &str) -> Option<Finding> {
    let copy = tags::earlier(root, tag).next()?;
    let message = format!("the tag {} occurs more than once: the last one counts", clean_line(tag, TITLE));
    let finding = Finding::new(FindingCode::DuplicateId, message).at(&files.state).line(copy.place.line, None);
    Some(finding.fix(format!("merge both into one in {}", files.state)))
}

/// Names the tag of `state.json` that the list does not have, in the plan of the tag that counts in its place.
fn lost_tag(path: &RelPath, state: &Node, root: &Node, tag: &str) -> Option<Finding> {
    let current = clean_line(state.get("currentTag")?.as_str()?, TITLE);
    let tags = tags::names(root);
    let active = tags::active(Some(state), None, &tags);
    if tags.contains(&current) || active.as_ref().is_some_and(|active| active != tag) {
        return None;
    }
    let instead = active.map_or_else(|| "no tag is the active one".to_owned(), |tag| format!("{tag} counts instead"));
    let message = format!("`currentTag` is {current}, which is no tag of the list; {instead}");
    Some(Finding::new(FindingCode::FieldIgnored, message).at(path))
}

struct TaskReader<'a> {
    files: &'a FileSet,
    others: Others,
    /// What names the tag in a command.
    tag_flag: String,
    /// The ids of all tasks.
    known: BTreeSet<String>,
    used: BTreeSet<String>,
    /// The steps of each id that more than one task has.
    repeated: BTreeMap<String, Vec<String>>,
    /// Dependencies of subtasks that name no sibling, but a task.
    taken_as_tasks: Vec<String>,
    /// Whether the list has more tasks than are read.
    is_cut: bool,
    /// Whether any task has a status: then one without it has lost it.
    has_statuses: bool,
    /// Each with what decides its place: over, in progress, of a begun task, priority.
    steps: Vec<((u8, u8), Step)>,
    findings: Vec<Finding>,
}

/// What a subtask inherits from its task.
#[derive(Default)]
struct Inherited<'a> {
    parent: Option<&'a Step>,
    /// What its task waits for.
    waits_for: &'a [StepId],
    priority: u8,
    is_begun: bool,
    /// The ids of the other subtasks, as written.
    siblings: BTreeSet<String>,
}

impl<'a> TaskReader<'a> {
    fn new(files: &'a FileSet, tasks: &Node, tag_flag: String, others: Others) -> Self {
        let known = tasks.items().iter().filter_map(id_of).collect();
        let has_statuses = tasks.items().iter().any(|task| task.get("status").is_some());
        Self {
            files,
            others,
            tag_flag,
            known,
            used: BTreeSet::new(),
            repeated: BTreeMap::new(),
            taken_as_tasks: Vec::new(),
            is_cut: false,
            has_statuses,
            steps: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Returns the steps with their places in the order of work.
    fn ordered(&mut self) -> Vec<Step> {
        let steps = std::mem::take(&mut self.steps);
        let mut order: Vec<usize> = (0..steps.len()).collect();
        order.sort_by_key(|at| steps[*at].0);
        let mut steps: Vec<Step> = steps.into_iter().map(|(_, step)| step).collect();
        for (place, at) in order.into_iter().enumerate() {
            steps[at].plan_order = Some(place);
        }
        let rest = self.is_cut.then(|| guest::rest(&self.files.state, &steps, "tasks", STEPS));
        if !self.taken_as_tasks.is_empty() {
            let named = first_names(&self.taken_as_tasks, NAMED);
            let message = format!("dependencies of subtasks that name no sibling are taken as tasks: {named}");
            let finding = Finding::new(FindingCode::DependencyDangling, message).at(&self.files.state);
            self.findings.push(Finding { severity: Severity::Info, ..finding });
        }
        self.drop_dangling(&mut steps, rest.as_ref().map(|rest| &rest.id));
        self.doubt_repeated(&mut steps);
        steps.extend(rest);
        steps
    }

    /// Doubts the open ones of the tasks with one id if another one is done, as after a merge: they may be one task.
    fn doubt_repeated(&self, steps: &mut [Step]) {
        if self.repeated.is_empty() {
            return;
        }
        let places: BTreeMap<String, usize> =
            steps.iter().enumerate().map(|(at, step)| (step.id.as_str().to_owned(), at)).collect();
        for (id, copies) in &self.repeated {
            let copies: Vec<usize> = copies.iter().filter_map(|copy| places.get(copy).copied()).collect();
            if !copies.iter().any(|at| steps[*at].status == Status::Completed) {
                continue;
            }
            for at in copies {
                let step = &mut steps[at];
                let Some(proof) = step.guest.as_mut().filter(|_| !step.status.is_over()) else { continue };
                let reason = format!("two tasks have the id {id}, and one of them is done");
                proof.doubts.push(Doubt::conflict("with the id of a finished task", reason));
                proof.record =
                    format!("if it is another task, give it an id of its own in {}; else remove it", self.files.state);
            }
        }
    }

    /// Drops dependencies on tasks that the tag does not have, as in a copied tag: nothing could ever meet them. Where not all tasks were
    /// read, they may be among the `rest`.
    fn drop_dangling(&mut self, steps: &mut [Step], rest: Option<&StepId>) {
        let ids: BTreeSet<String> = steps.iter().map(|step| step.id.as_str().to_owned()).collect();
        let mut lost = Vec::new();
        for step in steps {
            let (there, gone): (Vec<StepId>, Vec<StepId>) =
                std::mem::take(&mut step.depends_on).into_iter().partition(|id| ids.contains(id.as_str()));
            step.depends_on = there;
            step.depends_on.extend(rest.filter(|_| !gone.is_empty()).cloned());
            if !step.status.is_over() && rest.is_none() {
                lost.extend(gone.iter().map(|on| format!("{} on {on}", step.id)));
            }
        }
        if !lost.is_empty() {
            let named = first_names(&lost, NAMED);
            let message = format!("tasks depend on tasks that do not exist, which are not waited for: {named}");
            let finding = Finding::new(FindingCode::DependencyDangling, message).at(&self.files.state);
            self.findings.push(finding.fix("correct the dependencies: `task-master fix-dependencies`"));
        }
    }

    /// Reads a task with all tasks below it, and returns its id with its status.
    fn task(&mut self, task: &Node, inherited: &Inherited<'_>) -> Option<(StepId, Status)> {
        let (mut step, place) = self.step(task, inherited)?;
        step.depends_on.extend(inherited.waits_for.iter().cloned());
        let pieces = subtasks_of(task);
        let begun = |piece: &Node| matches!(status_word(piece).1, Status::Completed | Status::InProgress);
        let of_piece = Inherited {
            parent: Some(&step),
            waits_for: &step.depends_on,
            priority: priority_of(task),
            is_begun: (inherited.is_begun && !step.status.is_over())
                || step.status == Status::InProgress
                || pieces.iter().any(begun),
            siblings: pieces.iter().filter_map(id_of).collect(),
        };
        let before = std::mem::take(&mut self.steps);
        let children: Vec<(StepId, Status)> = pieces.iter().filter_map(|piece| self.task(piece, &of_piece)).collect();
        let below = std::mem::replace(&mut self.steps, before);
        step.children = children.iter().map(|(id, _)| id.clone()).collect();
        step.depends_on.extend(step.children.iter().cloned());
        if let Some(proof) = step.guest.as_mut().filter(|_| !pieces.is_empty()) {
            proof.is_sum = true;
            self.sum_up(proof, &step.id, step.status, &children);
            if children.len() < pieces.len() {
                proof.doubts.push(Doubt::look("only a part of its subtasks is read"));
            }
        }
        let known = (step.id.clone(), step.status);
        self.steps.push((place, step));
        self.steps.extend(below);
        Some(known)
    }

    /// Adds what the subtasks of a task say against its status.
    fn sum_up(&self, proof: &mut GuestProof, id: &StepId, status: Status, children: &[(StepId, Status)]) {
        let open: Vec<&str> =
            children.iter().filter(|(_, status)| !status.is_over()).map(|(id, _)| id.as_str()).collect();
        let (id, flag) = (quoted(id.as_str()), &self.tag_flag);
        if status == Status::Completed && !open.is_empty() {
            let ids = quoted(&open.join(","));
            proof.record = format!(
                "if they are done, `task-master set-status --id={ids} --status=done{flag}` says so; if not, `task-master set-status --id={id} --status=in-progress{flag}`"
            );
            let reason = format!("done, but {} of {} are open", plural(open.len(), "subtask"), children.len());
            proof.doubts.push(Doubt::conflict("done, but their subtasks are open", reason));
        }
        let is_dropped = !children.is_empty() && children.iter().all(|(_, status)| *status == Status::Skipped);
        if is_dropped && matches!(status, Status::Pending | Status::InProgress) {
            proof.record = format!(
                "if it is dropped with them, `task-master set-status --id={id} --status=cancelled{flag}` says so; if it is done, `--status=done`"
            );
            let reason = "all of its subtasks are cancelled, only the task itself is open";
            let kind = "open, but all of their subtasks are cancelled";
            proof.doubts.push(Doubt::of(FindingCode::StatusDrift, kind, reason));
        }
    }

    fn step(&mut self, task: &Node, inherited: &Inherited<'_>) -> Option<(Step, (u8, u8))> {
        if self.used.len() >= STEPS {
            self.is_cut = true;
            return None;
        }
        let parent = inherited.parent.map(|parent| parent.id.as_str());
        let own = id_of(task);
        let has_id = own.is_some();
        // A step that is left out could make its run look finished.
        let own = own.unwrap_or_else(|| format!("without-id-line-{}", task.place.line));
        let id = match parent {
            Some(parent) => full_id(parent, &own),
            None => own,
        };
        let id = self.unique(id, task);
        let title = task.get("title").and_then(Node::scalar).unwrap_or(&id);
        let mut step = Step::new(StepId::new(&id), clean_line(&mask_secrets(title), TITLE));
        step.recorded = false;
        step.file = Some(self.files.state.clone());
        step.group = inherited.parent.map(|parent| format!("task {}", parent.id));
        step.depends_on = self.dependencies(task, &id, inherited);
        let mut proof = proof_of(task, &step.id, self.files, &self.tag_flag);
        proof.parent = inherited.parent.map(|parent| parent.id.clone());
        self.others.add_to(&mut proof, &id, task);
        let targets = proof.results.iter().map(|file| &file.path).chain(&proof.changed);
        step.detail.targets = targets.map(|path| path.as_str().to_owned()).collect();
        let (word, status) = status_word(task);
        step.status = match inherited.parent.map(|parent| parent.status) {
            // What was given up, put off or is held back with the whole task.
            Some(Status::Skipped) if status != Status::Completed => Status::Skipped,
            Some(held @ (Status::Cancelled | Status::Blocked)) if !status.is_over() => held,
            _ => status,
        };
        match word {
            Word::Known => {}
            Word::Missing if self.has_statuses => proof.doubts.push(Doubt::of(
                FindingCode::StatusMissing,
                "without a status; their system takes them as pending",
                "it has no status, so it may be done",
            )),
            Word::Missing => {}
            Word::Review => {
                proof.doubts.push(Doubt::look("its system says that it is in review: look at the result"));
            }
            Word::Unknown(word) => {
                let message = format!("`status` of {id} is `{word}`, which is unknown");
                let finding = Finding::new(FindingCode::StatusUnknown, message).at(&self.files.state).on(&step.id);
                self.findings.push(finding.line(task.place.line, None));
            }
        }
        proof.doubts.extend(two_statuses(task));
        if !has_id {
            let reason = "it has no id, so its system cannot name it: give it one";
            proof.doubts.push(Doubt::conflict("without an id in the list", reason));
        }
        if step.status == Status::Blocked {
            let reason = match inherited.parent.filter(|_| status != Status::Blocked) {
                Some(parent) => format!("its task {} is blocked", parent.id),
                None => "its status is blocked".to_owned(),
            };
            step.hold = Some(Hold::Because(reason));
        }
        step.guest = Some(Box::new(proof));
        let urgency = match (step.status, inherited.is_begun) {
            // What is over comes first, so that its priority does not hold back what depends on it.
            (status, _) if status.is_over() => 0,
            (Status::InProgress, _) => 1,
            (_, true) => 2,
            (_, false) => 3,
        };
        let priority = match inherited.parent {
            _ if urgency == 0 => 0,
            Some(_) => inherited.priority,
            None => priority_of(task),
        };
        Some((step, (urgency, priority)))
    }

    /// Returns an id that no other step has; a repeated one is reported.
    fn unique(&mut self, id: String, task: &Node) -> String {
        let mut unique = id.clone();
        let mut number = 2;
        while !self.used.insert(unique.clone()) {
            unique = format!("{id}#{number}");
            number += 1;
        }
        if unique != id {
            let message = format!("two tasks have the id {id}; the second one is called {unique} here");
            let finding = Finding::new(FindingCode::DuplicateId, message).at(&self.files.state);
            self.findings.push(finding.line(task.place.line, None));
            self.repeated.entry(id.clone()).or_insert_with(|| vec![id]).push(unique.clone());
        }
        unique
    }

    /// Returns the id that a dependency names, where a model wrote more than that: `Task 2`, `#2`, `task-2`.
    fn as_known(&self, text: String, siblings: &BTreeSet<String>) -> String {
        let is_known = |id: &str| self.known.contains(id.split('.').next().unwrap_or(id)) || siblings.contains(id);
        let number = text.trim_start_matches(|c: char| !c.is_ascii_digit());
        if is_known(&text) || !is_known(number) { text } else { number.to_owned() }
    }

    /// Returns what a task depends on. In a subtask, a number is a sibling; where no such sibling exists, it is a task.
    fn dependencies(&mut self, task: &Node, id: &str, inherited: &Inherited<'_>) -> Vec<StepId> {
        let parent = inherited.parent.map(|parent| parent.id.as_str());
        let mut on = Vec::new();
        for text in dependencies_of(task) {
            let text = self.as_known(text, &inherited.siblings);
            let on_id = match parent {
                Some(parent) if text.split_once('.').is_some_and(|(of, _)| of == UNDEFINED) => full_id(parent, &text),
                Some(parent) if !text.contains('.') => {
                    let full = format!("{parent}.{text}");
                    let is_sibling = inherited.siblings.contains(&text) || inherited.siblings.contains(&full);
                    let is_task = self.known.contains(&text) && !is_sibling;
                    if is_task && text != parent {
                        self.taken_as_tasks.push(format!("{id} on {text}"));
                    }
                    if is_task { text } else { full }
                }
                Some(_) | None => text,
            };
            if on_id == id || Some(on_id.as_str()) == parent {
                let message = format!("{id} depends on itself; that is ignored");
                self.findings.push(Finding::new(FindingCode::FieldIgnored, message).at(&self.files.state));
            } else if !on_id.is_empty() {
                on.push(StepId::new(on_id));
            }
        }
        on.dedup();
        on
    }
}

/// Doubts a task with two different statuses, as after a merge: its system takes the last one.
fn two_statuses(task: &Node) -> Option<Doubt> {
    let words =
        task.members().iter().filter(|member| member.key == "status").filter_map(|member| member.value.scalar());
    let words: Vec<String> = words.map(|word| clean_line(word, TITLE)).collect();
    let (last, before) = words.split_last()?;
    let other = before.iter().find(|word| *word != last)?;
    Some(Doubt::conflict("with two statuses", format!("its status is there twice, as `{other}` and as `{last}`")))
}

fn proof_of(task: &Node, id: &StepId, files: &FileSet, tag_flag: &str) -> GuestProof {
    let relevant = task.get("relevantFiles").map(Node::items).unwrap_or_default();
    let path = |file: &Node| RelPath::parse(file.get("path")?.scalar()?).ok();
    let with_action = |action: &'static str| {
        let is_one = move |file: &&Node| {
            file.get("action").and_then(Node::scalar).is_some_and(|word| word.eq_ignore_ascii_case(action))
        };
        relevant.iter().filter(is_one).filter_map(path)
    };
    // What an open task modifies was there before: only a later commit shows work on it. A finished one needs it all the same.
    let is_done = status_word(task).1 == Status::Completed;
    let (kept, changed): (Vec<RelPath>, Vec<RelPath>) = with_action("modify").partition(|_| is_done);
    GuestProof {
        document: Some(files.state.clone()),
        names: ["task", "subtask"].map(|noun| CommitName::After { noun, id: id.as_str().to_owned() }).to_vec(),
        results: with_action("create").chain(kept).map(DeclaredFile::plain).collect(),
        changed,
        followers: Followers::Doubt,
        said: noted(task),
        commits_prove: true,
        record: format!(
            "if it is done, `task-master set-status --id={} --status=done{tag_flag}` says so",
            quoted(id.as_str())
        ),
        ..GuestProof::default()
    }
}

/// Returns the first sentence of the last note that was added to a task: `<info added on TIME>`.
fn noted(task: &Node) -> Option<String> {
    let (_, note) = task.get("details")?.as_str()?.rsplit_once("<info added on ")?;
    let (_, text) = note.split_once('>')?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("</info"))?;
    let end = line.find(". ").map_or(line.len(), |end| end + 1);
    Some(clean_line(&mask_secrets(&line[..end]), SAID)).filter(|text| !text.is_empty())
}

/// Returns the texts of a task.
pub(super) fn brief(files: &FileSet, step: &StepId) -> Brief {
    let root = files.bytes(&files.state).and_then(|bytes| parse_json(bytes).ok());
    let found = root.as_ref().and_then(|root| root.at(&tags::pointer(root, tags::tag_of(root, files), step.as_str())?));
    let Some(found) = found else { return Brief::default() };
    let texts = ["description", "details", "testStrategy", "acceptanceCriteria"];
    let said = texts.iter().filter_map(|key| {
        let text = found.get(key)?.as_str()?.trim();
        (!text.is_empty()).then(|| format!("{key}: {}", clean(&mask_secrets(text))))
    });
    let own = ReadingItem { what: "the task".to_owned(), path: Some(files.state.as_str().to_owned()) };
    let relevant = found.get("relevantFiles").map(Node::items).unwrap_or_default().iter().take(FILES);
    let is_there = |file: &&Node| file.get("action").and_then(Node::scalar) != Some("create");
    let relevant = relevant.filter(is_there).filter_map(|file| {
        let path = RelPath::parse(file.as_str().or_else(|| file.get("path")?.scalar())?).ok()?;
        let what = file.get("description").and_then(Node::as_str).unwrap_or("a relevant file");
        Some(path.reading_item(clean_line(&mask_secrets(what), TITLE)))
    });
    let reading = std::iter::once(own).chain(relevant).collect();
    Brief { instructions: said.collect::<Vec<_>>().join("\n"), reading, ..Brief::default() }
}
