//! Several writers, readers beside them, and sessions that meet: nothing is lost, mixed or refused without need.

use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Write as _;
use std::process::Child;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use crate::cli::projects;
use crate::cli::projects::NINE_STEP;
use crate::cli::projects::SESSION;
use crate::cli::projects::document;
use crate::support::Output;
use crate::support::Sandbox;

const WRITERS: usize = 8;
const UPDATES: usize = 50;

#[test]
fn of_eight_writers_with_fifty_updates_each_none_is_lost() {
    let sandbox = projects::ccw();
    sandbox.piton(["begin", "IMPL-002"]).run().expect_code(0);
    sandbox.piton(["begin", "IMPL-002", "--part", "analyze_patterns"]).run().expect_code(0);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let sandbox = &sandbox;
                scope.spawn(move || {
                    for update in 0..UPDATES {
                        let set = format!("w{writer}_{update}={update}");
                        let words = ["finish", "IMPL-002", "--part", "analyze_patterns", "--set", &set];
                        // Waiting is not what this test is about: the machine may be busy.
                        sandbox.piton(words).env("PITON_LOCK_TIMEOUT_MS", "60000").run().expect_code(0);
                    }
                })
            })
            .collect();
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while !is_over.load(Ordering::Relaxed) {
                let words = if reads % 2 == 0 { ["plan"] } else { ["validate"] };
                let output = sandbox.piton(words).env("PITON_LOCK_TIMEOUT_MS", "60000").run().expect_code(0);
                assert_eq!(document(&output)["findings"].as_array().unwrap().len(), 0, "{output}");
                reads += 1;
            }
            reads
        });
        for writer in writers {
            writer.join().expect("a writer that lost nothing");
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(reader.join().expect("a reader that saw no mixture") > 10);
    });
    let task = sandbox.read_json(&format!("{SESSION}/.task/IMPL-002.json"));
    let text = task.to_string();
    for writer in 0..WRITERS {
        for update in 0..UPDATES {
            assert!(text.contains(&format!("\"w{writer}_{update}\":{update}")), "w{writer}_{update} is lost: {text}");
        }
    }
    assert_eq!(leftovers(&sandbox), [] as [&str; 0]);
}

/// Names what a write leaves only when it was cut off.
fn leftovers(sandbox: &Sandbox) -> Vec<String> {
    let empty = Sandbox::new().tree();
    let all = empty.changes(&sandbox.tree());
    all.into_iter().filter(|path| path.ends_with(".piton-tmp") || path.ends_with("txn/pending")).collect()
}

/// Is a session with a process of its own, which lives until it is told to end.
struct Session {
    process: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Session {
    /// Starts a process that looks like a client of its own: anything but a shell by name.
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
            "archive --yes".to_owned(),
            "restore --yes".to_owned(),
        ] {
            let (code, answer) = b.piton(&words);
            assert_eq!(code, 6, "{words}: {answer}");
            assert!(answer.contains("process"), "{words}: {answer}");
        }
        assert_eq!(b.piton("plan").0, 6);
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
fn a_lock_is_waited_for_as_long_as_was_said_and_no_longer() {
    let sandbox = projects::ccw();
    sandbox.piton(["begin", "IMPL-002"]).run().expect_code(0);
    let lock = std::fs::File::open(sandbox.root().join(SESSION).join(".piton/lock")).expect("a lock was taken");
    lock.lock().expect("nobody holds it");
    for words in [&["finish", "IMPL-002"][..], &["plan"]] {
        let started = Instant::now();
        let output = sandbox.piton(words.iter().copied()).env("PITON_LOCK_TIMEOUT_MS", "150").run();
        let waited = started.elapsed();
        check_timeout(&output, words);
        assert!(waited >= Duration::from_millis(150), "{words:?}: {waited:?}");
    }
    sandbox.piton(["doctor"]).env("PITON_LOCK_TIMEOUT_MS", "50").run().expect_code(1);
    drop(lock);
    sandbox.piton(["finish", "IMPL-002"]).env("PITON_LOCK_TIMEOUT_MS", "0").run().expect_code(0);
}

fn check_timeout(output: &Output, words: &[&str]) {
    assert_eq!(output.code, 6, "{words:?}\n{output}");
    let error = document(output);
    let message = error["error"]["message"].as_str().expect("an error has a message");
    assert!(message.contains("still locked by another piton after 150 ms"), "{message}");
    assert!(message.contains(".piton/lock"), "{message}");
}

#[test]
fn a_writer_that_looked_before_somebody_else_wrote_is_told() {
    let sandbox = projects::nine_step();
    let revision = sandbox.piton(["plan"]).run().at("/data/run/revision").as_str().unwrap().to_owned();
    sandbox.piton(["begin", "2:3", "--if-revision", &revision]).run().expect_code(0);
    let before = sandbox.read(NINE_STEP);
    let output = sandbox.piton(["finish", "2:3", "--if-revision", &revision]).run().expect_code(6);
    let now = sandbox.piton(["plan"]).run().at("/data/run/revision").as_str().unwrap().to_owned();
    assert!(output.stdout.contains(&now), "{output}");
    assert_eq!(before, sandbox.read(NINE_STEP));
}
