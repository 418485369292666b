//! A terminal with scripted input.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::fd::OwnedFd,
};

use rustix::{
    fs::{Mode, OFlags},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

/// What a person types to end the input.
pub(crate) const END_OF_INPUT: &str = "\u{4}";

/// Both ends of a terminal: the person's and the program's.
pub(super) struct Terminal {
    person: File,
    pub(super) program: OwnedFd,
}

impl Terminal {
    /// Opens a terminal; `None` if the machine has none.
    pub(super) fn open() -> Option<Self> {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).ok()?;
        grantpt(&person).ok()?;
        unlockpt(&person).ok()?;
        let name = ptsname(&person, Vec::new()).ok()?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let program = rustix::fs::open(name, flags, Mode::empty()).ok()?;
        Some(Self { person: File::from(person), program })
    }

    /// Sets its size.
    pub(super) fn resize(&self, columns: u16, rows: u16) {
        let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.person, size).expect("a terminal of our own");
    }

    /// Returns the person's end, to type while the output is watched.
    pub(super) fn person(&self) -> File {
        self.person.try_clone().expect("a terminal of our own")
    }

    pub(super) fn type_in(&mut self, text: &str) {
        self.person.write_all(text.as_bytes()).expect("a terminal of our own");
    }

    /// Passes on the program's output, piece by piece, until the other end is closed.
    pub(super) fn watch(self, mut see: impl FnMut(&[u8])) {
        let Self { mut person, program } = self;
        drop(program);
        let mut piece = [0; 4096];
        // The end of a terminal is an error.
        while let Ok(read @ 1..) = person.read(&mut piece) {
            see(&piece[..read]);
        }
    }

    /// Returns the program's output, once the other end is closed.
    pub(super) fn into_reader(self) -> impl FnOnce() -> Vec<u8> + Send + 'static {
        let Self { mut person, program } = self;
        drop(program);
        move || {
            let mut shown = Vec::new();
            // The end of a terminal is an error.
            let _ = person.read_to_end(&mut shown);
            shown
        }
    }
}
