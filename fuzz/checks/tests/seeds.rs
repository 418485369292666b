//! The seeds of the fuzzers: the examples and the fixtures in `fuzz/seeds`, each with every kind of change.

use std::{fs, path::Path};

use super::{files_in, repository};
use crate::workflow::BUILT_IN;

/// Every kind of change, to the planned step and forced to the first one, alone and in sequence.
const CHANGES: [&str; 20] = [
    "",
    "b! agent",
    "f! sum\nf! \nf! ",
    "b! a\nf! done\nb! b\nx! 1 failed\nb! c\nr! x",
    "b! a\nw! wait\na! yes",
    "x! no\nx! no\nx! no\nb!!again",
    "v! fine\nb! next\nf! next",
    "n! no\nb! again\nf! again\nv! yes",
    "j! never\na! by hand",
    "o! one;two\nf! ",
    "s! not needed\ns! nor this\nb! this",
    "p! lunch\nr! back",
    "q! over\nr! no",
    "c! done",
    "B! \nF! out\nf! ",
    "b0!first\nf0!first\ns1!second",
    "b2!third\nr! crash",
    "f! 1\nf! 2\nk0 back\nb! again\nf! done",
    "b! a\nk!!crash\nk2 further",
    "f! 1\nf! 2\nf! 3\nf! 4\nf! 5\nc! end",
];

/// Returns the seeds of a fuzzer.
pub(super) fn of(target: &str) -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> =
        files_in(&repository().join("fuzz/seeds").join(target)).iter().map(|file| fs::read(file).unwrap()).collect();
    let examples: &[&str] = match target {
        "nine_step" => &["nine-step"],
        "ccw" => &["ccw"],
        "dotagent" => &["dotagent"],
        "aios" => &["aios"],
        "gsd" => &["gsd"],
        "task_list" => &["taskmaster"],
        "check_list" => &["checklist"],
        "sprint" => &["bmad"],
        _ => &[],
    };
    seeds.extend(examples.iter().map(|example| bundle(&repository().join("examples").join(example))));
    match target {
        "nine_step" | "ccw" | "dotagent" | "aios" | "piton" => changed(&seeds),
        "gsd" | "task_list" | "check_list" | "sprint" => damaged(&seeds),
        "workflow" => [seeds, texts(&["examples/piton/release.yaml"])].concat(),
        "definition" => {
            let built_in = BUILT_IN.iter().map(|workflow| workflow.text.as_bytes().to_vec()).collect();
            [seeds, built_in, texts(&["examples/own-workflow/.claude/piton/release.yaml"])].concat()
        }
        "config" => [seeds, texts(&["examples/nine-step/piton.toml", "examples/ccw/piton.toml"])].concat(),
        "checklist" => [seeds, texts(&["examples/ccw/.workflow/active/WFS-user-auth/TODO_LIST.md"])].concat(),
        "story" => [seeds, texts(&["examples/aios/docs/stories/epics/checkout/7.10.story.md"])].concat(),
        "json_edit" => {
            let texts = texts(&["examples/nine-step/.worktree/user-auth/.workflow-state.json"]);
            [seeds, jobs(&texts, &["s /status \"x\"", "p /completed_phases {\"a\": [1]}", "d /feature"])].concat()
        }
        "yaml_edit" => {
            let texts = texts(&["examples/aios/.aios/epic-7-state.yaml"]);
            [seeds, jobs(&texts, &["s /status x", "s /stories/7.1/status \"a: b\"", "p /x [1, \"2\"]", "d /status"])]
                .concat()
        }
        "schema" => {
            let texts = texts(&[
                "examples/nine-step/.worktree/user-auth/.workflow-state.json",
                "examples/ccw/.workflow/active/WFS-user-auth/.task/IMPL-001.json",
                "examples/dotagent/memory/state/phase.json",
            ]);
            [seeds, jobs(&texts, &["{\"type\": \"object\", \"required\": [\"a\"]}"])].concat()
        }
        _ => seeds,
    }
}

fn texts(files: &[&str]) -> Vec<Vec<u8>> {
    files.iter().map(|file| fs::read(repository().join(file)).unwrap()).collect()
}

/// Returns projects without each of their lines in turn, cut off, and with a conflict marker.
fn damaged(projects: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut seeds = projects.to_vec();
    for project in projects {
        let lines: Vec<&[u8]> = project.split_inclusive(|byte| *byte == b'\n').collect();
        for at in 0..lines.len() {
            seeds.push([lines[..at].concat(), lines[at + 1..].concat()].concat());
        }
        for at in (0..lines.len()).step_by(11) {
            seeds
                .push([&lines[..at].concat(), &b"<<<<<<< a\n=======\n>>>>>>> b\n"[..], &lines[at..].concat()].concat());
        }
        seeds.extend((0..project.len()).step_by(97).map(|end| project[..end].to_vec()));
    }
    seeds
}

fn changed(projects: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let with = |project: &Vec<u8>| CHANGES.map(|changes| [changes.as_bytes(), b"\n", project].concat());
    projects.iter().flat_map(with).collect()
}

fn jobs(texts: &[Vec<u8>], jobs: &[&str]) -> Vec<Vec<u8>> {
    let with = |text: &Vec<u8>| jobs.iter().map(|job| [job.as_bytes(), b"\n", text].concat()).collect::<Vec<_>>();
    texts.iter().flat_map(with).collect()
}

/// Bundles the files of a folder into one text.
fn bundle(folder: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(files_in(&path));
        } else {
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            text.extend(format!("@@ {name}\n").into_bytes());
            text.extend(fs::read(&path).unwrap());
            text.push(b'\n');
        }
    }
    text
}
