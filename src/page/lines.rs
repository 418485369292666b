//! A run as lines of a terminal: the verdict, the numbers, the steps as a tree with a bar for each attempt, what comes next.

use std::{collections::BTreeMap, time::Duration};

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::{
    nodes::{order, positions},
    sections::{effort, tokens},
    timeline::{Bar, Timeline, timeline},
};
use crate::{
    model::{
        AttemptEnd, Question, QuestionOption, ShownStep, StepMark, Timestamp, Verdict, clean_line, human_age,
        human_duration, plural,
    },
    ops::ShowReport,
};

/// Columns for the bars of attempts, and those that the names keep at least.
const BARS: usize = 24;
const NAMES: usize = 40;
/// Columns of the bar of progress.
const PROGRESS: usize = 30;
/// Steps of a phase from which its quiet stretches are folded.
const FOLD_FROM: usize = 12;
/// Next steps, and ids in a list.
const NEXT: usize = 8;
const NAMED: usize = 8;
/// Levels of the tree that are indented.
const DEPTH: usize = 8;
/// Column at which the values begin.
const LABEL: usize = 13;

/// The meaning of a piece of text, from which a terminal chooses its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Bold,
    Dim,
    Good,
    Warn,
    Bad,
}

/// A line of a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) spans: Vec<(Ink, String)>,
}

impl Line {
    pub(crate) fn of(ink: Ink, text: impl Into<String>) -> Self {
        Self { spans: vec![(ink, text.into())] }
    }

    pub(crate) fn and(mut self, ink: Ink, text: impl Into<String>) -> Self {
        self.spans.push((ink, text.into()));
        self
    }

    /// Returns its length in columns.
    fn columns(&self) -> usize {
        self.spans.iter().map(|(_, text)| text.width()).sum()
    }

    /// Cuts it at a column.
    pub(crate) fn cut(&self, columns: usize) -> Self {
        let mut left = columns;
        let mut line = Self::default();
        for (ink, text) in &self.spans {
            let part = fitting(text, left);
            left -= part.width();
            let is_whole = part.len() == text.len();
            line.spans.push((*ink, part.to_owned()));
            if !is_whole {
                break;
            }
        }
        line
    }

    /// Fills it with spaces up to a column.
    fn padded(self, columns: usize) -> Self {
        let missing = columns.saturating_sub(self.columns());
        self.and(Ink::Plain, " ".repeat(missing))
    }
}

/// Returns the longest beginning of a text that fits into some columns.
fn fitting(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or_default();
        if used > columns {
            return &text[..at];
        }
    }
    text
}

/// Returns the sign of a mark. Each has its own shape, so that colour is not needed.
pub(super) const fn glyph(mark: StepMark) -> &'static str {
    match mark {
        StepMark::Proved => "✓",
        StepMark::Claimed => "•",
        StepMark::Running => "▶",
        StepMark::Interrupted => "◐",
        StepMark::Failed => "✗",
        StepMark::Invalid => "↻",
        StepMark::Verify => "≠",
        StepMark::Unknown => "?",
        StepMark::Gate => "◆",
        StepMark::Blocked => "■",
        StepMark::Open => "○",
        StepMark::Skipped => "»",
    }
}

/// Returns how a mark is coloured.
pub(super) const fn ink(mark: StepMark) -> Ink {
    match mark {
        StepMark::Proved => Ink::Good,
        StepMark::Claimed => Ink::Plain,
        StepMark::Running => Ink::Bold,
        StepMark::Interrupted | StepMark::Invalid | StepMark::Verify | StepMark::Unknown | StepMark::Gate => Ink::Warn,
        StepMark::Failed | StepMark::Blocked => Ink::Bad,
        StepMark::Open | StepMark::Skipped => Ink::Dim,
    }
}

