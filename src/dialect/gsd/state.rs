//! `STATE.md` and the notes of a paused session: words about the plans, compared with the files and never believed alone
//! (docs/formats/gsd.md#state).

use super::{
    names::{self, PhaseKey},
    plan_file, roadmap,
};
use crate::{
    dialect::markdown::{LineContext, Lines, heading},
    document::Node,
    model::{Finding, FindingCode, RelPath, Status, Step, clean_line, mask_secrets},
};

/// Characters of a quoted value.
const QUOTED: usize = 80;

/// Characters of a decision or blocker.
const REMARK: usize = 200;
/// Number of decisions, and of blockers, in a brief.
const REMARKS: usize = 5;

/// What `STATE.md` says.
#[derive(Debug, Default)]
pub(super) struct StateWords {
    pub(super) front: Option<Node>,
    /// `Phase: 2 of 5`.
    phase: Option<PhaseKey>,
    /// Whether that line calls the phase finished: `Phase: 1 of 1 — COMPLETE`.
    is_phase_over: bool,
    /// `Plan: 1 of 3`; 0 for "Not started".
    plan: Option<u64>,
    status: String,
    stopped_at: String,
    /// The lines above as they are written.
    quoted: Vec<String>,
}

impl StateWords {
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let front = plan_file::front_matter(bytes);
        let of_front = |key: &str| plan_file::text_of(front.as_ref(), key).unwrap_or_default().to_owned();
        let text = String::from_utf8_lossy(bytes);
        let mut found: [(&str, String); 4] = [
            ("Phase", String::new()),
            ("Plan", String::new()),
            ("Status", String::new()),
            ("Stopped at", String::new()),
        ];
        for line in Lines::of(&text).filter(|line| line.context == LineContext::Text) {
            let plain = line.text.trim_start_matches(['-', '*', ' ']).replace('*', "");
            let Some((key, value)) = plain.split_once(':') else { continue };
            let key = key.trim();
            let key = key.get(..8).filter(|start| start.eq_ignore_ascii_case("current ")).map_or(key, |_| &key[8..]);
            let known = found.iter_mut().find(|(name, _)| key.eq_ignore_ascii_case(name));
            if let Some((_, kept)) = known.filter(|(_, kept)| kept.is_empty()) {
                value.trim().clone_into(kept);
            }
        }
        let [phase, plan, status, stopped_at] = &mut found;
        for ((_, value), keys) in [
            (phase, ["current_phase", "phase"]),
            (plan, ["current_plan", "plan"]),
            (status, ["status", "status"]),
            (stopped_at, ["stopped_at", "stopped_at"]),
        ] {
            if value.is_empty() {
                *value =
                    keys.map(of_front).into_iter().find(|text| !text.is_empty() && text != "null").unwrap_or_default();
            }
        }
        let said = found.iter().filter(|(_, value)| !value.is_empty());
        let quoted =
            said.map(|(name, value)| format!("{name}: {}", clean_line(&mask_secrets(value), QUOTED))).collect();
        let [(_, phase), (_, plan), (_, status), (_, stopped_at)] = found;
        Self {
            phase: names::leading(roadmap::strip_noun(&phase).unwrap_or(&phase)).map(|(key, _)| key),
            is_phase_over: clauses(&phase).iter().any(|clause| is_finished_word(clause)),
            plan: plan_number(&plan),
            status,
            stopped_at,
            quoted,
            front,
        }
    }

    /// Tells whether the work was paused on purpose.
    pub(super) fn is_paused(&self) -> bool {
        let at = plan_file::text_of(self.front.as_ref(), "paused_at").unwrap_or_default();
        self.status.to_lowercase().starts_with("paused") || !matches!(at, "" | "null" | "~")
    }

    /// Tells whether it calls a plan done: by a count of all plans, by the status of its phase, or as the last thing that was completed.
    pub(super) fn calls_done(&self, step: &Step, plans: usize) -> bool {
        let Some((phase, _)) = names::leading(step.id.as_str()) else { return false };
        self.is_phase_complete(&phase)
            || self.counts_all(plans)
            || self.last_completed().is_some_and(|last| names::is_same_plan(last, step.id.as_str()))
    }

    /// Tells whether it calls the phase complete that it is about, which has no plans.
    pub(super) fn calls_unplanned_done(&self, step: &Step) -> bool {
        let phase = names::leading(step.id.as_str()).map(|(phase, _)| phase).filter(|_| names::is_unplanned(step));
        phase.is_some_and(|phase| {
            self.phase.as_ref() == Some(&phase) && self.plan != Some(0) && self.is_phase_complete(&phase)
        })
    }

    /// Tells whether its status calls a phase complete, or all of them. A clause about something else says nothing about the phase:
    /// `Executing Phase 6 -- images complete`.
    fn is_phase_complete(&self, phase: &PhaseKey) -> bool {
        let is_own = self.phase.as_ref() == Some(phase);
        let of_phase = |clause: &String| {
            let is_complete = clause.contains("complete") && !is_denied(clause);
            let named = clause.split("phase ").nth(1).and_then(names::leading).map(|(key, _)| key);
            let is_about = clause.starts_with("complete") || clause.contains("phase") || is_finished_word(clause);
            let is_complete =
                is_complete || is_finished_word(clause) || (named.is_some() && is_finished_clause(clause));
            is_complete && is_about && named.as_ref().or(self.phase.as_ref()) == Some(phase)
        };
        let is_of_milestone = names_version(&self.status);
        (is_own && self.is_phase_over)
            || (self.calls_all() && !is_of_milestone)
            || clauses(&self.status).iter().any(of_phase)
    }

    /// Tells whether its status calls everything done. A milestone with a number may be an earlier one.
    fn calls_all(&self) -> bool {
        let of_all = |clause: &String| {
            let names_all =
                ["milestone", "project", "all phases", "all plans", "roadmap"].iter().any(|word| clause.contains(word));
            (names_all && is_finished_clause(clause)) || (self.phase.is_none() && is_finished_word(clause))
        };
        clauses(&self.status).iter().any(of_all)
    }

    /// Tells whether it counts all plans as complete. A count of fewer plans than there are is of an earlier time.
    fn counts_all(&self, plans: usize) -> bool {
        let progress = self.front.as_ref().and_then(|front| front.get("progress"));
        let count = |key: &str| progress?.get(key)?.as_u64();
        match (count("completed_plans"), count("total_plans")) {
            (_, Some(total)) if total < plans as u64 => false,
            (Some(completed), Some(total)) => total > 0 && completed >= total,
            (Some(_) | None, _) => {
                let percent = plan_file::text_of(progress, "percent").unwrap_or_default();
                percent.trim().trim_end_matches('%').parse::<u64>().is_ok_and(|percent| percent >= 100)
            }
        }
    }

    /// Returns the plan that was completed last: `Stopped at: Completed 06-02-PLAN.md`.
    fn last_completed(&self) -> Option<&str> {
        let said = self.stopped_at.trim_start_matches(['"', '\'']);
        let verb = ["completed ", "finished ", "executed "]
            .iter()
            .find(|verb| said.get(..verb.len()).is_some_and(|start| start.eq_ignore_ascii_case(verb)))?;
        roadmap::plan_in(said.get(verb.len()..)?)
    }

    /// Returns the finding about a state whose words differ from the files.
    pub(super) fn differs(&self, file: &RelPath, steps: &[Step]) -> Option<Finding> {
        let plans: Vec<(PhaseKey, &Step)> = steps
            .iter()
            .filter(|step| names::is_plan_step(step))
            .filter_map(|step| Some((names::leading(step.id.as_str())?.0, step)))
            .collect();
        let is_done = |step: &Step| step.status == Status::Completed;
        let is_open = |step: &Step| !step.status.satisfies();
        let first_open = plans.iter().find(|(_, step)| is_open(step));
        let own: Vec<&Step> =
            plans.iter().filter(|(key, _)| Some(key) == self.phase.as_ref()).map(|(_, step)| *step).collect();
        let done = own.iter().filter(|step| is_done(step)).count();
        let by_plan = self.plan.is_some_and(|plan| {
            let done = done as u64;
            !own.is_empty() && (done > plan || done + 1 < plan)
        });
        let by_phase = self.phase.as_ref().is_some_and(|phase| {
            let is_begun = |of: &PhaseKey| plans.iter().any(|(key, step)| key == of && is_done(step));
            first_open.is_some_and(|(open, _)| open < phase || (open > phase && is_begun(open)))
        });
        let by_stop = self.last_completed().is_some_and(|last| {
            let at = plans.iter().position(|(_, step)| names::is_same_plan(last, step.id.as_str()));
            at.is_some_and(|at| is_open(plans[at].1) || plans[at + 1..].iter().any(|(_, step)| is_done(step)))
        });
        let by_word =
            first_open.is_some() && plans.iter().any(|(_, step)| is_open(step) && self.calls_done(step, plans.len()));
        // Its phase is over, and so is work behind that.
        let by_age = self.phase.as_ref().is_some_and(|phase| {
            let is_over = !own.is_empty() && own.iter().all(|step| step.status.satisfies());
            is_over && plans.iter().any(|(key, step)| key > phase && is_done(step))
        });
        let unplanned = steps.iter().find(|step| self.calls_unplanned_done(step));
        let open_phase = steps.iter().find(|step| names::is_unplanned(step) && is_open(step) && self.calls_all());
        let by_all = self.calls_all() && (first_open.is_some() || open_phase.is_some());
        if !(by_plan || by_phase || by_stop || by_word || by_age || by_all || unplanned.is_some()) {
            return None;
        }
        let all = plans.iter().filter(|(_, step)| is_done(step)).count();
        let of_phase = self.phase.as_ref().filter(|_| !own.is_empty());
        let of_phase = of_phase
            .map_or_else(String::new, |key| format!(", {done} of {} in phase {}", own.len(), names::shown(key)));
        let open = first_open.map_or_else(String::new, |(_, step)| format!("; the first one without is {}", step.id));
        let unplanned = match (unplanned, open_phase) {
            (Some(step), _) => format!("; phase {} has no plans", step.id),
            (None, Some(step)) => format!("; phase {} is still to be planned", step.id),
            (None, None) => String::new(),
        };
        let message = format!(
            "STATE says \"{}\"; by the files {all} of {} plans have a summary{of_phase}{open}{unplanned}",
            self.quoted.join("; "),
            plans.len()
        );
        Some(Finding::new(FindingCode::WitnessBehind, message).at(file))
    }
}

