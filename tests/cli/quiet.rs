//! A repository that may not be written. What stays out of `git status` is in `tests/cases/quiet`.

use crate::support::Sandbox;

/// A client's sandbox may forbid writes below `.git`: that makes git show the state, and stops nothing.
#[test]
fn a_run_is_recorded_where_git_cannot_be_told() {
    let sandbox = Sandbox::with_git();
    sandbox.file(".git/info/exclude", "").mode(".git/info/exclude", 0o444).mode(".git/info", 0o555);
    sandbox.piton(["start", "nine-step", "--feature", "auth"]).unprivileged().run().expect_code(0);
    sandbox.piton(["begin"]).unprivileged().run().expect_code(0);
    assert_eq!(sandbox.read(".git/info/exclude"), "");
}
