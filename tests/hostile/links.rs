//! Links, hard links and special files, anywhere in a path that Piton uses.

use std::os::unix::fs::symlink;

use camino::Utf8Path;

use super::{KINDS, Kind, Outside, SECRET, check_answer, check_silent, read_all, records, within, write_all};
use crate::support::{Output, Sandbox, sample};

/// Replaces a file or folder by a link to it.
fn lead_out(sandbox: &Sandbox, path: &str, target: &Utf8Path) {
    let there = sandbox.root().join(path);
    if there.symlink_metadata().is_ok() {
        sandbox.remove(path);
    }
    std::fs::create_dir_all(there.parent().expect("it is in a folder")).expect("a folder in the sandbox");
    symlink(target, there).expect("a link in the sandbox");
}

/// Runs everything, and checks that files outside are neither revealed nor changed.
fn hold(sandbox: &Sandbox, step: &str, outside: &Outside, what: &str) {
    let mut check = |line: &str, output: &Output| {
        check_answer(line, output);
        check_silent(line, output);
        outside.is_untouched(&format!("{what}: {line}"));
    };
    read_all(sandbox, &mut check);
    write_all(sandbox, step, &mut check);
}

/// SECURITY: row 3
#[test]
fn a_state_or_a_folder_that_is_a_link_out_is_neither_read_nor_written() {
    for kind in &KINDS {
        let top = kind.folder.split('/').next().expect("a path has a part");
        let files = kind.states().into_iter().map(|state| (state, "state.json"));
        for (path, target) in sample(3, kind.name.len(), files.chain([(kind.folder, ""), (top, "")])) {
            let sandbox = kind.project();
            let outside = Outside::of(&sandbox);
            // The files outside are valid state, so that only their location is wrong.
            let states: Vec<&str> =
                kind.states().into_iter().filter(|state| Utf8Path::new(state).starts_with(path)).collect();
            for state in &states {
                let text = sandbox.read(state).replace("user-auth", SECRET).replace("checkout", SECRET);
                sandbox.file(state, &text.replace("Release 1.4", SECRET).replace("Write the release note", SECRET));
            }
            records::seal(&sandbox);
            for state in states {
                let name = Utf8Path::new(state).strip_prefix(path).unwrap_or(Utf8Path::new(""));
                let place = if name.as_str().is_empty() {
                    outside.folder.join(target)
                } else {
                    outside.folder.join(target).join(name)
                };
                std::fs::create_dir_all(place.parent().expect("it is in a folder")).expect("a folder in the sandbox");
                std::fs::write(place, sandbox.read(state)).expect("a file in the sandbox");
            }
            let outside = Outside::seen(&outside.folder);
            lead_out(&sandbox, path, &outside.folder.join(target));
            hold(&sandbox, kind.step, &outside, &format!("{}: {path}", kind.name));
        }
    }
}

/// All of Piton's own files; a project may contain any of them as a link.
const OWN: [&str; 7] = ["", "lock", "local.json", ".gitignore", "set-aside", "txn", "sessions"];

/// SECURITY: row 3
#[test]
fn links_in_place_of_pitons_files_are_not_followed() {
    let ccw = &KINDS[1];
    for name in sample(3, 0, OWN) {
        // The top of the project has only logs of sessions.
        let has_top = matches!(name, "" | "sessions");
        for folder in [ccw.folder, ""].into_iter().filter(|folder| has_top || !folder.is_empty()) {
            let sandbox = ccw.project();
            let outside = Outside::of(&sandbox);
            let own = Utf8Path::new(folder).join(".piton").join(name);
            let target = outside.folder.join(if outside.folder.join(name).is_file() { name } else { "" });
            lead_out(&sandbox, own.as_str().trim_end_matches('/'), &target);
            hold(&sandbox, ccw.step, &outside, own.as_str());
        }
    }
}

/// SECURITY: row 5
#[test]
fn a_second_name_of_a_file_outside_keeps_its_content() {
    for kind in &KINDS {
        let sandbox = kind.project();
        let outside = Outside::of(&sandbox);
        let own = sandbox.root().join(kind.own);
        sandbox.dir(own.as_str());
        let names = ["local.json", "lock", ".gitignore"].map(|name| (name.to_owned(), own.join(name)));
        let states = kind.states().into_iter().enumerate().map(|(at, state)| {
            let (name, state) = (format!("state-{at}"), sandbox.root().join(state));
            std::fs::rename(&state, outside.folder.join(&name)).expect("a file in the sandbox");
            (name, state)
        });
        for (name, there) in names.into_iter().chain(states) {
            std::fs::hard_link(outside.folder.join(name), there).expect("two names in one file system");
        }
        let outside = Outside::seen(&outside.folder);
        let mut wrote = false;
        write_all(&sandbox, kind.step, &mut |line, output| {
            check_answer(line, output);
            wrote |= output.code == 0;
            outside.is_untouched(&format!("{}: {line}", kind.name));
        });
        assert!(wrote, "{}: nothing was written at all", kind.name);
    }
}

/// Puts a special file where a regular file is expected.
type Put = Box<dyn Fn(&Utf8Path)>;

