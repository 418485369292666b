//! The plan for people, short enough to agree with at a glance.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Shown, markdown,
    patch::suggested,
    shown,
    text_page::{Page, clues, next_command, position_lines, tone_of},
};
use crate::{
    cli::output::Tone,
    model::{
        Action, DialectId, Finding, FindingCode, InterruptionKind, Mode, Next, Plan, Question, Records, Run, Severity,
        Step, StepId, Suggested, Verdict, clean_line, first_names, human_age, plural,
    },
    ops::PlanReport,
};

impl Shown for PlanReport {
    fn text(&self, page: &mut Page, findings: &[Finding]) {
        let plan = &self.plan;
        if let Some(patch) = &plan.patch {
            suggested(page, &plan.run.id, patch);
            return;
        }
        page.verbose |= plan.mode == Mode::Preflight;
        let has_messages =
            plan.native.get("messages").and_then(serde_json::Value::as_array).is_some_and(|lines| !lines.is_empty());
        let is_summed_up = self.is_summed_up && has_messages;
        if is_summed_up {
            page.text.put(tone_of(plan.verdict), &self.view.headline).end();
            native_messages(page, plan);
        } else {
            head(page, self);
        }
        page.text.end().bold("Next").end();
        if plan.next.is_empty() {
            page.text.line(match plan.verdict {
                Verdict::Complete => "  nothing: every step is done",
                Verdict::Resume | Verdict::Confirm | Verdict::Blocked | Verdict::Nothing => "  nothing can start",
            });
        }
        all_next(page, plan);
        if !page.asks {
            asked(page, &self.view.questions);
        }
        if plan.mode == Mode::Preflight {
            comparison(page, plan);
            dependencies(page, plan, &self.run);
        }
        notes(page, plan, findings);
        // Who is asked is shown what there is to judge by.
        if page.verbose || plan.next.first().is_some_and(|next| next.action == Action::Approve) {
            page.said(&plan.reports, &plan.decisions);
        }
        if !is_summed_up {
            completed(page, plan, &self.run);
        }
        if page.asks {
            page.text.end();
        } else {
            commands(page, plan, &self.view.questions);
        }
    }

    fn lists(&self, _: &Finding, _: bool) -> bool {
        false
    }

    fn markdown(&self, findings: &[Finding]) -> String {
        match self.plan.patch {
            Some(_) => markdown::fenced("diff", &shown(self, findings, false, false)),
            None => markdown::page(self, findings),
        }
    }
}

/// Number of findings of one code that are shown, unless all are asked for.
const ALIKE_SHOWN: usize = 4;

fn notes(page: &mut Page, plan: &Plan, findings: &[Finding]) {
    // If there is nothing to resume, the notes are the answer.
    let shows_infos = page.verbose || plan.verdict == Verdict::Nothing;
    let mut alike: BTreeMap<FindingCode, usize> = BTreeMap::new();
    let mut folded: BTreeMap<FindingCode, usize> = BTreeMap::new();
    let mut shown = Vec::new();
    for finding in findings.iter().filter(|finding| shows_infos || finding.severity != Severity::Info) {
        let count = alike.entry(finding.code).or_default();
        *count += 1;
        if page.verbose || finding.severity == Severity::Blocking || *count <= ALIKE_SHOWN {
            shown.push(finding.clone());
        } else {
            *folded.entry(finding.code).or_default() += 1;
        }
    }
    if !shown.is_empty() {
        page.text.end().bold("Findings").end();
        page.findings(&shown);
    }
    let hidden = findings.len() - shown.len();
    if hidden > 0 && !page.quiet {
        let of: String = folded.iter().map(|(code, count)| format!(", {count} of {code}")).collect();
        page.text.dim(format!("  {}{of}; -v shows them", plural(hidden, "more note"))).end();
    }
}

