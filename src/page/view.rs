//! The live view: which lines a screen shows, and what a key does. The screen itself is the command line's.

use std::time::Duration;

use super::lines::{Ink, Line, answers, glyph, head, ink, numbers, rows, wrapped};
use crate::{
    model::{Severity, ShownStep, StepMark, Verdict, clean_line, human_age, human_duration},
    ops::{ListReport, ShowReport, WatchedRun},
};

/// The smallest screen that is drawn.
const COLUMNS: usize = 20;
const ROWS: usize = 6;
/// Rows of a screen from which the log is shown, and the lines of the verdict that a small one shows.
const ROOMY: usize = 20;
const SHORT_HEAD: usize = 2;
/// Steps in progress that are named.
const NOW: usize = 4;

/// A key that the view knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Enter,
    Back,
    Quit,
    Interrupt,
    Suspend,
    Redraw,
    Char(char),
}

/// Reads what a terminal sends for keys. What it does not know is ignored.
pub(crate) fn keys(bytes: &[u8]) -> Vec<Key> {
    const SEQUENCES: [(&[u8], Key); 14] = [
        (b"\x1b[A", Key::Up),
        (b"\x1bOA", Key::Up),
        (b"\x1b[B", Key::Down),
        (b"\x1bOB", Key::Down),
        (b"\x1b[5~", Key::PageUp),
        (b"\x1b[6~", Key::PageDown),
        (b"\x1b[H", Key::First),
        (b"\x1bOH", Key::First),
        (b"\x1b[1~", Key::First),
        (b"\x1b[F", Key::Last),
        (b"\x1bOF", Key::Last),
        (b"\x1b[4~", Key::Last),
        (b"\x1b[D", Key::Back),
        (b"\x1b[C", Key::Enter),
    ];
    let mut found = Vec::new();
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        if let Some((sequence, key)) = SEQUENCES.iter().find(|(sequence, _)| rest.starts_with(sequence)) {
            found.push(*key);
            rest = &rest[sequence.len()..];
            continue;
        }
        if rest.starts_with(b"\x1b[") {
            // Another sequence: it ends with a letter or `~`.
            let end = rest[2..].iter().position(|byte| (0x40..=0x7e).contains(byte));
            rest = end.map_or(&[], |end| &rest[end + 3..]);
            continue;
        }
        found.extend(match first {
            3 => Some(Key::Interrupt),
            4 | b'q' => Some(Key::Quit),
            12 => Some(Key::Redraw),
            13 | 10 => Some(Key::Enter),
            26 => Some(Key::Suspend),
            27 | 8 | 127 => Some(Key::Back),
            b'k' => Some(Key::Up),
            b'j' => Some(Key::Down),
            b' ' => Some(Key::PageDown),
            b'g' => Some(Key::First),
            b'G' => Some(Key::Last),
            byte if byte.is_ascii_graphic() => Some(Key::Char(char::from(*byte))),
            _ => None,
        });
        rest = &rest[1..];
    }
    found
}

/// What is on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pane {
    Runs,
    Steps,
    Detail,
    Brief,
    Commands,
}

/// What a key asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Draw,
    Quit,
    Interrupt,
    Suspend,
    /// Clear the screen and draw all of it.
    Redraw,
    /// Open the run at this place of the list.
    Open(usize),
    /// Go back to the list.
    List,
}

/// Where the reader is.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) pane: Pane,
    /// Whether the reader came from the list of all runs.
    has_list: bool,
    /// The selected run, the selected row of the steps, once the reader chose one, and the first line of a text.
    run: usize,
    row: Option<usize>,
    line: usize,
    /// Rows of the last drawn body, and what there was to show in it.
    height: usize,
    count: usize,
}

/// What a screen is drawn from.
pub(crate) enum Scene<'a> {
    List(&'a ListReport),
    Run { run: &'a WatchedRun, brief: Option<&'a str> },
}

impl View {
    pub(crate) const fn new(has_list: bool) -> Self {
        let pane = if has_list { Pane::Runs } else { Pane::Steps };
        Self { pane, has_list, run: 0, row: None, line: 0, height: 1, count: 0 }
    }

