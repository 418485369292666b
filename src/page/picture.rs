//! The drawings of a page: the graph of the steps and the timeline, as SVG in the page itself.

use std::{collections::BTreeMap, time::Duration};

use maud::{Markup, PreEscaped, html};

use super::{
    layout::{HEIGHT, Layout, WIDTH, Way, layout},
    nodes::{Node, Nodes, nodes},
    timeline::{Bar, FlagKind, Lane, Timeline, timeline as timeline_of},
};
use crate::{
    model::{AttemptEnd, StepMark, Timestamp, human_duration, plural, safe_line},
    ops::ShowReport,
};

/// Nodes of the graph; more are folded by phase.
const NODES: usize = 150;
/// Attempts whose bars have a text of their own.
const TITLED: usize = 200;
/// Characters of a name and of a title in a node.
const NAME_CHARS: usize = 16;
const TITLE_CHARS: usize = 25;
/// Those of a title beside the word `again`.
const BESIDE_AGAIN: usize = 18;
/// Where the axis of time begins, its length, and the height of a row; in pixels.
const LANE_LEFT: usize = 160;
const AXIS: usize = 880;
const ROW: usize = 18;
const LANE_GAP: usize = 8;
const FLAG: usize = 22;
/// Radius of the corners of an edge.
const ROUND: usize = 6;

/// Returns the shape of a mark, for the symbol with its name. Each has its own outline, so that colour is not needed to tell them apart.
const fn shape(mark: StepMark) -> &'static str {
    match mark {
        StepMark::Proved => {
            r#"<circle cx="8" cy="8" r="7" fill="currentColor"/><path class="k" d="M4.6 8.3l2.4 2.4 4.6-5"/>"#
        }
        StepMark::Claimed => r#"<circle cx="8" cy="8" r="6.2"/><path d="M5 8.3l2.1 2.1 4-4.4"/>"#,
        StepMark::Running => r#"<circle cx="8" cy="8" r="6.2"/><path d="M6.5 5.2v5.6L11 8z" fill="currentColor"/>"#,
        StepMark::Interrupted => {
            r#"<path d="M8 1.8a6.2 6.2 0 0 0 0 12.4z" fill="currentColor"/><path d="M8 1.8a6.2 6.2 0 0 1 0 12.4" stroke-dasharray="2 2.4"/>"#
        }
        StepMark::Failed => {
            r#"<path d="M5 1h6l4 4v6l-4 4H5l-4-4V5z" fill="currentColor"/><path class="k" d="M5.4 5.4l5.2 5.2m0-5.2l-5.2 5.2"/>"#
        }
        StepMark::Invalid => r#"<path d="M13.6 9.4A6 6 0 1 1 12.4 4"/><path d="M13.4 1.2v3.6H9.8"/>"#,
        StepMark::Verify => r#"<path d="M8 1.6l6.8 12.2H1.2z"/><path d="M8 6v3.6m0 1.6v.8"/>"#,
        StepMark::Unknown => {
            r#"<circle cx="8" cy="8" r="6.4" stroke-dasharray="3 2"/><path d="M6 6.4a2 2 0 1 1 2.8 1.8q-.8.5-.8 1.4m0 1.6v.7"/>"#
        }
        StepMark::Gate => {
            r#"<path d="M8 .8L15.2 8 8 15.2.8 8z" fill="currentColor"/><path class="k" d="M8 4.6v3.8m0 2v1"/>"#
        }
        StepMark::Blocked => r#"<path d="M2 2h12v12H2z" fill="currentColor"/><path class="k" d="M4.6 8h6.8"/>"#,
        StepMark::Open => r#"<circle cx="8" cy="8" r="6.2"/>"#,
        StepMark::Skipped => r#"<path d="M3.4 4l4 4-4 4m5.2-8l4 4-4 4"/>"#,
    }
}

/// Returns the shapes that the rest of the page refers to.
pub(super) fn symbols() -> Markup {
    html! {
        svg class="defs" width="0" height="0" aria-hidden="true" {
            @for mark in StepMark::ALL {
                symbol id=(format!("g-{}", mark.as_str())) viewBox="0 0 16 16" { (PreEscaped(shape(mark))) }
            }
        }
    }
}

/// Returns the sign of a mark, for a line of text.
pub(super) fn sign(mark: StepMark) -> Markup {
    html! {
        svg class=(format!("s m-{}", mark.as_str())) {
            use href=(format!("#g-{}", mark.as_str())) {}
        }
    }
}

