//! What else a list says about the tasks of one tag: ids repeat in other tags, and in earlier copies of the tag
//! (docs/formats/taskmaster.md#commits).

use std::collections::BTreeSet;

use super::{
    tags,
    task::{TITLE, Word, full_id, id_of, status_word, subtasks_of},
};
use crate::{
    document::Node,
    model::{FileSet, GuestProof, GuestWord, Status, Timestamp, Weight, clean_line},
};

/// What limits the commits that may be about a task.
#[derive(Default)]
pub(super) struct Others {
    /// When the tag was added, if another one is older.
    added_at: Option<Timestamp>,
    /// The ids and titles in other tags, of which this one may be a copy.
    titled: BTreeSet<(String, String)>,
    /// Since when another tag is the current one.
    left_at: Option<Timestamp>,
    /// The tasks of the current tag that were begun.
    begun: BTreeSet<String>,
    /// The tasks that are done in an earlier copy of the tag.
    done_before: BTreeSet<String>,
}

impl Others {
    /// `state` is what Task Master keeps about its tags.
    pub(super) fn of(files: &FileSet, root: &Node, state: Option<&Node>, tag: &str) -> Self {
        let mut others = Self::default();
        for copy in tags::earlier(root, tag) {
            each(copy.items(), None, &mut |id, task| {
                if status_word(task).1 == Status::Completed {
                    others.done_before.insert(id);
                }
            });
        }
        let names: Vec<String> = tags::names(root).into_iter().filter(|name| name != tag).collect();
        let created = |tag: &str| files.time(tags::metadata(root, tag)?.get("created")?.as_str()?);
        let is_older = |other: &String, own: Timestamp| match created(other) {
            Some(other) => other < own,
            None => other == tags::MASTER,
        };
        others.added_at = created(tag).filter(|own| names.iter().any(|other| is_older(other, *own)));
        if others.added_at.is_some() {
            let mut own = BTreeSet::new();
            let of_tag = tags::tasks(root, tag).map(|(tasks, _)| tasks.items()).unwrap_or_default();
            each(of_tag, None, &mut |id, _| {
                own.insert(id);
            });
            for (tasks, _) in names.iter().filter_map(|other| tags::tasks(root, other)) {
                each(tasks.items(), None, &mut |id, task| {
                    if own.contains(&id) {
                        others.titled.insert((id, title(task)));
                    }
                });
            }
        }
        others.leave(files, root, state, &names);
        others
    }

    /// Finds out since when another tag is the current one. A tag for each branch says nothing about other branches.
    fn leave(&mut self, files: &FileSet, root: &Node, state: Option<&Node>, names: &[String]) {
        let Some(state) = state else { return };
        let has_branches = state.get("branchTagMapping").is_some_and(|mapping| !mapping.members().is_empty());
        let current = state.get("currentTag").and_then(Node::as_str);
        let Some(current) = current.filter(|current| !has_branches && names.iter().any(|name| name == current)) else {
            return;
        };
        self.left_at = state.get("lastSwitched").and_then(Node::as_str).and_then(|at| files.time(at));
        let tasks = tags::tasks(root, current).map(|(tasks, _)| tasks.items()).unwrap_or_default();
        each(tasks, None, &mut |id, task| {
            let is_begun = match status_word(task) {
                (Word::Review, _) => true,
                (_, status) => matches!(status, Status::Completed | Status::InProgress),
            };
            if is_begun {
                self.begun.insert(id);
            }
        });
    }

    /// Adds what limits the commits of a task, and an earlier copy that calls it done.
    pub(super) fn add_to(&self, proof: &mut GuestProof, id: &str, task: &Node) {
        let is_copied = || self.titled.contains(&(id.to_owned(), title(task)));
        proof.added_at = self.added_at.filter(|_| !is_copied());
        proof.named_until = self.left_at.filter(|_| self.begun.contains(id));
        if self.done_before.contains(id) {
            let source = "an earlier copy of the tag".to_owned();
            proof.words.push(GuestWord { source, done: true, weight: Weight::Record });
        }
    }
}

fn title(task: &Node) -> String {
    clean_line(task.get("title").and_then(Node::scalar).unwrap_or_default(), TITLE)
}

/// Shows every task and subtask with its whole id.
fn each(tasks: &[Node], parent: Option<&str>, see: &mut dyn FnMut(String, &Node)) {
    for task in tasks {
        let Some(own) = id_of(task) else { continue };
        let id = parent.map_or_else(|| own.clone(), |parent| full_id(parent, &own));
        each(subtasks_of(task), Some(&id), see);
        see(id, task);
    }
}