    /// Enters a run that was opened from the list.
    pub(crate) const fn enter(&mut self) {
        (self.pane, self.row, self.line) = (Pane::Steps, None, 0);
    }

    /// Does what a key asks for.
    pub(crate) fn press(&mut self, key: Key) -> Wish {
        let page = self.height.saturating_sub(1).max(1);
        match key {
            Key::Quit => return Wish::Quit,
            Key::Interrupt => return Wish::Interrupt,
            Key::Suspend => return Wish::Suspend,
            Key::Redraw => return Wish::Redraw,
            Key::Up => self.go_to(self.place().saturating_sub(1)),
            Key::Down => self.go_to(self.place() + 1),
            Key::PageUp => self.go_to(self.place().saturating_sub(page)),
            Key::PageDown => self.go_to(self.place() + page),
            Key::First => self.go_to(0),
            Key::Last => self.go_to(usize::MAX),
            Key::Enter => match self.pane {
                Pane::Runs => return Wish::Open(self.run),
                Pane::Steps => self.show(Pane::Detail),
                Pane::Detail | Pane::Brief | Pane::Commands => {}
            },
            Key::Back => match self.pane {
                Pane::Runs => {}
                Pane::Steps if self.has_list => {
                    self.pane = Pane::Runs;
                    return Wish::List;
                }
                Pane::Steps => {}
                Pane::Detail | Pane::Brief | Pane::Commands => self.show(Pane::Steps),
            },
            Key::Char('b') if self.pane != Pane::Runs => self.toggle(Pane::Brief),
            Key::Char('r') if self.pane != Pane::Runs => self.toggle(Pane::Commands),
            Key::Char('d') if self.pane != Pane::Runs => self.toggle(Pane::Detail),
            Key::Char(_) => {}
        }
        Wish::Draw
    }

    const fn show(&mut self, pane: Pane) {
        self.pane = pane;
        self.line = 0;
    }

    fn toggle(&mut self, pane: Pane) {
        self.show(if self.pane == pane { Pane::Steps } else { pane });
    }

    const fn place(&self) -> usize {
        match self.pane {
            Pane::Runs => self.run,
            Pane::Steps => match self.row {
                Some(row) => row,
                None => 0,
            },
            Pane::Detail | Pane::Brief | Pane::Commands => self.line,
        }
    }

    fn go_to(&mut self, place: usize) {
        let last = match self.pane {
            Pane::Runs | Pane::Steps => self.count.saturating_sub(1),
            Pane::Detail | Pane::Brief | Pane::Commands => self.count.saturating_sub(self.height),
        };
        let place = place.min(last);
        match self.pane {
            Pane::Runs => self.run = place,
            Pane::Steps => self.row = Some(place),
            Pane::Detail | Pane::Brief | Pane::Commands => self.line = place,
        }
    }

    /// Returns the lines of a screen of this size, at most one per row.
    pub(crate) fn screen(
        &mut self,
        scene: &Scene<'_>,
        unread: Option<&str>,
        (columns, rows): (usize, usize),
    ) -> Vec<Line> {
        if columns < COLUMNS || rows < ROWS {
            return vec![Line::of(Ink::Plain, "too small").cut(columns)];
        }
        let unread = unread.map(|why| Line::of(Ink::Bad, clean_line(why, columns)));
        let rows = rows - usize::from(unread.is_some());
        let lines = match scene {
            Scene::List(report) => self.list(report, columns, rows),
            Scene::Run { run, brief } => self.run(run, *brief, columns, rows),
        };
        unread.into_iter().chain(lines).map(|line| line.cut(columns)).collect()
    }

