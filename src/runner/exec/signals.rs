//! Signals that reach the runner while it waits: to stop, or that a child ended.

use std::{
    io::{self, Read as _},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use signal_hook::{
    SigId,
    consts::{SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGXFSZ},
    flag, low_level,
};

use crate::{model::words, store};

words! {
    /// The signal that stopped the runner.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Stop {
        /// The terminal was closed.
        HangUp = "SIGHUP",
        Interrupt = "SIGINT",
        Terminate = "SIGTERM",
    }
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    Stop(Stop),
    /// The input is readable, or at its end.
    Input,
    /// The time is over, or a signal arrived that stops nothing.
    Time,
}

/// A registration for signals, active until it is dropped. Each thread that waits for children has one.
#[derive(Debug)]
pub(crate) struct Signals {
    stop: Arc<AtomicUsize>,
    /// Becomes readable when a signal arrives.
    wake: UnixStream,
    sender: UnixStream,
    /// A stopped process was continued.
    continued: Arc<AtomicBool>,
    registered: Vec<SigId>,
}

/// Makes a write beyond the limit for the size of files fail as one on a full disk does, which is undone; the signal would end the process
/// in the middle. Programs that are started have it as usual.
pub(crate) fn survive_file_limit() {
    let _ = flag::register(SIGXFSZ, Arc::default());
}

impl Signals {
    /// Registers also the other signals that end a process, so that a screen can be left as it was found, and the change of its size.
    ///
    /// # Errors
    ///
    /// When the system has no more file descriptors.
    pub(crate) fn listen_for_screen() -> io::Result<Self> {
        let mut signals = Self::listen()?;
        let value = usize::try_from(SIGTERM).unwrap_or_default();
        for signal in [SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2] {
            signals.registered.push(flag::register_usize(signal, Arc::clone(&signals.stop), value)?);
        }
        signals.registered.push(flag::register(SIGCONT, Arc::clone(&signals.continued))?);
        for signal in [SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT] {
            signals.registered.push(low_level::pipe::register(signal, signals.sender.try_clone()?)?);
        }
        Ok(signals)
    }

    /// Registers the handlers.
    ///
    /// # Errors
    ///
    /// When the system has no more file descriptors.
    pub(crate) fn listen() -> io::Result<Self> {
        let (wake, sender) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let mut signals =
            Self { stop: Arc::default(), wake, sender, continued: Arc::default(), registered: Vec::new() };
        // `nohup` and some services have it ignored, and their runs go on.
        let hang_up = (!store::is_ignored(SIGHUP)).then_some(SIGHUP);
        let stops = || [SIGINT, SIGTERM].into_iter().chain(hang_up);
        for signal in stops() {
            // First the flag, then the wake-up, in the order of registration.
            let value = usize::try_from(signal).unwrap_or_default();
            signals.registered.push(flag::register_usize(signal, Arc::clone(&signals.stop), value)?);
        }
        for signal in stops().chain([SIGCHLD]) {
            signals.registered.push(low_level::pipe::register(signal, signals.sender.try_clone()?)?);
        }
        Ok(signals)
    }

    /// Returns the last signal to stop.
    pub(crate) fn stop(&self) -> Option<Stop> {
        match i32::try_from(self.stop.load(Ordering::SeqCst)) {
            Ok(SIGHUP) => Some(Stop::HangUp),
            Ok(SIGINT) => Some(Stop::Interrupt),
            Ok(SIGTERM) => Some(Stop::Terminate),
            Ok(_) | Err(_) => None,
        }
    }

    /// Tells whether this process was stopped and continued since the last call.
    pub(crate) fn was_continued(&self) -> bool {
        self.continued.swap(false, Ordering::SeqCst)
    }

    /// Waits until an input is readable, and returns a signal that arrived until then, or before.
    ///
    /// # Errors
    ///
    /// When the system cannot wait.
    pub(crate) fn wait_for(&self, input: impl AsFd) -> io::Result<Option<Stop>> {
        loop {
            if let Some(stop) = self.stop() {
                return Ok(Some(stop));
            }
            let mut waited = [PollFd::new(&input, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
            let is_ready = match poll(&mut waited, None) {
                Ok(_) => !waited[0].revents().is_empty(),
                Err(Errno::INTR) => false,
                Err(error) => return Err(error.into()),
            };
            // SIGCHLD wakes it too.
            self.drain();
            if is_ready {
                return Ok(self.stop());
            }
        }
    }

    /// Waits until an input is readable or the time is over, and says which, or that a signal to stop arrived.
    ///
    /// # Errors
    ///
    /// When the system cannot wait.
    pub(crate) fn wait_within(&self, input: impl AsFd, time: Duration) -> io::Result<Woken> {
        if let Some(stop) = self.stop() {
            return Ok(Woken::Stop(stop));
        }
        let time = Timespec::try_from(time).map_err(io::Error::other)?;
        let mut waited = [PollFd::new(&input, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
        let is_ready = match poll(&mut waited, Some(&time)) {
            Ok(_) => !waited[0].revents().is_empty(),
            Err(Errno::INTR) => false,
            Err(error) => return Err(error.into()),
        };
        self.drain();
        Ok(match self.stop() {
            Some(stop) => Woken::Stop(stop),
            None if is_ready => Woken::Input,
            None => Woken::Time,
        })
    }

    /// Discards the pending wake-ups.
    pub(super) fn drain(&self) {
        let mut buffer = [0; 64];
        while matches!((&self.wake).read(&mut buffer), Ok(read) if read > 0) {}
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            low_level::unregister(id);
        }
    }
}
