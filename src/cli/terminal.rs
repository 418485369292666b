//! A terminal that a live view takes over, and gives back as it was: also after an error, a panic or a signal.

use std::io;

use rustix::{
    process::{Signal, getpid, kill_process},
    termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr},
};

use super::{
    output::{self, Text},
    render::text_page::put,
};
use crate::page::Line;

/// Another screen without a cursor; the person's own one comes back at the end.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// What a terminal without a size is taken for.
const USUAL: (usize, usize) = (80, 24);
/// Bytes that are read at once.
const INPUT: usize = 256;

/// The terminal of the caller while a live view has it.
pub(super) struct Screen {
    before: Termios,
    /// The lines on the screen, as they were printed.
    shown: Vec<String>,
    size: (usize, usize),
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    ///
    /// If standard input is no terminal, or cannot be set up.
    pub(super) fn open() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut screen = Self { before, shown: Vec::new(), size: (0, 0) };
        screen.enter()?;
        Ok(screen)
    }

    /// Sets the terminal up and clears it.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        let mut raw = self.before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        self.shown.clear();
        output::draw(ENTER)
    }

    fn leave(&self) {
        // The terminal may be gone.
        let _ = output::draw(LEAVE);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }

    /// Gives the terminal back, stops this process as Ctrl-Z does, and takes the terminal over again when it continues.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        self.leave();
        kill_process(getpid(), Signal::STOP)?;
        self.enter()
    }

    /// Returns columns and rows.
    pub(super) fn size() -> (usize, usize) {
        let size = tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
        size.map_or(USUAL, |size| (usize::from(size.ws_col), usize::from(size.ws_row)))
    }

    /// Draws the lines that changed. Nothing is cleared before it is drawn over, so nothing flickers.
    pub(super) fn draw(&mut self, lines: &[Line], size: (usize, usize)) -> io::Result<()> {
        let mut text = String::new();
        if self.size != size {
            (self.size, self.shown) = (size, Vec::new());
            text.push_str("\x1b[2J");
        }
        for row in 0..size.1 {
            let line = lines.get(row).map_or_else(String::new, printed);
            if self.shown.get(row) != Some(&line) {
                text.push_str(&format!("\x1b[{};1H{line}\x1b[K", row + 1));
            }
            match self.shown.get_mut(row) {
                Some(shown) => *shown = line,
                None => self.shown.push(line),
            }
        }
        if text.is_empty() { Ok(()) } else { output::draw(&text) }
    }

    /// Reads what was typed; nothing at the end of the input.
    pub(super) fn typed() -> io::Result<Vec<u8>> {
        let mut bytes = [0; INPUT];
        let read = rustix::io::read(io::stdin(), &mut bytes)?;
        Ok(bytes[..read].to_vec())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}

fn printed(line: &Line) -> String {
    let mut text = Text::default();
    put(&mut text, line);
    output::for_screen(&text).trim_end_matches('\n').to_owned()
}
