//! Patches for what lags behind: the status of an epic or story in the sprint, and the status line of a story (docs/formats/bmad.md#patches).

use serde_json::json;

use super::{
    sprint::{self, Epic, STATUSES, STEPS},
    words::{self, SprintWord},
};
use crate::{
    dialect::{
        edit::FileEditor,
        story::{self, StoryStatus},
    },
    document::{Syntax, escape},
    model::{Answer, AnswerWord, FileSet, RelPath, Run, Status, Step, StepId, Suggestion, Suggestions},
};

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

/// Returns what a person can say about a story that has to be looked at: that it was built, which brings the one of sprint and story up to
/// date that lags behind, or that it was not, which sets the other one back.
pub(super) fn answers(files: &FileSet, step: &Step) -> Vec<Answer> {
    let sprint = files.bytes(&files.state).and_then(|bytes| sprint::read(bytes).ok());
    let Some(entry) = sprint.as_ref().and_then(|sprint| {
        sprint.stories.iter().find(|entry| entry.key == step.id.as_str()).filter(|_| sprint.repeated.is_empty())
    }) else {
        return Vec::new();
    };
    let document = step.file.as_ref().filter(|path| **path != files.state);
    let document = document.and_then(|path| Some((path, files.bytes(path)?)));
    let said = document.and_then(|(path, bytes)| story::parse(path, bytes).status().map(|mention| mention.status));
    let of_sprint = |word: &str| with_word(files, &step.id, word);
    let of_story = |status: StoryStatus| document.and_then(|(path, bytes)| with_status(path, bytes, &step.id, status));
    let (done, open) = match entry.word {
        SprintWord::Done => (of_story(StoryStatus::Done), of_sprint(sprint_word(said))),
        SprintWord::Review
            if matches!(said, Some(StoryStatus::Draft | StoryStatus::Ready | StoryStatus::InProgress)) =>
        {
            (of_story(StoryStatus::InReview), of_sprint(sprint_word(said)))
        }
        SprintWord::Review => (of_sprint("done"), of_sprint("in-progress")),
        SprintWord::Backlog | SprintWord::Ready | SprintWord::InProgress => {
            let is_ahead = matches!(said, Some(StoryStatus::InReview | StoryStatus::Done));
            let back = if entry.word == SprintWord::InProgress { StoryStatus::InProgress } else { StoryStatus::Ready };
            (of_sprint("review"), if is_ahead { of_story(back) } else { None })
        }
        SprintWord::Unknown => (of_sprint("done"), of_sprint("in-progress")),
        SprintWord::Awaiting | SprintWord::Held | SprintWord::LeftOut => (None, None),
    };
    let answer = |word, suggestion: Option<Suggestion>| suggestion.map(|suggestion| Answer { word, suggestion });
    answer(AnswerWord::Done, done).into_iter().chain(answer(AnswerWord::Open, open)).collect()
}

/// Returns the word of the sprint for the status of a story file.
const fn sprint_word(status: Option<StoryStatus>) -> &'static str {
    match status {
        Some(StoryStatus::Draft | StoryStatus::Ready) => "ready-for-dev",
        Some(StoryStatus::InReview) => "review",
        Some(StoryStatus::InProgress | StoryStatus::Blocked | StoryStatus::TerminalOther | StoryStatus::Unknown)
        | None => "in-progress",
        Some(StoryStatus::Done) => "done",
    }
}

/// Returns the sprint with another word for a story.
fn with_word(files: &FileSet, id: &StepId, word: &str) -> Option<Suggestion> {
    let mut editor = FileEditor::open(files, &files.state, Syntax::Yaml).ok()?;
    editor.set(&format!("/{STATUSES}/{}", escape(id.as_str())), &json!(word)).ok()?;
    let after = editor.into_edit().after()?.to_vec();
    Some(Suggestion { file: files.state.clone(), after, reasons: vec![format!("{id} is {word}")] })
}

