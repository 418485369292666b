//! The ways in which a step that must not run twice could run again, by who drives the run: none repeats it, and all but those that keep it
//! ask first.

use super::support::{Stage, session_of};
use crate::support::Output;

/// Three steps, the last of which fails.
const THREE: &str = "steps:\n- {id: a, shell: echo a >> LOG}\n- {id: pub, shell: echo pub >> LOG, idempotent: false}\n- {id: t, shell: 'false'}\n";
/// A loop that is not over: an item of it passed.
const HALF: &str =
    "steps:\n- {id: l, foreach: [x, y], shell: 'echo ${item} >> LOG; [ ${item} = x ]', idempotent: false}\n";
/// A loop that passed although an item failed, and what was done on top of it.
const PASSED: &str = "steps:\n- {id: l, foreach: {items: [x, y], max_failures: 1}, shell: '[ ${item} = x ]'}\n- {id: pub, shell: echo pub >> LOG, idempotent: false}\n- {id: t, shell: 'false'}\n";
/// The step kills its runner after it took effect.
const CUT_OFF: &str = "steps:\n- {id: a, shell: echo a >> LOG}\n- {id: pub, shell: 'echo pub >> LOG; kill -KILL $PPID', idempotent: false}\n- {id: t, shell: 'true'}\n";

/// A loop over what must not be done twice.
const LOOP: &str =
    "steps:\n- {id: pub, foreach: [x], shell: echo pub >> LOG, idempotent: false}\n- {id: t, shell: 'false'}\n";

/// What would run a step again.
struct Way {
    name: &'static str,
    file: &'static str,
    /// What is done once, and must not be done again.
    act: &'static str,
    /// The file as it is edited then.
    edit: Option<fn() -> String>,
    /// What a person says to the run `RUN` first.
    said: &'static str,
    options: &'static [&'static str],
    asks: bool,
}

const fn way(name: &'static str, options: &'static [&'static str]) -> Way {
    Way { name, file: THREE, act: "pub", edit: None, said: "", options, asks: true }
}

fn ways() -> [Way; 16] {
    let edited = |name, edit: fn() -> String| Way { edit: Some(edit), ..way(name, &["--accept-edits"]) };
    [
        Way { file: CUT_OFF, ..way("a crash", &[]) },
        way("--from a step before it", &["--from", "a"]),
        way("--from the step itself", &["--from", "pub"]),
        way("--force", &["--force"]),
        Way { file: PASSED, ..way("--failed", &["--failed"]) },
        Way { said: "decide a redo --run RUN --by Ann --note again", ..way("the redo of a step before it", &[]) },
        Way { said: "restore RUN --to 000004 --yes", ..way("a version from before it", &[]) },
        edited("a step before it", || THREE.replace("steps:\n", "steps:\n- {id: new, shell: 'true'}\n")),
        edited("another name", || THREE.replace("id: pub", "id: publish")),
        edited("another order", || {
            THREE.replace("- {id: t, shell: 'false'}\n", "").replace("steps:\n", "steps:\n- {id: t, shell: 'true'}\n")
        }),
        edited("a step that becomes a loop", || THREE.replace("id: pub,", "id: pub, foreach: [x],")),
        Way { file: LOOP, ..edited("a loop that becomes a step", || LOOP.replace("foreach: [x], ", "")) },
        Way { file: LOOP, ..edited("other items", || LOOP.replace("[x]", "[y, x]")) },
        edited("another text", || THREE.replace("echo pub", "echo 'pub'")),
        Way {
            file: HALF,
            act: "x",
            asks: false,
            said: "restore RUN --to 000002 --yes",
            ..way("a version from before a loop that is not over", &[])
        },
        Way {
            file: HALF,
            act: "x",
            asks: false,
            edit: Some(|| HALF.replace("steps:\n", "steps:\n- {id: new, shell: 'true'}\n")),
            ..way("a step before a loop that is not over", &[])
        },
    ]
}

/// Who drives the run, before and after.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Driver {
    /// `run`, then `resume`.
    Unattended,
    /// `start` and `exec`, then `run`.
    HandedOver,
    /// `start` and `exec`, step by step.
    Attended,
}

