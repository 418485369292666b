//! Values for the tests of every room: a plan, a step of it, the end of a step.

use std::{collections::BTreeMap, sync::Arc};

use camino::Utf8PathBuf;

use super::{
    Action, Age, Clock, Commands, Config, Content, FileEntry, FileSet, Next, Outcome, Plan, Progress, RedoCost,
    RelPath, Run, RunHeader, Status, StepGroups, StepId, Suggested, Timestamp, Verdict,
};

/// Builds the header of a run for a plan.
pub(crate) fn header_of(run: &Run) -> RunHeader {
    RunHeader {
        id: run.id.clone(),
        dialect: run.dialect,
        title: run.title.clone(),
        workflow: run.workflow.clone(),
        root: "/project".to_owned(),
        state_files: run.state_files.clone(),
        branch: run.workspace.branch.clone(),
        base_branch: run.workspace.base_branch.clone(),
        worktree: run.workspace.worktree.as_ref().map(ToString::to_string),
        plan_reference: run.workspace.plan_reference.clone(),
        resumes: run.resumes,
        revision: "r".to_owned(),
    }
}

/// Builds a plan for a run in which nothing is next.
pub(crate) fn plan_of(run: &Run, verdict: Verdict) -> Plan {
    Plan {
        limit_wait: None,
        run: header_of(run),
        verdict,
        mode: super::Mode::default(),
        next: Vec::new(),
        steps: StepGroups::default(),
        interruption: None,
        age: Age { seconds: None, band: None, source: "unknown".to_owned() },
        progress: Progress::default(),
        questions: Vec::new(),
        commands: Commands::default(),
        reports: Vec::new(),
        decisions: Vec::new(),
        degraded: false,
        patch: None,
        native: serde_json::Value::Null,
    }
}

/// Builds a first attempt at a step.
pub(crate) fn next_of(id: &str, action: Action) -> Next {
    Next {
        step: StepId::new(id),
        title: id.to_owned(),
        action,
        agent: None,
        agent_candidates: Vec::new(),
        attempt: 1,
        reason: String::new(),
        rule: String::new(),
        evidence: Vec::new(),
        strategy: None,
        alternatives: Vec::new(),
        parts: Vec::new(),
        cost: RedoCost::default(),
        half_made: None,
    }
}

/// Builds the end of a step, with nothing said beside the status.
pub(crate) fn outcome_of(id: &str, status: Status) -> Outcome {
    Outcome { status, ..Outcome::completed(StepId::new(id)) }
}

/// Holds one state below `/project` at noon of 31 January 2026.
pub(crate) fn files_of(state: &str, text: &[u8]) -> FileSet {
    let path = |text: &str| RelPath::parse(text).expect("a relative path");
    let now = Timestamp::parse("2026-01-31T12:00:00Z", 0).expect("a point in time");
    FileSet {
        root: Utf8PathBuf::from("/project"),
        name: "state".to_owned(),
        own: super::RunFolder { home: "/project/.piton".into(), path: path("runs/own") },
        files: BTreeMap::from([(path(state), FileEntry::new(Content::Bytes(Arc::from(text)), None))]),
        state: path(state),
        journal: None,
        local: super::Local::default(),
        lost: None,
        worktrees: Vec::new(),
        main_root: None,
        clock: Clock { now, utc_offset_seconds: 0 },
        config: Arc::new(Config::default()),
    }
}

impl super::Finding {
    /// Returns the text of its fix.
    pub(crate) fn fix_text(&self) -> Option<String> {
        self.fix.clone().map(String::from)
    }
}

impl PartialEq<&str> for Suggested {
    fn eq(&self, line: &&str) -> bool {
        let shown = self.to_string();
        shown == *line
    }
}
