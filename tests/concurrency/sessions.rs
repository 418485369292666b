//! Several sessions at one run.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::Child,
};

use crate::{
    cli::projects::{self, NINE_STEP},
    support::Sandbox,
};

/// A session with its own process, which runs until it is told to end.
struct Session {
    process: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Session {
    /// Starts a process that looks like a client: any program that is not a shell.
    fn new(sandbox: &Sandbox, id: &str) -> Self {
        let agent = sandbox.top().join("bin/agent");
        if !agent.exists() {
            std::os::unix::fs::symlink("/bin/sh", &agent).expect("a link in the sandbox");
        }
        let script = r#"while read -r line; do eval "$PITON $line"; echo "code: $?"; done"#;
        let program = sandbox.tool(agent.as_str(), ["-c", script]).env("PITON", env!("CARGO_BIN_EXE_piton"));
        let mut process = program.env("PITON_NOW", crate::support::NOW).session(id).spawn();
        let answers = BufReader::new(process.stdout.take().expect("stdout is a pipe"));
        Self { process, answers }
    }

    /// Calls piton from that process and returns exit code and document.
    fn piton(&mut self, words: &str) -> (i32, String) {
        let pipe = self.process.stdin.as_mut().expect("stdin is a pipe");
        pipe.write_all(format!("{words}\n").as_bytes()).expect("the session listens");
        let mut document = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.answers.read_line(&mut line).expect("the session answers"), 0, "the session ended");
            match line.strip_prefix("code: ") {
                Some(code) => return (code.trim().parse().expect("a number"), document),
                None => document.push_str(&line),
            }
        }
    }

    fn kill(mut self) {
        self.process.kill().expect("a child of our own");
        self.process.wait().expect("a child of our own");
    }
}

#[test]
fn a_second_session_is_refused_while_the_first_lives_and_not_a_moment_longer() {
    for (project, step) in [(projects::nine_step as fn() -> Sandbox, "2:3"), (projects::ccw, "IMPL-002")] {
        let sandbox = project();
        let (mut a, mut b) = (Session::new(&sandbox, "a"), Session::new(&sandbox, "b"));
        let (code, answer) = a.piton(&format!("begin {step}"));
        assert_eq!(code, 0, "{answer}");
        let before = sandbox.tree();
        for words in [
            format!("begin {step}"),
            format!("finish {step}"),
            "resume --yes".to_owned(),
            "pause".to_owned(),
            "close --abort".to_owned(),
            "restore --yes".to_owned(),
        ] {
            let (code, answer) = b.piton(&words);
            assert_eq!(code, 6, "{words}: {answer}");
            assert!(answer.contains("process"), "{words}: {answer}");
        }
        assert_eq!(b.piton("plan --exit-code").0, 6);
        assert_eq!(b.piton("list").0, 0);
        assert_eq!(b.piton("context").0, 0);
        assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
        assert_eq!(a.piton("plan").0, 0);
        a.kill();
        let (code, answer) = b.piton("resume --yes");
        assert_eq!(code, 0, "{answer}");
        assert_eq!(b.piton(&format!("begin {step}")).0, 0);
        b.kill();
    }
}

#[test]
fn a_session_that_comes_back_in_a_new_process_is_itself() {
    let sandbox = projects::ccw();
    let mut before = Session::new(&sandbox, "a");
    assert_eq!(before.piton("begin IMPL-002").0, 0);
    let mut after = Session::new(&sandbox, "a");
    assert_eq!(after.piton("finish IMPL-002").0, 0);
    before.kill();
    after.kill();
}

#[test]
fn a_writer_that_planned_before_another_write_is_refused() {
    let sandbox = projects::nine_step();
    let revision = sandbox.piton(["plan"]).run().at("/data/run/revision").as_str().unwrap().to_owned();
    sandbox.piton(["begin", "2:3", "--if-revision", &revision]).run().expect_code(0);
    let before = sandbox.read(NINE_STEP);
    let output = sandbox.piton(["finish", "2:3", "--if-revision", &revision]).run().expect_code(6);
    let now = sandbox.piton(["plan"]).run().at("/data/run/revision").as_str().unwrap().to_owned();
    assert!(output.stdout.contains(&now), "{output}");
    assert_eq!(before, sandbox.read(NINE_STEP));
}
