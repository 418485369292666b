//! Properties of every run: random graphs with cycles, unknown and duplicate ids, random statuses and evidence.

use proptest::{collection::vec, option, prelude::*, sample::select};

use super::{
    Admitted, ChangeLimits, EffectiveStatus, Planned, admit, effective_statuses,
    proof::unproved,
    testing::{at, options, path, planned, present, review, run_with, with_witnesses},
};
use crate::model::{
    Action, Change, ChangeKind, Evidence, FileFact, Finding, FindingCode, Next, Options, Outcome, ReviewVerdict, Run,
    Severity, Status, Step, StepId, StepKind, Verdict,
};

const IDS: [&str; 8] = ["A", "B", "C", "D", "E", "F", "G", "GONE"];

fn id() -> impl Strategy<Value = StepId> {
    select(IDS.to_vec()).prop_map(StepId::new)
}

fn fact() -> impl Strategy<Value = FileFact> {
    prop_oneof![
        3 => (-9_i64..9).prop_map(|seconds| present(at(seconds))),
        1 => Just(FileFact::Missing),
        1 => Just(FileFact::Unreadable("permission denied".to_owned())),
    ]
}

/// A step on its own; what it depends on comes later.
fn step() -> impl Strategy<Value = Step> {
    let kind = select(vec![
        StepKind::Work,
        StepKind::Work,
        StepKind::Work,
        StepKind::Review,
        StepKind::Gate,
        StepKind::Container,
    ]);
    let verdict = select(vec![
        ReviewVerdict::Approved,
        ReviewVerdict::ApprovedWithConditions,
        ReviewVerdict::NeedsRevision,
        ReviewVerdict::Rejected,
    ]);
    let words = (kind, select(Status::ALL.to_vec()), option::weighted(0.2, verdict));
    let numbers = (0_usize..4, any::<bool>(), 0_u32..5, option::of(-9_i64..9), option::of(-9_i64..9));
    (words, numbers, prop::bool::weighted(0.9)).prop_map(|(words, numbers, idempotent)| {
        let (kind, status, verdict) = words;
        let (witnesses, has_output, failures, started, finished) = numbers;
        let mut step = Step::new(StepId::new("?"), "Title");
        (step.kind, step.status, step.idempotent, step.failures) = (kind, status, idempotent, failures);
        step.attempts = if failures == 4 { u32::MAX } else { failures };
        (step.started_at, step.finished_at) = (started.map(at), finished.map(at));
        step.review = verdict.and_then(review);
        if witnesses < 3 {
            with_witnesses(&mut step, witnesses);
        }
        if has_output && kind != StepKind::Container {
            step.proof.outputs = vec![path("out.json")];
        }
        step
    })
}

/// Steps that depend on earlier ones only.
pub(super) fn orderly() -> impl Strategy<Value = Run> {
    vec((step(), vec(any::<prop::sample::Index>(), 0..3), any::<prop::sample::Index>()), 0..8).prop_map(|steps| {
        let mut run = run_with(Vec::new());
        for (at, (mut step, needs, back)) in steps.into_iter().enumerate() {
            step.id = StepId::new(IDS[at]);
            if at > 0 {
                step.depends_on = needs.iter().map(|need| StepId::new(IDS[need.index(at)])).collect();
                step.returns_to = (step.kind == StepKind::Review).then(|| StepId::new(IDS[back.index(at)]));
                if step.kind == StepKind::Container {
                    step.children = std::mem::take(&mut step.depends_on);
                }
            }
            run.steps.push(step);
        }
        run
    })
}

/// Any run: cycles, duplicate and unknown ids.
fn wild() -> impl Strategy<Value = Run> {
    let ties = (vec(id(), 0..3), vec(id(), 0..2), option::of(id()), vec(Just("GONE".to_owned()), 0..2));
    vec((id(), step(), ties), 0..9).prop_map(|steps| {
        let steps = steps.into_iter().map(|(id, mut step, (depends_on, children, returns_to, dangling))| {
            (step.id, step.depends_on, step.returns_to) = (id, depends_on, returns_to);
            step.dangling = dangling;
            if step.kind == StepKind::Container {
                step.children = children;
            }
            step
        });
        run_with(steps.collect())
    })
}

fn any_run() -> impl Strategy<Value = Run> {
    prop_oneof![orderly(), wild()]
}

/// If two steps share an id, a change applies to the first and cannot reach the second.
fn without_doubles() -> impl Strategy<Value = Run> {
    any_run().prop_map(|mut run| {
        let mut seen = std::collections::BTreeSet::new();
        run.steps.retain(|step| seen.insert(step.id.clone()));
        run
    })
}