/// Returns a run in lines of at most `width` columns. `all`: no step is folded.
pub(crate) fn lines(report: &ShowReport, width: usize, all: bool) -> Vec<Line> {
    let mut lines = head(report, width);
    lines.push(Line::default());
    lines.extend(numbers(report));
    lines.push(Line::default());
    lines.extend(rows(report, width, all).into_iter().map(|(_, line)| line));
    if !report.lifecycle.stage.is_over() {
        lines.extend(next(report));
        lines.extend(decision(report));
    }
    lines.into_iter().flat_map(|line| wrapped(line, width)).collect()
}

/// Breaks a line that is too long at spaces; what continues is indented.
pub(super) fn wrapped(line: Line, width: usize) -> Vec<Line> {
    if line.columns() <= width {
        return vec![line];
    }
    let indent = line.spans.iter().flat_map(|(_, text)| text.chars()).take_while(|c| *c == ' ').count() + 2;
    let mut lines = vec![Line::default()];
    let mut used = 0;
    for (ink, text) in line.spans {
        for word in text.split_inclusive(' ') {
            let columns = word.trim_end().width();
            if used + columns > width && used > indent {
                if let Some((_, text)) = lines.last_mut().and_then(|line| line.spans.last_mut()) {
                    text.truncate(text.trim_end().len());
                }
                lines.push(Line::of(Ink::Plain, " ".repeat(indent)));
                used = indent;
            }
            // A word longer than a line is cut: it is a digest or a path.
            let word = if columns > width - indent { fitting(word, width - indent) } else { word };
            if let Some(last) = lines.last_mut() {
                last.spans.push((ink, word.to_owned()));
            }
            used += word.width();
        }
    }
    lines
}

/// Returns the title and the verdict.
pub(super) fn head(report: &ShowReport, width: usize) -> Vec<Line> {
    let run = &report.run;
    let branch = run.branch.as_ref().map_or_else(String::new, |branch| format!(", {branch}"));
    let tone = match report.verdict {
        Verdict::Resume | Verdict::Complete => Ink::Good,
        Verdict::Confirm => Ink::Warn,
        Verdict::Blocked => Ink::Bad,
        Verdict::Nothing => Ink::Dim,
    };
    let title = clean_line(&run.title, width.saturating_sub(2));
    let mut lines = vec![
        Line::of(Ink::Bold, title).and(Ink::Dim, format!("  {} of {}{branch}", run.id, run.workflow)),
        Line::of(tone, report.headline.clone()),
    ];
    if let Some(why) = &report.why {
        lines.push(Line::of(Ink::Plain, format!("  why: {}", clean_line(why, 400))));
    }
    if let Some(advice) = &report.advice {
        lines.push(Line::of(Ink::Plain, format!("  first: {}", clean_line(advice, 400))));
    }
    if let Some(output) = &report.output {
        lines.extend(output.lines.iter().map(|line| Line::of(Ink::Dim, format!("  | {}", clean_line(line, 400)))));
    }
    lines.push(Line::of(Ink::Plain, format!("→ {}", report.command)));
    for notice in &report.notices {
        let hint = if notice.hint.is_empty() { String::new() } else { format!(": {}", notice.hint) };
        lines.push(Line::of(Ink::Dim, format!("  {}{hint}", clean_line(&notice.text, 400))));
    }
    lines
}

