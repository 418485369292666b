//! Prepares a change before anything is written: admits it, computes its edits, and checks them. Pure.

use serde_json::Value;

use super::{
    OpError,
    opened_run::{OpenedRun, located_message},
    versions,
};
use crate::{
    dialect::EditError,
    document::additions,
    engine::{self, Admitted, ChangeLimits, Planned, Refusal, RefusalKind},
    model::{Change, ChangeKind, Edit, EditKind, Evidence, Finding, FindingCode, No, Run, Suggested, Verb},
    schema,
};

/// A change that was admitted.
#[derive(Debug)]
pub(crate) enum ChangeDraft {
    Checkpoint(PreparedChange),
    /// The state has the change already.
    Already(String),
}

/// A checkpoint that may be committed.
#[derive(Debug)]
pub(crate) struct PreparedChange {
    /// The change as it was admitted.
    pub(crate) change: Change,
    pub(crate) edits: Vec<Edit>,
    /// Findings that `--force` overrode.
    pub(crate) findings: Vec<Finding>,
}

impl OpenedRun {
    /// Admits a change in which the plan has no say, or was asked, computes its edits and checks them.
    pub(crate) fn draft(
        &self,
        evidence: &Evidence,
        change: Change,
        guard: ChangeLimits,
    ) -> Result<ChangeDraft, OpError> {
        self.drafted(self.admitted(evidence, change, guard, None)?)
    }

    /// Asks the admission about a change.
    pub(super) fn admitted(
        &self,
        evidence: &Evidence,
        change: Change,
        guard: ChangeLimits,
        planned: Option<&Planned>,
    ) -> Result<Admitted, OpError> {
        let findings = &self.loaded.findings;
        engine::admit(self.run()?, (evidence, findings), change, guard, planned).map_err(OpError::Refused)
    }

    /// Computes the edits of an admitted change and checks them.
    pub(super) fn drafted(&self, admitted: Admitted) -> Result<ChangeDraft, OpError> {
        let run = self.run()?;
        let (change, findings) = match admitted {
            Admitted::Change { change, findings } => (change, findings),
            Admitted::Already(message) => return Ok(ChangeDraft::Already(message)),
        };
        check_change(&change)?;
        let is_word = is_only_a_word(run, &change);
        let mut edits = match is_word || is_kept_in_journal(&change) {
            true => Vec::new(),
            false => self.dialect.edit(&self.files, &change).map_err(|error| self.not_written(run, error))?,
        };
        edits.retain(Edit::changes_something);
        for edit in &edits {
            self.check_understood(edit)?;
            self.check_schema(edit)?;
        }
        let mut findings = findings;
        if is_word {
            let message = format!("the files of {} have no word for it: only piton knows", run.id);
            findings.push(Finding::new(FindingCode::WordUnrecorded, message));
        }
        Ok(ChangeDraft::Checkpoint(PreparedChange { change, edits, findings }))
    }

    /// Adds to an error of the dialect what to do about it, for this run.
    fn not_written(&self, run: &Run, error: EditError) -> OpError {
        let message = error.to_string();
        let plan = Suggested::of(Verb::Plan, &run.id).into();
        let (kind, hints) = match error {
            EditError::Unsupported(_) => (RefusalKind::No(No::Invalid), vec![plan]),
            EditError::Missing { .. } => (RefusalKind::Unread, vec![plan]),
            EditError::Unreadable { .. } => {
                let findings = self.loaded.findings.iter().filter(|finding| versions::says_unreadable(finding.code));
                return OpError::Unreadable { message, findings: findings.cloned().collect() };
            }
            EditError::Register { .. } => return OpError::Edit(error),
        };
        OpError::Refused(Refusal { kind, message, hints })
    }

    /// Refuses to overwrite a field that could not be understood: its value would only survive in the history.
    fn check_understood(&self, edit: &Edit) -> Result<(), OpError> {
        let is_of_edit = |finding: &&Finding| {
            finding.code == FindingCode::StateWrongType && finding.file.as_ref() == Some(&edit.path)
        };
        match self.loaded.findings.iter().find(is_of_edit) {
            None => Ok(()),
            Some(finding) => Err(OpError::Unreadable {
                message: format!("{}; nothing was written", located_message(finding)),
                findings: self.loaded.findings.clone(),
            }),
        }
    }

    /// Refuses an edit that would violate the schema of its file. Violations that existed before are allowed, because the files
    /// belong to other programs.
    pub(super) fn check_schema(&self, edit: &Edit) -> Result<(), OpError> {
        let subject = self.dialect.schema_of(&edit.path).and_then(schema::Subject::named);
        let (Some(subject), Some(after)) = (subject, edit.after()) else { return Ok(()) };
        // A schema checks the entries of a list one by one, so unchanged entries need no second check.
        if let EditKind::Replace { before, after } = &edit.kind
            && additions(before, after).is_some_and(|added| schema::is_valid(subject, &added))
        {
            return Ok(());
        }
        let parsed = |bytes: &[u8]| serde_json::from_slice::<Value>(strip_bom(bytes));
        let failed = |problem: String| Err(OpError::SelfCheck { file: edit.path.as_str().to_owned(), problem });
        let after = match parsed(after) {
            Ok(after) => after,
            Err(error) => return failed(error.to_string()),
        };
        let before = match &edit.kind {
            EditKind::Replace { before, .. } => parsed(before).unwrap_or(Value::Null),
            EditKind::Create { .. } | EditKind::Remove { .. } | EditKind::Append { .. } => Value::Null,
        };
        match schema::validate_edit(subject, &before, &after).into_iter().next() {
            None => Ok(()),
            Some(finding) => failed(finding.message),
        }
    }
}

/// Tells whether a change stops a run, goes on with a stopped one, or ends a step, and its format has no word for that.
fn is_only_a_word(run: &Run, change: &Change) -> bool {
    match &change.kind {
        ChangeKind::Finish(outcome) => {
            let step = run.step(&outcome.step).filter(|_| outcome.part.is_none() && !outcome.amends);
            step.is_some_and(|step| !step.ends.has_word_for(outcome.status, outcome.verdict))
        }
        ChangeKind::Pause { .. } => !run.records.pause,
        ChangeKind::Abort { .. } => !run.records.abort,
        ChangeKind::Resume { .. } => !run.records.resume && !run.has_word_for(run.status),
        ChangeKind::Start(_)
        | ChangeKind::Begin { .. }
        | ChangeKind::Approve { .. }
        | ChangeKind::Skip { .. }
        | ChangeKind::Complete { .. }
        | ChangeKind::Repair { .. }
        | ChangeKind::RollBack(_) => false,
    }
}

/// Tells whether a change only adds to the report of a step that is done, and so leaves the state as it is.
const fn is_kept_in_journal(change: &Change) -> bool {
    let ChangeKind::Finish(outcome) = &change.kind else { return false };
    outcome.amends
        && outcome.commit.is_none()
        && outcome.conditions.is_empty()
        && outcome.phases.is_none()
        && outcome.to_step.is_none()
        && outcome.document.is_none()
}

/// Checks an admitted change against its published schema before anything is written.
pub(super) fn check_change(change: &Change) -> Result<(), OpError> {
    let failed = |problem: String| OpError::SelfCheck { file: "the change".to_owned(), problem };
    let value = serde_json::to_value(change).map_err(|error| failed(error.to_string()))?;
    schema::validate(schema::Subject::Change, &value)
        .into_iter()
        .next()
        .map_or(Ok(()), |finding| Err(failed(finding.message)))
}

fn strip_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}
