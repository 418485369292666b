//! Suggests ticks where the checklist lags behind the tasks.
//!
//! `finish` ticks only the checkbox of its own step. Other omissions stay until the user applies a suggestion.

use super::{
    session_files::{SessionFiles, first_of},
    task::TaskLocation,
    todo::{self, CheckboxMark},
};
use crate::model::{FileSet, StepId, Suggestion, Suggestions, clean_line};

/// Suggests ticks in `TODO_LIST.md` for the tasks of `done`.
pub(super) fn suggest(files: &FileSet, done: &[StepId]) -> Suggestions {
    let session_files = SessionFiles::read(files);
    let mut suggestions = Suggestions::default();
    let Some(bytes) = files.bytes(&session_files.layout.todo) else {
        return Suggestions::none(format!("there is no checklist {}", session_files.layout.todo));
    };
    let mut after = bytes.to_vec();
    let mut reasons = Vec::new();
    let mut silent = Vec::new();
    for (task, mention) in session_files.tasks.iter().zip(&session_files.checklist) {
        let is_done = done.contains(&task.id);
        if matches!(task.location, TaskLocation::Checklist { .. }) {
            continue;
        }
        let id = clean_line(task.id.as_str(), 100);
        match mention {
            None => silent.push(task.id.as_str()),
            Some(mention) if is_done && mention.mark != CheckboxMark::Done => match mention.at {
                Some(at) => {
                    after = todo::marked(after, at, todo::TICK);
                    reasons.push(format!("{id} is completed but its box in line {} is open", mention.number));
                }
                None => suggestions.notes.push(format!(
                    "{id} is completed but has several boxes below line {}: tick the finished ones",
                    mention.number
                )),
            },
            Some(mention) if !is_done && mention.mark == CheckboxMark::Done => suggestions.notes.push(format!(
                "the box of {id} in line {} is ticked but the task is not proved to be done: the user decides",
                mention.number
            )),
            Some(_) => {}
        }
    }
    if !silent.is_empty() {
        let message = format!("the checklist does not mention {}; add a line by hand", first_of(&silent));
        suggestions.notes.push(message);
    }
    if !reasons.is_empty() {
        suggestions.files.push(Suggestion { file: session_files.layout.todo.clone(), after, reasons });
    }
    suggestions.or("the checklist agrees with every task")
}
