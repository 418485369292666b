//! The progress line of a long run, below the output of its steps; on a terminal only.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::output::{self, Text};
use crate::model::clean_line;

/// The number of steps below which the line has no bar.
const SHORTEST: usize = 5;
const WITH_BAR: &str = "{bar:24} {pos}/{len}  {msg}  {clock}";
const WITHOUT_BAR: &str = "{pos}/{len}  {msg}  {clock}";
/// How often the clock of the line is drawn.
const TICK: Duration = Duration::from_secs(1);
const TITLE_LIMIT: usize = 60;

/// The progress line, with incomplete lines of output that will be printed above it.
pub(super) struct Progress {
    bar: ProgressBar,
    /// The incomplete last lines of stderr and stdout.
    begun: Mutex<[Vec<u8>; 2]>,
}

/// Returns the style of a line; its clock counts minutes and seconds.
fn style(template: &str) -> Option<ProgressStyle> {
    let clock = |state: &ProgressState, text: &mut dyn std::fmt::Write| {
        let seconds = state.elapsed().as_secs();
        // Nothing is lost if the line cannot be drawn.
        let _ = write!(text, "{}:{:02}", seconds / 60, seconds % 60);
    };
    Some(ProgressStyle::with_template(template).ok()?.with_key("clock", clock))
}

impl Progress {
    /// Returns a progress line if stderr is a terminal.
    pub(super) fn on_terminal() -> Option<Self> {
        if !output::is_stderr_terminal() {
            return None;
        }
        // Nothing is drawn before the first step.
        Some(Self { bar: ProgressBar::no_length().with_style(style("")?), begun: Mutex::default() })
    }

    /// Shows that a step starts, and how long it takes.
    pub(super) fn at(&self, number: usize, total: usize, title: &str) {
        let template = if total >= SHORTEST { WITH_BAR } else { WITHOUT_BAR };
        if let Some(style) = style(template) {
            self.bar.set_style(style);
        }
        self.bar.reset_elapsed();
        self.bar.set_length(total as u64);
        self.bar.set_position(number as u64);
        self.bar.set_message(clean_line(title, TITLE_LIMIT));
        self.bar.enable_steady_tick(TICK);
    }

    /// Passes on the output of a step, complete lines only: redrawing the progress line would erase a partial one.
    pub(super) fn pass_on(&self, bytes: &[u8], is_result: bool) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let line = &mut begun[usize::from(is_result)];
        line.extend_from_slice(bytes);
        let whole = line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole > 0 {
            let lines: Vec<u8> = line.drain(..whole).collect();
            self.bar.suspend(|| output::pass_on(&lines, is_result));
        }
    }

    /// Prints a message above the line.
    pub(super) fn say(&self, text: &Text) -> std::io::Result<()> {
        self.flush();
        self.bar.suspend(|| output::say(text))
    }

    /// Removes the line, before a question and at the end.
    pub(super) fn clear(&self) {
        self.flush();
        self.bar.finish_and_clear();
    }

    fn flush(&self) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        for (is_result, line) in [false, true].into_iter().zip(begun.iter_mut()) {
            if !line.is_empty() {
                line.push(b'\n');
                let line = std::mem::take(line);
                self.bar.suspend(|| output::pass_on(&line, is_result));
            }
        }
    }
}
