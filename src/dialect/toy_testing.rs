//! A toy dialect, a check list with three words: the least that a dialect has to do. `ops/toy_tests.rs` drives a run of it.

use serde_json::{Value, json};

use super::{Dialect, EditError, Loaded, Probed, edit::FileEditor};
use crate::{
    document::{Node, OpenError, Reader, Syntax},
    model::*,
};

/// The dialect; it borrows an id, because no run of it leaves the tests.
pub(crate) struct Toy;

const STATE: &str = "checklist.yaml";
const WORDS: [(&str, Status); 3] =
    [("todo", Status::Pending), ("doing", Status::InProgress), ("done", Status::Completed)];

impl Dialect for Toy {
    fn id(&self) -> DialectId {
        DialectId::Piton
    }

    fn marks(&self, path: &str) -> bool {
        name_of(path) == STATE
    }

    fn probe(&self, listing: &Listing) -> Probed {
        let found = listing.entries.iter().filter(|entry| !entry.is_dir && self.marks(entry.path.as_str()));
        let candidate = |entry: &ListingEntry| {
            let reads = vec![ReadSpec::File(entry.path.clone())];
            Candidate::new(self.id(), STATE.to_owned(), entry.path.clone(), reads)
        };
        Probed { candidates: found.map(candidate).collect(), ..Probed::default() }
    }

    fn load(&self, files: &FileSet) -> Loaded {
        let reader = match Reader::open(files, &files.state, Syntax::Yaml) {
            Ok(reader) => reader,
            Err(OpenError::Unread(problem)) => return unreadable(files, problem.to_string()),
            Err(OpenError::Broken(error)) => return unreadable(files, error.to_string()),
        };
        let mut steps: Vec<Step> = Vec::new();
        for item in reader.get("items").items() {
            let Some(id) = item.get("id").required().id() else { continue };
            let mut step = Step::new(StepId::new(&id), id);
            let word = item.get("is").required().text().unwrap_or_default();
            match WORDS.iter().find(|(known, _)| *known == word) {
                Some((_, status)) => step.status = *status,
                None => item.get("is").report_unknown(FindingCode::StatusUnknown, word, Some(&step.id)),
            }
            step.depends_on = steps.last().map(|before| before.id.clone()).into_iter().collect();
            steps.push(step);
        }
        let run = Run::new(STATE, self.id(), STATE.to_owned(), "checklist", vec![files.state.clone()]);
        let run = Run { steps, ..run };
        Loaded { run: Some(run), findings: reader.into_findings(), ..Loaded::default() }
    }

    fn edit(&self, files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
        let mut file = FileEditor::open(files, &files.state, Syntax::Yaml)?;
        let ended = if let ChangeKind::Finish(outcome) = &change.kind { Some(outcome.status) } else { None };
        let begun = matches!(change.kind, ChangeKind::Begin { .. }).then_some(Status::InProgress);
        let status = ended.or(begun);
        let word = WORDS.iter().find(|(_, known)| Some(*known) == status).map(|(word, _)| word);
        let items = file.get("/items").map(Node::items).unwrap_or_default();
        let id = change.kind.step().map(StepId::as_str);
        let at = items.iter().position(|item| item.get("id").and_then(Node::scalar) == id);
        let (Some(word), Some(at)) = (word, at) else {
            return Err(EditError::Unsupported("a check list only has items to do, being done and done".to_owned()));
        };
        file.set(&format!("/items/{at}/is"), &json!(word))?;
        Ok(vec![file.into_edit()])
    }

    fn native(&self, _native: &Value, _run: &Run, _plan: &Plan, _findings: &[Finding]) -> Value {
        Value::Null
    }

    fn brief(&self, _files: &FileSet, _run: &Run, _plan: &Plan, _next: &Next) -> Brief {
        Brief::default()
    }
}

fn unreadable(files: &FileSet, problem: String) -> Loaded {
    let finding = Finding::new(FindingCode::StateUnreadable, problem).at(&files.state);
    Loaded { findings: vec![finding], ..Loaded::default() }
}
