use std::{fs, os::unix::fs::symlink, path::Path, process::Command, sync::Arc};

use super::{bounded, read_file, text_input};
use crate::{
    model::{Content, ReadProblem},
    store::{
        StoreError,
        testing::{Scratch, rel},
    },
};

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn what_is_wrong_with_a_file_is_a_value() {
    let scratch = Scratch::new();
    let outside = Scratch::new();
    outside.write("secret", "x");
    scratch.write("run/real", "r");
    scratch.write("run/hard", "h");
    scratch.write("run/folder/x", "");
    fs::hard_link(scratch.root.join("run/hard"), scratch.root.join("run/other-name")).unwrap();
    symlink("real", scratch.root.join("run/inside")).unwrap();
    symlink(scratch.root.join("run/real"), scratch.root.join("run/inside-absolute")).unwrap();
    symlink(outside.root.join("secret"), scratch.root.join("run/outside")).unwrap();
    symlink("../../../../../../../etc/passwd", scratch.root.join("run/upwards")).unwrap();
    symlink(&outside.root, scratch.root.join("run/through")).unwrap();
    symlink("nowhere", scratch.root.join("run/dangling")).unwrap();
    symlink("circle", scratch.root.join("run/circle")).unwrap();
    make_pipe(scratch.root.join("run/pipe").as_std_path());
    let _socket = std::os::unix::net::UnixListener::bind(scratch.root.join("run/socket")).unwrap();
    fs::File::create(scratch.root.join("run/large")).unwrap().set_len((64 << 20) + 1).unwrap();

    let bytes = |text: &str| Content::Bytes(Arc::from(text.as_bytes()));
    let too_large = ReadProblem::TooLarge { bytes: 67_108_865, limit: 67_108_864 };
    for (path, expected) in [
        ("run/real", bytes("r")),
        ("run/inside", bytes("r")),
        ("run/inside-absolute", bytes("r")),
        ("run/other-name", bytes("h")),
        ("run/outside", Content::Problem(ReadProblem::LinkLeavesRoot)),
        ("run/upwards", Content::Problem(ReadProblem::LinkLeavesRoot)),
        ("run/through/secret", Content::Problem(ReadProblem::LinkLeavesRoot)),
        ("run/dangling", Content::Problem(ReadProblem::Missing)),
        ("run/real/below", Content::Problem(ReadProblem::Missing)),
        ("run/missing", Content::Problem(ReadProblem::Missing)),
        ("run/folder", Content::Problem(ReadProblem::Directory)),
        ("run/pipe", Content::Problem(ReadProblem::NotRegular)),
        ("run/socket", Content::Problem(ReadProblem::NotRegular)),
        ("run/large", Content::Problem(too_large)),
    ] {
        assert_eq!(read_file(&scratch.root, &rel(path)), expected, "{path}");
    }
    assert!(matches!(read_file(&scratch.root, &rel("run/circle")), Content::Problem(ReadProblem::Other(_))));
}

#[test]
fn a_named_file_is_text_of_bounded_size() {
    let scratch = Scratch::new();
    scratch.write("text", "hä");
    let path = |name: &str| scratch.root.join(name).to_string();
    assert_eq!(text_input(&path("text")).unwrap(), "hä");
    fs::write(scratch.root.join("binary"), b"\xff").unwrap();
    assert!(matches!(text_input(&path("binary")), Err(StoreError::NotText { .. })));
    fs::File::create(scratch.root.join("large")).unwrap().set_len((16 << 20) + 1).unwrap();
    for (name, problem) in [("large", "bytes, more than the 16777216"), ("missing", "the file does not exist")] {
        let error = text_input(&path(name)).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn a_file_that_changed_its_size_while_it_was_read_is_read_whole_or_refused() {
    let scratch = Scratch::new();
    let path = scratch.root.join("file");
    fs::write(&path, b"twelve bytes").unwrap();
    let read = |size: u64, limit: u64| bounded(fs::File::open(&path).unwrap(), size, limit);
    for size in [0, 5, 12] {
        assert_eq!(read(size, 100).as_deref(), Ok(&b"twelve bytes"[..]), "{size}");
    }
    for size in [13, 100] {
        assert!(matches!(read(size, 100), Err(ReadProblem::Other(why)) if why.contains("cut")), "{size}");
    }
    assert_eq!(read(12, 12).as_deref(), Ok(&b"twelve bytes"[..]));
    // One byte more than is allowed is enough to know.
    for (size, bytes) in [(0, 12), (11, 12), (12, 12)] {
        assert_eq!(read(size, 11).err(), Some(ReadProblem::TooLarge { bytes, limit: 11 }), "{size}");
    }
}