pub(super) fn numbers(report: &ShowReport) -> Vec<Line> {
    let label = |name: &str| Line::of(Ink::Bold, format!("{name:<LABEL$}"));
    let count = |marks: &[StepMark]| report.steps.iter().filter(|step| marks.contains(&step.mark)).count();
    let mut done = label("Done");
    let total = report.steps.len().max(1);
    let (mut steps, mut columns) = (0, 0);
    for mark in StepMark::ALL {
        steps += count(&[mark]);
        let end = steps * PROGRESS / total;
        let sign = match mark {
            StepMark::Proved | StepMark::Claimed => "█",
            StepMark::Open | StepMark::Skipped => "░",
            StepMark::Running
            | StepMark::Interrupted
            | StepMark::Failed
            | StepMark::Invalid
            | StepMark::Verify
            | StepMark::Unknown
            | StepMark::Gate
            | StepMark::Blocked => "▒",
        };
        done = done.and(ink(mark), sign.repeat(end - columns));
        columns = end;
    }
    let mut lines = vec![done.and(
        Ink::Plain,
        format!("  {} of {} steps{}", report.progress.done, report.progress.total, report.progress.never_passed()),
    )];
    let unknown = count(&[StepMark::Unknown, StepMark::Verify]);
    if unknown > 0 {
        lines.push(label("Not known").and(Ink::Warn, format!("{} to check first", plural(unknown, "step"))));
    }
    lines.push(label("Paid").and(Ink::Plain, effort(&report.paid)));
    let again: Vec<&str> = report.steps.iter().filter(|step| step.is_again).map(|step| step.id.as_str()).collect();
    let more = if again.len() > NAMED { format!(" and {} more", again.len() - NAMED) } else { String::new() };
    let names = again.iter().take(NAMED).copied().collect::<Vec<&str>>().join(", ");
    let names = if report.again.is_nothing() { String::new() } else { format!(": {names}{more}") };
    lines.push(label("Paid again").and(Ink::Plain, format!("{}{names}", effort(&report.again))));
    let band = report.age.band.map_or_else(String::new, |band| format!(", {}", band.as_str()));
    let age = report.age.seconds.map_or_else(|| "unknown".to_owned(), |age| format!("{} ago{band}", human_age(age)));
    lines.push(label("Last change").and(Ink::Plain, age));
    if let Some(cut) = &report.interruption {
        let cause = match &cut.cause {
            Some(cause) => format!("{}: {}", cause.kind.as_str(), cause.detail),
            None => format!("{}: {}", cut.kind.in_words(), clean_line(&cut.reason, 200)),
        };
        lines.push(label("Stopped by").and(Ink::Warn, cause));
    }
    lines
}

/// Returns the steps as a tree in each phase, with a bar for each attempt; each line with the place of its step.
pub(super) fn rows(report: &ShowReport, width: usize, all: bool) -> Vec<(Option<usize>, Line)> {
    let timeline = timeline(report);
    let bars = if timeline.lanes.is_empty() || width < NAMES + BARS { 0 } else { BARS };
    let names = width - bars - usize::from(bars > 0);
    let mut of_step: BTreeMap<usize, Vec<&Bar>> = BTreeMap::new();
    for bar in timeline.lanes.iter().flat_map(|lane| &lane.bars) {
        of_step.entry(bar.step).or_default().push(bar);
    }
    let mut lines = vec![(None, axis(&timeline, names, bars))];
    let picture = Picture { report, timeline: &timeline, of_step, names, bars };
    for (group, members) in groups(&report.steps) {
        if let Some(group) = group {
            let done = members.iter().filter(|at| report.steps[**at].mark.is_over()).count();
            let count = format!("  {done} of {}", members.len());
            let name = clean_line(group, names.saturating_sub(count.len()));
            lines.push((None, Line::of(Ink::Bold, name).and(Ink::Dim, count)));
        }
        lines.extend(picture.tree(&members, all || members.len() < FOLD_FROM));
    }
    lines
}

fn axis(timeline: &Timeline, names: usize, bars: usize) -> Line {
    let line = Line::of(Ink::Bold, "Steps");
    let (Some((from, _)), Some(to)) = (timeline.scale.starts().next(), timeline.scale.end()) else { return line };
    if bars == 0 {
        return line;
    }
    let text = |at: Timestamp| at.in_seconds().get(5..16).unwrap_or_default().replace('T', " ");
    line.padded(names + 1).and(Ink::Dim, format!("{}  {}", text(from), text(to)))
}

