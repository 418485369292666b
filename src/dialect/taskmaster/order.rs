//! Where Task Master itself would continue (docs/formats/taskmaster.md#order).

use std::collections::BTreeSet;

use super::task::{dependencies_of, full_id, id_of, priority_of, subtasks_of};
use crate::{
    document::Node,
    model::{OwnChoice, StepId},
};

/// A task that its own system may choose.
struct Choice {
    id: String,
    /// Priority, number of dependencies, and the numbers of the id.
    order: (u8, usize, Vec<u64>),
}

/// Returns the task that Task Master would continue with.
pub(super) fn own_choice(tasks: &Node) -> Option<OwnChoice> {
    Some(OwnChoice { command: "task-master next".to_owned(), step: StepId::new(chosen(tasks)?) })
}

/// Returns what `task-master next` chooses: a subtask of a task in progress, else a task, each by priority, dependencies and id. It does not
/// look into the subtasks of other tasks.
fn chosen(tasks: &Node) -> Option<String> {
    // It takes these words only as they are, so it never chooses a task in review.
    let word = |task: &Node| task.get("status").and_then(Node::scalar).unwrap_or_default().to_lowercase();
    let is_done = |task: &Node| ["done", "completed"].contains(&word(task).as_str());
    let is_open = |task: &Node| ["", "pending", "in-progress"].contains(&word(task).as_str());
    let mut done: BTreeSet<String> = BTreeSet::new();
    for task in tasks.items() {
        let Some(id) = id_of(task) else { continue };
        done.extend(
            subtasks_of(task)
                .iter()
                .filter(|piece| is_done(piece))
                .filter_map(|piece| Some(full_id(&id, &id_of(piece)?))),
        );
        done.extend(is_done(task).then_some(id));
    }
    let choice = |id: String, task: &Node, parent: Option<&str>, priority: u8| {
        let full = |on: String| match parent {
            Some(parent) if !on.contains('.') => full_id(parent, &on),
            Some(_) | None => on,
        };
        let on: Vec<String> = dependencies_of(task).into_iter().map(full).collect();
        let numbers = id.split('.').map(|part| part.parse().unwrap_or(u64::MAX)).collect();
        on.iter().all(|on| done.contains(on)).then_some(Choice { order: (priority, on.len(), numbers), id })
    };
    let in_progress = tasks.items().iter().filter(|task| word(task) == "in-progress");
    let of_pieces = in_progress.filter_map(|task| Some((id_of(task)?, task))).flat_map(|(id, task)| {
        let open = subtasks_of(task).iter().filter(|piece| is_open(piece));
        let found = open.filter_map(|piece| {
            let own = piece.get("priority").map_or_else(|| priority_of(task), |_| priority_of(piece));
            choice(full_id(&id, &id_of(piece)?), piece, Some(&id), own)
        });
        found.collect::<Vec<_>>()
    });
    let first = |choices: &mut dyn Iterator<Item = Choice>| choices.min_by(|a, b| a.order.cmp(&b.order));
    let mut of_pieces = of_pieces;
    let mut of_tasks = tasks
        .items()
        .iter()
        .filter(|task| is_open(task))
        .filter_map(|task| choice(id_of(task)?, task, None, priority_of(task)));
    first(&mut of_pieces).or_else(|| first(&mut of_tasks)).map(|choice| choice.id)
}
