//! Cases on disk: every folder below `tests/cases` with a `case.yaml` is a test (tests/cases/README.md).
#![expect(clippy::disallowed_methods, reason = "tests arrange files, run programs and read the environment")]

#[path = "cases/case.rs"]
mod case;
#[path = "cases/check.rs"]
mod check;
#[path = "cases/driver.rs"]
mod driver;
#[path = "cases/said.rs"]
mod said;
#[path = "cases/scene.rs"]
mod scene;
#[expect(unused_imports, reason = "the other test program uses the rest")]
mod support;
#[path = "cases/texts.rs"]
mod texts;

use std::{
    panic::resume_unwind,
    process::ExitCode,
    sync::mpsc::{RecvTimeoutError, channel},
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};
use libtest_mimic::{Arguments, Failed, Trial};

use case::Case;
use scene::Scene;

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
    let own = driver::TESTS.map(|(name, test)| Trial::test(name, test));
    let arguments = Arguments::from_args();
    let is_narrow = arguments.filter.is_some();
    let conclusion = libtest_mimic::run(&arguments, trials.chain(own).chain(said::trials()).collect());
    if is_narrow && conclusion.num_passed + conclusion.num_failed == 0 && !arguments.list {
        support::say("no case has such a name");
    }
    conclusion.exit_code()
}

/// Runs a case; one that does not end is a failure.
fn within_limit(run: impl FnOnce() -> Result<(), String> + Send + 'static) -> Result<(), Failed> {
    let (sender, receiver) = channel::<()>();
    let thread = std::thread::spawn(move || {
        // Dropped when it ends, by a panic too.
        let _sender = sender;
        run()
    });
    if receiver.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
        return Err(format!("it did not end within {LIMIT:?}").into());
    }
    thread.join().unwrap_or_else(|panic| resume_unwind(panic)).map_err(Failed::from)
}

/// Runs all steps of a case.
fn run(folder: &Utf8Path, name: &str) -> Result<(), String> {
    let case = Case::read(folder)?;
    // Every tenth by its name, so that another new case changes nothing for the rest.
    let uses_program = support::takes_all() || name.bytes().map(usize::from).sum::<usize>() % 10 == 0;
    let mut scene = Scene::new(&case, folder, uses_program);
    for (at, step) in case.steps.iter().enumerate() {
        if let Err(problem) = scene.step(step) {
            let mut scene = Scene::new(&case, folder, uses_program);
            case.steps[..at].iter().for_each(|step| _ = scene.step(step));
            let by_hand = scene.by_hand(step)?;
            return Err(format!("step {}: {problem}\nby hand, in a copy of the project that stays: {by_hand}", at + 1));
        }
    }
    Ok(())
}
