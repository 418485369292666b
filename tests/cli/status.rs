use super::projects::{self, NINE_STEP};
use crate::support::Sandbox;

#[test]
fn three_lines_say_where_what_and_how() {
    insta::assert_snapshot!(projects::nine_step().piton(["status", "--format", "text"]).run(), @"
    code: 0
    ----- stdout -----
    Where you are  user-auth: 13 of 20 steps done, next: return 2:3 (Implementation)
    What's stale   nothing (last change 30 minutes ago)
    Next command   piton resume user-auth
    ");
}

#[test]
fn the_next_command_works() {
    for project in [projects::nine_step as fn() -> Sandbox, projects::ccw] {
        let sandbox = project();
        let command = sandbox.piton(["status"]).run().expect_code(0).at("/data/next_command");
        let words: Vec<&str> = command.as_str().unwrap().split(' ').skip(1).collect();
        sandbox.piton(words).run().expect_code(0);
    }
}

#[test]
fn an_unreadable_state_has_a_status_too() {
    let sandbox = projects::nine_step();
    sandbox.file(NINE_STEP, "");
    let output = sandbox.piton(["status"]).run().expect_code(4);
    assert!(output.stdout.contains("the file is empty") && output.stdout.contains("`piton archive ./"), "{output}");
}
