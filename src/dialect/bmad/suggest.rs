//! Patches for what lags behind: the status of an epic or story in the sprint, and the status line of a story (docs/formats/bmad.md#patches).

use serde_json::json;

use super::sprint;
use super::sprint::STATUSES;
use super::words;
use super::words::SprintWord;
use crate::dialect::edit::FileEditor;
use crate::dialect::story;
use crate::dialect::story::StoryStatus;
use crate::document::Syntax;
use crate::document::escape;
use crate::model::FileSet;
use crate::model::RelPath;
use crate::model::Run;
use crate::model::Status;
use crate::model::StepId;
use crate::model::Suggestion;
use crate::model::Suggestions;

/// Suggests edits for the stories that are done, and for their epics.
pub(super) fn suggest(files: &FileSet, run: &Run, done: &[StepId]) -> Suggestions {
    let mut suggestions = Suggestions::default();
    for step in run.steps.iter().filter(|step| done.contains(&step.id) && step.status == Status::Completed) {
        let Some(path) = step.file.as_ref().filter(|path| **path != files.state) else { continue };
        suggestions.files.extend(files.bytes(path).and_then(|bytes| story_done(path, bytes, &step.id)));
    }
    suggestions.files.extend(of_sprint(files, run, done));
    suggestions.or("nothing in the sprint and its stories lags behind")
}

/// Returns the file of a finished story with its status line brought up to date.
fn story_done(path: &RelPath, bytes: &[u8], id: &StepId) -> Option<Suggestion> {
    let text = std::str::from_utf8(bytes).ok()?;
    let story = story::parse(path, bytes);
    let mention = story.status()?;
    if !matches!(
        mention.status,
        StoryStatus::Draft | StoryStatus::Ready | StoryStatus::InProgress | StoryStatus::InReview
    ) {
        return None;
    }
    let line = usize::try_from(mention.line).ok()?.checked_sub(1)?;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let at = start + usize::try_from(mention.column).ok()? - 1;
    let behind = text.get(at..)?.strip_prefix(mention.raw.as_str())?;
    let word = mention.word_for(StoryStatus::Done);
    let after = format!("{}{word}{behind}", &text[..at]);
    let reasons = vec![format!("{id} is done in the sprint, and its story says {}", mention.raw)];
    Some(Suggestion { file: path.clone(), after: after.into_bytes(), reasons })
}

/// Returns the sprint with the epics closed whose stories are all over, and the stories in review that were built.
fn of_sprint(files: &FileSet, run: &Run, done: &[StepId]) -> Option<Suggestion> {
    let sprint = sprint::read(files.bytes(&files.state)?).ok().filter(|sprint| sprint.repeated.is_empty())?;
    let mut editor = FileEditor::open(files, &files.state, Syntax::Yaml).ok()?;
    let mut reasons = Vec::new();
    for step in run.steps.iter().filter(|step| done.contains(&step.id)) {
        if matches!(step.status, Status::Pending | Status::InProgress) {
            let pointer = format!("/{STATUSES}/{}", escape(step.id.as_str()));
            if editor.set(&pointer, &json!("review")).is_ok() {
                reasons.push(format!("{} was built: it can be reviewed", step.id));
            }
        }
    }
    for epic in sprint.epics.iter().filter(|epic| epic.claim.is_some()) {
        let is_done = epic.claim.as_deref().map(words::meaning) == Some(SprintWord::Done);
        let mut stories = run.steps.iter().filter(|step| step.group.as_deref() == Some(epic.key.as_str())).peekable();
        let has_stories = stories.peek().is_some();
        let all_over = stories
            .all(|step| step.status == Status::Skipped || done.contains(&step.id) && step.status == Status::Completed);
        if is_done || !has_stories || !all_over {
            continue;
        }
        let pointer = format!("/{STATUSES}/{}", escape(&epic.key));
        if editor.set(&pointer, &json!("done")).is_ok() {
            reasons.push(format!("every story of {} is done", epic.key));
        }
    }
    let edit = editor.into_edit();
    let after = edit.after().map(<[u8]>::to_vec).filter(|_| !reasons.is_empty())?;
    Some(Suggestion { file: files.state.clone(), after, reasons })
}