fn head(page: &mut Page, report: &PlanReport) {
    let (plan, run) = (&report.plan, &report.plan.run);
    native_messages(page, plan);
    let id = if run.id.as_str() == run.title { String::new() } else { format!(" {}", run.id) };
    page.text.bold(format!("Plan for {}", run.title)).dim(format!("  {}{id}", run.workflow)).end();
    page.text.plain("  ").put(tone_of(plan.verdict), &report.view.headline).end();
    for notice in &report.notices {
        page.text.bold(&notice.text).end();
        page.text.line(format!("→ {}", notice.hint));
    }
    let progress = plan.progress;
    let steps = format!("{} of {} steps{}", progress.done, progress.total, progress.never_passed());
    page.text.line(format!("  Progress     {steps}{}", last_change(plan)));
    for line in plan.native.get("current_state").map(position_lines).unwrap_or_default() {
        let (name, value) = line.split_once(": ").unwrap_or(("", &line));
        page.text.line(format!("  {name:<12} {value}"));
    }
    if let Some(command) = own_command(plan, &report.run) {
        page.text.line(format!("  Its command  {command}"));
    }
    let on = run.branch.iter().map(String::as_str).chain(run.worktree.as_deref()).collect::<Vec<&str>>().join(" in ");
    if !on.is_empty() {
        page.text.line(format!("  Branch       {on}"));
    }
    if let Some(stopped) = stopped_by(plan) {
        page.text.line(format!("  Stopped by   {stopped}"));
    }
    if let Some(wait) = &plan.limit_wait {
        page.text.line(format!("  Waits        {} waits for a usage limit until {}", wait.step, wait.in_words));
    }
    if plan.degraded {
        page.text.put(Tone::Warn, "  Part of the state cannot be read; the rest is planned").end();
    }
}

/// Returns when the run changed last, as the end of a line.
fn last_change(plan: &Plan) -> String {
    let Some(seconds) = plan.age.seconds else { return String::new() };
    let by =
        if plan.age.source == "state" { String::new() } else { format!(" by the time of the {}", plan.age.source) };
    format!(", last change {} ago{by}", human_age(seconds))
}

/// Returns what stopped the run, and where; what waits for a person was not cut off.
fn stopped_by(plan: &Plan) -> Option<String> {
    let stop = plan.notable_interruption().filter(|stop| stop.kind != InterruptionKind::WaitingApproval)?;
    let at = stop.step.as_ref().map_or_else(String::new, |step| format!(" at {step}"));
    let (what, detail) = match &stop.cause {
        Some(cause) => (cause.kind.as_str(), cause.detail.as_str()),
        None => (stop.kind.in_words(), plan.own_reason(stop).unwrap_or_default()),
    };
    let detail = if detail.is_empty() { String::new() } else { format!(": {}", clean_line(detail, 160)) };
    Some(format!("{what}{at}{detail}"))
}

/// Shows the messages of the run's own system verbatim.
fn native_messages(page: &mut Page, plan: &Plan) {
    if let Some(lines) = plan.native.get("messages") {
        lines_of(page, lines);
    }
}

fn lines_of(page: &mut Page, lines: &serde_json::Value) {
    for line in lines.as_array().into_iter().flatten() {
        page.text.line(line.as_str().unwrap_or_default());
    }
}

/// Ids of a group of finished steps, and groups, that are listed one by one unless all are asked for.
const DONE_SHOWN: usize = 4;

/// Lists the finished steps by their groups.
fn completed(page: &mut Page, plan: &Plan, run: &Run) {
    if plan.steps.completed.is_empty() && plan.steps.skipped.is_empty() {
        return;
    }
    let done: BTreeSet<&StepId> = plan.steps.completed.iter().collect();
    let mut groups: Vec<(&str, Vec<&str>, Option<&str>)> = Vec::new();
    for step in run.steps.iter().filter(|step| done.contains(&step.id)) {
        let group = step.group.as_deref().unwrap_or_default();
        let known = groups.iter().position(|(known, ..)| *known == group);
        let at = known.unwrap_or_else(|| {
            groups.push((group, Vec::new(), None));
            groups.len() - 1
        });
        groups[at].1.push(step.id.as_str());
        groups[at].2 = step.commit.as_deref().or(groups[at].2);
    }
    page.text.end().bold("Done").end();
    let is_folded = !page.verbose && groups.len() > DONE_SHOWN;
    let folded = if is_folded { groups.len() - DONE_SHOWN } else { 0 };
    if folded > 0 {
        page.text.dim(format!("  {} before these; -v lists them", plural(folded, "group"))).end();
    }
    for (group, ids, commit) in groups.into_iter().skip(folded) {
        let shown = match ids.as_slice() {
            [first, .., last] if ids.len() > DONE_SHOWN && !page.verbose => {
                format!("{} steps, {first} to {last}", ids.len())
            }
            _ => ids.join(", "),
        };
        let commit = commit
            .map_or_else(String::new, |commit| format!(" (commit: {})", commit.chars().take(12).collect::<String>()));
        let group = if group.is_empty() { String::new() } else { format!("{group}: ") };
        page.text.put(Tone::Good, "  ✅ ").line(format!("{group}{shown}{commit}"));
    }
    if !plan.steps.skipped.is_empty() {
        let ids: Vec<&str> = plan.steps.skipped.iter().map(|id| id.as_str()).collect();
        page.text.dim(format!("  skipped: {}", ids.join(", "))).end();
    }
}