fn evidence() -> impl Strategy<Value = Evidence> {
    fact().prop_map(|fact| Evidence { files: [(path("out.json"), fact)].into(), ..Evidence::default() })
}

fn any_options() -> impl Strategy<Value = Options> {
    let names = (vec(id(), 0..2), option::weighted(0.3, option::of(id())), option::weighted(0.2, id()));
    (names, any::<[bool; 4]>()).prop_map(|((from, retry, to_step), flags)| {
        let [force, parallel, if_dependencies_met, refresh_analysis] = flags;
        Options { from, retry, to_step, force, parallel, if_dependencies_met, refresh_analysis, ..options() }
    })
}

fn position(run: &Run, id: &StepId) -> Option<usize> {
    run.steps.iter().position(|step| step.id == *id)
}

/// Returns the change that a next step asks for.
fn change(run: &Run, next: &Next) -> ChangeKind {
    let step = next.step.clone();
    match next.action {
        Action::Run | Action::Exec | Action::Retry | Action::Return => {
            ChangeKind::Begin { step, part: None, agent: None, attempt: 0, reopens: Vec::new() }
        }
        Action::Approve => ChangeKind::Approve { step, by: None, note: None, phases: None, choice: None },
        Action::Verify | Action::Merge | Action::Archive => {
            let outcome: Outcome = serde_json::from_value(serde_json::json!({"step": step})).unwrap();
            let is_review = run.step(&next.step).unwrap().kind == StepKind::Review;
            let verdict = is_review.then_some(ReviewVerdict::Approved);
            ChangeKind::Finish(Box::new(Outcome { verdict, ..outcome }))
        }
    }
}

fn admits(run: &Run, evidence: &Evidence, next: &Next, force: bool) -> bool {
    let kind = change(run, next);
    // A step without its declared outputs can only be recorded by force.
    let is_unproved =
        next.action == Action::Verify && !unproved(run, run.step(&next.step).unwrap(), evidence).is_empty();
    let limits = ChangeLimits { force: force || is_unproved, ..ChangeLimits::of(3) };
    let is_admitted = |kind| {
        matches!(admit(run, (evidence, &[]), Change { at: at(0), kind }, limits, None), Ok(Admitted::Change { .. }))
    };
    match kind {
        // Whether a step that must not run twice took effect, a person says.
        ChangeKind::Finish(outcome) if next.action == Action::Verify => {
            is_admitted(ChangeKind::Finish(outcome.clone()))
                || is_admitted(ChangeKind::Finish(Box::new(Outcome { accepts: true, ..*outcome })))
        }
        kind => is_admitted(kind),
    }
}

