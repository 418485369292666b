//! A run that one process drives from its first step to its last, with the evidence that was there when it began. It is compared once and then
//! kept up to date step by step; without evidence a change costs next to nothing in a long run too.

use super::{
    choose::Chooser,
    graph::Graph,
    order::{StepDue, in_order},
    overrides,
    propagate::propagate,
    reconcile::{by_record, reconcile},
    reconciled::{EffectiveStatus, Reconciled, ReconciledRun},
    refusal::Refusal,
    transition::{Admitted, ChangeLimits, admit_reconciled},
};
use crate::model::{Change, Evidence, Options, Run, RunStatus, Step, StepKind};

/// A run whose effective statuses are up to date after every change.
#[derive(Debug)]
pub(crate) struct LiveRun {
    run: Run,
    graph: Graph,
    /// The status of each step by its own record, and the reasons for it, by position.
    by_record: Vec<(EffectiveStatus, Vec<String>)>,
    reconciled: Reconciled,
    /// How many steps are invalid by their own record.
    invalid: usize,
    /// Whether a step has a kind whose status follows from others.
    has_derived_kind: bool,
    /// Whether statuses may follow from those of other steps.
    is_derived: bool,
    evidence: Evidence,
}

impl LiveRun {
    pub(crate) fn new(run: Run, evidence: Evidence) -> Self {
        let graph = Graph::of(&run);
        let reconciled = reconcile(&run, &graph, &evidence, &[]);
        let by_record: Vec<_> = run.steps.iter().map(|step| by_record(&run, step)).collect();
        let invalid = invalid_among(&by_record);
        let has_derived_kind = has_derived_kind(&run);
        let mut live =
            Self { run, graph, by_record, reconciled, invalid, has_derived_kind, is_derived: true, evidence };
        live.is_derived = live.derives();
        live
    }

    pub(crate) const fn run(&self) -> &Run {
        &self.run
    }

    pub(crate) const fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Returns what the record and the evidence say of a step, by position.
    pub(crate) fn effective_status(&self, at: usize) -> Option<EffectiveStatus> {
        self.reconciled.effective_statuses.get(at).copied()
    }

    /// Tells whether a person wants a step done again, by position.
    pub(crate) fn is_redone(&self, at: usize) -> bool {
        self.reconciled.decisions.redo(at).is_some()
    }

    /// Admits or refuses a change; the same answer as [`super::admit`] gives with this evidence.
    pub(crate) fn admit(&self, change: Change, limits: ChangeLimits) -> Result<Admitted, Refusal> {
        admit_reconciled(self.reconciled(), &self.evidence, change, limits)
    }

    /// Returns the steps that are due, in the order in which the planner names them if each one ends well. Of the options `from` and `skip`
    /// count.
    pub(crate) fn order(&self, options: &Options) -> Vec<StepDue> {
        if options.skip.is_empty() {
            return in_order(Chooser { reconciled: self.reconciled(), options });
        }
        let (run, _) = overrides::skip(&self.reconciled(), options);
        Self::new(run, self.evidence.clone()).order(&Options { skip: Vec::new(), ..options.clone() })
    }

    pub(crate) const fn set_status(&mut self, status: RunStatus) {
        self.run.status = status;
    }

    /// Changes the record of one step. What the steps depend on, and their kinds, stay as they are.
    pub(crate) fn update(&mut self, at: usize, change: impl FnOnce(&mut Step)) {
        let Some(step) = self.run.steps.get_mut(at) else { return };
        change(step);
        // Whether a step may be under way unseen depends on those before it.
        for at in self.graph.dependents(at).iter().copied().chain([at]) {
            let (status, reasons) = by_record(&self.run, &self.run.steps[at]);
            if !self.is_derived {
                self.reconciled.effective_statuses[at] = status;
                self.reconciled.reasons[at].clone_from(&reasons);
            }
            let before = std::mem::replace(&mut self.by_record[at], (status, reasons));
            let is_invalid = |status| usize::from(status == EffectiveStatus::Invalid);
            self.invalid = self.invalid + is_invalid(status) - is_invalid(before.0);
        }
        let was_derived = self.is_derived;
        self.is_derived = self.derives();
        if self.is_derived || was_derived {
            self.derive();
        }
    }

    /// Changes the record of every step.
    pub(crate) fn update_all(&mut self, change: impl FnMut(&mut Step)) {
        self.run.steps.iter_mut().for_each(change);
        self.by_record = self.run.steps.iter().map(|step| by_record(&self.run, step)).collect();
        self.invalid = invalid_among(&self.by_record);
        self.has_derived_kind = has_derived_kind(&self.run);
        self.is_derived = self.derives();
        self.derive();
    }

    fn derive(&mut self) {
        if self.has_evidence() {
            self.reconciled = reconcile(&self.run, &self.graph, &self.evidence, &[]);
            self.reconciled.findings.clear();
            return;
        }
        (self.reconciled.effective_statuses, self.reconciled.reasons) = self.by_record.iter().cloned().unzip();
        propagate(&self.run, &self.graph, &mut self.reconciled);
        self.reconciled.findings.clear();
    }

    fn derives(&self) -> bool {
        self.has_evidence() || self.invalid > 0 || self.has_derived_kind
    }

