//! Steps of agents that cannot begin because a variable of theirs has no value. Pure.

use std::collections::BTreeSet;

use super::{
    after_agent::surroundings, brief::filled_in, facts::is_for_an_agent, session::Session, unmet::condition_holds,
};
use crate::model::{Hold, Status, Step, StepId};

/// Holds back the steps of agents whose turn it is and whose condition, instructions or surroundings have a variable without a value.
pub(super) fn hold_unfilled(session: &Session, steps: &mut [Step]) {
    if !session.header.is_attended {
        return;
    }
    let open: BTreeSet<&StepId> = steps.iter().filter(|step| !step.status.satisfies()).map(|step| &step.id).collect();
    let is_next = |step: &Step| {
        step.status == Status::Pending
            && !step.is_command
            && is_for_an_agent(&step.definition)
            && !step.depends_on.iter().any(|id| open.contains(id))
    };
    let next = steps.iter().enumerate().filter(|(_, step)| is_next(step));
    let held: Vec<(usize, String)> = next.filter_map(|(at, step)| Some((at, unfilled(session, step)?))).collect();
    for (at, why) in held {
        steps[at].status = Status::Blocked;
        steps[at].hold = Some(Hold::Because(why));
    }
}

/// Returns what of a step cannot be filled in, and why.
fn unfilled(session: &Session, step: &Step) -> Option<String> {
    let condition = condition_holds(step, &session.header, &session.state).and_then(Result::err);
    let instructions = || filled_in(session, step).err();
    let around = || surroundings(step, |text| session.filled(text)).err();
    let (what, error) = (condition.map(|error| ("condition", error)))
        .or_else(|| instructions().map(|error| ("instructions", error)))
        .or_else(|| around().map(|error| ("`env` or `working_dir`", error)))?;
    Some(format!("its {what} cannot be filled in: {}; {}", error.message, error.hint))
}