/// Describes a failing run in a few lines.
fn shown(run: &Run, effective_statuses: &[EffectiveStatus]) -> String {
    let lines = run.steps.iter().zip(effective_statuses).map(|(step, effective_status)| {
        let ids = |ids: &[StepId]| ids.iter().map(StepId::as_str).collect::<Vec<_>>().join(",");
        format!(
            "{} {:?} {} {effective_status:?} needs [{}] holds [{}] back {:?} failures {} finished {:?} review {:?}",
            step.id,
            step.kind,
            step.status,
            ids(&step.depends_on),
            ids(&step.children),
            step.returns_to.as_ref().map(StepId::as_str),
            step.failures,
            step.finished_at.map(|at| at.to_string()),
            step.review.as_ref().map(|review| review.verdict)
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_blocked_by(planned: &Planned, codes: &[FindingCode]) -> bool {
    planned.findings.iter().any(|finding| codes.contains(&finding.code))
}

/// Checks the properties of every plan, for any options.
fn check(run: &Run, planned: &Planned, effective_statuses: &[EffectiveStatus]) -> Result<(), TestCaseError> {
    let plan = &planned.plan;
    let open = effective_statuses.iter().any(|effective_status| !effective_status.is_over());
    let blocking = planned.findings.iter().any(|finding| finding.severity == Severity::Blocking);
    match plan.verdict {
        Verdict::Complete => prop_assert!(!open && !blocking),
        Verdict::Nothing => prop_assert!(run.steps.is_empty()),
        Verdict::Resume | Verdict::Confirm => prop_assert!(!plan.next.is_empty() && !blocking),
        Verdict::Blocked => {
            prop_assert!(blocking || plan.next.iter().all(|next| next.action == Action::Approve));
            prop_assert!(blocking || !plan.next.is_empty());
        }
    }
    for question in &plan.questions {
        prop_assert!(question.options.iter().any(|option| !option.changes_nothing), "an answer that does something");
        prop_assert!(question.default.as_ref().is_none_or(|default| question.option(default).is_some()));
        for (at, option) in question.options.iter().enumerate() {
            prop_assert!(!option.command.to_string().is_empty());
            prop_assert!(question.options.iter().skip(at + 1).all(|other| other.id != option.id));
        }
    }
    let mut chosen: Vec<&StepId> = plan.next.iter().map(|next| &next.step).collect();
    chosen.sort();
    chosen.dedup();
    let doubled = run.steps.iter().enumerate().any(|(at, step)| position(run, &step.id) != Some(at));
    prop_assert!(doubled || chosen.len() == plan.next.len(), "each step once");
    let groups = &plan.steps;
    let listed: usize = [
        &groups.completed,
        &groups.in_progress,
        &groups.failed,
        &groups.pending,
        &groups.blocked,
        &groups.skipped,
        &groups.invalid,
    ]
    .iter()
    .map(|group| group.len())
    .sum();
    let containers = effective_statuses
        .iter()
        .filter(|effective_status| **effective_status == EffectiveStatus::OpenContainer)
        .count();
    prop_assert_eq!(listed + containers, run.steps.len(), "nothing is lost");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24 * ProptestConfig::default().cases, ..ProptestConfig::default() })]

    #[test]
    fn plans_are_sound(run in any_run(), evidence in evidence()) {
        let effective_statuses = effective_statuses(&run, &evidence, &[]);
        let planned = planned(&run, &evidence, &options());
        check(&run, &planned, &effective_statuses)?;
        let unique = |next: &&Next| run.steps.iter().filter(|step| step.id == next.step).count() == 1;
        for next in planned.plan.next.iter().filter(unique) {
            let at = position(&run, &next.step).unwrap();
            let step = &run.steps[at];
            if matches!(next.action, Action::Run | Action::Retry) {
                prop_assert!(!effective_statuses[at].is_over(), "{} is not done twice", next.step);
            }
            if matches!(next.action, Action::Run | Action::Retry | Action::Return) {
                prop_assert!(matches!(step.kind, StepKind::Work | StepKind::Review));
                prop_assert!(step.dangling.is_empty());
                for need in step.depends_on.iter().chain(&step.children).filter_map(|id| position(&run, id)) {
                    let was_begun = matches!(effective_statuses[at], EffectiveStatus::Failed | EffectiveStatus::Interrupted);
                    let is_met = effective_statuses[need].satisfies() || (was_begun && effective_statuses[need] == EffectiveStatus::Cancelled);
                    prop_assert!(is_met, "{} comes before {}", run.steps[need].id, next.step);
                }
            }
        }
    }

    #[test]
    fn what_is_planned_is_admitted(run in without_doubles(), evidence in evidence()) {
        let effective_statuses = effective_statuses(&run, &evidence, &[]);
        let planned = planned(&run, &evidence, &options());
        let limited = is_blocked_by(&planned, &[FindingCode::AttemptLimit, FindingCode::Rejected]);
        let refused = |next: &&Next| {
            let is_about = |finding: &Finding| finding.code == FindingCode::Rejected && finding.step.as_ref() == Some(&next.step);
            next.action == Action::Approve && planned.findings.iter().any(is_about)
        };
        for next in planned.plan.next.iter().filter(|next| !refused(next)) {
            let work = matches!(next.action, Action::Run | Action::Retry | Action::Return);
            let admitted = admits(&run, &evidence, next, work && limited);
            prop_assert!(admitted, "{} {}\n{}", next.action.as_str(), next.step, shown(&run, &effective_statuses));
        }
    }

    #[test]
    fn what_a_caller_chose_is_admitted_by_the_command_of_the_plan(
        run in without_doubles(),
        evidence in evidence(),
        options in any_options(),
    ) {
        let effective_statuses = effective_statuses(&run, &evidence, &[]);
        let planned = planned(&run, &evidence, &options);
        check(&run, &planned, &effective_statuses)?;
        if let (Some(begin), Some(first)) = (&planned.plan.commands.begin, planned.plan.next.first()) {
            let admitted = admits(&run, &evidence, first, false);
            prop_assert!(admitted, "{begin}\n{options:?}\n{}", shown(&run, &effective_statuses));
        }
    }

    #[test]
    fn nothing_begins_behind_a_gate(run in orderly(), evidence in evidence(), options in any_options()) {
        let effective_statuses = effective_statuses(&run, &evidence, &[]);
        let planned = planned(&run, &evidence, &options);
        for next in &planned.plan.next {
            let mut open = vec![position(&run, &next.step).unwrap()];
            while let Some(at) = open.pop() {
                let step = &run.steps[at];
                for need in step.depends_on.iter().chain(&step.children).filter_map(|id| position(&run, id)) {
                    let shut = matches!(run.steps[need].kind, StepKind::Gate | StepKind::Review)
                        && !effective_statuses[need].satisfies();
                    prop_assert!(!shut || !matches!(next.action, Action::Run | Action::Retry | Action::Return));
                    open.push(need);
                }
            }
        }
    }

    #[test]
    fn the_same_input_gives_the_same_bytes(run in any_run(), evidence in evidence(), options in any_options()) {
        let bytes = || {
            let planned = planned(&run, &evidence, &options);
            (format!("{:?}", planned.plan), serde_json::to_vec(&planned.findings).unwrap())
        };
        prop_assert_eq!(bytes(), bytes());
    }

    #[test]
    fn to_skip_all_work_leaves_no_work(run in any_run(), evidence in evidence()) {
        let skip = run.steps.iter().map(|step| step.id.clone()).collect();
        let planned = planned(&run, &evidence, &Options { skip, ..options() });
        for next in &planned.plan.next {
            let step = run.step(&next.step).unwrap();
            let unique = run.steps.iter().filter(|other| other.id == step.id).count() == 1;
            prop_assert!(!unique || step.kind != StepKind::Work || next.action != Action::Run);
        }
    }
}

/// Steps of a large run.
const MANY: usize = 2_000;

/// Returns a large run in which each step is tied as `tie` says.
fn large(mut tie: impl FnMut(usize, &mut Step)) -> Run {
    let steps = (0..MANY).map(|at| {
        let mut step = Step::new(StepId::new(format!("S{at}")), "Title");
        tie(at, &mut step);
        step
    });
    run_with(steps.collect())
}

fn waits_for(step: &mut Step, at: usize) {
    step.depends_on.push(StepId::new(format!("S{at}")));
}

/// Each of these takes minutes if planning is quadratic in the number of steps.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn thousands_of_steps_are_planned() {
    let half = |at: usize| if at < MANY / 2 { Status::Completed } else { Status::Pending };
    let line = |at: usize, step: &mut Step| {
        step.status = half(at);
        if at > 0 {
            waits_for(step, at - 1);
        }
    };
    for (name, run, expected) in [
        ("in a line", large(line), 1),
        ("side by side", large(|at, step| step.status = half(at)), MANY / 2),
        (
            "in a line that a lost output opens again",
            large(|at, step| {
                line(at, step);
                step.proof.outputs = if at == 0 { vec![path("gone")] } else { Vec::new() };
            }),
            1,
        ),
        ("in a circle", large(|at, step| waits_for(step, (at + 1) % MANY)), 0),
        (
            "all for one",
            large(|at, step| {
                if at == MANY - 1 {
                    (0..MANY - 1).for_each(|on| waits_for(step, on));
                }
            }),
            MANY - 1,
        ),
        (
            "reviews that send work back",
            large(|at, step| {
                if at % 2 == 1 {
                    waits_for(step, at - 1);
                    (step.kind, step.status, step.failures) = (StepKind::Review, Status::Failed, 3);
                    step.returns_to = step.depends_on.first().cloned();
                } else {
                    step.status = Status::Completed;
                }
            }),
            MANY / 2,
        ),
        (
            "all cut off, and all sent back",
            large(|at, step| {
                (step.status, step.error) = (Status::InProgress, Some("no test".to_owned()));
                step.returns_to = Some(StepId::new(format!("S{}", (at + 1) % MANY)));
            }),
            MANY,
        ),
        ("a record that lags", large(|_, step| with_witnesses(step, 2)), MANY),
        (
            "conflicts behind a gate",
            large(|at, step| {
                if at == 0 {
                    step.kind = StepKind::Gate;
                } else {
                    waits_for(step, 0);
                    with_witnesses(step, 1);
                }
            }),
            1,
        ),
        (
            "behind what was cancelled",
            large(|at, step| {
                line(at, step);
                step.status = if at == 0 { Status::Cancelled } else { Status::Pending };
            }),
            0,
        ),
    ] {
        for force in [false, true] {
            let planned = planned(&run, &Evidence::default(), &Options { force, ..options() });
            let expected = if force && expected == 0 { usize::from(name != "in a circle") } else { expected };
            assert!(
                name == "in a circle" || planned.plan.next.len() == expected,
                "{name}: {}",
                planned.plan.next.len()
            );
        }
        let all = Options { from: run.steps.iter().map(|step| step.id.clone()).take(100).collect(), ..options() };
        planned(&run, &Evidence::default(), &all);
        let begin =
            ChangeKind::Begin { step: StepId::new("S9999"), part: None, agent: None, attempt: 0, reopens: Vec::new() };
        let limits = ChangeLimits { force: true, ..ChangeLimits::of(3) };
        let _ = admit(&run, (&Evidence::default(), &[]), Change { at: at(0), kind: begin }, limits, None);
    }
}
