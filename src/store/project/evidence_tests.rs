use std::{
    fs,
    time::{Duration, UNIX_EPOCH},
};

use super::{describe, gather};
use crate::{
    model::{EvidenceRecord, EvidenceRequest, FileFact, OutputRecord, OutputRequest, StepId, Timestamp, sha256_hex},
    store::{
        Environment, file_set,
        testing::{Scratch, candidate, clock, rel, time},
    },
};

fn line(run: &str, outputs: Vec<OutputRecord>) -> EvidenceRecord {
    EvidenceRecord {
        at: clock().now,
        run: run.to_owned(),
        step: StepId::new("2:4"),
        head: None,
        outputs,
        definition: None,
    }
}

fn output(path: &str, text: &str) -> OutputRecord {
    OutputRecord { path: rel(path), sha256: sha256_hex(text.as_bytes()), bytes: text.len() as u64 }
}

fn touch(scratch: &Scratch, path: &str, at: Timestamp) {
    let at = UNIX_EPOCH + Duration::from_secs(u64::try_from(at.unix_seconds()).unwrap());
    fs::File::options().write(true).open(scratch.root.join(path)).unwrap().set_modified(at).unwrap();
}

#[test]
fn outputs_are_described_as_they_are() {
    let scratch = Scratch::new();
    scratch.write("out/a", "text");
    let described = describe(&scratch.root, &[rel("out/a"), rel("out/missing"), rel("out")]);
    assert_eq!(described, [output("out/a", "text")]);
}

#[test]
fn a_digest_is_computed_only_where_size_and_time_leave_a_doubt() {
    let scratch = Scratch::new();
    let (recorded, earlier) = (clock().now, time("2026-01-31T11:00:00Z"));
    for (path, text, at) in [
        ("o/settled", "same", earlier),
        ("o/touched", "same", recorded.plus_seconds(60)),
        ("o/just-now", "same", recorded),
        ("o/grown", "longer", earlier),
        ("o/unrecorded", "same", recorded),
        ("o/good.json", "{\"a\":[1]}", earlier),
        ("o/bad.json", "{\"a\":", earlier),
        ("o/empty.json", "", earlier),
    ] {
        scratch.write(path, text);
        touch(&scratch, path, at);
    }
    fs::create_dir_all(scratch.root.join("o/folder")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", scratch.root.join("o/outside")).unwrap();
    let outputs = ["settled", "touched", "just-now", "grown"].map(|name| output(&format!("o/{name}"), "same")).to_vec();
    let records = vec![line("done", outputs)];

    let names = [
        "settled",
        "touched",
        "just-now",
        "grown",
        "unrecorded",
        "good.json",
        "bad.json",
        "empty.json",
        "folder",
        "outside",
        "gone",
    ];
    let want = |name: &&str| OutputRequest { step: StepId::new("1"), path: rel(&format!("o/{name}")), schema: None };
    let wanted = EvidenceRequest { outputs: names.iter().map(want).collect(), ..EvidenceRequest::default() };
    let project = scratch.project();
    let files = file_set(&project, &scratch.root, &candidate(Vec::new()), clock()).unwrap();
    let evidence = gather(&project, &files, &wanted, records, &Environment::default());
    assert_eq!(evidence.records.len(), 1);

    let same = sha256_hex(b"same");
    let longer = sha256_hex(b"longer");
    for (name, expected) in [
        ("settled", (4, None, None)),
        ("touched", (4, Some(&same), None)),
        ("just-now", (4, Some(&same), None)),
        ("grown", (6, Some(&longer), None)),
        ("unrecorded", (4, None, None)),
        ("good.json", (9, None, Some(true))),
        ("bad.json", (5, None, Some(false))),
        ("empty.json", (0, None, Some(false))),
        ("folder", (0, None, None)),
    ] {
        let fact = &evidence.files[&rel(&format!("o/{name}"))];
        let FileFact::Present { bytes, sha256, parses, .. } = fact else { panic!("{name}: {fact:?}") };
        assert_eq!((*bytes, sha256.as_ref(), *parses), expected, "{name}");
    }
    assert_eq!(evidence.files[&rel("o/gone")], FileFact::Missing);
    assert!(
        matches!(&evidence.files[&rel("o/outside")], FileFact::Unreadable(why) if why.contains("leaves the project"))
    );
}

#[test]
fn a_workspace_outside_of_git_is_there_or_not() {
    let scratch = Scratch::new();
    scratch.write("here/x", "");
    let project = scratch.project();
    let files = file_set(&project, &scratch.root, &candidate(Vec::new()), clock()).unwrap();
    for (folder, exists) in [(None, true), (Some(rel("here")), true), (Some(rel("gone")), false)] {
        let wanted = EvidenceRequest { workspace: Some(folder), ..EvidenceRequest::default() };
        let found = gather(&project, &files, &wanted, Vec::new(), &Environment::default()).workspace.unwrap();
        assert_eq!((found.exists, found.is_git, found.uncommitted), (exists, false, None));
    }
}
