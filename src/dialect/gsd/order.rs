//! Which phases wait for which, and what was carried out before that (docs/formats/gsd.md#steps).

use std::collections::BTreeSet;

use super::{
    names::{self, PhaseKey},
    roadmap::Roadmap,
};
use crate::model::{Finding, FindingCode, Status, Step, StepId, first_names};

/// Number of ids that a finding names.
const NAMED: usize = 5;

/// Returns for each phase the positions of those that it waits for: those that the roadmap names, else the one before that does not wait
/// for it in turn. What a roadmap says is prose: a phase that comes later and waits for this one is not waited for, which a finding says.
pub(super) fn phases_before(roadmap: &Roadmap, keys: &[PhaseKey], findings: &mut Vec<Finding>) -> Vec<Vec<usize>> {
    let declared = |key: &PhaseKey| {
        let on = roadmap.phases.get(key).and_then(|phase| phase.depends_on.as_ref())?;
        let on = on.iter().filter(|on| *on != key);
        Some(on.filter_map(|on| keys.iter().position(|key| key == on)).collect::<Vec<usize>>())
    };
    let named: Vec<Option<Vec<usize>>> = keys.iter().map(declared).collect();
    let mut before: Vec<Vec<usize>> = named.iter().map(|named| named.clone().unwrap_or_default()).collect();
    for at in 0..keys.len() {
        let (kept, dropped): (Vec<usize>, Vec<usize>) =
            before[at].iter().partition(|on| **on < at || !waits_for(&before, **on, at));
        if let Some(first) = dropped.first() {
            let (own, on) = (names::shown(&keys[at]), names::shown(&keys[*first]));
            let message = format!(
                "phase {own} is said to depend on phase {on}, which waits for phase {own}: the order of ROADMAP counts"
            );
            findings.push(Finding::new(FindingCode::FieldIgnored, message));
        }
        before[at] = kept;
    }
    for at in (0..keys.len()).filter(|at| named[*at].is_none()) {
        let previous = (0..at).rev().find(|previous| !waits_for(&before, *previous, at));
        before[at].extend(previous);
    }
    before
}

/// Tells whether a phase waits for another one, also by way of others.
fn waits_for(before: &[Vec<usize>], phase: usize, wanted: usize) -> bool {
    let (mut open, mut seen) = (vec![phase], BTreeSet::new());
    while let Some(at) = open.pop() {
        if before[at].contains(&wanted) {
            return true;
        }
        open.extend(before[at].iter().copied().filter(|next| seen.insert(*next)));
    }
    false
}

/// Returns the steps of all phases, each waiting for those of the phases before.
pub(super) fn in_order(mut phases: Vec<Vec<Step>>, before: &[Vec<usize>]) -> Vec<Step> {
    let ids: Vec<Vec<StepId>> = phases.iter().map(|steps| steps.iter().map(|step| step.id.clone()).collect()).collect();
    for (steps, before) in phases.iter_mut().zip(before) {
        let waits: Vec<StepId> = before.iter().flat_map(|at| ids[*at].iter().cloned()).collect();
        for step in steps {
            step.depends_on.extend(waits.iter().cloned());
        }
    }
    phases.into_iter().flatten().collect()
}

/// Tells whether a step is a plan that was carried out, or halted on the way.
pub(super) fn is_carried_out(step: &Step) -> bool {
    names::is_plan_step(step) && matches!(step.status, Status::Completed | Status::WaitingApproval)
}

/// Names what contradicts each other about finished and halted plans.
pub(super) fn contradictions(steps: &[Step]) -> impl Iterator<Item = Finding> {
    done_too_early(steps).into_iter().chain(halted_and_ticked(steps))
}

/// Names the plans that are halted by their summary and done by the roadmap.
fn halted_and_ticked(steps: &[Step]) -> Option<Finding> {
    let is_called_done = |step: &&Step| {
        let words = step.guest.as_ref().map(|proof| proof.words.as_slice()).unwrap_or_default();
        step.status == Status::WaitingApproval && words.iter().any(|word| word.done && word.source == "ROADMAP")
    };
    let halted: Vec<&str> = steps.iter().filter(is_called_done).map(|step| step.id.as_str()).collect();
    let message = format!("halted by their summary, but done by ROADMAP: {}", first_names(&halted, NAMED));
    (!halted.is_empty()).then(|| Finding::new(FindingCode::StatusOptimistic, message))
}

/// Names the plans that are done although one that they wait for is open.
fn done_too_early(steps: &[Step]) -> Option<Finding> {
    let open: BTreeSet<&StepId> = steps
        .iter()
        .filter(|step| names::is_plan_step(step) && !step.status.satisfies())
        .map(|step| &step.id)
        .collect();
    let done = steps.iter().filter(|step| names::is_plan_step(step) && step.status == Status::Completed);
    let early: Vec<String> = done
        .filter_map(|step| {
            let on = step.depends_on.iter().find(|on| open.contains(on))?;
            Some(format!("{} before {on}", step.id))
        })
        .collect();
    let message = format!("done before what they depend on: {}", first_names(&early, NAMED));
    (!early.is_empty()).then(|| Finding::new(FindingCode::StatusOptimistic, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_may_wait_for_a_later_one_without_a_circle() {
        for (text, expected) in [
            ("### Phase 1: A\n### Phase 2: B\n### Phase 3: C\n", vec![vec![], vec![0], vec![1]]),
            (
                "### Phase 1: A\n**Depends on**: Phase 3\n### Phase 2: B\n### Phase 3: C\n",
                vec![vec![2], vec![0], vec![]],
            ),
            (
                "### Phase 1: A\n### Phase 2: B\n**Depends on**: Phase 3\n### Phase 3: C\n",
                vec![vec![], vec![2], vec![0]],
            ),
            (
                "### Phase 1: A\n### Phase 2: B\n**Depends on**: Nothing\n### Phase 3: C\n**Depends on**: Phase 1\n",
                vec![vec![], vec![], vec![0]],
            ),
        ] {
            let roadmap = Roadmap::parse(text.as_bytes());
            let keys: Vec<PhaseKey> = roadmap.phases.keys().cloned().collect();
            assert_eq!(phases_before(&roadmap, &keys, &mut Vec::new()), expected, "{text}");
        }
    }

    #[test]
    fn prose_makes_no_circle_and_is_named_where_it_would() {
        let text = "### Phase 1: A\n**Depends on**: Phase 2, Phase 3\n### Phase 2: B\n**Depends on**: Phase 1\n### Phase 3: C\n**Depends on**: Nothing\n";
        let roadmap = Roadmap::parse(text.as_bytes());
        let keys: Vec<PhaseKey> = roadmap.phases.keys().cloned().collect();
        let mut findings = Vec::new();
        assert_eq!(phases_before(&roadmap, &keys, &mut findings), [vec![2], vec![0], vec![]]);
        let messages: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(
            messages,
            ["phase 1 is said to depend on phase 2, which waits for phase 1: the order of ROADMAP counts"]
        );
    }
}