/// Number of next steps that are shown with their reasons, unless all are asked for.
const NEXT_SHOWN: usize = 8;

fn all_next(page: &mut Page, plan: &Plan) {
    let is_look = |next: &&Next| next.action == Action::Verify;
    let (looks, work): (Vec<&Next>, Vec<&Next>) = plan.next.iter().partition(is_look);
    // A single one takes no more room than a line that says so.
    let is_folded = !page.verbose && work.len() > NEXT_SHOWN + 1;
    let (shown, rest) = work.split_at(if is_folded { NEXT_SHOWN } else { work.len() });
    for next in shown {
        one_next(page, plan, next);
    }
    if let [first, .., last] = rest {
        let count = rest.len();
        page.text.dim(format!("  and {count} more, {} to {}; `-v` shows them", first.step, last.step)).end();
    }
    // Steps to look at for one reason are one row.
    let mut alike: Vec<(&str, Vec<&Next>)> = Vec::new();
    for next in looks {
        match alike.iter_mut().find(|(reason, _)| *reason == next.reason && !page.verbose) {
            Some((_, known)) => known.push(next),
            None => alike.push((&next.reason, vec![next])),
        }
    }
    for (reason, looks) in alike {
        match looks.as_slice() {
            [one] => one_next(page, plan, one),
            several => {
                let ids: Vec<&str> = several.iter().map(|next| next.step.as_str()).collect();
                page.text.plain("  ").bold(format!("verify {} steps", several.len()));
                page.text.line(format!(" {}", first_names(&ids, NEXT_SHOWN))).line(format!("      {reason}"));
            }
        }
    }
}

fn one_next(page: &mut Page, plan: &Plan, next: &Next) {
    let run = &plan.run.id;
    let agent = match (&next.agent, next.agent_candidates.as_slice()) {
        (Some(agent), _) => format!(" — {agent}"),
        (None, []) => String::new(),
        (None, candidates) => format!(" — one of {}", candidates.join(", ")),
    };
    let attempt = match next.action {
        Action::Run | Action::Exec | Action::Retry | Action::Return => format!(", attempt {}", next.attempt),
        Action::Verify | Action::Approve | Action::Merge | Action::Archive => String::new(),
    };
    // What follows the last step is about the run.
    let subject = match next.action {
        Action::Merge | Action::Archive => run.as_str(),
        Action::Run | Action::Exec | Action::Retry | Action::Return | Action::Verify | Action::Approve => {
            next.step.as_str()
        }
    };
    page.text.plain("  ").bold(format!("{} {subject}", next.action.as_str()));
    let title =
        if next.step.matches(&next.title) { String::new() } else { format!(" {}", clean_line(&next.title, 100)) };
    page.text.line(format!("{title}{agent}{attempt}"));
    page.text.line(format!("      {}", next.reason));
    let mut extra = Vec::new();
    // Strategies are words of that system.
    if let Some(strategy) = next.strategy.filter(|_| plan.run.dialect == DialectId::Ccw) {
        extra.push(format!("strategy {} (or {})", strategy.as_str(), next.alternatives.join(", ")));
    }
    match (next.cost.steps_again, next.cost.minutes_again) {
        // One step is the step itself.
        (0 | 1, 0) => {}
        (steps, 0) => extra.push(format!("{steps} steps are done again")),
        (steps, minutes) => {
            let (steps, minutes) =
                (plural(steps, "step"), plural(usize::try_from(minutes).unwrap_or(usize::MAX), "minute"));
            extra.push(format!("{steps} and {minutes} are spent again"));
        }
    }
    if page.verbose {
        extra.push(format!("rule {}", next.rule));
        extra.extend(next.evidence.iter().cloned());
    }
    for line in extra {
        page.text.dim(format!("      {line}")).end();
    }
    let parts: Vec<String> = next.parts.iter().map(|part| format!("{} {}", part.action, part.name)).collect();
    if !parts.is_empty() && (page.verbose || parts.len() <= 8) {
        page.text.dim(format!("      parts: {}", parts.join(", "))).end();
    }
}

