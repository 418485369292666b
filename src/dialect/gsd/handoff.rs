//! Notes of a paused session, `HANDOFF.json` and `.continue-here.md`: a hint about the plan in flight, nothing else
//! (docs/formats/gsd.md#state).

use super::{
    names::{self, PhaseKey},
    plan_file,
};
use crate::{
    document::{Node, parse_json},
    model::{FileSet, RelPath, clean_line, is_commit_hash, mask_secrets},
};

/// Characters of a quoted value.
const QUOTED: usize = 120;
const NAME: &str = "HANDOFF.json";
const CONTINUE: &str = ".continue-here.md";

/// The note of a paused session.
#[derive(Debug)]
pub(super) struct Handoff {
    pub(super) file: RelPath,
    phase: Option<PhaseKey>,
    /// The number of the plan in its phase, or the id of the plan.
    plan: Option<String>,
    /// What it says, as the end of a sentence.
    pub(super) note: String,
    /// The commits that it names as finished work.
    pub(super) commits: Vec<String>,
}

impl Handoff {
    /// Returns the notes of a planning folder. One that does not parse says nothing.
    pub(super) fn all(files: &FileSet) -> Vec<Self> {
        let is_note = |path: &&RelPath| path.name() == CONTINUE || path.name() == NAME;
        files.files.keys().filter(is_note).filter_map(|path| Self::of(path, files.bytes(path)?)).collect()
    }

    fn of(path: &RelPath, bytes: &[u8]) -> Option<Self> {
        let root = if path.name() == NAME { parse_json(bytes).ok() } else { plan_file::front_matter(bytes) }?;
        let text = |key: &str| root.get(key).and_then(Node::scalar).map(str::trim).filter(|text| !text.is_empty());
        let folder = path.parent().filter(|_| path.name() == CONTINUE);
        let of_folder = folder.as_ref().and_then(|folder| names::leading(folder.name()));
        let phase = text("phase").and_then(names::leading).or(of_folder).map(|(key, _)| key);
        let finished = root.get("completed_tasks").map(Node::items).unwrap_or_default();
        let commits = finished.iter().filter_map(|task| task.get("commit")?.scalar()).filter(|sha| is_commit_hash(sha));
        let said = [("task", "task"), ("of", "total_tasks"), ("next:", "next_action")];
        let said = said.iter().filter_map(|(word, key)| Some(format!("{word} {}", quoted(text(key)?))));
        let said: Vec<String> = said.collect();
        Some(Self {
            file: path.clone(),
            phase,
            plan: text("plan").map(str::to_owned),
            note: if said.is_empty() { "a pause".to_owned() } else { said.join(" ") },
            commits: commits.map(str::to_owned).collect(),
        })
    }

    /// Returns the remark about the plan in flight.
    pub(super) fn remark(&self) -> String {
        format!("{} names {}", self.file, self.note)
    }

    /// Tells whether it is about an open plan. A note without the number of the plan is about the first open plan of its phase.
    pub(super) fn is_about(&self, id: &str, is_first_open: bool) -> bool {
        let Some((phase, _)) = names::leading(id) else { return false };
        match self.plan.as_deref() {
            Some(plan) if names::is_plan(plan) => plan == id,
            Some(plan) => self.phase.as_ref() == Some(&phase) && plan.parse() == Ok(names::number_of(id)),
            None => self.phase.as_ref() == Some(&phase) && is_first_open,
        }
    }
}

fn quoted(text: &str) -> String {
    clean_line(&mask_secrets(text), QUOTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, text: &str) -> Option<Handoff> {
        Handoff::of(&RelPath::parse(path).unwrap(), text.as_bytes())
    }

    #[test]
    fn a_note_is_about_the_plan_that_it_names_or_the_first_open_one_of_its_phase() {
        let json = ".planning/HANDOFF.json";
        let folder = ".planning/phases/02-sail/.continue-here.md";
        for (path, text, about, not) in [
            (json, "{\"phase\": \"2\", \"plan\": 1}", ("02-01", false), ("02-02", true)),
            (json, "{\"phase\": \"02-sail\", \"plan\": \"01\"}", ("02-01", false), ("03-01", false)),
            (json, "{\"plan\": \"02-01\"}", ("02-01", false), ("02-011", false)),
            (json, "{\"phase\": 2}", ("02-03", true), ("02-03", false)),
            (folder, "---\ntask: 4\n---\n", ("02-03", true), ("03-01", true)),
            (folder, "---\nphase: 3\ntask: 4\n---\n", ("03-01", true), ("02-01", true)),
        ] {
            let note = of(path, text).unwrap();
            assert!(note.is_about(about.0, about.1) && !note.is_about(not.0, not.1), "{text}: {note:?}");
        }
    }

    #[test]
    fn a_note_says_where_it_stopped_and_names_its_commits() {
        let text = "{\"task\": 2, \"total_tasks\": 3, \"next_action\": \"hem\\u001b[31m it\", \"completed_tasks\": [{\"commit\": \"deadbee\"}, {\"commit\": \"HEAD; rm\"}, {\"id\": 3}]}";
        let note = of(".planning/HANDOFF.json", text).unwrap();
        assert!(note.note.starts_with("task 2 of 3 next: hem") && !note.note.contains('\u{1b}'), "{}", note.note);
        assert_eq!(note.commits, ["deadbee"]);
        assert_eq!(of(".planning/HANDOFF.json", "{}").unwrap().note, "a pause");
    }

    #[test]
    fn a_note_that_does_not_parse_says_nothing() {
        for (path, text) in [
            (".planning/HANDOFF.json", "{\"a"),
            (".planning/HANDOFF.json", ""),
            (".planning/.continue-here.md", "# no front matter"),
        ] {
            assert!(of(path, text).is_none(), "{text}");
        }
    }
}
