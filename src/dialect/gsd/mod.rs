//! Plans of GSD, `.planning/` (docs/formats/gsd.md). They are read, never written.

mod commands;
mod doubtful;
mod folders;
mod handoff;
mod milestones;
mod names;
mod order;
mod patch;
mod plan_file;
mod read;
mod roadmap;
mod state;
mod verification;

use camino::Utf8Path;
use serde_json::{Value, json};

use crate::{
    dialect::{
        Comparison, Dialect, EditError, Guest, Loaded, Probed, guest,
        optional::{GitComparison, Wording},
    },
    model::{
        Action, Answer, AnswerWord, Brief, Candidate, Change, DialectId, Edit, Evidence, FileSet, Finding, Listing,
        Next, Plan, ReadSpec, ReadingItem, RelPath, Run, Status, Step, StepId, Suggestion, Suggestions, Verdict,
        clean_line,
    },
};
use handoff::Handoff;
use roadmap::Roadmap;

/// The dialect of GSD.
pub(crate) struct Gsd;

const WORKFLOW: &str = "gsd";
const FOLDER: &str = ".planning";

impl Dialect for Gsd {
    fn id(&self) -> DialectId {
        DialectId::Gsd
    }

    fn marks(&self, path: &str) -> bool {
        path.ends_with("/ROADMAP.md") && path.split('/').any(|part| part == FOLDER)
    }

    fn probe(&self, listing: &Listing) -> Probed {
        let mut folders: Vec<RelPath> = listing.entries.iter().filter_map(|entry| home_of(&entry.path)).collect();
        folders.sort_unstable();
        folders.dedup();
        let is_gsd = |folder: &RelPath| {
            listing.entries.iter().filter(|entry| !entry.is_dir && entry.path.starts_with(folder)).any(|entry| {
                let below = entry.path.as_str()[folder.as_str().len()..].trim_start_matches('/');
                let is_plan = below.starts_with("phases/") && names::plan_id(entry.path.name()).is_some();
                let names_phases =
                    || entry.content.as_deref().is_some_and(|bytes| !Roadmap::parse(bytes).phases.is_empty());
                is_plan || (below == "ROADMAP.md" && names_phases())
            })
        };
        let mut probed = Probed::default();
        for folder in folders.iter().filter(|folder| is_gsd(folder)) {
            let is_copy = guest::has_copies(folder.as_str().split('/').take_while(|part| *part != FOLDER));
            probed.add(candidate(listing, folder), guest::is_listed(listing, folder, is_copy));
        }
        probed
    }

    fn load(&self, files: &FileSet) -> Loaded {
        read::load(files)
    }

    fn edit(&self, _files: &FileSet, _change: &Change) -> Result<Vec<Edit>, EditError> {
        Err(EditError::Unsupported("the plan belongs to GSD: piton reads it and never writes it".to_owned()))
    }

    fn guest(&self, _root: &Utf8Path, candidate: &Candidate) -> Option<Guest> {
        Some(Guest {
            refusal: "belongs to GSD: piton reads it and never writes it".to_owned(),
            command: commands::spelled(guest::named_files(candidate), "progress"),
            has_brief: true,
        })
    }

    fn native(&self, native: &Value, run: &Run, plan: &Plan, _findings: &[Finding]) -> Value {
        let command =
            |name: &str| native.pointer(&format!("/commands/{name}")).and_then(Value::as_str).unwrap_or_default();
        let Some(next) = plan.next.first() else {
            let is_complete = plan.verdict == Verdict::Complete;
            return json!({ "next": command(if is_complete { "complete-milestone" } else { "progress" }) });
        };
        let phase = names::phase_of(next.step.as_str());
        let is_planned = run.step(&next.step).is_some_and(names::is_plan_step);
        let is_gap = native["gaps"].as_array().is_some_and(|gaps| gaps.iter().any(|id| *id == next.step.as_str()));
        let shown = match next.action {
            Action::Run | Action::Exec | Action::Retry if native["handoff"] == next.step.as_str() => {
                command("resume-work").to_owned()
            }
            Action::Run | Action::Exec | Action::Retry if !is_planned => format!("{} {phase}", command("plan-phase")),
            Action::Run | Action::Exec | Action::Retry if is_gap => {
                format!("{} {phase} --gaps-only", command("execute-phase"))
            }
            Action::Run | Action::Exec | Action::Retry => format!("{} {phase}", command("execute-phase")),
            Action::Verify | Action::Approve | Action::Return | Action::Merge | Action::Archive => {
                format!("{} {phase}", command("verify-work"))
            }
        };
        let witness = |next: &Next| {
            let step = run.step(&next.step);
            let words =
                step.and_then(|step| step.guest.as_ref()).map(|proof| proof.words.as_slice()).unwrap_or_default();
            let said = |source: &str| words.iter().find(|word| word.source == source).map(|word| word.done);
            json!({
                "step": next.step,
                "summary": step.is_some_and(|step| step.status == Status::Completed),
                "roadmap": said("ROADMAP"),
                "state": said("STATE"),
                "reason": next.reason,
            })
        };
        json!({ "next": shown, "witnesses": plan.next.iter().map(witness).collect::<Vec<_>>() })
    }

