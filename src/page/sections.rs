//! The parts of a page that are text: verdict, numbers, what comes next, what a person decides, steps, history, brief.

use std::time::Duration;

use maud::{Markup, html};

use super::{nodes::positions, picture::sign};
use crate::{
    model::{
        Finding, Next, Question, Severity, ShownAttempt, ShownStep, Status, StepMark, StepReport, Suggested, Verb,
        clean_line, human_age, human_duration, plural,
    },
    ops::{Effort, ShowReport},
};

/// Bytes of all steps that are shown in full; the rest gets a line each.
const FULL_BYTES: usize = 45_000;
/// Bytes of all steps; what is beyond is counted.
const STEP_BYTES: usize = 222_000;
/// Characters of a title in a line.
const LINE_CHARS: usize = 70;
/// Steps from which titles in lines are shorter, and their characters.
const MANY: usize = 400;
const SHORT_CHARS: usize = 48;
/// Findings, next steps and changes that are listed.
const FINDINGS: usize = 40;
const NEXT: usize = 6;
const CHANGES: usize = 40;
/// Reports of a step whose lists are shown; all are among its attempts.
const REPORTS: usize = 3;
/// Steps named in a list of dependencies.
const NAMED: usize = 12;

/// Returns the title, the verdict and the next command.
pub(super) fn head(report: &ShowReport) -> Markup {
    let run = &report.run;
    html! {
        a class="skip" href="#h-steps" { "Skip to the steps" }
        header {
            p class="kicker" {
                b { "Piton" } " run " code { (run.id.as_str()) } " of " (run.workflow)
                @if let Some(branch) = &run.branch { " on branch " code { (branch) } }
            }
            h1 { bdi { (run.title) } }
            @if let Some(goal) = &run.goal { p class="goal" { bdi { (goal) } } }
            div class=(format!("verdict v-{}", report.verdict.as_str())) {
                p class="headline" { bdi { (report.headline) } }
                @if let Some(why) = &report.why { p { "Why: " bdi { (why) } } }
                @if let Some(output) = &report.output {
                    pre { @for line in &output.lines { bdi { (clean_line(line, 400)) } "\n" } }
                    p class="dim" { "The whole log of " (output.step.as_str()) ": " code { (clean_line(&output.file, 300)) } }
                }
                @if let Some(advice) = &report.advice { p { "First: " bdi { (advice) } } }
                (command(&report.command))
                @for notice in &report.notices {
                    p class="dim" { bdi { (clean_line(&notice.text, 400)) } @if !notice.hint.is_empty() { ": " code { (clean_line(&notice.hint, 300)) } } }
                }
            }
        }
    }
}

/// Returns a command with a button that copies it; the button is there only where scripts run.
fn command(command: &Suggested) -> Markup {
    html! {
        p class="cmd" {
            code { (command.to_string()) }
            button type="button" class="copy" hidden { "Copy" }
        }
    }
}

fn seconds(seconds: i64) -> String {
    human_duration(Duration::from_secs(seconds.max(0).unsigned_abs()))
}

/// Describes an effort in words.
pub(super) fn effort(effort: &Effort) -> String {
    let (main, more) = effort_parts(effort);
    if more.is_empty() { main } else { format!("{main}, {more}") }
}

/// Returns a number of tokens, in thousands where it is large.
pub(super) fn tokens(count: u64) -> String {
    match usize::try_from(count) {
        Ok(count) if count < 10_000 => plural(count, "token"),
        Ok(_) | Err(_) => format!("{} k tokens", count / 1000),
    }
}

/// Returns the measure of an effort, and the rest.
fn effort_parts(effort: &Effort) -> (String, String) {
    if effort.is_nothing() {
        return ("nothing".to_owned(), String::new());
    }
    let work = format!("{} at {}", plural(effort.attempts, "attempt"), plural(effort.steps, "step"));
    let (main, more) = match (effort.seconds, effort.untimed) {
        (0, _) => (work, "time not recorded".to_owned()),
        (time, 0) => (seconds(time), work),
        (time, count) => (seconds(time), format!("{work}, {count} of unknown length")),
    };
    if effort.tokens == 0 { (main, more) } else { (main, format!("{more}, {}", tokens(effort.tokens))) }
}