/// Returns the section with the graph.
pub(super) fn graph(report: &ShowReport) -> Markup {
    let graph = nodes(&report.steps, NODES);
    if graph.nodes.is_empty() {
        return html! {};
    }
    let layout = layout(&graph);
    let used: Vec<StepMark> =
        StepMark::ALL.into_iter().filter(|mark| report.steps.iter().any(|step| step.mark == *mark)).collect();
    html! {
        section aria-labelledby="h-graph" {
            h2 id="h-graph" { "Graph" }
            p class="hint" {
                @if graph.is_folded { "Each box stands for several steps and has the mark of the one that needs the most attention. " }
                "What a step builds on is to its left; a new line continues the one above it. "
                "A heavy frame marks what comes next, “again” what is paid for again."
            }
            div class="scroll" tabindex="0" role="group" aria-label="Graph of the steps" {
                (drawn(&graph, &layout))
            }
            ul class="legend" aria-label="Marks" {
                @for mark in used {
                    li { (sign(mark)) b { (mark.as_str()) } " " (mark.meaning()) }
                }
            }
        }
    }
}

fn drawn(graph: &Nodes, layout: &Layout) -> Markup {
    html! {
        svg class="graph" width=(layout.width) height=(layout.height) viewBox=(format!("0 0 {} {}", layout.width, layout.height)) {
            @for (x, y, name) in &layout.captions {
                text class="cap" x=(x) y=(y) { (safe_line(name, 60)) }
            }
            @for way in &layout.edges {
                path class=(if graph.nodes[way.to].is_next { "e n" } else { "e" }) d=(path(way)) {}
            }
            @for (node, (x, y)) in graph.nodes.iter().zip(&layout.nodes) {
                (box_of(node, *x, *y))
            }
        }
    }
}

fn box_of(node: &Node, x: usize, y: usize) -> Markup {
    let class = format!("v m-{}{}", node.mark.as_str(), if node.is_next { " next" } else { "" });
    let state = [Some(node.mark.as_str()), node.is_next.then_some("next"), node.is_again.then_some("again")];
    let state: Vec<&str> = state.into_iter().flatten().collect();
    html! {
        a href=(format!("#s{}", node.steps[0])) class=(class) {
            rect x=(x) y=(y) width=(WIDTH) height=(HEIGHT) rx="7" { title { (node.name) " " (node.title) ": " (state.join(", ")) } }
            use href=(format!("#g-{}", node.mark.as_str())) x=(x + 9) y=(y + 9) width="16" height="16" {}
            text class="id" x=(x + 32) y=(y + 21) { (safe_line(&node.name, NAME_CHARS)) }
            text class="ti" x=(x + 10) y=(y + 39) { (safe_line(&node.title, if node.is_again { BESIDE_AGAIN } else { TITLE_CHARS })) }
            text class="sr" x=(x + 10) y=(y + 21) { (state.join(", ")) }
            @if node.is_again {
                text class="ag" x=(x + WIDTH - 8) y=(y + 39) text-anchor="end" { "again" }
            }
        }
    }
}

/// Returns the path of an edge: curves within a band, and around corners to another one.
fn path(way: &Way) -> String {
    let (from, to) = (way.points[0], way.points[way.points.len() - 1]);
    let Some(channel) = way.channel else {
        let mut path = format!("M{} {}", from.0, from.1);
        for pair in way.points.windows(2) {
            let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
            let middle = usize::midpoint(x, to_x);
            if y == to_y {
                path.push_str(&format!("H{to_x}"));
            } else {
                path.push_str(&format!("C{middle} {y} {middle} {to_y} {to_x} {to_y}"));
            }
        }
        return path;
    };
    let (out, back) = (from.0 + ROUND * 2, to.0.saturating_sub(ROUND));
    // Below the nodes of its band, back to the left, and down beside the column of its end.
    format!(
        "M{} {}H{}Q{out} {1} {out} {}V{}Q{out} {channel} {} {channel}H{}Q{back} {channel} {back} {}V{}L{} {}",
        from.0,
        from.1,
        out - ROUND,
        from.1 + ROUND,
        channel - ROUND,
        out - ROUND,
        back + ROUND,
        channel + ROUND,
        to.1.saturating_sub(1),
        to.0,
        to.1,
    )
}