/// Returns the parts of a status in lower case, without the signs around them. A point inside of a version ends no part.
fn clauses(status: &str) -> Vec<String> {
    let status = status.to_lowercase().replace("--", ";").replace(" - ", ";").replace(". ", ";");
    let parts = status.split([';', ',', '(', ')', '—', '–']);
    parts.map(|part| part.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()).collect()
}

/// Tells whether a part of a status denies what it says.
fn is_denied(clause: &str) -> bool {
    ["incomplete", "not ", "unfinished", "to be "].iter().any(|word| clause.contains(word))
}

/// Tells whether a part of a status only says that something is finished.
fn is_finished_word(clause: &str) -> bool {
    matches!(clause, "complete" | "completed" | "done" | "finished" | "shipped")
}

/// Tells whether a part of a status says that what it names is finished.
fn is_finished_clause(clause: &str) -> bool {
    !is_denied(clause) && clause.split(|c: char| !c.is_alphanumeric()).any(is_finished_word)
}

/// Tells whether a status names a milestone by its number: `Milestone v1.0`.
fn names_version(status: &str) -> bool {
    let mut words = status.split(|c: char| !c.is_alphanumeric());
    words.any(|word| word.strip_prefix(['v', 'V']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())))
}

/// Returns the decisions about a phase, else the last ones, and the blockers that are not about another phase, as remarks.
pub(super) fn remarks(bytes: &[u8], phase: Option<&PhaseKey>) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let (mut decisions, mut blockers) = (Vec::new(), Vec::new());
    let mut is_about: Option<bool> = None;
    for line in Lines::of(&text).filter(|line| line.context == LineContext::Text) {
        if let Some(found) = heading(line.text) {
            let name = found.text.to_lowercase();
            is_about = match () {
                () if name.starts_with("decision") => Some(true),
                () if name.starts_with("blocker") => Some(false),
                () => None,
            };
            continue;
        }
        let item = line.text.strip_prefix(['-', '*', '+']).map(str::trim).unwrap_or_default();
        let is_nothing = item.is_empty() || item.to_lowercase().starts_with("none");
        match is_about.filter(|_| !is_nothing) {
            Some(true) => decisions.push(item),
            Some(false) => blockers.push(item),
            None => {}
        }
    }
    let named = |item: &str| -> Vec<PhaseKey> {
        let parts = item.split(['[', ']']).map(|part| roadmap::strip_noun(part).unwrap_or(part));
        parts.filter_map(names::leading).map(|(key, _)| key).collect()
    };
    let is_of_phase = |item: &&str| named(item).iter().any(|key| Some(key) == phase);
    blockers.retain(|item| named(item).is_empty() || is_of_phase(item));
    let mut of_phase: Vec<&str> = decisions.iter().copied().filter(is_of_phase).collect();
    if of_phase.is_empty() {
        of_phase = decisions;
    }
    let last = of_phase.len().saturating_sub(REMARKS);
    let said = |kind: &str, item: &str| format!("{kind} (STATE.md): {}", clean_line(&mask_secrets(item), REMARK));
    let decided = of_phase[last..].iter().map(|item| said("decided", item));
    decided.chain(blockers.iter().take(REMARKS).map(|item| said("blocker", item))).collect()
}

