//! A read that fails: the answer is that of an undisturbed call, or says what could not be looked at. What was not read is never taken for
//! nothing: no other plan in silence, and no "not found".

use super::{ensure, is_answer};
use crate::{
    cli::projects,
    support::{self, Output, Sandbox, Strace, say},
};

const ERRORS: [&str; 5] = ["EIO", "EMFILE", "EACCES", "ELOOP", "ESTALE"];
/// What a hook is called with.
const EVENT: &str = r#"{"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup", "cwd": "ROOT"}"#;

/// A call that reads.
#[derive(Clone, Copy)]
struct Reading {
    words: &'static [&'static str],
    is_hook: bool,
}

const READINGS: [Reading; 5] = [
    Reading { words: &["plan"], is_hook: false },
    Reading { words: &["list"], is_hook: false },
    Reading { words: &["status"], is_hook: false },
    Reading { words: &["begin"], is_hook: false },
    Reading { words: &["hook", "session-start"], is_hook: true },
];

impl Reading {
    fn on(self, sandbox: &Sandbox) -> support::Program<'_> {
        let program = sandbox.piton(self.words.iter().copied());
        if self.is_hook { program.stdin(EVENT.replace("ROOT", sandbox.root().as_str())) } else { program }
    }
}

/// A test for each example, so that they run side by side.
macro_rules! every_read_of {
    ($($name:ident: $example:literal,)*) => {
        const EXAMPLES: &[&str] = &[$($example),*];
        $(
            #[test]
            fn $name() {
                every_read_fails_once_with_each_error($example);
            }
        )*
    };
}

every_read_of! {
    aios: "aios",
    bmad: "bmad",
    ccw: "ccw",
    checklist: "checklist",
    claude: "claude",
    dotagent: "dotagent",
    gsd: "gsd",
    nine_step: "nine-step",
    own_workflow: "own-workflow",
    piton: "piton",
    taskmaster: "taskmaster",
}

/// Makes each call fail that reads below the project or the home: in a sample, some calls of one verb with one of the errors.
fn every_read_fails_once_with_each_error(example: &str) {
    let Some(strace) = Strace::find() else { return };
    let turn = EXAMPLES.iter().position(|one| *one == example).expect("it is listed");
    let (mut tried, mut problems) = (0, Vec::new());
    for reading in support::sample(READINGS.len(), turn, READINGS) {
        let sandbox = projects::example(example);
        sandbox.git_init();
        let beginning = sandbox.everything();
        let whole = reading.on(&sandbox).run();
        sandbox.put_back(&beginning);
        let (_, calls) = strace.record_reads(reading.on(&sandbox));
        let ours = |rest: &str| match rest.split('"').nth(1) {
            Some(path) if path.starts_with('/') => path.starts_with(sandbox.top().as_str()),
            // Below the folder that was opened.
            Some(_) | None => rest.contains(sandbox.top().as_str()),
        };
        let calls: Vec<_> = calls.into_iter().filter(|call| call.thread == 0 && ours(&call.rest)).collect();
        assert!(calls.len() > 20, "{example}: only {} calls that read", calls.len());
        for (at, call) in support::sample(calls.len() / 24, turn, calls.into_iter().enumerate()) {
            for error in support::sample(ERRORS.len(), at, ERRORS) {
                sandbox.put_back(&beginning);
                let cut = strace.inject(reading.on(&sandbox), &call, &format!("error={error}"));
                let problem = check(reading, &whole, &cut).err();
                problems
                    .extend(problem.map(|problem| format!("{:?}, {error} at {call}: {problem}\n{cut}", reading.words)));
                tried += 1;
            }
        }
    }
    say(&format!("{example}: {tried} reads failed"));
    assert!(problems.is_empty(), "{} of {tried}:\n{}", problems.len(), problems.join("\n\n"));
}

fn check(reading: Reading, whole: &Output, cut: &Output) -> Result<(), String> {
    ensure(is_answer(cut), || "no answer".to_owned())?;
    if reading.is_hook {
        return ensure(cut.code == 0, || "a hook never fails".to_owned());
    }
    let is_same = (whole.code, without_revision(whole)) == (cut.code, without_revision(cut));
    ensure(cut.code != 3 || whole.code == 3, || "it says that nothing is there".to_owned())?;
    let is_said = || matches!(cut.code, 3 | 4) || cut.findings().iter().any(|code| !whole.findings().contains(code));
    ensure(is_same || is_said(), || "another answer, and nothing says why".to_owned())
}

/// Returns an answer without the digest of the state, which has the process that began, and without the name of the attempt, which is drawn.
fn without_revision(output: &Output) -> String {
    let without = |text: &str, key: &str, end: &[char]| match text.split_once(key) {
        Some((before, after)) => format!("{before}{}", after.split_once(end).map_or("", |(_, rest)| rest)),
        None => text.to_owned(),
    };
    without(&without(&output.stdout, "\"revision\":\"", &['"']), " --begun ", &['`', ' '])
}
