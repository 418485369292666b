//! What the verbs that read say of runs that ended, run now, or were cut off.

use super::support::Stage;
use crate::support::Output;

fn json_of(stage: &Stage, arguments: &[&str]) -> Output {
    stage.piton(["--format", "json"].into_iter().chain(arguments.iter().copied())).run()
}

#[test]
fn runs_that_ended_are_no_interrupted_ones() {
    let stage = Stage::new("name: daily\nsteps: [{shell: 'true'}]\n");
    stage.run(&["--yes"]).0.expect_code(0);
    json_of(&stage, &["status"]).expect_code(0);
    stage.run(&["--yes"]).0.expect_code(0);
    for verb in [&["resume"][..], &["resume", "--yes"], &["status"], &["plan"], &["context"], &["list"]] {
        let output = json_of(&stage, verb).expect_code(3);
        assert_eq!(output.at("/error/message"), "No interrupted workflow found.", "{verb:?}: {output}");
        assert!(output.stdout.contains("piton list --all"), "{verb:?}: {output}");
    }
}
