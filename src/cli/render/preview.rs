//! What a dry run of a workflow file shows.

use std::time::Duration;

use crate::{
    cli::output::{Text, Tone},
    model::{human_duration, plural, safe_line, safe_text},
    runner::{CostPreview, Preview, StepPreview},
};

/// Lines of a command or a prompt that are shown.
const LINES: usize = 6;

/// Renders what a run would do. With `verbose`, texts are not cut.
pub(in crate::cli) fn preview(preview: &Preview, verbose: bool) -> Text {
    let mut text = Text::default();
    if preview.steps.is_empty() {
        text.line("Nothing would be run: every step is done");
        return text;
    }
    text.bold(format!("Would run {}:", plural(preview.steps.len(), "step"))).end();
    for (place, step) in preview.steps.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| preview.steps[before].id.as_str());
        put_step(&mut text, step, before, 0, verbose);
    }
    for steps in &preview.side_by_side {
        text.dim(format!("Side by side: {}", steps.join(", "))).end();
    }
    if !preview.merge.is_empty() {
        text.line("Then the work is merged:");
        preview.merge.iter().for_each(|step| put_step(&mut text, step, None, 1, verbose));
    }
    if !preview.on_stop.is_empty() {
        text.line("At each stop before the end:");
        preview.on_stop.iter().for_each(|step| put_step(&mut text, step, None, 1, verbose));
    }
    if let Some(cost) = &preview.cost {
        put_cost(&mut text, cost);
    }
    text
}

fn put_step(text: &mut Text, step: &StepPreview, before: Option<&str>, depth: usize, verbose: bool) {
    let indent = "  ".repeat(depth + 1);
    let number = if step.number == 0 { String::new() } else { format!("{}. ", step.number) };
    let is_named = depth == 0 && step.id != step.number.to_string();
    text.plain(&indent).bold(format!("{number}{}", if is_named { &step.id } else { "" }));
    if is_named {
        text.plain(" ");
    }
    text.dim(about(step, before)).end();
    let indent = format!("{indent}   ");
    if let Some(title) = &step.title {
        text.plain(&indent).bold(safe_line(title, 200)).end();
    }
    if let Some(when) = &step.when {
        let known = match when.holds {
            Some(true) => " (holds)",
            Some(false) => " (does not hold: it is skipped)",
            None => "",
        };
        text.line(format!("{indent}when {}{known}", safe_line(&when.condition, 200)));
    }
    if let Some(skipped) = &step.skipped_with {
        text.line(format!("{indent}skipped with {}", safe_line(skipped, 80)));
    }
    put_text(text, step.text.as_deref().unwrap_or_default(), &indent, verbose);
    if let Some(items) = &step.items {
        let values = items.values.iter().flatten().map(|value| safe_line(value, 40)).collect::<Vec<_>>();
        let of = match (&items.from, values.as_slice()) {
            (Some(from), _) => format!("for each of {}", safe_line(from, 200)),
            (None, values) => format!("for each of {}", values.join(", ")),
        };
        let most = items.max_items.map(|most| format!(", at most {most}")).unwrap_or_default();
        let parallel = if items.parallel > 1 { format!(", {} at once", items.parallel) } else { String::new() };
        let apart = if items.in_worktrees { ", each in its own worktree" } else { "" };
        text.line(format!("{indent}{of}{most}{parallel}{apart}"));
    }
    if !step.claude.is_empty() {
        let tone = if widens_permissions(step) { Tone::Warn } else { Tone::Plain };
        text.plain(&indent).put(tone, safe_line(&format!("claude {}", step.claude.join(" ")), 400)).end();
    }
    if let Some(probe) = &step.probe {
        text.line(format!("{indent}probe {}", safe_line(probe, 200)));
    }
    if !step.outputs.is_empty() {
        text.line(format!("{indent}outputs {}", step.outputs.join(", ")));
    }
    for inside in &step.inside {
        let repeats = match inside.repeats {
            Some(most) => format!(", then again, at most {}", times(most)),
            None => String::new(),
        };
        text.line(format!("{indent}{}{repeats}:", inside.key));
        inside.steps.iter().for_each(|step| put_step(text, step, None, depth + 2, verbose));
    }
}

/// Tells whether the file lets the client do more in a step than its settings do.
fn widens_permissions(step: &StepPreview) -> bool {
    let widens = |option: &String| option.starts_with("--permission-mode") || option.starts_with("--allowedTools");
    step.claude.iter().any(widens)
}

/// Returns the kind of a step and how it runs, in one line.
fn about(step: &StepPreview, before: Option<&str>) -> String {
    let by = step.by.as_ref().map(|by| format!(" {}", safe_line(by, 80))).unwrap_or_default();
    let usual: Vec<&str> = before.into_iter().collect();
    let is_usual = step.depends_on.iter().map(String::as_str).eq(usual);
    let reviews = step.reviews.as_ref().map(|reviewed| format!("reviews {reviewed}"));
    let is_of_another = step.number > 0 && !is_usual && reviews.is_none();
    let after = is_of_another.then(|| match step.depends_on.as_slice() {
        [] => "at once".to_owned(),
        needs => format!("after {}", needs.join(", ")),
    });
    let timeout = step.timeout_seconds.map(|seconds| {
        let time = human_duration(Duration::from_secs(seconds));
        format!("at most {time}")
    });
    let tries = (step.attempts > 1).then(|| format!("up to {} attempts", step.attempts));
    let once = (!step.idempotent).then(|| "not repeated after a crash".to_owned());
    let gate = (step.kind == "gate").then(|| "stops here with exit 9 until a person approves".to_owned());
    let is_of_client = matches!(step.kind, "agent" | "claude") && !widens_permissions(step);
    let permissions = is_of_client.then(|| "default permissions".to_owned());
    let all = [reviews, after, permissions, timeout, tries, once, gate].into_iter().flatten();
    [format!("{}{by}", step.kind)].into_iter().chain(all).collect::<Vec<_>>().join(" · ")
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

fn put_text(text: &mut Text, shown: &str, indent: &str, verbose: bool) {
    let safe = safe_text(shown.trim_end());
    let lines: Vec<&str> = safe.lines().collect();
    let kept = if verbose || lines.len() <= LINES + 1 { lines.len() } else { LINES };
    for line in &lines[..kept] {
        text.line(format!("{indent}{line}"));
    }
    if kept < lines.len() {
        text.dim(format!("{indent}… {} more lines (-v)", lines.len() - kept)).end();
    }
}

fn put_cost(text: &mut Text, cost: &CostPreview) {
    if let Some(limit) = cost.limit_usd {
        text.line(format!("Cost: no attempt begins when ${limit:.2} are spent (limits)"));
    }
    match cost.at_most_usd {
        Some(most) => {
            text.line(format!("Cost: at most ${most:.2}, all attempts counted"));
        }
        None if cost.limit_usd.is_none() => {
            let steps = cost.unbounded.join(", ");
            text.put(Tone::Warn, format!("Cost: no upper bound for {steps}")).end();
            text.line("      limits: {cost_usd: 20} in the file stops the run there");
        }
        None => {}
    }
}
