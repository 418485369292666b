//! Cases on disk: every folder below `tests/cases` with a `case.yaml` is a test (tests/cases/README.md).
#![expect(clippy::disallowed_methods, reason = "tests arrange files, run programs and read the environment")]

#[path = "cases/answer.rs"]
mod answer;
#[path = "cases/case.rs"]
mod case;
#[path = "cases/driver.rs"]
mod driver;
#[expect(unused_imports, reason = "the other test program uses the rest")]
mod support;

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    sync::mpsc,
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};
use libtest_mimic::{Arguments, Failed, Trial};

use case::{Case, Scene};

/// How long one case may take, on a loaded machine too.
const LIMIT: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    let elsewhere = std::env::var("PITON_CASES").ok().map(Utf8PathBuf::from);
    let top = elsewhere.unwrap_or_else(|| support::repository().join("tests/cases"));
    let files = support::files_below(&top, "yaml").into_iter().filter(|file| file.file_name() == Some("case.yaml"));
    let trials = files.map(|file| {
        let folder = file.parent().expect("a file is in a folder").to_owned();
        let name = folder.strip_prefix(&top).expect("it was found below").to_string();
        Trial::test(name.clone(), move || within_limit(move || run(&folder, &name)))
    });
    let trials = trials.chain(driver::TESTS.map(|(name, test)| Trial::test(name, move || within_limit(test))));
    let arguments = Arguments::from_args();
    let is_narrow = arguments.filter.is_some();
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    if is_narrow && conclusion.num_passed + conclusion.num_failed == 0 && !arguments.list {
        support::say("no case has such a name");
    }
    conclusion.exit_code()
}

/// Runs a case; one that does not end is a failure.
fn within_limit(run: impl FnOnce() -> Result<(), String> + Send + 'static) -> Result<(), Failed> {
    let (sender, receiver) = mpsc::channel();
    // A hook of the program may have silenced the messages of panics.
    std::thread::spawn(move || {
        sender.send(catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(said(&*panic))))
    });
    let ended = receiver.recv_timeout(LIMIT).map_err(|_| format!("it did not end within {LIMIT:?}"));
    ended.and_then(|result| result).map_err(Failed::from)
}

/// Returns the message of a panic.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".to_owned())
}

/// Runs all steps of a case, then updates its texts if that was asked for and nothing else was wrong.
fn run(folder: &Utf8Path, name: &str) -> Result<(), String> {
    let case = Case::read(folder)?;
    // Every tenth by its name, so that another new case changes nothing for the rest.
    let uses_program = case.program || support::takes_all() || name.bytes().map(usize::from).sum::<usize>() % 10 == 0;
    let mut scene = Scene::new(&case, folder, uses_program)?;
    let mut texts = Vec::new();
    for at in 0..case.steps.len() {
        match scene.step(&case.steps[at]) {
            Ok(text) => texts.extend(text),
            Err(problem) => {
                let by_hand = Scene::new(&case, folder, uses_program).and_then(|mut scene| {
                    case.steps[..at].iter().for_each(|step| drop(scene.step(step)));
                    scene.by_hand(&case.steps[at])
                });
                let by_hand = by_hand.unwrap_or_else(|problem| problem);
                return Err(format!(
                    "step {}: {problem}\nby hand, in a copy of the project that stays until you delete it: {by_hand}",
                    at + 1
                ));
            }
        }
    }
    let wants_update = std::env::var_os("UPDATE").is_some_and(|wanted| wanted == "1");
    texts.into_iter().try_for_each(|text| text.compare(wants_update))
}
