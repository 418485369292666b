//! Differences between the waves and stories of an epic's plan and its state. Both are planned and the difference is reported.
//!
//! Items only in the plan are new and pending; items only in the state keep their place.

use std::collections::BTreeMap;

use super::{EpicFiles, state::Wave};
use crate::model::{Finding, FindingCode, StepId};

/// Returns the waves of the state and those only in the plan, ordered by number.
pub(super) fn waves(epic: &mut EpicFiles<'_>) -> Vec<Wave> {
    let mut waves = epic.state.waves.clone();
    let Some(plan) = epic.plan.as_ref().filter(|plan| !plan.waves.is_empty()) else { return waves };
    // The waves of the plan by story.
    let mut homes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for planned in &plan.waves {
        for story in &planned.stories {
            homes.entry(story).or_default().push(&planned.number);
        }
    }
    let mut findings = Vec::new();
    for planned in &plan.waves {
        if waves.iter().all(|wave| wave.number != planned.number) {
            let number = planned.number.escape_debug();
            findings.push(format!("wave {number} is in the plan but not in the state; it counts as pending"));
            waves.push(Wave {
                number: planned.number.clone(),
                name: planned.name.clone(),
                tag: planned.tag.clone(),
                status: None,
                stories: Vec::new(),
                is_counted: false,
            });
        }
    }
    for wave in &epic.state.waves {
        let number = wave.number.escape_debug();
        let Some(planned) = plan.waves.iter().find(|planned| planned.number == wave.number) else {
            findings.push(format!("wave {number} is in the state but not in the plan; it is kept"));
            continue;
        };
        for story in &wave.stories {
            let id = story.id.escape_debug();
            let waves = homes.get(story.id.as_str()).map_or(&[][..], Vec::as_slice);
            if waves.contains(&planned.number.as_str()) {
                continue;
            }
            findings.push(match waves.first() {
                Some(other) => format!(
                    "story {id} is in wave {number} of the state but in wave {} of the plan; the state wins",
                    other.escape_debug()
                ),
                None => format!("story {id} is in wave {number} of the state but in no wave of the plan; it is kept"),
            });
        }
    }
    let findings: Vec<Finding> = findings.into_iter().map(|message| plan_drift(epic, message)).collect();
    epic.findings.extend(findings);
    waves.sort_by_key(Wave::rank);
    waves
}

fn plan_drift(epic: &EpicFiles<'_>, message: String) -> Finding {
    let finding = Finding::new(FindingCode::PlanDrift, message).at(&epic.files.state);
    finding.fix("make the waves and stories of the state and the execution plan match")
}

/// Reports a story that only the plan has.
pub(super) fn only_planned(epic: &mut EpicFiles<'_>, id: &StepId) {
    let message = format!("story {id} is in the plan but not in the state; it counts as pending");
    let finding = plan_drift(epic, message).on(id);
    epic.findings.push(finding);
}