/// Sockets, devices, and files without an end.
/// SECURITY: row 6
#[test]
fn endless_files_are_not_read_to_their_end() {
    for kind in &KINDS {
        let mut ways: Vec<(&str, Put)> = vec![
            ("a link to a device", Box::new(|path| symlink("/dev/zero", path).expect("a link in the sandbox"))),
            (
                "a link to the kernel",
                Box::new(|path| symlink("/proc/self/environ", path).expect("a link in the sandbox")),
            ),
            ("a link to itself", Box::new(|path| symlink(path, path).expect("a link in the sandbox"))),
            ("a socket", Box::new(|path| drop(std::os::unix::net::UnixListener::bind(short(path))))),
        ];
        if rustix::process::geteuid().is_root() {
            ways.push(("a device", Box::new(make_device)));
        }
        let all = ways.iter().flat_map(|(what, put)| kind.states().into_iter().map(move |state| (what, put, state)));
        for (what, put, state) in sample(2, kind.name.len(), all) {
            let sandbox = kind.project();
            sandbox.remove(state);
            put(&sandbox.root().join(state));
            let check = |line: &str, output: &Output| {
                assert!((0..=9).contains(&output.code), "{state}: {what}: {line}\n{output}");
                assert!(!output.stdout.contains("XDG_STATE_HOME"), "{state}: {what}: {line}\n{output}");
            };
            for words in [
                &["list"][..],
                &["plan"],
                &["validate"],
                &["doctor"],
                &["begin", kind.step],
                &["restore", "--yes"],
                &["close", "--abort"],
            ] {
                check(&words.join(" "), &within(sandbox.piton(words.iter().copied())));
            }
        }
    }
}

/// A socket's path is short.
fn short(path: &Utf8Path) -> std::path::PathBuf {
    let folder = std::fs::File::open(path.parent().expect("it is in a folder")).expect("a folder in the sandbox");
    let descriptor = std::os::fd::IntoRawFd::into_raw_fd(folder);
    format!("/proc/self/fd/{descriptor}/{}", path.file_name().expect("it has a name")).into()
}

fn make_device(path: &Utf8Path) {
    use rustix::fs::{FileType, Mode};
    // The device of /dev/zero, if the machine allows it.
    let _ = rustix::fs::mknodat(
        rustix::fs::CWD,
        path.as_std_path(),
        FileType::CharacterDevice,
        Mode::RUSR | Mode::WUSR,
        rustix::fs::makedev(1, 5),
    );
}

/// A folder is swapped for a link while Piton runs: between any check and any use.
/// SECURITY: row 4
#[test]
fn a_folder_that_becomes_a_link_meanwhile_leads_nowhere() {
    let [_, ccw, .., own] = &KINDS;
    let swaps = [(ccw, ccw.folder), (own, ".piton"), (own, ".piton/runs"), (own, own.folder)];
    std::thread::scope(|scope| {
        let all = swaps.map(|(kind, folder)| scope.spawn(move || swap_meanwhile(kind, folder)));
        all.into_iter().for_each(|one| one.join().expect("nothing leads anywhere"));
    });
}

fn swap_meanwhile(kind: &Kind, folder: &str) {
    use std::sync::atomic::{AtomicBool, Ordering};
    let sandbox = kind.project();
    let outside = Outside::of(&sandbox);
    let twin = outside.folder.join("twin");
    sandbox.piton(["begin", kind.step]).run().expect_code(0);
    std::fs::create_dir_all(&twin).expect("a folder in the sandbox");
    crate::support::Tree::of(&sandbox.root().join(folder)).write_to(&twin);
    for file in crate::support::files_below(&twin, "json") {
        let text = crate::support::read(&file).replace("Sign in with JWT", SECRET).replace("Implement JWT", SECRET);
        std::fs::write(file, text).expect("a file in the sandbox");
    }
    if folder == kind.folder {
        // Piton's own folder exists, so that it could be written.
        std::fs::create_dir_all(twin.join(".piton/txn")).expect("a folder in the sandbox");
        std::fs::write(twin.join(".piton/lock"), "").expect("a file in the sandbox");
    }
    let outside = Outside::seen(&outside.folder);
    let (folder, link) = (sandbox.root().join(folder), sandbox.top().join("link"));
    symlink(&twin, &link).expect("a link in the sandbox");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            let mut swaps = 0_u32;
            while !is_over.load(Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                let cwd = rustix::fs::CWD;
                rustix::fs::renameat_with(cwd, folder.as_std_path(), cwd, link.as_std_path(), flags)
                    .expect("both are there");
                swaps += 1;
                std::thread::yield_now();
            }
            swaps
        });
        for _ in 0..25 {
            for words in [&["plan"][..], &["context"], &["begin", kind.step], &["finish", kind.step, "--error", "no"]] {
                let output = within(sandbox.piton(words.iter().copied()));
                assert!((0..=9).contains(&output.code), "{words:?}\n{output}");
                check_silent(&words.join(" "), &output);
            }
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(swapper.join().expect("a swapper without assertions") > 100);
    });
    outside.is_untouched(&format!("{folder} was swapped"));
}
