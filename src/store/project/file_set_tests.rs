use std::{fs, os::unix::fs::symlink, path::Path, process::Command, sync::Arc, time::Duration};

use super::{file_set, read_all};
use crate::{
    model::{Content, FileSet, ReadProblem, ReadSpec},
    store::{
        RunLock, StoreError,
        commit::txn::{Record, RecordedFile},
        fs::path::Root,
        testing::{Scratch, candidate, clock, rel},
    },
};

fn read(scratch: &Scratch, reads: Vec<ReadSpec>) -> FileSet {
    file_set(&scratch.project(), &scratch.root, &candidate(reads), clock()).unwrap()
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn specs_are_read_as_asked() {
    let scratch = Scratch::new();
    scratch.write("run/state.json", "s");
    scratch.write("run/.task/IMPL-1.json", "1");
    scratch.write("run/.task/IMPL-2.json", "2");
    scratch.write("run/.task/notes.md", "n");
    scratch.write("run/.task/.IMPL-2.json.7.ab.piton-tmp", "half");
    scratch.write("run/.task/deeper/IMPL-3.json", "3");
    scratch.write("run/.summaries/a.md", "a");
    let set = read(
        &scratch,
        vec![
            ReadSpec::File(rel("run/state.json")),
            ReadSpec::File(rel("run/missing.json")),
            ReadSpec::Names { dir: rel("run/.task") },
            ReadSpec::Contents { dir: rel("run/.task"), suffix: ".json" },
            ReadSpec::Names { dir: rel("run/.summaries") },
            ReadSpec::Contents { dir: rel("run/nowhere"), suffix: "" },
        ],
    );
    let seen: Vec<(&str, Option<&[u8]>)> = set.files.keys().map(|path| (path.as_str(), set.bytes(path))).collect();
    let expected: [(&str, Option<&[u8]>); 5] = [
        ("run/.summaries/a.md", None),
        ("run/.task/IMPL-1.json", Some(b"1")),
        ("run/.task/IMPL-2.json", Some(b"2")),
        ("run/.task/notes.md", None),
        ("run/state.json", Some(b"s")),
    ];
    assert_eq!(seen, expected);
    assert!(set.files[&rel("run/state.json")].modified.is_some());
    assert_eq!(set.problem(&rel("run/missing.json")), Some(ReadProblem::Missing));
}

#[test]
fn many_files_are_read_each_with_what_is_wrong_with_it() {
    let scratch = Scratch::new();
    for at in 0..300 {
        scratch.write(&format!("run/.task/IMPL-{at:03}.json"), &at.to_string());
    }
    let large = "x".repeat(100_000);
    scratch.write("run/.task/IMPL-007.json", &large);
    fs::remove_file(scratch.root.join("run/.task/IMPL-150.json")).unwrap();
    make_pipe(scratch.root.join("run/.task/IMPL-150.json").as_std_path());
    fs::remove_file(scratch.root.join("run/.task/IMPL-299.json")).unwrap();
    symlink("/etc/hostname", scratch.root.join("run/.task/IMPL-299.json")).unwrap();
    let contents = || ReadSpec::Contents { dir: rel("run/.task"), suffix: ".json" };
    let set = read(&scratch, vec![ReadSpec::Names { dir: rel("run/.task") }, contents(), contents()]);
    assert_eq!(set.files.len(), 300);
    for at in 0..300 {
        let path = rel(&format!("run/.task/IMPL-{at:03}.json"));
        let (number, content) = (at.to_string(), &set.files[&path].content);
        match at {
            7 => assert_eq!(set.bytes(&path), Some(large.as_bytes())),
            150 => assert_eq!(*content, Content::Problem(ReadProblem::NotRegular)),
            299 => assert_eq!(*content, Content::Problem(ReadProblem::LinkLeavesRoot)),
            _ => assert_eq!(set.bytes(&path), Some(number.as_bytes())),
        }
    }
}

#[test]
fn a_folder_that_leaves_the_root_is_noted_under_its_path() {
    let scratch = Scratch::new();
    let outside = Scratch::new();
    outside.write("a.json", "x");
    scratch.write("run/x", "");
    symlink(&outside.root, scratch.root.join("run/.task")).unwrap();
    let set = read(&scratch, vec![ReadSpec::Contents { dir: rel("run/.task"), suffix: ".json" }]);
    assert_eq!(set.problem(&rel("run/.task")), Some(ReadProblem::LinkLeavesRoot));
    assert_eq!(set.files.len(), 1);
}

#[test]
fn a_reader_waits_for_a_writer_but_not_for_ever() {
    let scratch = Scratch::new();
    scratch.write("run/state.json", "s");
    let reads = vec![ReadSpec::File(rel("run/state.json"))];
    let held = scratch.lock();
    let refused = file_set(&scratch.project(), &scratch.root, &candidate(reads.clone()), clock());
    assert!(matches!(refused, Err(StoreError::LockTimeout { .. })));
    drop(held);
    assert_eq!(read(&scratch, reads).bytes(&rel("run/state.json")), Some(&b"s"[..]));
    // The reader has let go of it; a program that another test starts may hold what it inherited for an instant.
    RunLock::acquire(&scratch.root, &scratch.own(), Duration::from_secs(20)).unwrap();
}

#[test]
fn a_linked_worktree_knows_the_main_one() {
    let scratch = Scratch::new();
    let linked = Scratch::new();
    linked.write("run/state.json", "s");
    let mut project = scratch.project();
    let other = linked.root.clone();
    project.git = Some(crate::store::project::repository::GitPaths {
        common_dir: scratch.root.join(".git"),
        git_dir: scratch.root.join(".git"),
        main_root: scratch.root.clone(),
        is_own: true,
        worktrees: vec![linked.root.clone(), scratch.root.join(".worktree/a")],
    });
    let set = file_set(&project, &other, &candidate(Vec::new()), clock()).unwrap();
    assert_eq!(set.main_root, Some(scratch.root.clone()));
    let linked = |folder: camino::Utf8PathBuf, path: Option<&str>| crate::model::LinkedWorktree {
        folder,
        path: path.map(rel),
        branch: None,
    };
    let below = scratch.root.join(".worktree/a");
    assert_eq!(set.worktrees, [linked(below.clone(), None)], "the others, not its own");
    let set = file_set(&project, &scratch.root, &candidate(Vec::new()), clock()).unwrap();
    assert_eq!(set.main_root, None);
    assert_eq!(set.worktrees, [linked(other, None), linked(below, Some(".worktree/a"))]);
}

#[test]
fn where_a_record_cannot_be_finished_its_contents_are_shown() {
    let scratch = Scratch::new();
    scratch.write("run/a.json", "old");
    scratch.write("run/gone.json", "old");
    scratch.write("run/other.json", "same");
    let recorded = |path: &str, after: Option<&str>| RecordedFile {
        path: rel(path),
        before: None,
        after: after.map(|text| text.as_bytes().to_vec()),
        mode: 0o644,
    };
    let files =
        [("run/a.json", Some("new")), ("run/born.json", Some("new")), ("run/gone.json", None), ("x", Some("x"))];
    let record = Record {
        change: "finish".to_owned(),
        step: None,
        folders: Vec::new(),
        files: files.map(|(path, after)| recorded(path, after)).to_vec(),
    };
    let root = Root::open(&scratch.root).unwrap();
    let seen = |read: ReadSpec| -> Vec<(String, Content)> {
        let files = read_all(&root, &[read], Some(&record));
        files.into_iter().map(|(path, entry)| (path.as_str().to_owned(), entry.content)).collect()
    };
    let bytes = |text: &str| Content::Bytes(Arc::from(text.as_bytes()));
    let data_dir = |path: &str, content| (path.to_owned(), content);
    assert_eq!(
        seen(ReadSpec::Contents { dir: rel("run"), suffix: ".json" }),
        [
            data_dir("run/a.json", bytes("new")),
            data_dir("run/born.json", bytes("new")),
            data_dir("run/other.json", bytes("same"))
        ]
    );
    assert_eq!(
        seen(ReadSpec::Names { dir: rel("run") }),
        ["run/a.json", "run/born.json", "run/other.json"].map(|path| data_dir(path, Content::NameOnly))
    );
    assert_eq!(seen(ReadSpec::File(rel("run/gone.json"))), []);
}

#[test]
fn a_tree_is_read_one_folder_deep() {
    let scratch = Scratch::new();
    scratch.write("tasks/1/output.json", "1");
    scratch.write("tasks/1/output.json.tmp", "half");
    scratch.write("tasks/1/deep/output.json", "too deep");
    scratch.write("tasks/output.json", "not in a folder");
    symlink("1", scratch.root.join("tasks/link")).unwrap();
    let files = read(&scratch, vec![ReadSpec::Tree { dir: rel("tasks"), suffix: ".json" }]);
    let names: Vec<&str> = files.files.keys().map(crate::model::RelPath::as_str).collect();
    assert_eq!(names, ["tasks/1/output.json", "tasks/1/output.json.tmp"]);
    assert_eq!(files.bytes(&rel("tasks/1/output.json")), Some(&b"1"[..]));
    assert_eq!(files.files[&rel("tasks/1/output.json.tmp")].content, Content::NameOnly);
}
