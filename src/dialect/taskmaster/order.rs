//! Where Task Master itself would continue (docs/formats/taskmaster.md#order).

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::tags;
use super::task::dependencies_of;
use super::task::full_id;
use super::task::id_of;
use super::task::priority_of;
use super::task::status_word;
use super::task::subtasks_of;
use crate::document::Node;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Status;
use crate::model::Step;

/// A task that its own system may choose.
struct Choice {
    id: String,
    /// Priority, number of dependencies, and the numbers of the id.
    order: (u8, usize, Vec<u64>),
}

/// Names the task that Task Master would choose, where the order of the plan begins with another one.
pub(super) fn differs(root: &Node, tag: &str, steps: &[Step]) -> Option<Finding> {
    let (tasks, _) = tags::tasks(root, tag)?;
    let theirs = chosen(tasks)?;
    let ours = first(steps)?;
    let message = format!("`task-master next` would choose {theirs}; the plan begins with {ours}");
    (theirs != ours).then(|| Finding::new(FindingCode::NextDiffers, message))
}

/// Returns what `task-master next` chooses: a subtask of a task in progress, else a task, each by priority, dependencies and id. It does not
/// look into the subtasks of other tasks.
fn chosen(tasks: &Node) -> Option<String> {
    let is_done = |task: &Node| status_word(task).1 == Status::Completed;
    let is_open = |task: &Node| matches!(status_word(task).1, Status::Pending | Status::InProgress);
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
    let in_progress = tasks.items().iter().filter(|task| status_word(task).1 == Status::InProgress);
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

/// Returns the first step that is ready by its claims. A task stands for its subtasks.
fn first(steps: &[Step]) -> Option<&str> {
    let by_id: BTreeMap<&str, &Step> = steps.iter().map(|step| (step.id.as_str(), step)).collect();
    let is_doubted = |step: &Step| step.guest.as_ref().is_some_and(|proof| !proof.doubts.is_empty());
    let parent = |step: &Step| step.guest.as_ref()?.parent.as_ref().and_then(|id| by_id.get(id.as_str()).copied());
    let is_ready = |step: &&Step| {
        matches!(step.status, Status::Pending | Status::InProgress)
            && !is_doubted(step)
            && step.children.is_empty()
            && parent(step).is_none_or(|parent| !is_doubted(parent) && !parent.status.satisfies())
            && step.depends_on.iter().all(|on| by_id.get(on.as_str()).is_none_or(|on| on.status.satisfies()))
    };
    let found = steps.iter().filter(is_ready).min_by_key(|step| step.plan_order)?;
    Some(found.id.as_str())
}
