//! The state of a development cycle (W3): six phases of one story (dotagent-and-aios.md 2.6, 2.10).
//!
//! `currentPhase` is the last phase whose result was saved, never the running one. A result of a later phase belongs to an
//! earlier lap (C-17): then neither of the two is believed, and a person decides.

use super::kind;
use super::kind::get;
use super::kind::text;
use crate::dialect::Loaded;
use crate::dialect::yaml::Node;
use crate::model::DialectId;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Run;
use crate::model::RunId;
use crate::model::RunStatus;
use crate::model::Severity;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::Wanted;
use crate::model::WorkspaceRecord;

/// Id, title, and who does it; `None` where the state names the agent.
const PHASES: [(&str, &str, Option<&str>); 6] = [
    ("1_validation", "Validation", Some("po")),
    ("2_development", "Development", None),
    ("3_self_healing", "Self-healing", Some("dev")),
    ("4_quality_gate", "Quality gate", None),
    ("5_push", "Push", Some("devops")),
    ("6_checkpoint", "Checkpoint", Some("po")),
];
const PUSH: usize = 4;
const CHECKPOINT: usize = 5;

/// Reads the run.
pub(super) fn load(files: &FileSet) -> Loaded {
    let bytes = files.bytes(&files.state).unwrap_or_default();
    match kind::parse(bytes) {
        Ok(node) => Cycle { files, node: &node }.load(),
        Err(unparsed) => {
            let (place, message) = unparsed.told();
            let finding = Finding::new(FindingCode::StateUnreadable, message).at(&files.state);
            Loaded { findings: vec![finding.line(place.line, Some(place.column))], ..Loaded::default() }
        }
    }
}

struct Cycle<'a> {
    files: &'a FileSet,
    node: &'a Node,
}

impl Cycle<'_> {
    fn load(&self) -> Loaded {
        let mut findings = Vec::new();
        let story = self.story();
        let id = RunId::new(format!("dev-{story}"));
        let mut steps = self.steps(&mut findings);
        let position = self.position();
        findings.extend(self.lap(position));
        let decision = get(self.node, "phaseResults")
            .and_then(|results| get(results, PHASES[CHECKPOINT].0))
            .and_then(|result| text(get(result, "decision")?));
        // The phase that shows what was done asks again.
        if decision == Some("REVIEW") {
            steps[CHECKPOINT].status = Status::WaitingApproval;
        }
        let status = match (self.word("currentPhase"), decision) {
            (Some("workflow_aborted"), _) | (_, Some("ABORT")) => RunStatus::Aborted,
            (Some("workflow_paused"), _) | (_, Some("PAUSE")) => RunStatus::Paused,
            (_, Some(_) | None) => RunStatus::Active,
        };
        let run = Run {
            id,
            dialect: DialectId::Aios,
            title: format!("Development Cycle for story {story}"),
            workflow: "development-cycle".to_owned(),
            status,
            state_files: vec![self.files.state.clone()],
            steps,
            position: position.map(|at| StepId::new(PHASES[at].0)),
            done_elsewhere: 0,
            goal: None,
            started_at: self.word("startedAt").and_then(|stamp| self.files.time(stamp)),
            stamp: self.word("lastUpdated").and_then(|stamp| self.files.time(stamp)),
            workspace: WorkspaceRecord::default(),
            after: None,
            interruption: None,
            mode: None,
            resumes: 0,
            writable: true,
            degraded: false,
        };
        Loaded { run: Some(run), findings, wanted: Wanted::default() }
    }

    fn word(&self, key: &str) -> Option<&str> {
        get(self.node, key).and_then(text)
    }

    /// Names the story by its file: the path is often that of another machine (C-28), and the name of the state says less (C-29).
    fn story(&self) -> String {
        let path = self.word("currentStory").unwrap_or_else(|| self.files.state.name());
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let name =
            [".md", ".story", "-state.yaml"].iter().fold(name, |name, end| name.strip_suffix(end).unwrap_or(name));
        crate::model::clean_line(name, 100)
    }

    fn position(&self) -> Option<usize> {
        let current = self.word("currentPhase")?;
        PHASES.iter().position(|(id, ..)| *id == current)
    }

    fn result(&self, at: usize) -> Option<&Node> {
        get(get(self.node, "phaseResults")?, PHASES[at].0)
    }

    fn steps(&self, findings: &mut Vec<Finding>) -> Vec<Step> {
        let bare = |key: &str| self.word(key).map(|agent| agent.trim_start_matches('@').to_owned());
        let named = [None, bare("executor"), None, bare("qualityGate"), None, None];
        let mut steps: Vec<Step> = Vec::new();
        for (at, ((id, title, agent), named)) in PHASES.into_iter().zip(named).enumerate() {
            let mut step = Step::new(StepId::new(id), title);
            step.agent = named.or_else(|| agent.map(str::to_owned));
            step.depends_on = steps.last().map(|before| before.id.clone()).into_iter().collect();
            step.status = self.status(at, &step.id, findings);
            step.idempotent = at != PUSH;
            if step.status == Status::Failed {
                let attempts = self.word("attemptCount").and_then(|count| count.parse().ok()).unwrap_or(1);
                (step.attempts, step.failures) = (attempts, attempts);
                step.error = self.result(at).and_then(|result| text(get(result, "error")?)).map(str::to_owned);
            }
            steps.push(step);
        }
        steps
    }

    fn status(&self, at: usize, id: &StepId, findings: &mut Vec<Finding>) -> Status {
        let Some(result) = self.result(at) else { return Status::Pending };
        match get(result, "status").and_then(text) {
            Some("completed") => Status::Completed,
            Some("skipped") => Status::Skipped,
            Some("failed") => Status::Failed,
            other => {
                let message = format!("the result of {id} has the status `{}`", other.unwrap_or("null").escape_debug());
                findings.push(Finding::new(FindingCode::StatusUnknown, message).at(&self.files.state).on(id));
                Status::Pending
            }
        }
    }

    /// Says that the cycle went round: there is a result of a phase after the one that was saved last.
    fn lap(&self, position: Option<usize>) -> Option<Finding> {
        let position = position?;
        let later: Vec<&str> =
            (position + 1..PHASES.len()).filter(|at| self.result(*at).is_some()).map(|at| PHASES[at].0).collect();
        if later.is_empty() {
            return None;
        }
        let passed = self.result(CHECKPOINT).and_then(|result| text(get(result, "decision")?)) == Some("GO");
        let tail = if passed { "; the story already passed checkpoint GO" } else { "" };
        let message = format!(
            "{} was saved last, and there are results of {}: the cycle went round and was cut off in a later lap{tail}",
            PHASES[position].0,
            later.join(", ")
        );
        let fix = "look at the branch and the story; close the story where its work is pushed, and push nothing twice";
        let finding = Finding::new(FindingCode::StateCorrupt, message).at(&self.files.state).pointer("/currentPhase");
        Some(Finding { severity: Severity::Blocking, ..finding.fix(fix) })
    }
}