/// Returns the numbers of the run.
pub(super) fn facts(report: &ShowReport) -> Markup {
    let count = |marks: &[StepMark]| report.steps.iter().filter(|step| marks.contains(&step.mark)).count();
    let unknown = count(&[StepMark::Unknown, StepMark::Verify]);
    let progress = report.progress;
    let again: Vec<&str> = report.steps.iter().filter(|step| step.is_again).map(|step| step.id.as_str()).collect();
    html! {
        section aria-labelledby="h-facts" {
            h2 id="h-facts" class="vh" { "In numbers" }
            dl class="facts" {
                div {
                    dt { "Done" }
                    dd { b { (progress.done) " of " (progress.total) } " steps" (progress.never_passed()) (bar(report)) }
                }
                div { dt { "Still open" } dd { b { (progress.total.saturating_sub(progress.done)) } " steps" } }
                div {
                    dt { "Not known" }
                    dd { b { (unknown) } @if unknown == 0 { " steps" } @else { " steps have to be checked first" } }
                }
                div { dt { "Paid so far" } dd { (spent(&report.paid)) } }
                div {
                    dt { "Paid again" }
                    dd {
                        (spent(&report.again))
                        @if !again.is_empty() && !report.again.is_nothing() { p class="dim" { bdi { (named(&again)) } } }
                    }
                }
                div {
                    dt { "Last change" }
                    dd {
                        @match report.age.seconds {
                            Some(age) => { b { (human_age(age)) " ago" } @if let Some(band) = report.age.band { ", " (band.as_str()) } }
                            None => b { "unknown" }
                        }
                    }
                }
                @if let Some(cut) = &report.interruption {
                    div class="wide" {
                        dt { "Stopped by" }
                        dd {
                            @match &cut.cause {
                                Some(cause) => { b { (cause.kind.as_str()) } ": " bdi { (cause.detail) } }
                                None => { b { (cut.kind.in_words()) } ": " bdi { (clean_line(&cut.reason, 300)) } }
                            }
                            @if let Some(step) = &cut.step { ", at step " bdi { (step.as_str()) } }
                            @if let Some(at) = cut.at { ", " time { (at.in_seconds()) } }
                        }
                    }
                }
            }
        }
    }
}

fn spent(effort: &Effort) -> Markup {
    let (main, more) = effort_parts(effort);
    html! { b { (main) } @if !more.is_empty() { p class="dim" { (more) } } }
}

/// Returns the share of each mark as a bar.
fn bar(report: &ShowReport) -> Markup {
    let total = report.steps.len().max(1);
    let mut x = 0;
    let mut parts = Vec::new();
    for mark in StepMark::ALL {
        let count = report.steps.iter().filter(|step| step.mark == mark).count();
        if count > 0 {
            let end = x + count;
            // In tenths of a percent, so that rounding leaves no gap.
            parts.push((mark, x * 1_000 / total, end * 1_000 / total));
            x = end;
        }
    }
    html! {
        svg class="share" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" {
            @for (mark, from, to) in parts {
                rect class=(format!("f-{}", mark.as_str())) x=(from) width=(to - from) height="10" {}
            }
        }
    }
}

fn named(ids: &[&str]) -> String {
    let shown = ids.iter().take(NAMED).copied().collect::<Vec<&str>>().join(", ");
    if ids.len() > NAMED { format!("{shown} and {} more", ids.len() - NAMED) } else { shown }
}

/// Returns what comes next, with the reasons.
pub(super) fn next(report: &ShowReport) -> Markup {
    if report.lifecycle.stage.is_over() {
        return html! {};
    }
    let begins = report.commands.begin.iter().chain(&report.commands.others).chain(&report.commands.context);
    let begins: Vec<&Suggested> = begins.filter(|command| **command != report.command).collect();
    html! {
        section aria-labelledby="h-next" {
            h2 id="h-next" { "What comes next" }
            @if report.next.is_empty() {
                p { "Nothing can run." }
            }
            ol class="cards" {
                @for next in report.next.iter().take(NEXT) { (card(next)) }
            }
            @if report.next.len() > NEXT {
                p { "Beside these: " bdi { (named(&report.next[NEXT..].iter().map(|next| next.step.as_str()).collect::<Vec<&str>>())) } }
            }
            @if !begins.is_empty() {
                details {
                    summary { "Commands" }
                    @for begin in begins { (command(begin)) }
                }
            }
        }
    }
}

