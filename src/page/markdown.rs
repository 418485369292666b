//! A run as Markdown with a Mermaid graph, for a pull request or an issue.

use super::{
    lines::glyph,
    nodes::{Nodes, nodes},
    sections::effort,
};
use crate::{
    model::{Finding, Severity, StepMark, clean, clean_line, human_age},
    ops::ShowReport,
};

/// Nodes of the graph; hosts refuse large ones.
const NODES: usize = 50;
/// Steps and findings that are listed.
const LISTED: usize = 20;
/// Colours of a mark: line, and the same for both themes of a host.
const COLOURS: [(StepMark, &str); 12] = [
    (StepMark::Proved, "#1a7f37"),
    (StepMark::Claimed, "#1b8490"),
    (StepMark::Running, "#2f74d0"),
    (StepMark::Interrupted, "#c2620f"),
    (StepMark::Failed, "#d1373f"),
    (StepMark::Invalid, "#b3407f"),
    (StepMark::Verify, "#9a7211"),
    (StepMark::Unknown, "#8256d0"),
    (StepMark::Gate, "#5561d6"),
    (StepMark::Blocked, "#8a6038"),
    (StepMark::Open, "#7a828b"),
    (StepMark::Skipped, "#7a828b"),
];

/// Returns the run as Markdown.
pub(crate) fn markdown(report: &ShowReport, findings: &[Finding]) -> String {
    let mut text = format!("### {}\n\n**{}**\n\n", escaped(&report.run.title), escaped(&report.headline));
    if let Some(why) = &report.why {
        text.push_str(&format!("Why: {}\n\n", escaped(why)));
    }
    if let Some(output) = &report.output {
        let lines: Vec<String> = output.lines.iter().map(|line| format!("> {}", code(line))).collect();
        text.push_str(&format!("{}\n\n", lines.join("  \n")));
    }
    let age = report.age.seconds.map_or_else(|| "unknown".to_owned(), |age| format!("{} ago", human_age(age)));
    for (name, value) in [
        ("Run", code(report.run.id.as_str())),
        ("Next command", code(&report.command.to_string())),
        ("Done", format!("{} of {}{}", report.progress.done, report.progress.total, report.progress.never_passed())),
        ("Paid", effort(&report.paid)),
        ("Paid again", effort(&report.again)),
        ("Last change", age),
    ] {
        text.push_str(&format!("- {name}: {value}\n"));
    }
    if let Some(cut) = &report.interruption {
        let cause = cut
            .cause
            .as_ref()
            .map_or_else(|| format!("{}: {}", cut.kind.in_words(), cut.reason), |cause| cause.detail.clone());
        text.push_str(&format!("- Stopped by: {}\n", escaped(&cause)));
    }
    text.push_str(&format!("\n```mermaid\n{}```\n", mermaid(&nodes(&report.steps, NODES))));
    if !report.next.is_empty() && !report.lifecycle.stage.is_over() {
        text.push_str("\n**Next**\n\n");
        for next in report.next.iter().take(LISTED) {
            text.push_str(&format!("- {}: {}\n", escaped(&next.in_words()), escaped(&next.reason)));
        }
    }
    for question in &report.questions {
        text.push_str(&format!("\n**A person decides:** {}\n\n", escaped(&question.text)));
        for clue in &question.evidence {
            text.push_str(&format!("- {}\n", escaped(&clue.in_words())));
        }
        for option in &question.options {
            text.push_str(&format!("- {}: {}\n", escaped(&option.label), code(&option.command.to_string())));
        }
    }
    let noted: Vec<&Finding> = findings.iter().filter(|finding| finding.severity != Severity::Info).collect();
    if !noted.is_empty() {
        text.push_str("\n**Findings**\n\n");
        for finding in noted.iter().take(LISTED) {
            let place = match (&finding.file, finding.line) {
                (Some(file), Some(line)) => format!(" {}", code(&format!("{file}:{line}"))),
                (Some(file), None) => format!(" {}", code(file.as_str())),
                (None, _) => String::new(),
            };
            text.push_str(&format!("- {}: {}{place}\n", finding.severity.as_str(), escaped(&finding.message)));
        }
    }
    clean(&text).into_owned()
}

/// Returns the graph. Names are written as character codes where they could be anything but text.
fn mermaid(graph: &Nodes) -> String {
    let mut text = "flowchart LR\n".to_owned();
    for (at, node) in graph.nodes.iter().enumerate() {
        let title = if node.title.is_empty() { String::new() } else { format!("<br>{}", label(&node.title, 30)) };
        let next = if node.is_next { " ▶ next" } else { "" };
        let (open, close) = shape(node.mark);
        let label = format!("{} {}{title}{next}", glyph(node.mark), label(&node.name, 24));
        text.push_str(&format!("  n{at}{open}\"{label}\"{close}:::{}\n", class(node.mark)));
    }
    for (from, to) in &graph.edges {
        text.push_str(&format!("  n{from} --> n{to}\n"));
    }
    for (mark, colour) in COLOURS {
        if graph.nodes.iter().any(|node| node.mark == mark) {
            text.push_str(&format!("  classDef {} stroke:{colour},stroke-width:2px\n", class(mark)));
        }
    }
    text
}

/// Returns the name of a style: a word of Mermaid cannot be one.
fn class(mark: StepMark) -> String {
    format!("is-{}", mark.as_str())
}

const fn shape(mark: StepMark) -> (&'static str, &'static str) {
    match mark {
        StepMark::Gate => ("{", "}"),
        StepMark::Failed | StepMark::Blocked => ("{{", "}}"),
        StepMark::Proved | StepMark::Claimed => ("([", "])"),
        StepMark::Unknown | StepMark::Verify => ("[/", "/]"),
        StepMark::Running | StepMark::Interrupted | StepMark::Invalid | StepMark::Open | StepMark::Skipped => {
            ("[", "]")
        }
    }
}

fn label(text: &str, limit: usize) -> String {
    let mut label = String::new();
    for c in clean_line(text, limit).chars() {
        match c {
            ' ' | '-' | '_' | '.' | ',' | '–' | '…' => label.push(c),
            c if c.is_alphanumeric() => label.push(c),
            c => label.push_str(&format!("#{};", u32::from(c))),
        }
    }
    label
}

/// Returns an untrusted text as one line in which nothing is markup.
fn escaped(text: &str) -> String {
    let mut line = String::new();
    for c in clean_line(text, 400).chars() {
        match c {
            '<' => line.push_str("&lt;"),
            '>' => line.push_str("&gt;"),
            '&' => line.push_str("&amp;"),
            // The host would tell the person of that name.
            '@' => line.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '!' => {
                line.push('\\');
                line.push(c);
            }
            c => line.push(c),
        }
    }
    line
}

/// Returns a text as code, between more backquotes than it has.
fn code(text: &str) -> String {
    let text = clean_line(text, 400);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}
