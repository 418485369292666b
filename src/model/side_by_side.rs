//! Two pieces of work on two cores.

use std::thread;

/// With fewer bytes to go through, starting a thread takes longer than it saves.
const WORTH_A_THREAD: usize = 128 << 10;

/// Does two things that need nothing but their arguments: at the same time where the first goes through so many `bytes` that this is
/// worth a thread, and where the system has one.
pub(crate) fn side_by_side<A: Send, B>(bytes: usize, one: impl Fn() -> A + Sync, other: impl FnOnce() -> B) -> (A, B) {
    if bytes < WORTH_A_THREAD {
        return (one(), other());
    }
    thread::scope(|scope| {
        let started = thread::Builder::new().spawn_scoped(scope, &one);
        let other = other();
        let done = started.ok().and_then(|thread| thread.join().ok());
        (done.unwrap_or_else(&one), other)
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::WORTH_A_THREAD;
    use super::side_by_side;

    #[test]
    fn both_are_done_and_a_thread_is_for_what_is_long() {
        for (bytes, is_elsewhere) in [(0, false), (WORTH_A_THREAD - 1, false), (WORTH_A_THREAD, true)] {
            let here = thread::current().id();
            let (one, other) = side_by_side(bytes, || thread::current().id(), || (thread::current().id(), bytes));
            assert_eq!((one != here, other), (is_elsewhere, (here, bytes)));
        }
    }

    #[test]
    fn what_a_thread_could_not_do_is_done_here() {
        let here = thread::current().id();
        let one = || {
            assert_eq!(thread::current().id(), here, "this thread is of no use");
            1
        };
        assert_eq!(side_by_side(WORTH_A_THREAD, one, || 2), (1, 2));
    }
}
