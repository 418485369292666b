//! The pipes of a child: read without blocking, passed on, kept up to a limit.

use std::{
    fs::File,
    io::{self, Read as _},
    os::fd::{AsFd as _, OwnedFd},
    time::Instant,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    io::Errno,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Signals, Watcher};

const CHUNK: usize = 64 << 10;
/// Enough reads to drain any pipe at once. Limited, since an endless stream must not delay the other one, a signal or a deadline.
const ROUNDS: usize = 32;

/// An output stream of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// The read end of one stream.
pub(super) struct Pipe {
    stream: Stream,
    /// `None` after the end of the stream.
    file: Option<File>,
    kept: Vec<u8>,
    keep: usize,
    is_cut: bool,
}

impl Pipe {
    pub(super) fn new(stream: Stream, end: Option<impl Into<OwnedFd>>, keep: usize) -> io::Result<Self> {
        let file = end.map(|end| File::from(end.into()));
        if let Some(file) = &file {
            rustix::io::ioctl_fionbio(file, true)?;
        }
        Ok(Self { stream, file, kept: Vec::new(), keep, is_cut: false })
    }

    /// Passes on everything that is available.
    pub(super) fn pass_on(&mut self, watcher: &mut dyn Watcher) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut chunk = [0; CHUNK];
        for _ in 0..ROUNDS {
            match file.read(&mut chunk) {
                Ok(0) => {
                    self.file = None;
                    return Ok(());
                }
                Ok(read) => {
                    let bytes = &chunk[..read];
                    watcher.printed(self.stream, bytes);
                    let room = (self.keep - self.kept.len()).min(read);
                    self.kept.extend_from_slice(&bytes[..room]);
                    self.is_cut |= room < read;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(super) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(super) fn into_kept(self) -> Vec<u8> {
        self.kept
    }
}

/// Waits until a pipe is readable, a signal arrives or the deadline passes.
pub(super) fn poll(pipes: &[&Pipe], signals: &Signals, until: Option<Instant>) -> io::Result<()> {
    let timeout = until.map(|until| {
        let left = until.saturating_duration_since(Instant::now());
        Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX), tv_nsec: left.subsec_nanos().into() }
    });
    let open = pipes
        .iter()
        .filter_map(|pipe| pipe.file.as_ref())
        .map(|file| PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN));
    let mut waited: Vec<PollFd<'_>> = open.collect();
    waited.push(PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN));
    match rustix::event::poll(&mut waited, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    signals.drain();
    Ok(())
}