/// Returns the section with the timeline.
pub(super) fn timeline(report: &ShowReport) -> Markup {
    let timeline = timeline_of(report);
    html! {
        section aria-labelledby="h-time" {
            h2 id="h-time" { "Timeline" }
            @if timeline.lanes.is_empty() {
                p { "No times are recorded for the attempts at these steps." }
            } @else {
                p class="hint" {
                    "A bar is an attempt, a row an agent. Times are UTC; long pauses are shortened."
                    @if timeline.undated > 0 { " " (plural(timeline.undated, "attempt")) " without a recorded time: not drawn." }
                }
                div class="scroll" tabindex="0" role="group" aria-label="Timeline of the attempts" {
                    (lanes(report, &timeline))
                }
                @if !timeline.flags.is_empty() {
                    ol class="flags" {
                        @for flag in &timeline.flags {
                            li class=(match flag.kind { FlagKind::Interruption => "cut", FlagKind::Decision => "dec" }) {
                                time { (flag.at.in_seconds()) } " " bdi { (flag.text) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn lanes(report: &ShowReport, timeline: &Timeline) -> Markup {
    let mut y = FLAG + 8;
    let mut placed: Vec<(usize, &Lane)> = Vec::new();
    for lane in &timeline.lanes {
        placed.push((y, lane));
        y += lane.rows * ROW + LANE_GAP;
    }
    let (width, height) = (LANE_LEFT + AXIS + 20, y + 24);
    let count: usize = timeline.lanes.iter().map(|lane| lane.bars.len()).sum();
    let x = |at| LANE_LEFT + timeline.scale.place(at, AXIS);
    html! {
        svg class="time" width=(width) height=(height) viewBox=(format!("0 0 {width} {height}")) role="img"
            aria-label=(format!("{count} attempts by {} agents", timeline.lanes.len())) {
            @for (top, lane) in &placed {
                rect class="lane" x=(LANE_LEFT) y=(top) width=(AXIS) height=(lane.rows * ROW) {}
                text class="who" x=(LANE_LEFT - 10) y=(top + 13) text-anchor="end" { (safe_line(&lane.agent, 22)) }
            }
            (axis(timeline, y))
            @for (top, lane) in &placed {
                @if count <= TITLED {
                    @for bar in &lane.bars { (bar_of(report, bar, *top, &x)) }
                } @else {
                    (bars_together(lane, *top, &x))
                }
            }
            @for flag in &timeline.flags {
                @let at = x(flag.at);
                @match flag.kind {
                    FlagKind::Interruption => {
                        path class="cut" d=(format!("M{at} 6V{}", y - LANE_GAP)) {}
                        path class="cuth" d=(format!("M{} 2h10l-5 9z", at - 5)) { title { (flag.text) } }
                    }
                    FlagKind::Decision => {
                        path class="dec" d=(format!("M{at} {}V6h10l-3 4 3 4h-10", y - LANE_GAP)) { title { (flag.text) } }
                    }
                }
            }
        }
    }
}

/// Returns the times below the lanes, and the places of the pauses.
fn axis(timeline: &Timeline, y: usize) -> Markup {
    let mut shown: Vec<(usize, String)> = Vec::new();
    let mut pauses = Vec::new();
    for (at, pause) in timeline.scale.starts() {
        let x = LANE_LEFT + timeline.scale.place(at, AXIS);
        if pause > 0 {
            pauses.push((x, human_duration(Duration::from_secs(pause.unsigned_abs()))));
        }
        if shown.last().is_none_or(|(last, _)| x > last + 120) && x < LANE_LEFT + AXIS - 120 {
            shown.push((x, at.in_seconds().get(..16).unwrap_or_default().replace('T', " ")));
        }
    }
    let end = timeline.scale.end().map(|end| end.in_seconds().get(..16).unwrap_or_default().replace('T', " "));
    html! {
        @for (x, pause) in &pauses {
            path class="gap" d=(format!("M{} {}V{}", x.saturating_sub(6), FLAG, y - LANE_GAP)) { title { "a pause of " (pause) } }
        }
        @for (x, text) in &shown {
            path class="tick" d=(format!("M{x} {}v6", y - 4)) {}
            text class="at" x=(x) y=(y + 14) { (text) }
        }
        @if let Some(end) = end {
            text class="at" x=(LANE_LEFT + AXIS) y=(y + 14) text-anchor="end" { (end) }
        }
    }
}

fn bar_of(report: &ShowReport, bar: &Bar, top: usize, x: &dyn Fn(Timestamp) -> usize) -> Markup {
    let (from, to) = (x(bar.from), x(bar.to));
    let width = (to - from).max(4);
    let step = &report.steps[bar.step];
    let took = human_duration(Duration::from_secs(bar.to.seconds_since(bar.from).max(0).unsigned_abs()));
    html! {
        g class=(format!("b b-{}", bar.end.as_str())) {
            title {
                (step.id.with_title(&step.title)) ", attempt " (bar.number) ": " (bar.end.as_str()) ", "
                (bar.from.in_seconds()) ", " (took)
            }
            rect x=(from) y=(top + bar.row * ROW + 2) width=(width) height=(ROW - 4) rx="3" {}
            @if width > 40 {
                text x=(from + 5) y=(top + bar.row * ROW + 13) { (safe_line(step.id.as_str(), (width - 8) / 7)) }
            }
        }
    }
}

/// Returns the bars of a lane as a path for each end: a text for each would make the page too large.
fn bars_together(lane: &Lane, top: usize, x: &dyn Fn(Timestamp) -> usize) -> Markup {
    let mut paths: BTreeMap<AttemptEnd, String> = BTreeMap::new();
    for bar in &lane.bars {
        let (from, to) = (x(bar.from), x(bar.to));
        let y = top + bar.row * ROW + 2;
        let path = paths.entry(bar.end).or_default();
        path.push_str(&format!("M{from} {y}h{}v{}h-{0}z", (to - from).max(1), ROW - 4));
    }
    html! {
        @for (end, path) in paths {
            g class=(format!("b b-{}", end.as_str())) { path d=(path) {} }
        }
    }
}
