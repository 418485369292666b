//! Shared folders, and files of another user. The tests need two users, so they do nothing unless they run as the
//! superuser; unit tests of the store check the rules that need one user.

use std::os::unix::fs::{MetadataExt as _, lchown};

use camino::Utf8Path;
use sha2::Digest as _;

use super::{KINDS, Kind, Outside, check_answer, check_silent, records, within, write_all};
use crate::support::{Output, Sandbox};

/// Another user.
const OTHER: u32 = 4_242;

fn is_superuser() -> bool {
    rustix::process::geteuid().is_root()
}

fn give_away(path: &Utf8Path) {
    lchown(path, Some(OTHER), Some(OTHER)).expect("the superuser may");
}

fn digest(bytes: &[u8]) -> String {
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a roll-forward record as Piton writes it: complete, valid, and private to its owner.
fn record(sandbox: &Sandbox, kind: &Kind, files: &[(&str, Option<&str>, &str)]) -> camino::Utf8PathBuf {
    let lines: Vec<serde_json::Value> = files
        .iter()
        .map(|(path, before, after)| {
            serde_json::json!({
                "path": path,
                "before": before.map(|before| digest(before.as_bytes())),
                "after": digest(after.as_bytes()),
                "bytes": after.len(),
                "mode": 0o644,
            })
        })
        .collect();
    let header = serde_json::json!({"change": "begin", "step": null, "folders": [], "files": lines}).to_string();
    let contents: String = files.iter().map(|(_, _, after)| *after).collect();
    let own = if sandbox.exists(".git") { kind.own.replace(".piton/", ".git/piton/") } else { kind.own.to_owned() };
    sandbox.piton(["begin", kind.step]).run().expect_code(0);
    let pending = format!("{own}/txn/pending");
    sandbox.file(&pending, &format!("piton-transaction/2 {}\n{header}\n{contents}", digest(header.as_bytes())));
    sandbox.mode(&pending, 0o600).mode(&format!("{own}/txn"), 0o700);
    sandbox.root().join(pending)
}

/// The control: a record of this user is followed, so the others are refused for the right reason.
/// SECURITY: row 19
#[test]
fn a_sound_record_of_this_user_is_followed() {
    let kind = &KINDS[1];
    let sandbox = kind.project();
    record(&sandbox, kind, &[("planted.txt", None, "planted\n")]);
    sandbox.piton(["plan"]).run().expect_code(0);
    assert_eq!(sandbox.read("planted.txt"), "planted\n");
}

/// SECURITY: row 19
#[test]
fn a_record_that_names_a_place_outside_is_not_followed() {
    for path in ["../outside/new", "/tmp/piton-planted", ".git/hooks/post-checkout", "link/new", "a/../../outside/new"]
    {
        let kind = &KINDS[1];
        let sandbox = kind.project();
        sandbox.git_init();
        let outside = Outside::of(&sandbox);
        std::os::unix::fs::symlink(&outside.folder, sandbox.root().join("link")).expect("a link in the sandbox");
        let pending = record(&sandbox, kind, &[(path, None, "#!/bin/sh\n")]);
        let mut check = |line: &str, output: &Output| {
            check_answer(line, output);
            outside.is_untouched(&format!("{path}: {line}"));
        };
        check("plan", &within(sandbox.piton(["plan"])));
        write_all(&sandbox, kind.step, &mut check);
        assert!(!sandbox.exists(".git/hooks/post-checkout") && !Utf8Path::new("/tmp/piton-planted").exists(), "{path}");
        assert!(!pending.exists(), "{path}: it is dropped");
    }
}

/// SECURITY: row 19
#[test]
fn a_record_that_any_user_could_have_written_is_not_followed() {
    for mode in [0o644, 0o666, 0o660] {
        let kind = &KINDS[1];
        let sandbox = kind.project();
        let pending = record(&sandbox, kind, &[("planted.txt", None, "planted\n")]);
        std::fs::set_permissions(&pending, std::os::unix::fs::PermissionsExt::from_mode(mode))
            .expect("a file of our own");
        sandbox.piton(["plan"]).run().expect_code(0);
        sandbox.piton(["begin", kind.step]).run().expect_code(0);
        assert!(!sandbox.exists("planted.txt"), "{mode:o}");
    }
}

/// SECURITY: row 19
#[test]
fn a_record_of_another_user_is_not_followed_but_named() {
    if !is_superuser() {
        return;
    }
    let kind = &KINDS[1];
    let sandbox = kind.project();
    let pending = record(&sandbox, kind, &[("planted.txt", None, "planted\n")]);
    give_away(&pending);
    for words in [&["plan"][..], &["begin", kind.step], &["close", "--abort"]] {
        let output = within(sandbox.piton(words.iter().copied()));
        check_answer(words[0], &output);
        assert!(output.code != 0 && output.stdout.contains("another user"), "{output}");
        assert!(!sandbox.exists("planted.txt") && pending.exists(), "{words:?}");
    }
}

/// A world-writable folder with another user's `.piton` in it: nothing in it is believed that could move a file, and the
/// calls answer or name its owner.
/// SECURITY: row 20
#[test]
fn files_of_another_user_in_a_shared_folder_are_not_trusted() {
    if !is_superuser() {
        return;
    }
    for kind in &KINDS {
        let sandbox = kind.project();
        sandbox.piton(["begin", kind.step]).run().expect_code(0);
        let outside = Outside::of(&sandbox);
        std::fs::set_permissions(&outside.folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .expect("a folder of our own");
        let own = sandbox.root().join(kind.own);
        let aside = own.join("set-aside");
        std::os::unix::fs::symlink(&outside.folder, &aside).expect("a link in the sandbox");
        let mut open = vec![own];
        while let Some(path) = open.pop() {
            give_away(&path);
            if path.is_dir() && !path.is_symlink() {
                open.extend(
                    path.read_dir_utf8().expect("a readable folder").map(|entry| entry.expect("readable").into_path()),
                );
            }
        }
        sandbox.mode(kind.folder, 0o777).mode("", 0o777);
        let mut check = |line: &str, output: &Output| {
            check_answer(line, output);
            check_silent(line, output);
            outside.is_untouched(&format!("{}: {line}", kind.name));
        };
        check("plan", &within(sandbox.piton(["plan"])));
        write_all(&sandbox, kind.step, &mut check);
        // As a user without files here: refused or answered, nothing else.
        for words in [&["plan"][..], &["begin", kind.step], &["history"]] {
            check(words[0], &within(sandbox.piton(words.iter().copied()).unprivileged()));
        }
    }
}

/// What another user puts into a folder above makes no project of it: it could bring runs, settings and decisions.
/// SECURITY: row 20
#[test]
fn a_marker_of_another_user_above_makes_no_project() {
    if !is_superuser() {
        return;
    }
    for kind in &KINDS {
        let sandbox = kind.project();
        sandbox.file("mine/notes.txt", "");
        let mine = sandbox.root().join("mine");
        let list = || within(sandbox.piton(["list"]).folder(&mine));
        let control = list();
        assert!(control.stdout.contains(r#""number":1"#), "{}\n{control}", kind.name);
        for entry in sandbox.root().read_dir_utf8().expect("a readable folder") {
            let path = entry.expect("readable").into_path();
            if path != mine {
                give_away(&path);
            }
        }
        let output = list();
        assert!(output.stdout.contains("belongs to another user"), "{}\n{output}", kind.name);
        assert!(!output.stdout.contains(r#""number":1"#), "{}\n{output}", kind.name);
    }
}

/// Set-user-id and set-group-id bits are not passed on to new content; the other permissions are kept.
/// SECURITY: row 21
#[test]
fn a_replaced_file_keeps_its_mode_without_set_id_bits() {
    for (mode, kept) in [(0o4755, 0o755), (0o2664, 0o664), (0o1640, 0o640), (0o600, 0o600), (0o444, 0o444)] {
        let kind = &KINDS[0];
        let sandbox = kind.project();
        sandbox.mode(kind.state, mode);
        sandbox.piton(["begin", kind.step]).run().expect_code(0);
        let now = sandbox.root().join(kind.state).metadata().expect("it is there").mode() & 0o7777;
        assert_eq!(now, kept, "{mode:o} became {now:o}");
    }
}

/// Piton's own files are private to their owner under any umask.
/// SECURITY: row 21
#[test]
fn pitons_files_are_private_to_their_owner() {
    let begun = |kind: &Kind, first: &str| {
        let sandbox = kind.project();
        if !first.is_empty() {
            sandbox.remove(kind.own);
        }
        // What came with the project keeps its permissions.
        let came: Vec<String> = sandbox.tree().paths();
        let program = env!("CARGO_BIN_EXE_piton");
        let script = format!(
            "umask 0; for word in {first} 'begin {step}' 'finish {step}' pause 'resume --yes'; do '{program}' --now {now} $word; done; exit 0",
            step = if first.is_empty() { kind.step } else { "note" },
            now = crate::support::NOW
        );
        sandbox.tool("/bin/sh", ["-c", &script]).session("s").run().expect_code(0);
        (sandbox, came)
    };
    let own = &KINDS[4];
    let started = begun(own, "'start release --feature spring'");
    assert!(!started.1.iter().any(|path| path.contains("run.json")) && started.0.exists(records::FILES[1]));
    for (kind, (sandbox, came)) in KINDS.iter().map(|kind| (kind, begun(kind, ""))).chain([(own, started)]) {
        let mut open = vec![sandbox.root().join(kind.own)];
        while let Some(path) = open.pop() {
            let metadata = path.symlink_metadata().expect("it is there");
            let is_older =
                path.strip_prefix(sandbox.root()).is_ok_and(|path| came.iter().any(|came| *came == path.as_str()));
            assert!(metadata.mode() & 0o077 == 0 || is_older, "{path} is {:o}", metadata.mode());
            if metadata.is_dir() {
                open.extend(
                    path.read_dir_utf8().expect("a readable folder").map(|entry| entry.expect("readable").into_path()),
                );
            }
        }
        assert!(sandbox.read(".piton/.gitignore").starts_with('*'), "{}", kind.name);
    }
}
