//! What answers cost an agent, in bytes.

use super::projects::document;
use crate::support::Sandbox;

/// The tail of a report: 400 bytes.
const SUMMARY: &str = "The endpoint checks the token, refuses one that is expired or was issued for another audience, and answers 401 with \
     a header that names the scheme. Keys are read once at the start and looked up by id. Errors of the store are mapped to 503 and \
     retried by the caller. Tests cover an expired token, a wrong audience, a missing header and a key that was rotated away. Open: \
     limits per client are guesses.";

/// A project with a run of a chain of `total` steps, of which `done` are finished.
fn chain(done: usize, total: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut flow = "name: chain\nsteps:\n- {id: s100, title: Step number 100}\n".to_owned();
    for at in 101..100 + total {
        flow.push_str(&format!("- {{id: s{at}, title: Step number {at}, depends_on: s{}}}\n", at - 1));
    }
    sandbox.file("flow.yaml", &flow);
    sandbox.piton(["start", "flow.yaml", "--feature", "demo"]).run().expect_code(0);
    for at in 100..100 + done {
        sandbox.piton(["begin", &format!("s{at}")]).run().expect_code(0);
        sandbox.piton(["finish", &format!("s{at}"), "--summary", SUMMARY]).run().expect_code(0);
    }
    sandbox
}

#[test]
fn a_plan_does_not_grow_with_the_steps_that_are_finished() {
    let sizes = [12, 32].map(|done| {
        let sandbox = chain(done, 52);
        let plan = sandbox.piton(["plan"]).run().expect_code(0);
        document(&plan);
        let all = sandbox.piton(["plan", "--steps"]).run().expect_code(0);
        document(&all);
        assert_eq!(all.at("/data/steps/completed").as_array().map(Vec::len), Some(done));
        plan.stdout.len()
    });
    assert_eq!(sizes[0], sizes[1]);
}