/// Returns the number of the plan in progress: of `4 of 4 in current phase`, `02-03`, `Not started`.
fn plan_number(text: &str) -> Option<u64> {
    if text.to_lowercase().starts_with("not started") {
        return Some(0);
    }
    if let Some(id) = roadmap::plan_in(text) {
        return Some(names::number_of(id));
    }
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::StateWords;
    use crate::model::{RelPath, Status, Step, StepId};

    fn step(id: &str, status: Status) -> Step {
        let mut step = Step::new(StepId::new(id), id.to_owned());
        step.file = RelPath::parse(&format!("phases/{id}-PLAN.md")).ok();
        step.status = status;
        step
    }

    #[test]
    fn plans_that_the_words_call_done_are_known() {
        for (state, done, open) in [
            ("Phase: 2 of 3 (Sail)\nStatus: Phase complete", "02-01", "03-01"),
            ("**Phase:** 02\n**Status:** Complete", "02-01", "01-01"),
            ("Phase: 3\nStatus: Phase 2 complete, ready to plan phase 3", "02-01", "03-01"),
            ("Status: Milestone complete", "03-01", ""),
            ("Status: Milestone v1.0 — complete", "", "03-01"),
            ("Phase: 2\nStatus: Executing Phase 2 -- images complete", "", "02-01"),
            ("Phase: 2\nStatus: Executing phase 2 (images complete)", "", "02-01"),
            ("Phase: 3\nStatus: Ready for phase 3 (phase 2 complete)", "02-01", "03-01"),
            ("Phase: 2\nStatus: Phase complete — ready for verification", "02-01", "03-01"),
            ("Status: Phase 2 incomplete\nPhase: 2", "", "02-01"),
            ("Phase: 2\nStatus: Ready to execute", "", "02-01"),
            ("Stopped at: Completed 02-01-PLAN.md", "02-01", "02-02"),
            ("Stopped at: Completed 02-sail-01-PLAN.md", "02-01", "02-02"),
            ("Stopped at: Planned 02-01-PLAN.md", "", "02-01"),
            ("---\nstopped_at: Completed 02-01-PLAN.md\n---\n", "02-01", "02-011"),
            ("---\nprogress:\n  total_plans: 9\n  completed_plans: 9\n---\n", "02-01", ""),
            ("---\nprogress:\n  total_plans: 2\n  completed_plans: 2\n---\n", "", "02-01"),
            ("---\nprogress: {completed_plans: 2 of 3, percent: 100}\n---\n", "02-01", ""),
            ("---\nprogress: {completed_plans: 2, total_plans: 3, percent: 60}\n---\n", "", "02-01"),
            ("---\nstatus: completed\n---\n", "02-01", ""),
            ("Status: ✅ Done", "02-01", ""),
            ("Status: Finished", "02-01", ""),
            ("Status: Not finished", "", "02-01"),
            ("Status: Completed quick task", "", "02-01"),
            ("Phase: 1 of 1 — COMPLETE", "01-01", "02-01"),
            ("Phase: 1 of 1 (Complete set)", "", "01-01"),
            ("**Current Phase:** 1\n**Status:** Complete", "01-01", "02-01"),
            ("Status: Phase 2 done\nPhase: 3", "02-01", "03-01"),
        ] {
            let words = StateWords::parse(state.as_bytes());
            let calls_done = |id: &str| words.calls_done(&step(id, Status::Pending), 3);
            assert!(done.is_empty() || calls_done(done), "{state}");
            assert!(open.is_empty() || !calls_done(open), "{state}");
        }
    }

    #[test]
    fn words_that_differ_from_the_files_are_quoted() {
        let steps = [
            step("01-01", Status::Completed),
            step("01-02", Status::Completed),
            step("02-01", Status::Completed),
            step("02-02", Status::Pending),
        ];
        for (state, differs) in [
            ("Phase: 2 of 2\nPlan: Not started", true),
            ("Phase: 2 of 2\nPlan: 2 of 2", false),
            ("Phase: 2 of 2\nPlan: 1 of 2", false),
            ("Phase: 1 of 2\nPlan: 2 of 2", true),
            ("Phase: 3 of 3", true),
            ("Stopped at: Completed 01-02-PLAN.md", true),
            ("Phase: 1 of 2\nStatus: Phase 1 complete", true),
            ("Stopped at: Completed 02-01-PLAN.md", false),
            ("Stopped at: Completed 02-02-PLAN.md", true),
            ("Status: Milestone complete", true),
            ("Status: Milestone v1.0 shipped", true),
            ("---\nstatus: completed\n---\n", true),
            ("Status: ✅ Done", true),
            ("Status: Finished", true),
            ("Phase: 2 of 2 — COMPLETE", true),
            ("**Current Phase:** 2\n**Status:** Complete", true),
            ("---\nprogress: {completed_plans: 3 of 4, percent: 100}\n---\n", true),
            ("Phase: 2\nStatus: In progress", false),
            ("", false),
        ] {
            let file = RelPath::parse("STATE.md").unwrap();
            let finding = StateWords::parse(state.as_bytes()).differs(&file, &steps);
            assert_eq!(finding.is_some(), differs, "{state}: {finding:?}");
        }
        let words = StateWords::parse(b"Phase: 2 of 2\nPlan: Not started\n");
        let finding = words.differs(&RelPath::parse("STATE.md").unwrap(), &steps).unwrap();
        assert_eq!(
            finding.message,
            "STATE says \"Phase: 2 of 2; Plan: Not started\"; by the files 3 of 4 plans have a summary, 1 of 2 in phase 2; the first one without is 02-02"
        );
    }

    #[test]
    fn a_pause_is_known_by_status_and_time() {
        for (state, paused) in [
            ("Status: Paused at task 2", true),
            ("---\nstatus: paused\n---\n", true),
            ("---\nstatus: executing\npaused_at: 2026-01-02\n---\n", true),
            ("---\nstatus: executing\npaused_at: null\n---\n", false),
            ("Status: In progress", false),
        ] {
            assert_eq!(StateWords::parse(state.as_bytes()).is_paused(), paused, "{state}");
        }
    }
}
