//! The tags of a task list, in both shapes of the file (docs/formats/taskmaster.md#shapes).

use super::{
    WORKFLOW, above,
    task::{full_id, id_of, status_word, subtasks_of},
};
use crate::{
    document::{Member, Node, escape},
    model::{FileSet, Status, clean_line, quoted},
};

/// Maximum number of tags of a file.
const TAGS: usize = 200;
/// The tag of a file without tags.
pub(super) const MASTER: &str = "master";

/// Returns the tag that a run is about.
pub(super) fn tag_of<'a>(root: &Node, files: &'a FileSet) -> &'a str {
    let name = files.name.as_str();
    let rest = name.strip_prefix(WORKFLOW).and_then(|name| name.strip_prefix('-')).unwrap_or(name);
    if tasks(root, rest).is_some() {
        return rest;
    }
    rest.strip_suffix(folder_of(&above(&files.state)).as_str()).unwrap_or(rest)
}

/// Returns what tells the runs of a list from those in other folders: their names end with it.
pub(super) fn folder_of(above: &[&str]) -> String {
    above.iter().map(|folder| format!("-{}", clean_line(folder, 60))).collect()
}

/// Returns the names of the tags, in file order; none for a file of another tool.
pub(super) fn names(root: &Node) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in tagged(root).map(|member| clean_line(&member.key, 100)) {
        if names.len() < TAGS && !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() && is_list(root.get("tasks")) { vec![MASTER.to_owned()] } else { names }
}

fn is_list(tasks: Option<&Node>) -> bool {
    let is_task =
        |task: &Node| task.get("id").is_some() && (task.get("title").is_some() || task.get("status").is_some());
    tasks.is_some_and(|tasks| tasks.is_list() && tasks.items().first().is_none_or(is_task))
}

/// Tells whether a list has what only Task Master writes: numbers as ids, and what a task depends on beside its details or its tests.
pub(super) fn is_marked(root: &Node) -> bool {
    let lists = tagged(root).filter_map(|member| member.value.get("tasks")).chain(root.get("tasks"));
    let tasks: Vec<&Node> = lists.flat_map(Node::items).collect();
    let is_numbered = |task: &&Node| id_of(task).is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_digit()));
    let has_own_keys = |task: &&Node| {
        task.get("dependencies").is_some() && (task.get("details").is_some() || task.get("testStrategy").is_some())
    };
    tasks.iter().all(is_numbered) && tasks.iter().any(has_own_keys)
}

/// Returns the tag that its system works on: of the branch, else of the state, else `master`, else the only one.
pub(super) fn active(state: Option<&Node>, branch: Option<&str>, tags: &[String]) -> Option<String> {
    let mapped = branch.and_then(|branch| state?.get("branchTagMapping")?.get(branch)?.as_str());
    let current = state.and_then(|state| state.get("currentTag")).and_then(Node::as_str);
    let known = [mapped, current, Some(MASTER)].into_iter().flatten().find(|name| tags.iter().any(|tag| tag == name));
    known.map(str::to_owned).or_else(|| tags.first().filter(|_| tags.len() == 1).cloned())
}

fn tagged(root: &Node) -> impl DoubleEndedIterator<Item = &Member> {
    root.members().iter().filter(|member| is_list(member.value.get("tasks")))
}

/// Returns the tasks of a tag, with the pointer to the list. Of a tag that is repeated the last one counts, as in Task Master.
pub(super) fn tasks<'a>(root: &'a Node, tag: &str) -> Option<(&'a Node, String)> {
    match tagged(root).rfind(|member| clean_line(&member.key, 100) == tag) {
        Some(member) => Some((member.value.get("tasks")?, format!("/{}/tasks", escape(&member.key)))),
        None if tag == MASTER => {
            root.get("tasks").filter(|tasks| tasks.is_list()).map(|tasks| (tasks, "/tasks".to_owned()))
        }
        None => None,
    }
}

/// Returns the tasks of a tag in the copies that do not count: a merge may leave the tag twice.
pub(super) fn earlier<'a>(root: &'a Node, tag: &'a str) -> impl Iterator<Item = &'a Node> {
    let copies = tagged(root).filter(move |member| clean_line(&member.key, 100) == tag);
    copies.rev().skip(1).filter_map(|member| member.value.get("tasks"))
}

/// Returns what names a tag in a command; nothing where the list has one only.
pub(super) fn flag(root: &Node, tag: &str) -> String {
    if names(root).len() > 1 { format!(" --tag={}", quoted(tag)) } else { String::new() }
}

/// Returns the metadata of a tag.
pub(super) fn metadata<'a>(root: &'a Node, tag: &str) -> Option<&'a Node> {
    root.get(tag).and_then(|tag| tag.get("metadata")).or_else(|| root.get("metadata"))
}

/// Returns the version and the counts that the metadata of a tag states, each count with the real one where that differs.
pub(super) fn stamps(root: &Node, tag: &str) -> Vec<String> {
    let stated = |key: &str| metadata(root, tag)?.get(key)?.scalar().map(|value| clean_line(value, 40));
    let tasks = tasks(root, tag).map(|(tasks, _)| tasks.items()).unwrap_or_default();
    let done = tasks.iter().filter(|task| status_word(task).1 == Status::Completed).count();
    let version = stated("version").map(|version| format!("version {version}"));
    let counts = [("taskCount", tasks.len()), ("totalTasks", tasks.len()), ("completedCount", done)];
    let counts = counts.into_iter().filter_map(|(key, real)| {
        let stated = stated(key)?;
        let differs = if stated == real.to_string() { String::new() } else { format!(", and the list has {real}") };
        Some(format!("{key} {stated}{differs}"))
    });
    version.into_iter().chain(counts).collect()
}

/// Returns the pointer to a task or subtask of a tag.
pub(super) fn pointer(root: &Node, tag: &str, id: &str) -> Option<String> {
    let (tasks, pointer) = tasks(root, tag)?;
    Some(format!("{pointer}{}", pointer_in(tasks.items(), None, id)?))
}

fn pointer_in(tasks: &[Node], parent: Option<&str>, id: &str) -> Option<String> {
    tasks.iter().enumerate().find_map(|(at, task)| {
        let own = id_of(task)?;
        let own = parent.map_or_else(|| own.clone(), |parent| full_id(parent, &own));
        if own == id {
            return Some(format!("/{at}"));
        }
        let is_below = id.strip_prefix(&own).is_some_and(|rest| rest.starts_with('.'));
        let below = is_below.then(|| pointer_in(subtasks_of(task), Some(&own), id))??;
        Some(format!("/{at}/subtasks{below}"))
    })
}
