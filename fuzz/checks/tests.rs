//! Seeds and findings, replayed through the functions of the fuzzers: every finding, and every third seed or, where they are made for the
//! fuzzers, all.
#![expect(clippy::disallowed_methods, reason = "seeds and findings are files of the repository")]

mod damaged_plans;
mod seeds;

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{TARGETS, Target};

/// The folder for new seeds; without it they are only replayed.
const CORPUS: &str = "PITON_FUZZ_CORPUS";

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Runs an input and reports a violated guarantee; the panic message says which one.
fn replay(target: &Target, name: &str, data: &[u8]) -> Option<String> {
    let broken = std::panic::catch_unwind(|| (target.run)(data)).err()?;
    let text = broken.downcast_ref::<String>().cloned();
    let text = text.or_else(|| broken.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default();
    Some(format!("{} breaks a promise with {name}: {text}\n{}\n", target.name, String::from_utf8_lossy(data)))
}

#[test]
fn every_seed_keeps_the_promises() {
    let corpus = std::env::var_os(CORPUS).map(PathBuf::from);
    let every = if corpus.is_some() { 1 } else { 3 };
    let mut broken = Vec::new();
    for target in TARGETS {
        let seeds = seeds::of(target.name);
        assert!(!seeds.is_empty(), "{} has no seed", target.name);
        for (number, seed) in seeds.iter().enumerate().step_by(every) {
            if let Some(corpus) = &corpus {
                let folder = corpus.join(target.name);
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join(format!("seed-{number:03}")), seed).unwrap();
            }
            broken.extend(replay(target, &format!("seed {number}"), seed));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_finding_stays_mended() {
    let mut broken = Vec::new();
    for folder in files_in(&repository().join("fuzz/findings")) {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let target = TARGETS.iter().find(|target| target.name == name);
        let target = target.unwrap_or_else(|| panic!("fuzz/findings/{name} is of no fuzzer"));
        for file in files_in(&folder) {
            broken.extend(replay(target, &file.display().to_string(), &fs::read(&file).unwrap()));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_target_is_a_program() {
    let manifest = fs::read_to_string(repository().join("fuzz/Cargo.toml")).unwrap();
    let programs = manifest.matches("[[bin]]").count();
    assert_eq!(programs, TARGETS.len());
    for target in TARGETS {
        let name = target.name;
        assert!(manifest.contains(&format!("[[bin]]\nname = \"{name}\"\n")), "fuzz/Cargo.toml has no {name}");
        let program = fs::read_to_string(repository().join(format!("fuzz/fuzz_targets/{name}.rs"))).unwrap();
        assert!(program.contains(&format!("piton::fuzz::run(\"{name}\", data)")), "{name}.rs runs another fuzzer");
    }
}