    fn has_evidence(&self) -> bool {
        !(self.evidence.statements.is_empty() && self.evidence.files.is_empty())
    }

    fn reconciled(&self) -> ReconciledRun<'_> {
        ReconciledRun::of(&self.run, &self.graph, &self.reconciled)
    }
}

fn invalid_among(by_record: &[(EffectiveStatus, Vec<String>)]) -> usize {
    by_record.iter().filter(|(status, _)| *status == EffectiveStatus::Invalid).count()
}

fn has_derived_kind(run: &Run) -> bool {
    run.steps.iter().any(|step| matches!(step.kind, StepKind::Container | StepKind::Review))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::Index};

    use super::LiveRun;
    use crate::{
        engine::{
            ChangeLimits, EffectiveStatus, StepDue, effective_statuses,
            property_tests::orderly,
            testing::{at, ids, line_of, options, path, present},
        },
        model::{Action, Change, ChangeKind, Evidence, Options, RunStatus, Status, StepId},
    };

    #[test]
    fn an_update_is_compared_with_the_evidence() {
        let mut run = line_of(&[("A", Status::Pending), ("B", Status::Pending)]);
        run.steps[0].proof.outputs = vec![path("out.json")];
        for (evidence, expected) in [
            (Evidence::default(), EffectiveStatus::Invalid),
            (
                Evidence { files: [(path("out.json"), present(at(0)))].into(), ..Evidence::default() },
                EffectiveStatus::Done,
            ),
        ] {
            let mut live = LiveRun::new(run.clone(), evidence.clone());
            live.update(0, |step| step.status = Status::Completed);
            assert_eq!(live.effective_status(0), Some(expected));
            let mut live = LiveRun::new(run.clone(), evidence);
            live.update_all(|step| step.status = Status::Completed);
            assert_eq!([0, 1, 2].map(|at| live.effective_status(at)), [Some(expected), Some(expected), None]);
        }
    }

    #[test]
    fn an_update_is_the_same_as_a_new_comparison_with_evidence() {
        let mut run = line_of(&[("A", Status::Pending), ("B", Status::Pending)]);
        run.steps[0].proof.outputs = vec![path("out.json")];
        let evidence = Evidence { files: [(path("out.json"), present(at(0)))].into(), ..Evidence::default() };
        let mut live = LiveRun::new(run, evidence.clone());
        assert_eq!(live.evidence().files, evidence.files);
        for status in Status::ALL.into_iter().chain(Status::ALL.into_iter().rev()) {
            live.update(0, |step| step.status = status);
            let anew = effective_statuses(live.run(), &evidence, &[]);
            assert_eq!(live.reconciled.effective_statuses, anew, "{status}");
        }
    }

    #[test]
    fn a_run_that_was_stopped_admits_nothing_until_it_is_active() {
        let mut live = LiveRun::new(line_of(&[("A", Status::Pending)]), Evidence::default());
        for (status, expected) in [(RunStatus::Aborted, false), (RunStatus::Active, true)] {
            live.set_status(status);
            let begin =
                ChangeKind::Begin { step: StepId::new("A"), part: None, agent: None, attempt: 0, reopens: Vec::new() };
            let admitted = live.admit(Change { at: at(0), kind: begin }, ChangeLimits::of(3));
            assert_eq!(admitted.is_ok(), expected, "{status:?}");
        }
    }

    #[test]
    fn the_first_of_the_order_says_whether_it_was_done_before() {
        for (status, output, action, is_repeated) in [
            (Status::Pending, false, Action::Run, false),
            (Status::InProgress, false, Action::Retry, false),
            (Status::Completed, true, Action::Retry, true),
        ] {
            let mut run = line_of(&[("A", status), ("B", Status::Pending)]);
            run.steps[0].proof.outputs = output.then(|| path("out.json")).into_iter().collect();
            let live = LiveRun::new(run, Evidence::default());
            assert_eq!(
                live.order(&options()).first().copied(),
                Some(StepDue { at: 0, action, is_repeated }),
                "{status}"
            );
        }
    }

    #[test]
    fn what_is_left_out_is_not_in_the_order() {
        let live = LiveRun::new(line_of(&[("A", Status::Pending), ("B", Status::Pending)]), Evidence::default());
        let order = live.order(&Options { skip: ids(&["A"]), ..options() });
        assert_eq!(order, [StepDue { at: 1, action: Action::Run, is_repeated: false }]);
    }

    proptest! {
        /// A run that is kept up to date is the same as one that is compared anew.
        #[test]
        fn an_update_costs_no_truth(run in orderly(), changes in vec((any::<Index>(), any::<Index>()), 0..6)) {
            prop_assume!(!run.steps.is_empty());
            let mut live = LiveRun::new(run, Evidence::default());
            for (at, status) in changes {
                let (at, status) = (at.index(live.run().steps.len()), Status::ALL[status.index(Status::ALL.len())]);
                live.update(at, |step| {
                    step.status = status;
                    step.done_definition = (status == Status::Completed && at % 2 == 1).then(|| "another".to_owned());
                });
                prop_assert_eq!(
                    &live.reconciled.effective_statuses,
                    &effective_statuses(live.run(), &Evidence::default(), &[])
                );
            }
        }
    }
}
