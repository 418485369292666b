//! Where the checklist lags behind the tasks: a finished task whose box is open is suggested as ticked.
//!
//! `finish` ticks the box of the step it is about and no other one, so what somebody else forgot stays as it is until a person
//! takes the suggestion.

use super::session_files::SessionFiles;
use super::session_files::some_of;
use super::task::Place;
use super::todo;
use super::todo::Mark;
use crate::model::FileSet;
use crate::model::StepId;
use crate::model::Suggestion;
use crate::model::Suggestions;
use crate::model::clean_line;

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
    for (task, mention) in session_files.tasks.iter().zip(&session_files.mentions) {
        let is_done = done.contains(&task.id);
        if matches!(task.place, Place::Checklist { .. }) {
            continue;
        }
        let id = clean_line(task.id.as_str(), 100);
        match mention {
            None => silent.push(task.id.as_str()),
            Some(mention) if is_done && mention.mark != Mark::Done => match mention.at {
                Some(at) => {
                    after = todo::ticked(after, at);
                    reasons.push(format!("{id} is completed, and its box in line {} is open", mention.number));
                }
                None => suggestions.notes.push(format!(
                    "{id} is completed, and several boxes below line {} speak for it: tick those that are done",
                    mention.number
                )),
            },
            Some(mention) if !is_done && mention.mark == Mark::Done => suggestions.notes.push(format!(
                "the box of {id} in line {} is ticked, and the task is not proved to be done: a person decides",
                mention.number
            )),
            Some(_) => {}
        }
    }
    if !silent.is_empty() {
        let message = format!("the checklist does not mention {}; a line for it is for its author", some_of(&silent));
        suggestions.notes.push(message);
    }
    if !reasons.is_empty() {
        suggestions.files.push(Suggestion { file: session_files.layout.todo.clone(), after, reasons });
    }
    suggestions.or("the checklist says of every task what the task itself says")
}

#[cfg(test)]
#[path = "suggest_tests.rs"]
mod tests;