fn begun(stage: &Stage, driver: Driver) -> String {
    if driver == Driver::Unattended {
        return session_of(&stage.piton(["run", "w.yml"]).run().stderr);
    }
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
    for step in ["a", "l", "pub", "t"] {
        stage.piton(["exec", step, "--run", "x"]).run();
    }
    "x".to_owned()
}

fn again(stage: &Stage, run: &str, (driver, options): (Driver, &[&str])) -> Vec<Output> {
    match driver {
        Driver::Attended => {
            let each = ["new", "a", "l", "pub", "publish", "t"].into_iter();
            each.map(|step| stage.piton(["exec", step, "--run", run]).run()).collect()
        }
        Driver::Unattended | Driver::HandedOver => {
            let handed: &[&str] = if driver == Driver::HandedOver { &["--unattended"] } else { &[] };
            let call = |more: &[&'static str]| {
                let words = [&["resume", run][..], handed, options, more].concat();
                stage.piton(words).run()
            };
            vec![call(&["--dry-run"]), call(&["--yes"])]
        }
    }
}

#[test]
fn what_must_not_run_twice_never_does_unasked() {
    for way in ways() {
        for driver in [Driver::Unattended, Driver::HandedOver, Driver::Attended] {
            // Options are for who goes on with the run as a whole.
            if driver == Driver::Attended && !way.options.is_empty() && way.edit.is_none() {
                continue;
            }
            let stage = Stage::in_place(way.file);
            let run = begun(&stage, driver);
            assert_eq!(stage.count(way.act), 1, "{} {driver:?}", way.name);
            if let Some(edit) = way.edit {
                stage.workflow(&edit());
            }
            let said = way.said.replace("RUN", &run);
            if !said.is_empty() {
                stage.piton(said.split(' ')).run().expect_code(0);
            }
            let outputs = again(&stage, &run, (driver, way.options));
            let all: String = outputs.iter().map(ToString::to_string).collect();
            assert_eq!(stage.count(way.act), 1, "{} {driver:?}\n{all}", way.name);
            if way.asks && driver != Driver::Attended {
                let asks = |output: &Output| output.code == 9 && output.stderr.contains("must not run twice");
                assert!(outputs.iter().all(asks), "{} {driver:?}\n{all}", way.name);
            }
        }
    }
}

/// What a person says decides, also where no terminal can ask.
#[test]
fn the_printed_commands_keep_a_step_or_have_it_run_again() {
    for (word, times) in [("skip", 1), ("redo", 2)] {
        let stage = Stage::in_place(&THREE.replace("'false'", "test -e fixed"));
        let (_, id) = stage.run(&[]);
        stage.sandbox.file("fixed", "");
        let refused = stage.piton(["resume", &id, "--from", "a", "--yes"]).run().expect_code(9);
        assert!(refused.stderr.contains(&format!("piton resume {id} --from a --skip pub")), "{refused}");
        match word {
            "skip" => stage.piton(["resume", &id, "--from", "a", "--skip", "pub", "--yes"]).run().expect_code(0),
            _ => {
                stage
                    .piton(["decide", "pub", "redo", "--run", &id, "--by", "Ann", "--note", "again"])
                    .run()
                    .expect_code(0);
                stage.piton(["resume", &id, "--from", "a", "--yes"]).run().expect_code(0)
            }
        };
        assert_eq!((stage.count("a"), stage.count("pub")), (2, times), "{word}");
        assert_eq!(stage.checkpoint(&id)["steps"]["pub"]["status"], "completed", "{word}");
    }
}

/// A probe that is asked with `--yes` keeps what took effect, also of a step that is done.
#[test]
fn the_probe_is_asked_before_a_finished_step_runs_again() {
    for (probe, times) in [("true", 1), ("false", 2)] {
        let stage = Stage::in_place(
            &THREE
                .replace("'false'", "test -e fixed")
                .replace("idempotent: false", &format!("idempotent: false, probe: '{probe}'")),
        );
        let (_, id) = stage.run(&[]);
        stage.sandbox.file("fixed", "");
        stage.piton(["resume", &id, "--from", "a", "--yes"]).run().expect_code(0);
        assert_eq!((stage.count("a"), stage.count("pub")), (2, times), "{probe}");
    }
}
