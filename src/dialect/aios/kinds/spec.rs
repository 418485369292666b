//! A spec pipeline whose state is only in its artifacts (docs/formats/aios-stories.md#spec-pipeline).
//!
//! The next phase is that of the first artifact that is missing or unreadable, in the order of the complexity class. AIOS writes
//! JSON and ends with a plan; nexos writes YAML, or JSON below `docs/specs`, and ends with an approved critique.

use super::unsaved::Unsaved;
use crate::{
    dialect::{
        EditError, Loaded,
        aios::{
            gate,
            kind::{self, Descriptor},
            layout::{self, Area},
        },
        writer::write,
    },
    document::Node,
    model::{
        Change, DialectId, Edit, FileSet, Finding, FindingCode, RelPath, Review, ReviewVerdict, Run, RunStatus, Status,
        Step, StepId, StepKind, Suggested, Suggestions, Verb, clean_line,
    },
};

/// Id, short name, title, agent, and the stem of its artifact.
pub(in crate::dialect::aios) const PHASES: [(&str, &str, &str, &str, &str); 6] = [
    ("1_gather", "1", "Gather", "pm", "requirements"),
    ("2_assess", "2", "Assess", "architect", "complexity"),
    ("3_research", "3", "Research", "analyst", "research"),
    ("4_write", "4", "Write", "pm", "spec"),
    ("5_critique", "5", "Critique", "qa", "critique"),
    ("6_plan", "6", "Plan", "architect", "plan"),
];
const ASSESS: usize = 1;
const RESEARCH: usize = 2;
const WRITE: usize = 3;
const CRITIQUE: usize = 4;
const PLAN: usize = 5;
/// Maximum length of one thing that a critique wants changed, in characters.
const REASON_CHARS: usize = 400;
const DATA: [&str; 3] = ["json", "yml", "yaml"];

/// The location of a pipeline's artifacts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::dialect::aios) struct Pipeline {
    /// The story or the feature.
    pub(in crate::dialect::aios) id: String,
    pub(in crate::dialect::aios) folder: RelPath,
    /// `spec.md`, or `spec-{feature}.md` beside the folder.
    document: RelPath,
}

impl Pipeline {
    /// Returns the pipeline to which an artifact belongs.
    pub(in crate::dialect::aios) fn of_artifact(path: &RelPath) -> Option<Self> {
        // Called for every file of a project, so check the area first.
        if !matches!(layout::split(path.as_str())?.area, Area::Stories | Area::Specs) {
            return None;
        }
        let pipeline = Self::of_folder(&path.parent()?)?;
        let is_artifact = pipeline.artifacts().any(|artifact| artifact == *path);
        is_artifact.then_some(pipeline)
    }

    /// Returns the pipeline of `docs/stories/{id}/spec` or `docs/specs/{feature}`.
    fn of_folder(folder: &RelPath) -> Option<Self> {
        let parent = folder.parent()?;
        let (id, document) = if layout::area_of_pipeline(folder)? == Area::Specs {
            (folder.name(), parent.join(&format!("spec-{}.md", folder.name())))
        } else {
            (parent.name(), folder.join("spec.md"))
        };
        Some(Self { id: id.to_owned(), folder: folder.clone(), document: document.ok()? })
    }

    /// Returns all possible paths of artifacts.
    pub(in crate::dialect::aios) fn artifacts(&self) -> impl Iterator<Item = RelPath> {
        let phases = 0..PHASES.len();
        phases.flat_map(|at| self.candidate_paths(at))
    }

    fn candidate_paths(&self, at: usize) -> Vec<RelPath> {
        let in_folder = |name: String| self.folder.join(&name).ok();
        if at == WRITE {
            return in_folder("spec.md".to_owned()).into_iter().chain([self.document.clone()]).collect();
        }
        let stems = if at == PLAN { vec![PHASES[at].4, "implementation"] } else { vec![PHASES[at].4] };
        let names = stems.into_iter().flat_map(|stem| DATA.map(|end| format!("{stem}.{end}")));
        names.filter_map(in_folder).collect()
    }