fn card(next: &Next) -> Markup {
    let agent = match (&next.agent, next.agent_candidates.as_slice()) {
        (Some(agent), _) => agent.clone(),
        (None, []) => String::new(),
        (None, candidates) => format!("one of {}", candidates.join(", ")),
    };
    let cost = match (next.cost.steps_again, next.cost.minutes_again) {
        (0, 0) => String::new(),
        (steps, 0) => format!("{} done again", plural(steps, "step")),
        (0, minutes) => format!("{minutes} min spent again"),
        (steps, minutes) => format!("{} and {minutes} min spent again", plural(steps, "step")),
    };
    html! {
        li {
            p class="what" { b { bdi { (clean_line(&next.in_words(), 160)) } } }
            p { "Why: " bdi { (next.reason) } " " span class="rule" { "rule " (next.rule) } }
            p class="dim" {
                @if !agent.is_empty() { "agent " bdi { (agent) } ", " }
                "attempt " (next.attempt)
                @if !cost.is_empty() { ", " (cost) }
            }
            @if !next.evidence.is_empty() { p class="dim" { bdi { (clean_line(&next.evidence.join("; "), 400)) } } }
        }
    }
}

/// Returns what a person has to decide.
pub(super) fn decision(report: &ShowReport, findings: &[Finding]) -> Markup {
    if report.lifecycle.stage.is_over() {
        return html! {};
    }
    let stops = |finding: &&Finding| finding.severity == Severity::Blocking;
    let blocking: Vec<&Finding> = findings.iter().filter(stops).collect();
    html! {
        section aria-labelledby="h-person" {
            h2 id="h-person" { "What a person decides" }
            @match report.questions.as_slice() {
                [] if blocking.is_empty() => p { "Nothing: no decision is open." }
                [] => { p { "How to resolve what blocks the run:" } (list(&blocking)) }
                questions => { @for question in questions { (asked(question)) } }
            }
        }
    }
}

/// Returns a question with what there is to judge by and its answers.
fn asked(question: &Question) -> Markup {
    html! {
        p { bdi { (question.text) } }
        @if !question.evidence.is_empty() {
            ul { @for clue in &question.evidence { li { bdi { (clue.in_words()) } } } }
        }
        ul class="cards" {
            @for option in &question.options {
                li {
                    p { b { bdi { (option.label) } } @if option.person { " " span class="rule" { "only a person" } } }
                    (command(&option.command))
                }
            }
        }
    }
}

/// Returns the findings that matter before the run goes on, with file and line.
pub(super) fn contradictions(findings: &[Finding]) -> Markup {
    let matters = |finding: &&Finding| finding.severity != Severity::Info;
    let findings: Vec<&Finding> = findings.iter().filter(matters).collect();
    html! {
        @if !findings.is_empty() {
            section aria-labelledby="h-find" { h2 id="h-find" { "Findings" } (list(&findings)) }
        }
    }
}

/// Returns the findings that are only worth knowing.
pub(super) fn notes(findings: &[Finding]) -> Markup {
    let findings: Vec<&Finding> = findings.iter().filter(|finding| finding.severity == Severity::Info).collect();
    html! {
        @if !findings.is_empty() {
            section aria-labelledby="h-notes" { h2 id="h-notes" { "Notes" } (list(&findings)) }
        }
    }
}

fn list(findings: &[&Finding]) -> Markup {
    html! {
        ul class="find" {
            @for finding in findings.iter().take(FINDINGS) {
                li class=(format!("sev-{}", finding.severity.as_str())) {
                    p { b { (finding.severity.as_str()) } " " bdi { (clean_line(&finding.message, 500)) } }
                    p class="dim" {
                        code { (finding.code.as_str()) }
                        @if let Some(file) = &finding.file {
                            " " code { (file.as_str()) @if let Some(line) = finding.line { ":" (line) } }
                        }
                    }
                    @if let Some(fix) = finding.fix.as_ref().filter(|_| finding.severity != Severity::Info) {
                        p class="dim" { "→ " bdi { (clean_line(&fix.to_string(), 400)) } }
                    }
                }
            }
        }
        @if findings.len() > FINDINGS { p { "and " (findings.len() - FINDINGS) " more" } }
    }
}