    fn brief(&self, files: &FileSet, run: &Run, _plan: &Plan, next: &Next) -> Brief {
        let step = run.step(&next.step);
        let Some(file) = step.and_then(|step| step.file.clone()) else { return Brief::default() };
        let instructions = files.bytes(&file).map(plan_file::objective).unwrap_or_default();
        let mut reading =
            vec![ReadingItem { what: "the plan of the step".to_owned(), path: Some(file.as_str().to_owned()) }];
        let phase = names::leading(next.step.as_str()).map(|(phase, _)| phase);
        let mut notes = files
            .state
            .join("STATE.md")
            .ok()
            .and_then(|path| files.bytes(&path))
            .map_or_else(Vec::new, |bytes| state::remarks(bytes, phase.as_ref()));
        let remarks = step.and_then(|step| step.guest.as_ref()).map(|proof| proof.notes.as_slice()).unwrap_or_default();
        for handoff in Handoff::all(files).iter().filter(|handoff| remarks.contains(&handoff.remark())) {
            notes.push(format!("the note of a paused session says: {}", handoff.note));
            reading.push(handoff.file.reading_item("the note of a paused session"));
        }
        Brief { instructions, reading, notes, ..Brief::default() }
    }

    fn comparison(&self) -> &dyn Comparison {
        self
    }

    fn wording(&self) -> &dyn Wording {
        self
    }
}

impl Wording for Gsd {
    fn stamps(&self, files: &FileSet) -> Vec<String> {
        let state = files.state.join("STATE.md").ok();
        let front = state.and_then(|path| plan_file::front_matter(files.bytes(&path)?));
        let stamp = |key: &str| Some(format!("{key} {}", clean_line(plan_file::text_of(front.as_ref(), key)?, 40)));
        ["gsd_state_version", "last_updated"].into_iter().filter_map(stamp).collect()
    }
}

impl Comparison for Gsd {
    fn compare_with_git(&self, files: &FileSet, run: &Run, evidence: &Evidence) -> GitComparison {
        let findings = verification::left_over(files, run, evidence.guest.log.as_deref());
        GitComparison { findings, ..GitComparison::default() }
    }

    /// Suggests to tick the boxes of the roadmap that lag behind.
    fn suggest(&self, files: &FileSet, run: &Run, done: &[StepId]) -> Suggestions {
        let mut suggestions = Suggestions::default();
        let path = files.state.join("ROADMAP.md").ok().filter(|path| files.bytes(path).is_some());
        if let Some((path, bytes)) = path.as_ref().and_then(|path| Some((path, files.bytes(path)?))) {
            let (after, reasons) = patch::ticked(bytes, run, done);
            suggestions.files.push(Suggestion { file: path.clone(), after, reasons });
        }
        suggestions.or("there is no roadmap")
    }

    /// A plan without a summary: done, for which its summary is written; open, which takes the ticks and the row of the roadmap back; or
    /// dropped, which its front matter says.
    fn answers(&self, files: &FileSet, run: &Run, step: &Step) -> Vec<Answer> {
        let plan = step.file.as_ref().filter(|path| path.name().ends_with(names::PLAN));
        let id = step.id.as_str();
        let Some((plan, (phase, _))) = plan.zip(names::leading(id)).filter(|_| step.status == Status::Pending) else {
            return Vec::new();
        };
        let done = plan_file::recorded(plan, id).map(|(file, after)| {
            let reasons = vec![format!("{id} was carried out: a summary records it")];
            Answer { word: AnswerWord::Done, suggestion: Suggestion { file, after, reasons } }
        });
        let roadmap = files.state.join("ROADMAP.md").ok();
        let cleared = roadmap.and_then(|path| Some((patch::cleared(files.bytes(&path)?, run, id, &phase)?, path)));
        let open = cleared.map(|((after, lines), file)| {
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            let reasons = vec![format!("{id} is open: clear line {}", lines.join(", "))];
            Answer { word: AnswerWord::Open, suggestion: Suggestion { file, after, reasons } }
        });
        let dropped = files.bytes(plan).and_then(plan_file::superseded).map(|after| {
            let reasons = vec![format!("{id} will not be carried out")];
            Answer { word: AnswerWord::Dropped, suggestion: Suggestion { file: plan.clone(), after, reasons } }
        });
        done.into_iter().chain(open).chain(dropped).collect()
    }
}

/// Returns the folder of plans that a path is in: `.planning`, or a workstream of it.
fn home_of(path: &RelPath) -> Option<RelPath> {
    let parts: Vec<&str> = path.as_str().split('/').collect();
    let at = parts.iter().position(|part| *part == FOLDER)?;
    if at > guest::PACKAGE_DEPTH {
        return None;
    }
    let length = if parts.get(at + 1) == Some(&"workstreams") && parts.len() > at + 3 { at + 3 } else { at + 1 };
    RelPath::parse(&parts[..length].join("/")).ok()
}

fn candidate(listing: &Listing, folder: &RelPath) -> Candidate {
    let is_stream = folder.name() != FOLDER;
    let file = |name: &str| folder.join(name).ok().map(ReadSpec::File);
    let mut reads: Vec<ReadSpec> =
        ["ROADMAP.md", "STATE.md", "config.json", "HANDOFF.json"].iter().filter_map(|name| file(name)).collect();
    reads.extend(
        ["phases", "quick"]
            .iter()
            .filter_map(|name| folder.join(name).ok())
            .map(|dir| ReadSpec::Tree { dir, suffix: ".md" }),
    );
    reads.extend(folder.join("milestones").ok().map(|dir| ReadSpec::Contents { dir, suffix: read::ARCHIVE }));
    reads.extend(commands::files(listing).map(ReadSpec::File));
    let name = if is_stream { format!("{WORKFLOW}-{}", folder.name()) } else { WORKFLOW.to_owned() };
    Candidate {
        // The commands of the project lie elsewhere.
        may_be_replaced: listing.named.is_some(),
        ..guest::candidate(DialectId::Gsd, name, folder.clone(), reads)
    }
}