    fn list(&mut self, report: &ListReport, columns: usize, rows: usize) -> Vec<Line> {
        let count = report.runs.len();
        let mut lines = vec![Line::of(Ink::Bold, "Runs").and(Ink::Dim, format!("  {count}")), Line::default()];
        let body: Vec<Line> = report
            .runs
            .iter()
            .map(|run| {
                let age = run.age_seconds.map_or_else(|| "?".to_owned(), human_age);
                let is_over = run.lifecycle.stage.is_over();
                let verdict = if is_over { run.lifecycle.stage.as_str() } else { run.verdict.as_str() };
                Line::of(tone_of(run.verdict), format!("{verdict:<9}"))
                    .and(Ink::Bold, format!("{:<24}", clean_line(run.id.as_str(), 23)))
                    .and(Ink::Dim, format!("{:>4}/{:<4} {age:<11} ", run.progress.done, run.progress.total))
                    .and(Ink::Plain, clean_line(&run.position, columns))
            })
            .collect();
        self.scrolled(&mut lines, body, rows - 1, Some(self.run));
        lines.push(footer("↑↓ choose  ⏎ open  q quit"));
        lines
    }

    fn run(&mut self, run: &WatchedRun, brief: Option<&str>, columns: usize, height: usize) -> Vec<Line> {
        let report = &run.report.body;
        let mut lines: Vec<Line> = head(report, columns).into_iter().flat_map(|line| wrapped(line, columns)).collect();
        if height < ROOMY {
            lines.truncate(SHORT_HEAD);
        } else {
            lines.extend(numbers(report).into_iter().take(1));
            lines.extend(now(report));
            lines.push(Line::default());
        }
        let log: &[String] = if height < ROOMY || self.pane != Pane::Steps { &[] } else { &run.log };
        let below = if log.is_empty() { 1 } else { log.len() + 2 };
        let room = height.saturating_sub(below).max(lines.len() + 1);
        let rows = rows(report, columns.saturating_sub(2), true);
        let is_next = |(step, _): &(Option<usize>, Line)| step.is_some_and(|at| report.steps[at].is_next);
        let row = *self.row.get_or_insert_with(|| rows.iter().position(is_next).unwrap_or_default());
        let step = rows.get(row.min(rows.len().saturating_sub(1))).and_then(|(step, _)| *step);
        match self.pane {
            Pane::Runs | Pane::Steps => {
                let body = rows.into_iter().map(|(_, line)| line).collect();
                self.scrolled(&mut lines, body, room, Some(row));
            }
            Pane::Detail => {
                let text = match step {
                    Some(at) => detail(&report.steps[at]),
                    None => vec![Line::of(Ink::Dim, "choose a step first")],
                };
                self.text(&mut lines, text, columns, room);
            }
            Pane::Brief => {
                let text = brief.unwrap_or("no agent is next").lines().map(|line| Line::of(Ink::Plain, line)).collect();
                self.text(&mut lines, text, columns, room);
            }
            Pane::Commands => self.text(&mut lines, commands(run), columns, room),
        }
        if !log.is_empty() {
            lines.push(Line::of(Ink::Bold, "Log"));
            lines.extend(log.iter().map(|line| Line::of(Ink::Dim, clean_line(line, columns))));
        }
        let back = if self.has_list { "  ← runs" } else { "" };
        lines.push(footer(&format!("↑↓ choose  d detail  b brief  r resume{back}  q quit")));
        lines
    }

    fn text(&mut self, lines: &mut Vec<Line>, text: Vec<Line>, columns: usize, room: usize) {
        let text = text.into_iter().flat_map(|line| wrapped(line, columns)).collect();
        self.scrolled(lines, text, room, None);
    }

    /// Adds the part of a body that fits, so that the selected row is visible; the rest of the room stays empty.
    fn scrolled(&mut self, lines: &mut Vec<Line>, body: Vec<Line>, room: usize, selected: Option<usize>) {
        self.height = room.saturating_sub(lines.len()).max(1);
        self.count = body.len();
        let selected = selected.map(|row| row.min(self.count.saturating_sub(1)));
        let from = match selected {
            Some(row) => row.saturating_sub(self.height / 2).min(self.count.saturating_sub(self.height)),
            None => self.line.min(self.count.saturating_sub(self.height)),
        };
        let end = lines.len() + self.height;
        for (at, line) in body.into_iter().enumerate().skip(from).take(self.height) {
            let sign = if selected == Some(at) { "> " } else { "  " };
            let mut shown = Line::of(Ink::Bold, if selected.is_some() { sign } else { "" });
            shown.spans.extend(line.spans);
            lines.push(shown);
        }
        lines.resize(end, Line::default());
    }
}

