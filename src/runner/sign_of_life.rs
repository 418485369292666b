//! The sign of life of a run while its steps run: readers on another host or in another container cannot inspect the process.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

/// Does some work, and calls `renew` in another thread each time that `pause` went by meanwhile.
pub(super) fn during<T>(pause: Duration, renew: impl Fn() + Send, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        // Dropping the sender ends the thread, also when the work panics.
        let (_at_work, ended) = mpsc::channel::<()>();
        scope.spawn(move || {
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                renew();
            }
        });
        work()
    })
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::during;

    const BOUND: Duration = Duration::from_secs(60);

    #[test]
    fn it_is_renewed_until_the_work_is_done() {
        let (renewed, seen) = mpsc::channel();
        let renew = move || {
            let _ = renewed.send(());
        };
        let times =
            during(Duration::from_millis(1), renew, || (0..3).filter(|_| seen.recv_timeout(BOUND).is_ok()).count());
        assert_eq!(times, 3);
        while seen.try_recv().is_ok() {}
        assert_eq!(seen.try_recv(), Err(mpsc::TryRecvError::Disconnected), "the thread has ended");
    }

    #[test]
    fn work_that_panics_ends_it() {
        let done = std::panic::catch_unwind(|| during(BOUND, || {}, || panic!("the work")));
        assert!(done.is_err());
    }
}
