//! A bound for every program that a test starts, and the signals that it hears.

use std::{
    fmt,
    process::Child,
    sync::{
        Arc, Once,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};

/// The time that a call may take, also on a busy machine.
pub(super) const CALL: Duration = Duration::from_secs(120);
/// The life of a program that a test starts without waiting for it.
pub(super) const LIFE: Duration = Duration::from_secs(600);

/// The end that is set to a program: after that it is killed, with all that it started, so that no test waits for ever.
pub(super) struct Bound {
    limit: Duration,
    is_over: Arc<AtomicBool>,
}

impl Bound {
    /// Watches a child that was just started.
    pub(super) fn of(child: &Child, limit: Duration) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        watch(child, limit, Arc::clone(&is_over));
        Self { limit, is_over }
    }

    /// Fails the test if the program was killed at its bound.
    pub(super) fn check(&self, what: impl fmt::Display, printed: impl fmt::Display) {
        let is_over = self.is_over.load(Ordering::Relaxed);
        assert!(
            !is_over,
            "{what} did not end within {} s and was killed; it had printed\n{printed}",
            self.limit.as_secs()
        );
    }
}

#[cfg(target_os = "linux")]
fn watch(child: &Child, limit: Duration, is_over: Arc<AtomicBool>) {
    use rustix::process::{Pid, Signal};

    let id = Pid::from_child(child);
    // The descriptor means this process even after its number belongs to another. An old kernel has none.
    let Ok(program) = rustix::process::pidfd_open(id, rustix::process::PidfdFlags::empty()) else { return };
    std::thread::spawn(move || {
        if ends_within(&program, limit) {
            return;
        }
        is_over.store(true, Ordering::Relaxed);
        super::say(&format!("process {id} did not end within {} s and is killed", limit.as_secs()));
        for below in descendants(id.as_raw_nonzero().get()) {
            let _ = Pid::from_raw(below).map(|id| rustix::process::kill_process(id, Signal::KILL));
        }
        // It may have ended meanwhile.
        let _ = rustix::process::pidfd_send_signal(&program, Signal::KILL);
    });
}

#[cfg(not(target_os = "linux"))]
fn watch(_: &Child, _: Duration, _: Arc<AtomicBool>) {}

/// Waits for the end of a process.
#[cfg(target_os = "linux")]
fn ends_within(program: &std::os::fd::OwnedFd, limit: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec};

    let end = std::time::Instant::now() + limit;
    loop {
        let left = end.saturating_duration_since(std::time::Instant::now());
        let left = Timespec::try_from(left).expect("a few minutes");
        match rustix::event::poll(&mut [PollFd::new(program, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return ready > 0,
            // A signal of the tests came between.
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return true,
        }
    }
}

/// Returns the processes below one, children before their own.
#[cfg(target_os = "linux")]
fn descendants(id: i32) -> Vec<i32> {
    let mut found = vec![id];
    let mut at = 0;
    while let Some(id) = found.get(at).copied() {
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
        let children = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        found.extend(children.flat_map(|ids| ids.split_whitespace().flat_map(str::parse).collect::<Vec<i32>>()));
        at += 1;
    }
    found.split_off(1)
}

/// Lets the programs that tests start hear the signals of a terminal. A background job of a shell, and what `nohup` starts, ignores them and
/// hands that down. A handler is not handed down: a program has the default instead, and the one here does nothing.
pub(super) fn hear_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
        for signal in [SIGHUP, SIGINT, SIGQUIT].into_iter().filter(|signal| ignored & (1 << (signal - 1)) != 0) {
            signal_hook::flag::register(signal, Arc::default()).expect("a signal that can be caught");
        }
    });
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::Sandbox;

    #[cfg(target_os = "linux")]
    #[test]
    fn what_does_not_end_is_killed_with_what_it_started() {
        let sandbox = Sandbox::new();
        let started = Instant::now();
        let waits = sandbox
            .tool("/bin/sh", ["-c", "echo begun; /bin/sh -c 'sleep 50; true'; true"])
            .env("PATH", "/bin:/usr/bin");
        let failed =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| waits.bound(Duration::from_millis(300)).run()));
        let message = failed.err().and_then(|message| message.downcast_ref::<String>().cloned()).unwrap_or_default();
        assert!(message.contains("did not end within") && message.contains("begun"), "{message}");
        assert!(started.elapsed() < Duration::from_secs(40), "something it started held the pipe");
    }

    #[test]
    fn no_program_begins_with_signals_of_a_terminal_ignored() {
        let sandbox = Sandbox::new();
        let status = sandbox.tool("/bin/cat", ["/proc/self/status"]).run();
        if let Some(ignored) = status.stdout.lines().find_map(|line| line.strip_prefix("SigIgn:")) {
            assert_eq!(u64::from_str_radix(ignored.trim(), 16).unwrap() & 0b111, 0, "{ignored}");
        }
    }
}
