//! Unit tests of the disk model, with expected results written by hand.

use camino::Utf8PathBuf;

use super::{
    disk::{Disk, Picture, Shown},
    trace::{Call, parse},
};
use crate::support::Dice;

fn at(path: &str) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("/d/{path}"))
}

fn open(path: &str) -> Call {
    Call::Open { path: at(path), mode: 0o644, truncates: false }
}

fn write(path: &str, text: &str) -> Call {
    Call::Write { path: at(path), at: None, bytes: text.as_bytes().to_vec() }
}

fn sync(path: &str) -> Call {
    Call::Sync { path: if path.is_empty() { "/d".into() } else { at(path) } }
}

fn folder(path: &str) -> Call {
    Call::Folder { path: at(path), mode: 0o755 }
}

fn rename(from: &str, to: &str) -> Call {
    Call::Rename { from: at(from), to: at(to) }
}

fn remove(path: &str) -> Call {
    Call::Remove { path: at(path) }
}

/// Shows the content in one line.
fn said(picture: &Picture) -> String {
    let entry = |(path, shown): (&Utf8PathBuf, &Shown)| match shown {
        Shown::Folder { .. } => format!("{path}/"),
        Shown::Link(target) => format!("{path}->{target}"),
        Shown::File { bytes, .. } => format!("{path}={}", String::from_utf8_lossy(bytes).replace('\0', "0")),
    };
    picture.0.iter().map(entry).collect::<Vec<_>>().join(" ")
}

fn outcomes(calls: &[Call]) -> Vec<String> {
    let mut disk = Disk::empty("/d".into());
    for call in calls {
        disk.apply(call);
    }
    let mut outcomes: Vec<String> =
        disk.after_power_loss(1_000, &mut Dice::new(1)).iter().map(|(_, picture)| said(picture)).collect();
    outcomes.sort();
    outcomes.dedup();
    outcomes
}

/// Every allowed result of some calls, in the order of the alphabet.
#[test]
fn only_flushed_data_is_certain() {
    let durable = |text: &str| vec![open("a"), write("a", text), sync("a"), sync("")];
    let with = |first: Vec<Call>, more: &[Call]| [first, more.to_vec()].concat();
    let new = [open("t"), write("t", "new")];
    let cases: Vec<(&str, Vec<Call>, &[&str])> = vec![
        ("nothing was flushed", vec![open("a"), write("a", "text")], &["", "a=", "a=0000", "a=te", "a=tex", "a=text"]),
        ("the name was not", vec![open("a"), write("a", "text"), sync("a")], &["", "a=text"]),
        (
            "the content was not",
            vec![open("a"), sync(""), write("a", "text")],
            &["a=", "a=0000", "a=te", "a=tex", "a=text"],
        ),
        ("all of it was", durable("text"), &["a=text"]),
        (
            "a replacement with all flushes",
            with(durable("old"), &[&new[..], &[sync("t"), rename("t", "a"), sync("")]].concat()),
            &["a=new"],
        ),
        (
            "a replacement whose folder is not flushed",
            with(durable("old"), &[&new[..], &[sync("t"), rename("t", "a")]].concat()),
            &["a=new", "a=new t=new", "a=old", "a=old t=new"],
        ),
        (
            "a replacement whose content is not flushed",
            with(durable("old"), &[&new[..], &[rename("t", "a"), sync("")]].concat()),
            &["a=", "a=000", "a=n", "a=ne", "a=new"],
        ),
        ("more in a file that grows", with(durable("1"), &[write("a", "23")]), &["a=1", "a=100", "a=12", "a=123"]),
        (
            "twice more",
            with(durable(""), &[write("a", "1"), write("a", "2")]),
            &["a=", "a=0", "a=02", "a=1", "a=10", "a=12"],
        ),
        (
            "a file written anew in its place",
            with(durable("old"), &[Call::Write { path: at("a"), at: Some(0), bytes: b"new".to_vec() }]),
            &["a=000", "a=ned", "a=new", "a=nld", "a=old"],
        ),
        (
            "a folder whose name is not flushed takes all with it",
            vec![folder("f"), open("f/a"), write("f/a", "text"), sync("f/a"), sync("f")],
            &["", "f/ f/a=text"],
        ),
        ("a removal", with(durable("x"), &[remove("a")]), &["", "a=x"]),
        ("a removal for good", with(durable("x"), &[remove("a"), sync("")]), &[""]),
        ("a second name", with(durable("x"), &[Call::Link { from: at("a"), to: at("b") }]), &["a=x", "a=x b=x"]),
        (
            "a file cut short",
            with(durable("text"), &[Call::Truncate { path: at("a"), length: 2 }]),
            &["a=te", "a=text"],
        ),
    ];
    for (name, calls, expected) in cases {
        assert_eq!(outcomes(&calls), expected, "{name}");
    }
}

#[test]
fn a_file_that_moves_to_another_folder_is_in_one_of_them() {
    let moved = [folder("f"), folder("g"), open("f/a"), write("f/a", "x"), sync("f/a"), sync("f"), sync("")];
    let moved = [&moved[..], &[rename("f/a", "g/a")]].concat();
    let both = ["f/ f/a=x g/", "f/ f/a=x g/ g/a=x", "f/ g/ g/a=x"];
    assert_eq!(outcomes(&moved), both);
    assert_eq!(outcomes(&[&moved[..], &[sync("g")]].concat()), &both[1..]);
    assert_eq!(outcomes(&[&moved[..], &[sync("f")]].concat()), &both[2..]);
}

#[test]
fn a_folder_that_moves_has_one_name() {
    let moved = [folder("f"), folder("g"), folder("f/a"), sync("f"), sync(""), rename("f/a", "g/a")];
    assert_eq!(outcomes(&moved), ["f/ f/a/ g/", "f/ g/ g/a/"]);
    for end in ["f", "g"] {
        assert_eq!(outcomes(&[&moved[..], &[sync(end)]].concat()), ["f/ g/ g/a/"]);
    }
}

#[test]
fn the_output_of_strace_is_parsed() {
    let hex = |text: &str| text.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
    let (top, file) = (hex("/d"), hex("/d/.a.77.c0ffee.piton-tmp"));
    let log = [
        format!(r#"7  execve("{top}", [], 0x7ffd /* 30 vars */) = 0"#),
        format!(r#"7  openat(AT_FDCWD<{top}>, "{file}", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0600) = 3<{file}>"#),
        format!(r#"7  openat(AT_FDCWD<{top}>, "{file}", O_WRONLY|O_CREAT, 0600) = -1 EEXIST (File exists)"#),
        format!(r#"7  write(3<{file}>, "{}", 4) = 3"#, hex("text")),
        format!(r#"8  fsync(3<{file}> <unfinished ...>"#),
        format!(r#"7  rename("{file}", "{}") = 0"#, hex("/d/a")),
        r"8  <... fsync resumed>) = 0".to_owned(),
        format!(r#"7  mkdir("{}", 0777) = 0"#, hex("/elsewhere")),
        format!(r#"7  write(1<{}>, "{}", 1) = 1"#, hex("/dev/null"), hex("x")),
    ];
    let temporary = ".a.1.0000000000000000.piton-tmp";
    let expected = [
        Call::Open { path: at(temporary), mode: 0o600, truncates: false },
        Call::Write { path: at(temporary), at: Some(0), bytes: b"tex".to_vec() },
        Call::Rename { from: at(temporary), to: at("a") },
        Call::Sync { path: at(temporary) },
        Call::Said,
    ];
    assert_eq!(parse(&log.join("\n"), "/d".into()), expected);
}
