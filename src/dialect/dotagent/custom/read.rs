//! Reads a run from the two files.

use std::collections::BTreeMap;

use super::super::paths::base_of_run;
use super::super::paths::beside;
use super::definition;
use super::state;
use super::state::EXECUTION;
use crate::dialect::Loaded;
use crate::dialect::last_interruption;
use crate::document::Node;
use crate::document::Reader;
use crate::document::parse_json;
use crate::model::Action;
use crate::model::Candidate;
use crate::model::Claim;
use crate::model::DialectId;
use crate::model::EvidenceRequest;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::FollowUp;
use crate::model::Interruption;
use crate::model::InterruptionKind;
use crate::model::ListingEntry;
use crate::model::OutputRequest;
use crate::model::OutputSchema;
use crate::model::Part;
use crate::model::ReadSpec;
use crate::model::Records;
use crate::model::RelPath;
use crate::model::Review;
use crate::model::ReviewVerdict;
use crate::model::Run;
use crate::model::RunId;
use crate::model::RunStatus;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::StepKind;
use crate::model::WorkspaceRecord;
use crate::model::clean_line;
use crate::workflow;
use crate::workflow::Workflow;

/// Returns the run of a phase file that contains a definition.
pub(in super::super) fn candidate(entry: &ListingEntry) -> Option<Candidate> {
    let phase = parse_json(entry.content.as_deref()?).ok()?;
    if !super::is_defined(&phase) {
        return None;
    }
    let state = entry.path.clone();
    let name = phase.get("workflow_id").and_then(Node::as_str).map(|name| clean_line(name, 200));
    let execution = beside(&state, EXECUTION)?;
    let source = state::source_of(&phase, &state);
    Some(Candidate {
        rank: None,
        claim: Claim::Stated,
        may_be_replaced: false,
        findings: Vec::new(),
        dialect: DialectId::Dotagent,
        name: name.filter(|name| !name.is_empty()).unwrap_or_else(|| "workflow".to_owned()),
        data_dir: beside(&state, ".piton")?,
        reads: [state.clone(), execution].into_iter().chain(source).map(ReadSpec::File).collect(),
        state,
    })
}

/// Reads the run. If the task file is unreadable, step statuses come from `completed_phases` and the run is degraded.
pub(in super::super) fn load(files: &FileSet) -> Loaded {
    let phase = match state::open(files, &files.state) {
        Ok(phase) => phase,
        Err(finding) => return Loaded { findings: vec![*finding], ..Loaded::default() },
    };
    let current = match state::effective_definition(files, &phase) {
        Ok(current) => current,
        Err(findings) => return Loaded { findings, ..Loaded::default() },
    };
    let mut findings = current.findings;
    let execution = match state::open_execution(files) {
        Ok(execution) => Some(execution),
        Err(finding) => {
            let message = format!("{}; steps are taken from completed_phases", finding.message);
            let fix = format!("restore the last checkpoint: `piton restore {}`", files.state);
            // Without the task file nothing can be written.
            findings.push(Finding { code: FindingCode::PartUnreadable, message, ..*finding }.fix(fix));
            None
        }
    };
    let reader = RunReader { files, phase: &phase, execution: execution.as_ref(), definition: &current.definition };
    let (run, wanted) = reader.run(&mut findings);
    Loaded { run: Some(run), findings, wanted, ..Loaded::default() }
}

struct RunReader<'a> {
    files: &'a FileSet,
    phase: &'a Reader<'a>,
    execution: Option<&'a Reader<'a>>,
    definition: &'a Workflow,
}