/// Returns the steps in the order of the definition. What needs attention is shown in full first, then as much else as there is room for.
pub(super) fn steps(report: &ShowReport) -> Markup {
    let mut full: Vec<Option<String>> = vec![None; report.steps.len()];
    let mut room = FULL_BYTES;
    let needs =
        |step: &ShownStep| step.is_next || step.is_again || !(step.mark.is_over() || step.mark == StepMark::Open);
    let order = |wanted: bool| {
        (0..report.steps.len()).filter(move |at| needs(&report.steps[*at]) == wanted).collect::<Vec<usize>>()
    };
    for at in order(true).into_iter().chain(order(false)) {
        let text = in_full(report, at).into_string();
        if text.len() > room {
            break;
        }
        room -= text.len();
        full[at] = Some(text);
    }
    let mut left = STEP_BYTES;
    let mut omitted = 0;
    let mut groups: Vec<(Option<&str>, Vec<String>)> = Vec::new();
    for (at, text) in full.into_iter().enumerate() {
        let step = &report.steps[at];
        let text = text.unwrap_or_else(|| in_a_line(report, at).into_string());
        if text.len() > left {
            omitted += 1;
            continue;
        }
        left -= text.len();
        match groups.last_mut() {
            Some((group, texts)) if *group == step.group.as_deref() => texts.push(text),
            Some(_) | None => groups.push((step.group.as_deref(), vec![text])),
        }
    }
    html! {
        section aria-labelledby="h-steps" {
            h2 id="h-steps" { "Steps" }
            (filter(report))
            @for (group, texts) in groups {
                @if let Some(group) = group { h3 { bdi { (group) } } }
                ul class="steps" { @for text in texts { (maud::PreEscaped(text)) } }
            }
            @if omitted > 0 { p { "and " (omitted) " more; " code { (Suggested::new(Verb::Show).option("format", "json").to_string()) } " has all of them" } }
        }
    }
}

/// Returns the controls that hide steps; they are there only where scripts run.
fn filter(report: &ShowReport) -> Markup {
    let marks = StepMark::ALL.into_iter().filter(|mark| report.steps.iter().any(|step| step.mark == *mark));
    html! {
        form class="filter" hidden {
            label { "Find " input type="search" name="q" autocomplete="off"; }
            fieldset {
                legend class="vh" { "Show steps with these marks" }
                @for mark in marks {
                    label { input type="checkbox" name="m" value=(mark.as_str()) checked; (sign(mark)) (mark.as_str()) }
                }
            }
            button type="button" class="fold" { "Open all" }
        }
    }
}

fn line_of(step: &ShownStep, chars: usize) -> Markup {
    let title = if step.id.matches(&step.title) { String::new() } else { clean_line(&step.title, chars) };
    html! {
        (sign(step.mark))
        b { (step.id.as_str()) } " "
        @if !title.is_empty() { span { (title) } " " }
        i { (step.mark.as_str()) }
        @if step.is_next { " " span class="tag" { "next" } }
        @if step.is_again { " " span class="tag" { "again" } }
        @if step.seconds > 0 { " " small { (seconds(step.seconds)) } }
        @if step.tokens > 0 { " " small { (tokens(step.tokens)) } }
        @if step.attempts.len() > 1 { " " small { (step.attempts.len()) " attempts" } }
    }
}

fn in_a_line(report: &ShowReport, at: usize) -> Markup {
    let step = &report.steps[at];
    let chars = if report.steps.len() > MANY { SHORT_CHARS } else { LINE_CHARS };
    html! { li id=(format!("s{at}")) data-m=(step.mark.as_str()) { (line_of(step, chars)) } }
}

fn in_full(report: &ShowReport, at: usize) -> Markup {
    let step = &report.steps[at];
    let reports: Vec<&StepReport> = report.reports.iter().filter(|said| said.step == step.id).collect();
    let reports = &reports[reports.len().saturating_sub(REPORTS)..];
    let decisions = report.decisions.iter().filter(|decision| decision.step.as_ref() == Some(&step.id));
    html! {
        li id=(format!("s{at}")) data-m=(step.mark.as_str()) {
            details open[step.is_next] {
                summary { (line_of(step, LINE_CHARS)) }
                p { bdi { (step.reason) } " " @if !step.rule.is_empty() { span class="rule" { "rule " (step.rule) } } }
                (witnesses(step))
                @if !step.attempts.is_empty() {
                    p class="h" { "Attempts" }
                    ol class="plain" { @for attempt in &step.attempts { (attempt_line(attempt)) } }
                }
                @for said in reports { (reported(said)) }
                @for decision in decisions {
                    p {
                        "A person" @if let Some(by) = &decision.by { ", " bdi { (by) } "," }
                        " " (decision.decision.as_past()) " it at " time { (decision.at.in_seconds()) }
                        @if let Some(choice) = &decision.choice { ", with " bdi { (clean_line(choice, 60)) } }
                        @if let Some(despite) = &decision.despite { " although " bdi { (clean_line(despite, 300)) } }
                        @if let Some(note) = &decision.note { ": " bdi { (clean_line(note, 300)) } }
                    }
                }
                (builds_on(report, step))
            }
        }
    }
}

