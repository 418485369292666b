//! How far a long run has come, on one line below what its steps print; on a terminal only.

use std::sync::Mutex;
use std::sync::PoisonError;

use indicatif::ProgressBar;
use indicatif::ProgressStyle;

use super::output;
use super::output::Text;
use crate::model::clean_line;

/// A shorter run is over before anybody looks.
const SHORTEST: usize = 5;
const TEMPLATE: &str = "{bar:24} {pos}/{len}  {msg}";
const TITLE_LIMIT: usize = 60;

/// Is the line, with what waits for its own end before it is printed above.
pub(super) struct Progress {
    bar: ProgressBar,
    /// Of stderr and stdout: a line that has no end yet.
    begun: Mutex<[Vec<u8>; 2]>,
}

impl Progress {
    /// Returns one where a person is likely to see it.
    pub(super) fn on_terminal() -> Option<Self> {
        if !output::is_stderr_terminal() {
            return None;
        }
        let style = ProgressStyle::with_template(TEMPLATE).ok()?;
        Some(Self { bar: ProgressBar::no_length().with_style(style), begun: Mutex::default() })
    }

    /// Says that a step begins.
    pub(super) fn at(&self, number: usize, total: usize, title: &str) {
        if total >= SHORTEST {
            self.bar.set_length(total as u64);
            self.bar.set_position(number.saturating_sub(1) as u64);
            self.bar.set_message(clean_line(title, TITLE_LIMIT));
        }
    }

    /// Passes on what a step printed, whole lines only: the line below would wipe away the others.
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

    /// Says something above the line.
    pub(super) fn say(&self, text: &Text) -> std::io::Result<()> {
        self.flush();
        self.bar.suspend(|| output::say(text))
    }

    /// Takes the line away, for a question or the end.
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