    /// Returns whether the pipeline is finished.
    pub(in crate::dialect::aios) fn is_over<'a>(
        &self,
        is_there: &impl Fn(&RelPath) -> bool,
        bytes: &impl Fn(&RelPath) -> Option<&'a [u8]>,
    ) -> bool {
        if self.candidate_paths(PLAN).iter().any(is_there) {
            return true;
        }
        let critique = self.candidate_paths(CRITIQUE).into_iter().find(is_there);
        !self.has_plan(is_there)
            && critique
                .and_then(|path| kind::parse(bytes(&path)?).ok())
                .is_some_and(|node| verdict(&node).and_then(ReviewVerdict::parse) == Some(ReviewVerdict::Approved))
    }

    /// Returns whether the last phase is a plan, as in AIOS, which writes JSON beside the story.
    fn has_plan(&self, is_there: &impl Fn(&RelPath) -> bool) -> bool {
        let is_json = |path: &RelPath| path.name().ends_with(".json");
        let is_beside = self.document.parent().is_some_and(|folder| folder == self.folder);
        self.candidate_paths(PLAN).iter().any(is_there)
            || (is_beside && self.artifacts().filter(|path| is_there(path)).any(|path| is_json(&path)))
    }
}

fn verdict(node: &Node) -> Option<&str> {
    let inner = node.get("critique").and_then(|critique| critique.get("verdict"));
    node.get("verdict").or(inner).and_then(Node::scalar)
}

/// Returns what a critique wants changed, a line each.
fn reasons(node: &Node) -> String {
    let place = node.get("critique").filter(|critique| critique.get("verdict").is_some()).unwrap_or(node);
    let reasons = gate::reasons(place).into_iter().map(|reason| clean_line(&reason, REASON_CHARS));
    reasons.collect::<Vec<String>>().join("\n")
}

/// Returns whether the feature is assessed as simple: by class, else by a score of at most 8.
fn is_simple(node: &Node) -> bool {
    let place = node.get("complexity_assessment").unwrap_or(node);
    let class = ["result", "class"].iter().find_map(|key| place.get(key)?.scalar());
    let score = ["totalScore", "total_score"].iter().find_map(|key| place.get(key)?.scalar()?.parse::<f64>().ok());
    match class {
        Some(class) => class.eq_ignore_ascii_case("SIMPLE"),
        None => score.is_some_and(|score| score <= 8.0),
    }
}

pub(in crate::dialect::aios) static SPEC: Descriptor = Descriptor {
    workflow_type: "Spec Pipeline",
    prefix: "spec",
    priority: 6,
    is_written: false,
    suggest: Some(|_, _| Suggestions::none("there is nothing to suggest for the artifacts of a spec pipeline")),
    ..Descriptor::of_files("the artifacts of a spec pipeline", load, edit)
};

/// Refuses changes, for which there is no saved state. A resume writes nothing.
///
/// # Errors
///
/// For all but a resume.
fn edit(_files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let plan = Suggested::new(Verb::Plan);
    let instead = format!("its artifacts are the record. Write the artifact of the step, then run `{plan}`");
    write(Unsaved { instead }, change)
}

/// Reads the run.
fn load(files: &FileSet) -> Loaded {
    let Some(pipeline) = Pipeline::of_folder(&files.state) else {
        let finding = Finding::new(FindingCode::StateUnreadable, "this is not the artifact folder of a spec pipeline");
        return Loaded { findings: vec![finding.at(&files.state)], ..Loaded::default() };
    };
    let mut artifacts = Artifacts { files, pipeline: &pipeline, findings: Vec::new() };
    let steps = artifacts.steps();
    let findings = artifacts.findings;
    let is_over = steps.iter().all(|step| step.status.satisfies());
    let position = steps.iter().find(|step| !step.status.satisfies()).map(|step| step.id.clone());
    let id = SPEC.implied_subject(files, &pipeline.id);
    let files = pipeline.artifacts().filter(|path| files.files.contains_key(path)).collect();
    let title = format!("Spec Pipeline for {id}");
    let run = Run {
        status: if is_over { RunStatus::Completed } else { RunStatus::Active },
        steps,
        position,
        degraded: !findings.is_empty(),
        ..Run::new(SPEC.run_id(&id), DialectId::Aios, title, "spec-pipeline", files)
    };
    Loaded { run: Some(run), findings, ..Loaded::default() }
}

/// An existing artifact, with its content if it is readable data.
struct Artifact {
    path: RelPath,
    node: Option<Node>,
    is_valid: bool,
}

/// Reader of the artifacts.
struct Artifacts<'a> {
    files: &'a FileSet,
    pipeline: &'a Pipeline,
    findings: Vec<Finding>,
}

