//! Sprints of BMAD: `sprint-status.yaml` and its stories (docs/formats/bmad.md). They are read, never written.

mod findings;
mod probe;
mod read;
mod sprint;
mod suggest;
mod words;

use camino::Utf8Path;
use serde_json::{Value, json};

use super::{
    Dialect, EditError, Guest, Loaded, Probed, guest,
    optional::{Comparison, Wording},
    story,
};
use crate::model::{
    Action, Answer, Brief, Candidate, Change, Config, DialectId, Edit, FileSet, Finding, Listing, Next, Plan, RelPath,
    Run, Status, Step, StepId, Suggestions, clean_line,
};

/// The dialect of sprints.
pub(crate) struct Bmad;

impl Dialect for Bmad {
    fn id(&self) -> DialectId {
        DialectId::Bmad
    }

    fn marks(&self, path: &str) -> bool {
        probe::marks(path)
    }

    fn keeps_state_in(&self, folder: &RelPath, _config: &Config) -> bool {
        matches!(folder.name(), "_bmad-output" | "implementation-artifacts" | "sprint-artifacts")
    }

    fn probe(&self, listing: &Listing) -> Probed {
        probe::probe(listing)
    }

    fn load(&self, files: &FileSet) -> Loaded {
        let mut loaded = read::load(files);
        let command = |name: &str| probe::command(files.files.keys().map(RelPath::as_str), name);
        loaded.native = json!({
            "plan": command("create-epics-and-stories"),
            "create": command("create-story"),
            "develop": command("dev-story"),
            "review": command("code-review"),
            "after": command("retrospective"),
        });
        loaded
    }

    fn edit(&self, files: &FileSet, _change: &Change) -> Result<Vec<Edit>, EditError> {
        Err(EditError::Unsupported(format!("{} is only read", files.state)))
    }

    fn native(&self, native: &Value, run: &Run, plan: &Plan, _findings: &[Finding]) -> Value {
        let command = |name: &str| native.get(name).and_then(Value::as_str).unwrap_or_default();
        let of_step = |next: &Next| {
            let step = run.step(&next.step);
            let is_written =
                step.is_some_and(|step| step.detail.parts.iter().any(|part| part.status == Status::Completed));
            let is_epic = step.is_some_and(|step| step.detail.parts.is_empty());
            match next.action {
                Action::Run | Action::Exec | Action::Retry | Action::Return if is_epic => {
                    Some(command("plan").to_owned())
                }
                Action::Verify if is_epic => None,
                Action::Run | Action::Exec | Action::Retry | Action::Return if is_written => {
                    Some(format!("{} {}", command("develop"), next.step))
                }
                Action::Run | Action::Exec | Action::Retry | Action::Return => Some(command("create").to_owned()),
                Action::Verify => Some(format!("{} {}", command("review"), next.step)),
                Action::Archive => Some(command("after").to_owned()),
                Action::Approve | Action::Merge => None,
            }
        };
        let witness = |next: &Next| {
            let proof = run.step(&next.step).and_then(|step| step.guest.as_deref());
            let words = proof.map(|proof| proof.words.as_slice()).unwrap_or_default();
            let words: serde_json::Map<String, Value> =
                words.iter().map(|word| (word.source.clone(), Value::from(word.done))).collect();
            // The story itself is no file that it made.
            let files = proof.map(|proof| {
                let made = proof.results.iter().filter(|file| file.needs.is_empty());
                made.map(|file| &file.path).collect::<Vec<_>>()
            });
            json!({ "step": next.step, "command": of_step(next), "done_by": words, "files": files, "reason": next.reason })
        };
        json!({
            "system": "bmad",
            "next": plan.next.first().and_then(of_step),
            "after": command("after"),
            "witnesses": plan.next.iter().map(witness).collect::<Vec<_>>(),
        })
    }

    fn brief(&self, files: &FileSet, run: &Run, _plan: &Plan, next: &Next) -> Brief {
        let file = run.step(&next.step).and_then(|step| step.file.clone());
        let story = file.filter(|path| *path != files.state);
        let tasks = story
            .as_ref()
            .and_then(|path| Some(story::parse(path, files.bytes(path)?).section(story::SectionKind::Tasks)));
        let reading = story.map(|path| path.reading_item("the story")).into_iter();
        let reading = reading.chain([files.state.reading_item("the sprint")]).collect();
        let instructions = tasks.map(|lines| lines.join("\n")).unwrap_or_default();
        Brief { instructions, reading, ..Brief::default() }
    }

    fn guest(&self, _root: &Utf8Path, candidate: &Candidate) -> Option<Guest> {
        Some(Guest {
            refusal: "is a sprint of BMAD, which piton reads and never writes".to_owned(),
            command: probe::command(guest::named_files(candidate), "dev-story"),
            has_brief: true,
        })
    }

    fn comparison(&self) -> &dyn Comparison {
        self
    }

    fn wording(&self) -> &dyn Wording {
        self
    }
}

impl Wording for Bmad {
    /// Returns the first lines `generated` and `last_updated`, as keys or as comments.
    fn stamps(&self, files: &FileSet) -> Vec<String> {
        let text = String::from_utf8_lossy(files.bytes(&files.state).unwrap_or_default());
        let stamp = |key: &str| {
            let value = text.lines().find_map(|line| {
                line.trim_start_matches(['\u{feff}', '#', ' ']).strip_prefix(key)?.strip_prefix(':')
            })?;
            Some(format!("{key} {}", clean_line(value.trim(), 40)))
        };
        ["generated", "last_updated"].into_iter().filter_map(stamp).collect()
    }
}

impl Comparison for Bmad {
    fn suggest(&self, files: &FileSet, run: &Run, done: &[StepId]) -> Suggestions {
        suggest::suggest(files, run, done)
    }

    fn answers(&self, files: &FileSet, _run: &Run, step: &Step) -> Vec<Answer> {
        suggest::answers(files, step)
    }
}
