//! The progress line of a long run, below the output of its steps; on a terminal only.

use std::sync::Mutex;
use std::sync::PoisonError;

use indicatif::ProgressBar;
use indicatif::ProgressStyle;

use super::output;
use super::output::Text;
use crate::model::clean_line;

/// The number of steps below which no progress is shown.
const SHORTEST: usize = 5;
const TEMPLATE: &str = "{bar:24} {pos}/{len}  {msg}";
const TITLE_LIMIT: usize = 60;

/// The progress line, with incomplete lines of output that will be printed above it.
pub(super) struct Progress {
    bar: ProgressBar,
    /// The incomplete last lines of stderr and stdout.
    begun: Mutex<[Vec<u8>; 2]>,
}

impl Progress {
    /// Returns a progress line if stderr is a terminal.
    pub(super) fn on_terminal() -> Option<Self> {
        if !output::is_stderr_terminal() {
            return None;
        }
        let style = ProgressStyle::with_template(TEMPLATE).ok()?;
        Some(Self { bar: ProgressBar::no_length().with_style(style), begun: Mutex::default() })
    }

    /// Shows that a step starts.
    pub(super) fn at(&self, number: usize, total: usize, title: &str) {
        if total >= SHORTEST {
            self.bar.set_length(total as u64);
            self.bar.set_position(number.saturating_sub(1) as u64);
            self.bar.set_message(clean_line(title, TITLE_LIMIT));
        }
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