const fn tone_of(verdict: Verdict) -> Ink {
    match verdict {
        Verdict::Resume | Verdict::Complete => Ink::Good,
        Verdict::Confirm => Ink::Warn,
        Verdict::Blocked => Ink::Bad,
        Verdict::Nothing => Ink::Dim,
    }
}

fn footer(text: &str) -> Line {
    Line::of(Ink::Dim, text)
}

/// Returns the steps in progress, with how long they have been.
fn now(report: &ShowReport) -> Vec<Line> {
    let running = report.steps.iter().filter(|step| step.mark == StepMark::Running);
    let line = |step: &ShownStep| {
        let began = step.attempts.last().and_then(|attempt| attempt.began);
        let took = began.map(|began| report.at.seconds_since(began).max(0).unsigned_abs());
        let took = took.map_or_else(String::new, |took| format!("  {}", human_duration(Duration::from_secs(took))));
        let agent = step.attempts.last().and_then(|attempt| attempt.agent.clone()).or_else(|| step.agent.clone());
        let agent = agent.map_or_else(String::new, |agent| format!(", {agent}"));
        Line::of(Ink::Bold, format!("{} now: {}{agent}{took}", glyph(step.mark), step.id.with_title(&step.title)))
    };
    running.take(NOW).map(line).collect()
}

fn detail(step: &ShownStep) -> Vec<Line> {
    let mut lines = vec![
        Line::of(ink(step.mark), format!("{} ", glyph(step.mark)))
            .and(Ink::Bold, step.id.with_title(&step.title))
            .and(Ink::Plain, format!("  {}: {}", step.mark.as_str(), step.mark.meaning())),
        Line::of(Ink::Plain, format!("  {} (rule {})", step.reason, step.rule)),
        Line::of(Ink::Plain, format!("  the state says {}", step.recorded)),
    ];
    for witness in &step.witnesses {
        let sign = if witness.done { (Ink::Good, "✓") } else { (Ink::Warn, "✗") };
        lines.push(
            Line::of(sign.0, format!("  {} ", sign.1)).and(Ink::Plain, format!("{} {}", witness.source, witness.says)),
        );
    }
    for attempt in &step.attempts {
        let began = attempt.began.map_or_else(String::new, |began| format!(", began {}", began.in_seconds()));
        let took = attempt.seconds().map(|took| human_duration(Duration::from_secs(took.unsigned_abs())));
        let took = took.map_or_else(String::new, |took| format!(", {took}"));
        let agent = attempt.agent.as_ref().map_or_else(String::new, |agent| format!(", {agent}"));
        lines.push(Line::of(
            Ink::Plain,
            format!("  attempt {}: {}{began}{took}{agent}", attempt.number, attempt.end.as_str()),
        ));
        lines.extend(attempt.said.iter().map(|said| Line::of(Ink::Dim, format!("    {said}"))));
    }
    if !step.depends_on.is_empty() {
        let on: Vec<&str> = step.depends_on.iter().map(|on| on.as_str()).collect();
        lines.push(Line::of(Ink::Dim, format!("  builds on {}", clean_line(&on.join(", "), 400))));
    }
    lines
}

fn commands(run: &WatchedRun) -> Vec<Line> {
    let report = &run.report.body;
    let mut lines = vec![Line::of(Ink::Bold, "→ ").and(Ink::Bold, report.command.clone())];
    let known = report.commands.resume.iter().chain(&report.commands.begin).chain(&report.commands.others);
    let known = known.chain(&report.commands.context).filter(|command| **command != report.command);
    lines.extend(known.map(|command| Line::of(Ink::Plain, format!("→ {command}"))));
    for question in &report.questions {
        lines.push(Line::default());
        lines.push(Line::of(Ink::Bold, question.text.clone()));
        lines.extend(answers(question, |_| true));
    }
    let noted = run.report.findings.iter().filter(|finding| finding.severity != Severity::Info);
    lines.extend(noted.map(|finding| {
        Line::of(Ink::Warn, format!("{} ", finding.severity.as_str()))
            .and(Ink::Plain, clean_line(&finding.message, 400))
    }));
    lines
}