impl RunReader<'_> {
    fn run(&self, findings: &mut Vec<Finding>) -> (Run, EvidenceRequest) {
        let empty = Node::null();
        let tasks = state::tasks(self.execution.map_or(&empty, |execution| execution.node()));
        let mut steps: Vec<Step> = self.definition.steps.iter().map(|step| self.step(step, &tasks, findings)).collect();
        for (place, step) in steps.iter_mut().enumerate() {
            step.plan_order = Some(place);
        }
        let outputs = self.definition.steps.iter().flat_map(|step| {
            step.outputs.iter().filter_map(|output| {
                let schema = output.schema.as_ref().map(|(schema, _)| self.below_base(schema));
                Some(OutputRequest { step: step.id.clone(), path: self.path(&output.path)?, schema })
            })
        });
        let branch = self.text("branch");
        let wanted = EvidenceRequest {
            outputs: outputs.collect(),
            workspace: branch.is_some().then_some(None),
            ..EvidenceRequest::default()
        };
        let status = self.status();
        let name = self.text("workflow_id").unwrap_or_else(|| self.files.name.clone());
        let execution = beside(&self.files.state, EXECUTION);
        let run = Run {
            ended: None,
            waits: false,
            id: RunId::new(clean_line(&name, 200)),
            dialect: DialectId::Dotagent,
            title: clean_line(&self.text("feature").unwrap_or(name), 200),
            workflow: clean_line(&self.definition.name, 200),
            status,
            state_files: std::iter::once(self.files.state.clone()).chain(execution).collect(),
            position: self.position(&steps),
            steps,
            done_elsewhere: 0,
            goal: self.text("description").or_else(|| self.definition.description.clone()),
            started_at: self.text("started_at").and_then(|text| self.files.time(&text)),
            stamp: self.text("last_updated").and_then(|text| self.files.time(&text)),
            workspace: WorkspaceRecord { branch, issues: self.texts("issues"), ..WorkspaceRecord::default() },
            follow_up: Some(FollowUp {
                action: Action::Archive,
                title: "Archive the run".to_owned(),
                agent: None,
                reason: "every step is done: archive the state".to_owned(),
            }),
            records: Records::ALL,
            stops_unrecorded: false,
            interruption: self.paused(status),
            mode: None,
            interrupted_at: last_interruption(self.files, self.phase.node(), "interrupted_at"),
            resumes: self.number("resume_count"),
            writable: true,
            degraded: self.execution.is_none(),
        };
        (run, wanted)
    }

    fn step(
        &self,
        definition: &workflow::Step,
        tasks: &BTreeMap<&str, (usize, &Node)>,
        findings: &mut Vec<Finding>,
    ) -> Step {
        let mut step = Step::new(definition.id.clone(), definition.title.as_str());
        step.kind = definition.kind();
        step.group = definition.group.as_ref().map(|group| group.title.clone().unwrap_or_else(|| group.id.clone()));
        step.agent = definition::agent(definition).map(str::to_owned);
        step.depends_on = definition.depends_on.iter().map(|need| need.id.clone()).collect();
        step.returns_to = definition.reviews.as_ref().map(|of| of.id.clone());
        step.idempotent = definition.idempotent;
        step.probe = definition.probe.as_ref().map(ToString::to_string);
        step.proof.outputs = definition.outputs.iter().filter_map(|output| self.path(&output.path)).collect();
        step.definition = definition::essence(definition);
        step.file = Some(self.files.state.clone());
        let recorded = self.phase.node().get("definition_source").and_then(|source| source.get("digests"));
        step.done_definition = recorded.and_then(|all| all.get(definition.id.as_str())?.as_str()).map(str::to_owned);
        step.detail.parts = definition.parts.iter().map(|part| empty_part(part.name.clone(), part)).collect();
        match tasks.get(definition.id.as_str()) {
            Some((at, task)) => self.apply_task(&mut step, *at, task, findings),
            None if self.execution.is_none() => step.status = self.status_by_phase(definition),
            None => {}
        }
        if step.kind == StepKind::Gate && step.status == Status::Failed && step.returns_to.is_none() {
            // Rejected without a step to return to: ask again.
            step.status = Status::WaitingApproval;
        }
        if step.status == Status::Completed {
            step.proof.summaries = step.proof.outputs.clone();
        }
        step
    }

    /// Applies the task file's record of a step.
    fn apply_task(&self, step: &mut Step, at: usize, task: &Node, findings: &mut Vec<Finding>) {
        let text = |key: &str| task.get(key).and_then(Node::as_str).map(str::to_owned);
        let time = |key: &str| text(key).and_then(|text| self.files.time(&text));
        let number =
            |key: &str| task.get(key).and_then(Node::as_u64).and_then(|n| u32::try_from(n).ok()).unwrap_or_default();
        match text("status") {
            None => findings.push(self.finding(FindingCode::StatusMissing, step, at, "has no status".to_owned())),
            Some(word) => match state::status(&word) {
                Some(status) => step.status = status,
                None => {
                    let message = format!("has the unknown status `{}`", clean_line(&word, 60));
                    findings.push(self.finding(FindingCode::StatusUnknown, step, at, message));
                }
            },
        }
        step.attempts = number("attempts");
        step.failures = number("failures");
        step.started_at = time("started_at");
        step.finished_at = time("completed_at");
        step.proof.fresh_since = if step.status == Status::InProgress { step.started_at } else { time("reopened_at") };
        step.error = text("last_error");
        step.commit = text("commit");
        if let Some(agent) = text("agent") {
            step.agent = Some(clean_line(&agent, 200));
        }
        if let Some(verdict) = text("verdict").and_then(|word| ReviewVerdict::parse(&word)) {
            let open = task.get("conditions").map(texts_of);
            let open_conditions = open.or_else(|| (verdict != ReviewVerdict::ApprovedWithConditions).then(Vec::new));
            step.review = Some(Review { verdict, open_conditions });
        }
        let parts = task.get("parts").map(Node::items).unwrap_or_default().iter();
        for recorded in parts {
            let name = recorded.get("name").and_then(Node::as_str);
            let Some(part) = step.detail.parts.iter_mut().find(|part| Some(part.name.as_str()) == name) else {
                continue;
            };
            let word = recorded.get("status").and_then(Node::as_str);
            part.status = word.and_then(state::status).unwrap_or(Status::Pending);
            let variable = recorded.get("variables").and_then(|all| all.members().first());
            part.output = variable.map(|one| (one.key.clone(), Some(one.value.to_json())));
        }
    }

    fn finding(&self, code: FindingCode, step: &Step, at: usize, what: String) -> Finding {
        let Some(execution) = self.execution else {
            return Finding::new(code, format!("{} {what}", step.id)).on(&step.id);
        };
        let pointer = format!("/tasks/{at}/status");
        execution.finding(code, &pointer, format!("{} {what}", step.id)).on(&step.id)
    }

    fn status_by_phase(&self, definition: &workflow::Step) -> Status {
        let phase = definition.group.as_ref().map_or(definition.id.as_str(), |group| group.id.as_str());
        let done = self.phase.node().get("completed_phases").map(Node::items).unwrap_or_default().iter();
        let is_done = done.filter_map(|entry| entry.get("phase")?.as_str()).any(|done| done == phase);
        if is_done { Status::Completed } else { Status::Pending }
    }

    /// Returns the running step that was started last, else the first open one.
    fn position(&self, steps: &[Step]) -> Option<StepId> {
        let running = steps.iter().filter(|step| step.status == Status::InProgress).max_by_key(|step| step.started_at);
        let open = |step: &&Step| !step.status.is_over();
        running.or_else(|| steps.iter().find(open)).or(steps.last()).map(|step| step.id.clone())
    }

    fn status(&self) -> RunStatus {
        match self.text("run_status").as_deref() {
            Some("paused") => RunStatus::Paused,
            Some("aborted") => RunStatus::Aborted,
            Some("completed") => RunStatus::Completed,
            Some(_) | None => RunStatus::Active,
        }
    }

    fn paused(&self, status: RunStatus) -> Option<Interruption> {
        (status == RunStatus::Paused).then(|| Interruption {
            kind: InterruptionKind::Paused,
            step: None,
            at: self.text("run_status_at").and_then(|text| self.files.time(&text)),
            reason: self.text("run_status_reason").unwrap_or_else(|| Interruption::PAUSED.to_owned()),
        })
    }

    /// Resolves a path of the definition against the folder that contains `memory/state`.
    fn path(&self, path: &RelPath) -> Option<RelPath> {
        match base_of_run(self.files.state.as_str()) {
            Some("") | None => Some(path.clone()),
            Some(base) => RelPath::parse(&format!("{base}{path}")).ok(),
        }
    }

    fn below_base(&self, schema: &OutputSchema) -> OutputSchema {
        match schema {
            OutputSchema::Inline(_) => schema.clone(),
            OutputSchema::File(path) => OutputSchema::File(self.path(path).unwrap_or_else(|| path.clone())),
        }
    }

    fn text(&self, key: &str) -> Option<String> {
        self.phase.node().get(key).and_then(Node::as_str).map(str::to_owned)
    }

    fn texts(&self, key: &str) -> Vec<String> {
        self.phase.node().get(key).map(texts_of).unwrap_or_default()
    }

    fn number(&self, key: &str) -> u32 {
        self.phase.node().get(key).and_then(Node::as_u64).and_then(|n| u32::try_from(n).ok()).unwrap_or_default()
    }
}

fn texts_of(value: &Node) -> Vec<String> {
    value.items().iter().filter_map(Node::as_str).map(str::to_owned).collect()
}

fn empty_part(name: String, part: &workflow::PartDefinition) -> Part {
    Part {
        title: part.title.clone().unwrap_or_else(|| name.clone()),
        name,
        kind: part.kind,
        status: Status::Pending,
        output: None,
        commands: Vec::new(),
    }
}