/// Shows file by file what the run refers to and how it was found.
fn comparison(page: &mut Page, plan: &Plan) {
    let rows = plan.native.get("comparison").and_then(serde_json::Value::as_array).into_iter().flatten();
    for (at, row) in rows.enumerate() {
        if at == 0 {
            page.text.end().bold("File-by-file comparison").end();
        }
        let text = |key: &str| row.get(key).and_then(serde_json::Value::as_str).unwrap_or_default();
        let critical = if row.get("critical") == Some(&serde_json::Value::Bool(true)) { ", critical" } else { "" };
        page.text.line(format!("  {} ({}{critical}): {}", text("file"), text("role"), text("found")));
    }
}

/// Shows every open step with the steps it waits for.
fn dependencies(page: &mut Page, plan: &Plan, run: &Run) {
    let over: BTreeSet<&str> = plan.steps.completed.iter().chain(&plan.steps.skipped).map(StepId::as_str).collect();
    let open: Vec<&Step> = run.steps.iter().filter(|step| !over.contains(step.id.as_str())).collect();
    if open.is_empty() {
        return;
    }
    page.text.end().bold("Dependency check").end();
    for step in open {
        let mark = |id: &StepId| format!("{id} ({})", if over.contains(id.as_str()) { "done" } else { "open" });
        let mut waits: Vec<String> = step.depends_on.iter().map(mark).collect();
        waits.extend(step.dangling.iter().map(|id| format!("{} (missing)", clean_line(id, 100))));
        let waits = if waits.is_empty() { "nothing".to_owned() } else { waits.join(", ") };
        page.text.line(format!("  {} waits for {waits}", step.id));
    }
}

/// Shows what a person decides, with what there is to judge by and the command of each answer, which only `resume` asks for.
fn asked(page: &mut Page, questions: &[Question]) {
    for question in questions {
        page.text.end().bold(&question.text).end();
        clues(&mut page.text, question);
        // An arrow is in front of what can be typed as it is; this is a person's answer.
        let answers = question.options.iter().filter(|option| !option.changes_nothing && !page.quiet);
        let answers: Vec<String> = answers.map(|option| format!("  {}   # {}", option.command, option.label)).collect();
        answers.into_iter().for_each(|answer| _ = page.text.line(answer));
    }
}

/// Shows the commands to continue with that answer no question.
fn commands(page: &mut Page, plan: &Plan, questions: &[Question]) {
    let commands = &plan.commands;
    let options = || questions.iter().flat_map(|question| &question.options);
    let is_option = |command: &&Suggested| options().any(|option| command.begins(&option.command));
    let others = commands.begin.iter().chain(&commands.others).chain(&commands.context);
    let others: Vec<&Suggested> = others.filter(|command| !is_option(command)).collect();
    let resume = commands.resume.as_ref().filter(|resume| !is_option(resume));
    if page.quiet || (others.is_empty() && resume.is_none()) {
        return;
    }
    page.text.end();
    for command in others {
        page.text.line(next_command(command));
    }
    if let Some(resume) = resume {
        page.text.line(format!("→ {resume}   # continue"));
    }
}

/// Returns the command of its own system for the next step of a run of another program, with what has to be selected before.
fn own_command(plan: &Plan, run: &Run) -> Option<String> {
    let text = |key: &str| plan.native.get(key).and_then(serde_json::Value::as_str);
    let is_of_another = run.records == Records::NONE;
    let is_known = !plan.next.is_empty() || plan.verdict == Verdict::Complete;
    let command = text("next").filter(|_| is_of_another && is_known)?;
    let select = text("select").map_or_else(String::new, |select| format!(" (select it first: {select})"));
    Some(format!("{}{select}", clean_line(command, 200)))
}

/// Shows in a few lines what was resumed, or for a run of another program what continues it.
pub(in crate::cli) fn resumed(page: &mut Page, plan: &Plan, is_guest: bool) {
    if let Some(lines) = plan.native.get("confirmation") {
        lines_of(page, lines);
    } else {
        native_messages(page, plan);
    }
    let heading = if is_guest { "Brief of" } else { "Resuming" };
    page.text.put(Tone::Good, "▶ ").bold(format!("{heading} {}", plan.run.id)).end();
    all_next(page, plan);
    for resume in plan.commands.resume.iter().filter(|_| is_guest && !page.quiet) {
        let select = plan.native.get("select").and_then(serde_json::Value::as_str);
        let select = select.map_or_else(String::new, |select| format!("; select it first: {select}"));
        page.text.line(format!("→ {resume}   # continue it there, instead of with this brief{select}"));
    }
    for begin in plan.commands.begin.iter().chain(&plan.commands.others).filter(|_| !page.quiet) {
        page.text.line(next_command(begin));
    }
}
