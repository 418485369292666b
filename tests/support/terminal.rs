//! A terminal with scripted input.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::fd::OwnedFd,
    process::{Child, Output},
};

use rustix::{
    fs::{Mode, OFlags},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

/// What a person types to end the input.
pub(crate) const END_OF_INPUT: &str = "\u{4}";
/// What follows the last words of a program.
const END: &[u8] = b"\x02the program has ended\x03";

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

    /// Waits for the end of the program, and passes on what is shown as it grows. Returns what came through its pipes, and what was shown.
    pub(super) fn until_the_end(self, child: Child, mut see: impl FnMut(&[u8])) -> (Output, Vec<u8>) {
        let Self { mut person, program } = self;
        let waiter = std::thread::spawn(move || {
            let output = child.wait_with_output().expect("a child of our own");
            // The last words may be lost when the last holder closes the program's end. So it stays open here, and the end is said through it.
            File::from(program).write_all(END).expect("a terminal of our own");
            output
        });
        let (mut shown, mut piece) = (Vec::new(), [0; 4096]);
        // What the program started may go on to write.
        let end = loop {
            let read = person.read(&mut piece).expect("a terminal whose other end is held");
            shown.extend_from_slice(&piece[..read]);
            see(&shown);
            if let Some(end) = super::program::find(&shown, END) {
                break end;
            }
        };
        shown.truncate(end);
        (waiter.join().expect("a waiter without assertions"), shown)
    }
}