/// Returns the steps of each phase in dependency order; phases in the order in which they begin.
fn groups(steps: &[ShownStep]) -> Vec<(Option<&str>, Vec<usize>)> {
    let mut groups: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
    let mut known: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    for at in order(steps) {
        let group = steps[at].group.as_deref();
        let place = *known.entry(group).or_insert_with(|| {
            groups.push((group, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(at);
    }
    groups
}

struct Picture<'a> {
    report: &'a ShowReport,
    timeline: &'a Timeline,
    of_step: BTreeMap<usize, Vec<&'a Bar>>,
    /// Columns for names, and for bars.
    names: usize,
    bars: usize,
}

impl Picture<'_> {
    fn tree(&self, members: &[usize], all: bool) -> Vec<(Option<usize>, Line)> {
        let steps = &self.report.steps;
        let rows = forest(steps, members);
        let is_quiet = |at: usize| {
            !steps[at].is_next && !steps[at].is_again && (steps[at].mark.is_over() || steps[at].mark == StepMark::Open)
        };
        let mut lines = Vec::new();
        let mut from = 0;
        while from < rows.len() {
            let first = rows[from].0;
            let same = |row: &&(usize, String)| is_quiet(row.0) && steps[row.0].mark == steps[first].mark;
            let count = rows[from..].iter().take_while(same).count();
            if !all && count > 3 {
                let last = rows[from + count - 1].0;
                let text = format!("{} {} … {}", glyph(steps[first].mark), steps[first].id, steps[last].id);
                let line = Line::of(Ink::Plain, rows[from].1.clone()).and(ink(steps[first].mark), text);
                let line = line.and(Ink::Dim, format!("  {count} steps")).cut(self.names);
                let bars = (from..from + count).flat_map(|row| self.of_step.get(&rows[row].0).into_iter().flatten());
                lines.push((Some(first), self.with_bars(line, bars.copied())));
                from += count;
            } else {
                let bars = self.of_step.get(&first).into_iter().flatten().copied();
                lines.push((Some(first), self.with_bars(self.row(first, &rows[from].1), bars)));
                from += 1;
            }
        }
        lines
    }

    fn row(&self, at: usize, prefix: &str) -> Line {
        let step = &self.report.steps[at];
        let mut notes = Vec::new();
        if step.is_next {
            notes.push("next".to_owned());
        }
        if step.is_again {
            notes.push("again".to_owned());
        }
        if step.attempts.len() > 1 {
            notes.push(format!("{}×", step.attempts.len()));
        }
        if step.seconds > 0 {
            notes.push(human_duration(Duration::from_secs(step.seconds.unsigned_abs())));
        }
        if step.tokens > 0 {
            notes.push(tokens(step.tokens));
        }
        let notes = if notes.is_empty() { String::new() } else { format!("  {}", notes.join(", ")) };
        let room = self.names.saturating_sub(notes.width());
        let title = if step.id.matches(&step.title) { String::new() } else { format!(" {}", step.title) };
        let tone = if step.is_next { Ink::Bold } else { Ink::Plain };
        let name = Line::of(Ink::Dim, prefix)
            .and(ink(step.mark), format!("{} ", glyph(step.mark)))
            .and(tone, format!("{}{title}", step.id));
        let name = if name.columns() > room { name.cut(room.saturating_sub(1)).and(tone, "…") } else { name };
        name.and(if step.is_next { Ink::Warn } else { Ink::Dim }, notes)
    }

    /// Adds the attempts to a line: full for completed, half for failed, light for cut off.
    fn with_bars<'b>(&self, line: Line, bars: impl Iterator<Item = &'b Bar>) -> Line {
        let mut cells: Vec<Option<AttemptEnd>> = vec![None; self.bars];
        for bar in bars {
            let last = self.bars.saturating_sub(1);
            let from = self.timeline.scale.place(bar.from, self.bars).min(last);
            let to = self.timeline.scale.place(bar.to, self.bars).clamp(from + 1, self.bars.max(from + 1));
            for cell in cells.iter_mut().take(to).skip(from) {
                *cell = Some(bar.end);
            }
        }
        if cells.iter().all(Option::is_none) {
            return line;
        }
        let mut line = line.padded(self.names + 1);
        for cell in cells {
            let (ink, sign) = match cell {
                None => (Ink::Dim, "·"),
                Some(AttemptEnd::Completed) => (Ink::Good, "█"),
                Some(AttemptEnd::Failed) => (Ink::Bad, "▓"),
                Some(AttemptEnd::Interrupted) => (Ink::Warn, "░"),
                Some(AttemptEnd::Running) => (Ink::Bold, "▶"),
            };
            match line.spans.last_mut() {
                Some((last, text)) if *last == ink && !text.starts_with(' ') => text.push_str(sign),
                Some(_) | None => line = line.and(ink, sign),
            }
        }
        line
    }
}

/// Returns the steps as a forest, each with the branch in front of it: a step hangs below the last step that it builds on, and a chain
/// is not indented.
fn forest(steps: &[ShownStep], members: &[usize]) -> Vec<(usize, String)> {
    let position = positions(steps);
    let rank: BTreeMap<usize, usize> = members.iter().enumerate().map(|(rank, at)| (*at, rank)).collect();
    let mut children: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (own, at) in members.iter().enumerate() {
        let on = steps[*at].depends_on.iter().filter_map(|on| position.get(on.as_str()));
        let parent = on.filter(|on| rank.get(on).is_some_and(|rank| *rank < own)).max_by_key(|on| rank[on]);
        children.entry(parent.copied()).or_default().push(*at);
    }
    let roots = children.get(&None).into_iter().flatten().rev();
    let mut open: Vec<(usize, String, String)> = roots.map(|at| (*at, String::new(), String::new())).collect();
    let mut rows = Vec::with_capacity(members.len());
    while let Some((at, prefix, rest)) = open.pop() {
        rows.push((at, prefix));
        let below = children.get(&Some(at)).map(Vec::as_slice).unwrap_or_default();
        let is_fork = below.len() > 1 && rest.chars().count() < DEPTH * 2;
        for (place, child) in below.iter().enumerate().rev() {
            let (branch, line) = match (is_fork, place + 1 == below.len()) {
                (false, _) => ("", ""),
                (true, true) => ("└ ", "  "),
                (true, false) => ("├ ", "│ "),
            };
            open.push((*child, format!("{rest}{branch}"), format!("{rest}{line}")));
        }
    }
    rows
}

fn next(report: &ShowReport) -> Vec<Line> {
    if report.next.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::default(), Line::of(Ink::Bold, "Next")];
    for next in report.next.iter().take(NEXT) {
        let agent = next.agent.as_ref().map_or_else(String::new, |agent| format!(" — {agent}"));
        lines.push(Line::of(Ink::Plain, format!("  {}{agent}", clean_line(&next.in_words(), 160))));
        let reason = clean_line(&next.reason, 300);
        lines.push(Line::of(Ink::Dim, format!("    {reason} (rule {})", next.rule)));
    }
    if report.next.len() > NEXT {
        lines.push(Line::of(Ink::Dim, format!("  and {} more", report.next.len() - NEXT)));
    }
    lines
}

fn decision(report: &ShowReport) -> Vec<Line> {
    let mut lines = Vec::new();
    for question in &report.questions {
        lines.push(Line::default());
        lines.push(Line::of(Ink::Bold, "A person decides").and(Ink::Plain, format!(": {}", question.text)));
        lines.extend(answers(question, |option| !option.changes_nothing));
    }
    lines
}

/// Returns what there is to judge a question by, and its answers.
pub(super) fn answers(question: &Question, is_shown: fn(&QuestionOption) -> bool) -> impl Iterator<Item = Line> {
    let clues = question.evidence.iter().map(|clue| Line::of(Ink::Dim, format!("  {}", clue.in_words())));
    let shown = question.options.iter().filter(move |option| is_shown(option));
    clues.chain(shown.map(|option| {
        Line::of(Ink::Plain, format!("  → {}", option.command)).and(Ink::Dim, format!("   # {}", option.label))
    }))
}