impl Artifacts<'_> {
    fn steps(&mut self) -> Vec<Step> {
        let found: [Option<Artifact>; 6] = std::array::from_fn(|at| self.artifact(at));
        let assessed = found[ASSESS].as_ref().and_then(|artifact| artifact.node.as_ref());
        let is_written = found[WRITE].is_some();
        // A simple feature needs no research, and its spec may exist without an assessment.
        let skips_research =
            found[RESEARCH].is_none() && (assessed.is_some_and(is_simple) || (is_written && found[ASSESS].is_none()));
        let skips_assessment = found[ASSESS].is_none() && is_written && found[RESEARCH].is_none();
        let has_plan = self.pipeline.has_plan(&|path| self.files.files.contains_key(path));
        let extension = if has_plan || self.is_json() { "json" } else { "yml" };
        let mut steps: Vec<Step> = Vec::new();
        for (at, ((id, short, title, agent, stem), artifact)) in PHASES.into_iter().zip(&found).enumerate() {
            if at == PLAN && !has_plan {
                continue;
            }
            let mut step = Step::new(StepId::new(id), title);
            step.short = Some(short.to_owned());
            step.agent = Some(agent.to_owned());
            // A spec written without its inputs is not reviewed until they exist.
            step.depends_on = steps.iter().map(|before| before.id.clone()).collect();
            let skipped = (at == RESEARCH && skips_research) || (at == ASSESS && skips_assessment);
            step.status = match artifact {
                Some(artifact) if artifact.is_valid => Status::Completed,
                None if skipped => Status::Skipped,
                Some(_) | None => Status::Pending,
            };
            let to_write = || match at {
                WRITE => Some(self.pipeline.document.clone()),
                _ => self.pipeline.folder.join(&format!("{stem}.{extension}")).ok(),
            };
            if step.status != Status::Skipped {
                step.proof.outputs =
                    artifact.as_ref().map(|artifact| artifact.path.clone()).or_else(to_write).into_iter().collect();
            }
            step.kind = if at == CRITIQUE { StepKind::Review } else { StepKind::Work };
            steps.push(step);
        }
        steps[CRITIQUE].returns_to = Some(steps[WRITE].id.clone());
        if let Some(critique) = found[CRITIQUE].as_ref().filter(|critique| critique.is_valid) {
            self.judge(critique, &mut steps[CRITIQUE]);
        }
        steps
    }

    fn is_json(&self) -> bool {
        self.files.files.keys().any(|path| path.name().ends_with(".json"))
    }

    fn artifact(&mut self, at: usize) -> Option<Artifact> {
        let path = self.pipeline.candidate_paths(at).into_iter().find(|path| self.files.files.contains_key(path))?;
        let problem = match self.files.bytes(&path) {
            None => self.files.problem(&path).map_or_else(String::new, |problem| problem.to_string()),
            Some(bytes) if at == WRITE && !bytes.trim_ascii().is_empty() => {
                return Some(Artifact { path, node: None, is_valid: true });
            }
            Some(_) if at == WRITE => "the file is empty".to_owned(),
            Some(bytes) => match kind::parse(bytes) {
                Ok(node) => return Some(Artifact { path, node: Some(node), is_valid: true }),
                Err(kind::ParseFailure::Broken(place, message)) => format!("line {}: {message}", place.line),
                Err(kind::ParseFailure::Empty) => "the file is empty".to_owned(),
                Err(kind::ParseFailure::Documents) => "it has several documents".to_owned(),
            },
        };
        let message = format!("the artifact of {} cannot be used: {problem}", PHASES[at].2);
        let finding = Finding::new(FindingCode::PartUnreadable, message).at(&path);
        self.findings.push(finding.fix("the phase is repeated; its artifact is kept until then"));
        Some(Artifact { path, node: None, is_valid: false })
    }

    /// Applies the verdict: the critique's existence alone is not an approval.
    fn judge(&mut self, critique: &Artifact, step: &mut Step) {
        let word = critique.node.as_ref().and_then(verdict).unwrap_or_default();
        let verdict = if word.eq_ignore_ascii_case("BLOCKED") {
            Some(ReviewVerdict::Rejected)
        } else {
            ReviewVerdict::parse(word)
        };
        match verdict {
            Some(ReviewVerdict::Approved | ReviewVerdict::ApprovedWithConditions) => {}
            Some(ReviewVerdict::NeedsRevision | ReviewVerdict::Rejected) => {
                step.status = Status::Failed;
                (step.attempts, step.failures) = (1, 1);
                step.error = critique.node.as_ref().map(reasons).filter(|reasons| !reasons.is_empty());
            }
            None => {
                let message = format!("the verdict `{}` is not in the vocabulary", clean_line(word, 60));
                let finding = Finding::new(FindingCode::VerdictUnknown, message).at(&critique.path).on(&step.id);
                self.findings.push(finding.fix("critique the spec again; an unknown word is never approval"));
                step.status = Status::Pending;
            }
        }
        step.review = verdict.map(|verdict| Review { verdict, open_conditions: None });
    }
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;