/// Returns what the state, files and commits say about a step, side by side.
fn witnesses(step: &ShownStep) -> Markup {
    html! {
        p class="h" { "What says whether it is done" }
        ul class="wit" {
            li class=(if step.mark.is_over() || step.recorded == Status::Completed { "yes" } else { "no" }) {
                b { "the state" } " says " (step.recorded.as_str())
            }
            @for witness in &step.witnesses {
                li class=(if witness.done { "yes" } else { "no" }) {
                    b { bdi { (witness.source) } } " " bdi { (witness.says) }
                    @if let Some(file) = witness.file.as_ref().filter(|file| file.as_str() != witness.source) {
                        " " code { (file.as_str()) @if let Some(line) = witness.line { ":" (line) } }
                    }
                }
            }
        }
    }
}

fn attempt_line(attempt: &ShownAttempt) -> Markup {
    html! {
        li {
            (attempt.number) ": " b { (attempt.end.as_str()) }
            @if let Some(began) = attempt.began { ", began " time { (began.in_seconds()) } }
            @if let Some(took) = attempt.seconds() { ", " (seconds(took)) }
            @if let Some(agent) = &attempt.agent { ", " bdi { (agent) } }
            @if let Some(session) = &attempt.session { ", session " code { (clean_line(session, 12)) } }
            @if let Some(said) = &attempt.said { span class="said" { bdi { (said) } } }
        }
    }
}

fn reported(said: &StepReport) -> Markup {
    let lists = [("Conditions", &said.conditions), ("Findings", &said.findings)];
    html! {
        @if said.late {
            p { "A late report of attempt " (said.attempt) ", which does not count: " bdi { (said.summary.as_deref().unwrap_or(said.status.as_str())) } }
        }
        @for (name, items) in lists.into_iter().filter(|(_, items)| !items.is_empty()) {
            p class="h" { (name) " of attempt " (said.attempt) }
            ul class="plain" { @for item in items.iter().take(NAMED) { li { bdi { (clean_line(item, 300)) } } } }
        }
    }
}

fn builds_on(report: &ShowReport, step: &ShownStep) -> Markup {
    if step.depends_on.is_empty() {
        return html! {};
    }
    let position = positions(&report.steps);
    html! {
        p class="dim" {
            (if step.is_container { "Made of " } else { "Builds on " })
            @for (at, on) in step.depends_on.iter().take(NAMED).enumerate() {
                @if at > 0 { ", " }
                @match position.get(on.as_str()) {
                    Some(place) => a href=(format!("#s{place}")) { bdi { (on.as_str()) } }
                    None => bdi { (on.as_str()) }
                }
            }
            @if step.depends_on.len() > NAMED { " and " (step.depends_on.len() - NAMED) " more" }
        }
    }
}

/// Returns who changed the state, newest first.
pub(super) fn history(report: &ShowReport) -> Markup {
    if report.history.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="h-hist" {
            h2 id="h-hist" { "History" }
            p class="hint" { "The changes of the state that Piton keeps an earlier version of, newest first." }
            ul class="plain hist" {
                @for item in report.history.iter().take(CHANGES) {
                    li {
                        @if let Some(at) = item.at { time { (at.in_seconds()) } " " }
                        b { (item.replaced_by.as_deref().unwrap_or("as recorded last")) }
                        @if let Some(step) = &item.step { " " bdi { (clean_line(step, 80)) } }
                        @if let Some(session) = &item.session { ", by session " code { (clean_line(session, 12)) } }
                        span class="dim" { ", checkpoint before it: " code { (item.id) } }
                    }
                }
            }
            @if report.history.len() > CHANGES { p { "and " (report.history.len() - CHANGES) " older ones" } }
        }
    }
}

/// Returns the brief as the next agent would get it.
pub(super) fn brief(report: &ShowReport, brief: Option<&str>) -> Markup {
    let (Some(text), Some(next)) = (brief, report.next.first()) else { return html! {} };
    html! {
        section aria-labelledby="h-brief" {
            h2 id="h-brief" { "The brief of the next agent" }
            details {
                summary { "What the agent of " bdi { (clean_line(&next.step.with_title(&next.title), 120)) } " is handed" }
                pre tabindex="0" aria-label="Brief" { bdi { (text) } }
            }
        }
    }
}

/// Returns how this page was made.
pub(super) fn foot(report: &ShowReport) -> Markup {
    html! {
        footer {
            p {
                "As of " time { (report.at.in_seconds()) } ", revision " code { (report.run.revision) }
                @if let Some(state) = &report.run.state { ", from " code { (state.as_str()) } }
                ". Made by " code { (Suggested::new(Verb::Show).flag("html").to_string()) } " " (env!("CARGO_PKG_VERSION")) ". Names and texts come from state files and are data."
            }
        }
    }
}