/// Returns the file of a finished story with its status line brought up to date.
fn story_done(path: &RelPath, bytes: &[u8], id: &StepId) -> Option<Suggestion> {
    let story = story::parse(path, bytes);
    let said = story.status()?;
    let is_behind = matches!(
        said.status,
        StoryStatus::Draft | StoryStatus::Ready | StoryStatus::InProgress | StoryStatus::InReview
    );
    let reason = format!("{id} is done in the sprint, and its story says {}", said.raw);
    let suggestion = with_status(path, bytes, id, StoryStatus::Done).filter(|_| is_behind)?;
    Some(Suggestion { reasons: vec![reason], ..suggestion })
}

/// Returns the file of a story with another status.
fn with_status(path: &RelPath, bytes: &[u8], id: &StepId, status: StoryStatus) -> Option<Suggestion> {
    let text = std::str::from_utf8(bytes).ok()?;
    let story = story::parse(path, bytes);
    let mention = story.status()?;
    let line = usize::try_from(mention.line).ok()?.checked_sub(1)?;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let at = start + usize::try_from(mention.column).ok()? - 1;
    let behind = text.get(at..)?.strip_prefix(mention.raw.as_str())?;
    let word = if mention.status == status { mention.raw.as_str() } else { sprint_word(Some(status)) };
    let after = format!("{}{word}{behind}", &text[..at]);
    let reasons = vec![format!("the story of {id} says {word}")];
    Some(Suggestion { file: path.clone(), after: after.into_bytes(), reasons })
}

/// Returns the word that the stories of an epic prove for it, if it has another one, with the reason.
fn of_epic(epic: &Epic, run: &Run, done: &[StepId]) -> Option<(&'static str, String)> {
    let word = words::meaning(epic.claim.as_deref()?);
    let stories: Vec<&Step> =
        run.steps.iter().filter(|step| step.group.as_deref() == Some(epic.key.as_str())).collect();
    let is_over =
        |step: &&Step| step.status == Status::Skipped || done.contains(&step.id) && step.status == Status::Completed;
    // A story that may be done says nothing against its epic.
    let is_open = |step: &&&Step| {
        let proof = step.guest.as_deref();
        let may_be_done = proof.is_some_and(|proof| {
            proof.words.iter().any(|word| word.done) || proof.doubts.iter().any(|doubt| doubt.code.is_some())
        });
        !step.status.satisfies() && !done.contains(&step.id) && !may_be_done
    };
    let is_begun = |step: &&Step| matches!(step.status, Status::Completed | Status::InProgress);
    let key = &epic.key;
    match word {
        SprintWord::LeftOut => None,
        SprintWord::Done => {
            let open = stories.iter().find(is_open)?;
            Some(("in-progress", format!("{} of {key} is open", open.id)))
        }
        _ if !stories.is_empty() && stories.iter().all(is_over) => {
            Some(("done", format!("every story of {key} is done")))
        }
        SprintWord::Backlog if stories.iter().any(is_begun) => {
            Some(("in-progress", format!("stories of {key} are begun")))
        }
        SprintWord::Backlog
        | SprintWord::Ready
        | SprintWord::InProgress
        | SprintWord::Review
        | SprintWord::Awaiting
        | SprintWord::Held
        | SprintWord::Unknown => None,
    }
}

/// Returns the sprint with the epics that their stories contradict, and the stories in review that were built.
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
    let is_read_whole = sprint.stories.len() <= STEPS;
    for epic in sprint.epics.iter().filter(|_| is_read_whole) {
        let Some((word, reason)) = of_epic(epic, run, done) else { continue };
        let pointer = format!("/{STATUSES}/{}", escape(&epic.key));
        if editor.set(&pointer, &json!(word)).is_ok() {
            reasons.push(reason);
        }
    }
    let edit = editor.into_edit();
    let after = edit.after().map(<[u8]>::to_vec).filter(|_| !reasons.is_empty())?;
    Some(Suggestion { file: files.state.clone(), after, reasons })
}
