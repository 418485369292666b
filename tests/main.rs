//! The one integration binary: black-box tests of the program and guards over the whole repository.
#![expect(clippy::disallowed_methods, reason = "tests arrange files, run programs and read the environment")]

mod arch;
mod budgets;
mod cli;
mod concurrency;
#[cfg(target_os = "linux")]
mod crash;
mod driver_page;
mod formats;
mod hostile;
mod launcher;
mod pictures;
mod plugin;
mod power;
mod readme;
mod schemas;
mod support;
mod trees;
mod walk;
mod words;

use camino::Utf8Path;

/// A test file that no `mod` line names would never run.
#[test]
fn no_test_file_is_forgotten() {
    let tests = support::repository().join("tests");
    for file in support::files_below(&tests, "rs") {
        let relative = file.strip_prefix(&tests).expect("it was found below");
        if relative == "main.rs" || relative.as_str().starts_with("cases") {
            continue;
        }
        let (module, folder) = match relative.file_stem() {
            Some("mod") => (relative.parent().and_then(Utf8Path::file_name), file.parent().and_then(Utf8Path::parent)),
            stem => (stem, file.parent()),
        };
        let (Some(module), Some(folder)) = (module, folder) else { panic!("{relative} has no name") };
        let parent = folder.join(if folder == tests { "main.rs" } else { "mod.rs" });
        let text = support::read(&parent);
        assert!(text.lines().any(|line| line.ends_with(&format!("mod {module};"))), "{parent} lacks `mod {module};`");
    }
}
