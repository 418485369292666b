//! A `.git` that came with the project: everything in it that git would start, and every way to pose as another repository.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

use camino::Utf8Path;

use super::{KINDS, Kind, check_answer, read_all, write_all};
use crate::{
    cli::projects,
    support::{Output, Sandbox, Tree},
};

/// What a repository can make git start: each setting, as git reads it, with `RUN` for a command that leaves a trace behind.
const TRAPS: &str = r#"
[core]
	fsmonitor = RUN fsmonitor
	sshCommand = RUN ssh
	pager = RUN pager
	editor = RUN editor
	askPass = RUN askpass
	gitProxy = RUN proxy
	alternateRefsCommand = RUN alternates
	attributesFile = TOP/attributes
[pager]
	status = RUN pager-status
	log = RUN pager-log
[log]
	showSignature = true
[gpg]
	program = TOP/trap-gpg
[filter "x"]
	clean = "RUN clean; cat"
	smudge = "RUN smudge; cat"
	required = true
[filter "a.b"]
	process = RUN process
[diff]
	external = RUN diff
[diff "x"]
	command = RUN diff-x
	textconv = RUN textconv
[merge "x"]
	driver = RUN merge
[credential]
	helper = !RUN credential
[alias]
	status = !RUN alias
	log = !RUN alias
	cat-file = !RUN alias
[extensions]
	partialClone = origin
[remote "origin"]
	url = ext::RUN ext
	promisor = true
	partialclonefilter = blob:none
	uploadpack = RUN uploadpack
[protocol "ext"]
	allow = always
[protocol]
	allow = always
[submodule "s"]
	update = !RUN submodule
	url = ext::RUN submodule-url
[include]
	path = TOP/included
[includeIf "gitdir:/**"]
	path = TOP/included-if
"#;

/// Sets every trap in the repository of a project.
fn set_traps(sandbox: &Sandbox) {
    let top = sandbox.top();
    let run = format!("sh {top}/trap");
    write(&top.join("trap"), &format!("touch {top}/sprung-$1\n"));
    write(&top.join("trap-gpg"), &format!("#!/bin/sh\n{run} gpg\n"));
    make_program(&top.join("trap-gpg"));
    let traps = |text: &str| text.replace("RUN", &run).replace("TOP", top.as_str());
    let config = sandbox.root().join(".git/config");
    let old = crate::support::read(&config).replace("repositoryformatversion = 0", "repositoryformatversion = 1");
    write(&config, &(old + &traps(TRAPS)));
    write(&top.join("included"), &traps("[filter \"in\"]\n\tclean = \"RUN included; cat\"\n"));
    write(&top.join("included-if"), &traps("[filter \"if\"]\n\tclean = \"RUN included-if; cat\"\n"));
    write(&top.join("attributes"), "*.txt filter=a.b\n");
    sandbox.file(".gitattributes", "*.json filter=x diff=x merge=x\n*.md filter=in\n*.yaml filter=if\n");
    write(&sandbox.root().join(".git/info/attributes"), "*.toml filter=x\n");
    for hook in [
        "post-index-change",
        "post-checkout",
        "pre-commit",
        "post-commit",
        "post-merge",
        "reference-transaction",
        "fsmonitor-watchman",
        "update",
        "pre-auto-gc",
    ] {
        let path = sandbox.root().join(".git/hooks").join(hook);
        write(&path, &format!("#!/bin/sh\n{run} hook-{hook}\n"));
        make_program(&path);
    }
}

fn make_program(path: &Utf8Path) {
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a file of our own");
}

fn write(path: &Utf8Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder in the sandbox");
    std::fs::write(path, text).expect("a file in the sandbox");
}

/// Lists the traps sprung since the last call.
fn sprung(sandbox: &Sandbox) -> Vec<String> {
    let mut found = Vec::new();
    for entry in sandbox.top().read_dir_utf8().expect("a folder of our own") {
        let path = entry.expect("a readable folder").into_path();
        if let Some(name) = path.file_name().and_then(|name| name.strip_prefix("sprung-")) {
            found.push(name.to_owned());
            std::fs::remove_file(&path).expect("a file in the sandbox");
        }
    }
    found.sort();
    found
}

/// Puts an example into a repository full of traps, such that git must read the content of every file: the index entries
/// are older.
fn trapped(kind: &Kind) -> Sandbox {
    let sandbox = kind.project();
    sandbox
        .file("zz.txt", "last of all, since git ends with the driver of it\n")
        .file("src/a.json", "{}\n")
        .file("src/b.yaml", "b: 1\n")
        .file("src/c.md", "c\n");
    sandbox.git_init();
    if kind.name == "nine-step" {
        let state = sandbox.read(kind.state);
        sandbox.remove(".worktree").worktree(".worktree/user-auth", "feature/user-auth");
        sandbox.file(kind.state, &state);
    }
    if kind.has_records() {
        let (made, shared) = (sandbox.root().join(".piton"), sandbox.root().join(".git/piton"));
        std::fs::rename(made, shared).expect("a folder in the sandbox");
        sandbox.piton(["begin", kind.step]).run().expect_code(0);
    }
    sign(&sandbox);
    set_traps(&sandbox);
    for folder in ["", ".worktree/user-auth/"] {
        for path in ["zz.txt", "src/a.json", "src/b.yaml", "src/c.md", "piton.toml"] {
            let path = format!("{folder}{path}");
            if sandbox.exists(&path) {
                sandbox.modified(&path, 1_700_000_000);
            }
        }
    }
    sandbox
}

/// What a state can make Piton ask git for besides uncommitted changes: a commit that the repository does not have, which a partial
/// clone would fetch, and the time of the commit of a state without a stamp, which may be signed.
fn more_questions(sandbox: &Sandbox) {
    let state = sandbox.read(projects::NINE_STEP);
    let unknown = format!("\"step\": 9, \"commit_sha\": \"{}\",", "deadbeef".repeat(5));
    let state: Vec<String> =
        state.replace("\"step\": 9,", &unknown).split("\"timestamp\"").map(str::to_owned).collect();
    sandbox.file(projects::NINE_STEP, &state.join("\"at_some_time\""));
}

/// Adds a commit that claims to be signed.
fn sign(sandbox: &Sandbox) {
    let commit = sandbox.git(["cat-file", "commit", "HEAD"]);
    let (head, message) = commit.split_once("\n\n").expect("a commit has a message");
    let parent = sandbox.git(["rev-parse", "HEAD"]);
    let tree = head.lines().next().expect("a commit has a tree");
    let rest: Vec<&str> =
        head.lines().filter(|line| line.starts_with("author") || line.starts_with("committer")).collect();
    let signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----";
    let signed = format!("{tree}\nparent {parent}\n{}\n{signature}\n\n{message}\n", rest.join("\n"));
    sandbox.file(".git/signed", &signed);
    let sha = sandbox.git(["hash-object", "-t", "commit", "-w", ".git/signed"]);
    sandbox.git(["update-ref", "HEAD", &sha]);
}

/// Runs git as a person would, to prove that each trap is set.
/// SECURITY: row 1
#[test]
fn the_traps_are_set() {
    let sandbox = trapped(&KINDS[0]);
    let git = |words: &[&str]| sandbox.tool("git", words.iter().copied()).env("PATH", "/usr/bin:/bin").run();
    git(&["status", "--porcelain"]);
    git(&["log", "-1"]);
    git(&["cat-file", "-e", &"deadbeef".repeat(5)]);
    let found = sprung(&sandbox);
    for trap in ["clean", "process", "included", "included-if", "fsmonitor", "gpg", "ext"] {
        assert!(found.iter().any(|name| name == trap), "{trap} is no trap: {found:?}");
    }
}

/// SECURITY: row 1
#[test]
fn no_verb_starts_what_a_repository_names() {
    for (kind, asks_more) in KINDS.iter().map(|kind| (kind, false)).chain([(&KINDS[0], true)]) {
        let sandbox = trapped(kind);
        if asks_more {
            more_questions(&sandbox);
        }
        let mut check = |line: &str, output: &Output| {
            check_answer(line, output);
            assert_eq!(sprung(&sandbox), [""; 0], "{}: {line}\n{output}", kind.name);
        };
        read_all(&sandbox, &mut check);
        write_all(&sandbox, kind.step, &mut check);
    }
}

/// Every way in which a `.git` can lead git, but not a reader that trims or gives up, to settings that start a program.
/// SECURITY: row 1
#[test]
fn a_pointer_that_only_git_follows_starts_nothing() {
    let (plain, evil) = ("evil", " evil");
    for (name, pointer, common, real) in [
        ("a blank in front", format!("gitdir: {evil}\n"), None, evil),
        ("a blank behind", "gitdir: evil \n".to_owned(), None, "evil "),
        ("a tab", "gitdir: \tevil\n".to_owned(), None, "\tevil"),
        ("a vertical tab", "gitdir: evil\u{b}\n".to_owned(), None, "evil\u{b}"),
        ("a blank in commondir", "gitdir: admin\n".to_owned(), Some(b"../evil \n".to_vec()), "evil "),
        ("bytes in commondir", "gitdir: admin\n".to_owned(), Some(b"../evil\xff\n".to_vec()), ""),
    ] {
        let sandbox = trapped(&KINDS[0]);
        let root = sandbox.root().to_owned();
        let real = if real.is_empty() { OsStr::from_bytes(b"evil\xff") } else { OsStr::new(real) };
        std::fs::rename(root.join(".git"), root.as_std_path().join(real)).expect("a folder of our own");
        // What a reader finds that reads the pointer otherwise.
        sandbox.file(&format!("{plain}/HEAD"), "ref: refs/heads/main\n").file(&format!("{plain}/config"), "");
        if let Some(common) = common {
            std::fs::create_dir_all(root.join("admin")).expect("a folder of our own");
            std::fs::copy(root.as_std_path().join(real).join("HEAD"), root.join("admin/HEAD")).expect("a HEAD");
            std::fs::copy(root.as_std_path().join(real).join("index"), root.join("admin/index")).expect("an index");
            std::fs::write(root.join("admin/commondir"), common).expect("a file of our own");
        }
        write(&root.join(".git"), &pointer);
        let status = sandbox.tool("git", ["status", "--porcelain"]).env("PATH", "/usr/bin:/bin").run();
        assert!(!sprung(&sandbox).is_empty(), "{name} is no trap: {status}");
        for words in [&["plan"][..], &["list"], &["status"], &["context"], &["show"], &["validate"], &["doctor"]] {
            let output = sandbox.piton(words.iter().copied()).run();
            assert!(output.code < 10, "{name}: {output}");
            assert_eq!(sprung(&sandbox), [""; 0], "{name}: {words:?}\n{output}");
        }
    }
}

/// A `.git` that leads to the repository of another folder: that one stays as it is.
/// SECURITY: row 2
#[test]
fn nothing_is_written_into_another_repository() {
    for name in ["a worktree of it", "its git folder", "a link to it", "its commondir", "a gitdir that names back"] {
        let sandbox = Sandbox::new();
        let victim = sandbox.top().join("victim");
        std::fs::create_dir_all(&victim).expect("a folder in the sandbox");
        for words in [
            &["init", "--quiet"][..],
            &["commit", "--quiet", "--allow-empty", "--message=x"],
            &["worktree", "add", "--quiet", "../linked", "-b", "w"],
        ] {
            let done = sandbox.tool("git", ["-C", victim.as_str()].iter().chain(words).copied()).run();
            assert_eq!(done.code, 0, "{done}");
        }
        let (dot_git, of_victim) = (sandbox.root().join(".git"), victim.join(".git"));
        let head = || write(&sandbox.root().join("admin/HEAD"), "ref: refs/heads/main\n");
        match name {
            "a worktree of it" => write(&dot_git, &format!("gitdir: {of_victim}/worktrees/linked\n")),
            "its git folder" => write(&dot_git, &format!("gitdir: {of_victim}\n")),
            "a link to it" => std::os::unix::fs::symlink(&of_victim, &dot_git).expect("a link of our own"),
            "its commondir" => {
                write(&dot_git.join("HEAD"), "ref: refs/heads/main\n");
                write(&dot_git.join("commondir"), &format!("{of_victim}\n"));
            }
            _ => {
                head();
                write(&sandbox.root().join("admin/commondir"), &format!("{of_victim}\n"));
                write(&sandbox.root().join("admin/gitdir"), &format!("{dot_git}\n"));
                write(&dot_git, "gitdir: admin\n");
            }
        }
        let before = Tree::of(&victim);
        for line in [
            "start nine-step --feature zz",
            "begin 1",
            "finish 1 --phases 1",
            "pause --note later",
            "abort",
            "archive --yes",
            "start w.yaml --feature ww --worktree",
            "run w.yaml",
        ] {
            sandbox.file("w.yaml", "name: w\nsteps:\n  - id: a\n    agent: coder\n");
            let output = sandbox.piton(line.split(' ')).run();
            assert!(output.code < 10, "{name}: {output}");
            assert_eq!(before.changes(&Tree::of(&victim)), [""; 0], "{name}: {line}\n{output}");
        }
    }
}

/// The answer itself: uncommitted changes are still counted, with the filters off.
/// SECURITY: row 1
#[test]
fn changes_are_counted_without_the_filters_of_the_repository() {
    let sandbox = trapped(&KINDS[0]);
    sandbox.file(".worktree/user-auth/src/a.json", "{\"changed\": true}\n");
    let plan = sandbox.piton(["plan"]).run();
    assert!(plan.findings().contains(&"worktree-dirty".to_owned()), "{plan}");
    assert_eq!(sprung(&sandbox), [""; 0]);
}

/// Filters of the user's own configuration still run: Git LFS works as usual.
/// SECURITY: row 1
#[test]
fn filters_of_the_user_still_run() {
    let sandbox = trapped(&KINDS[0]);
    let global = sandbox.home().join("gitconfig");
    write(&global, &format!("[filter \"own\"]\n\tclean = \"sh {}/trap own; cat\"\n", sandbox.top()));
    sandbox.file(".worktree/user-auth/.gitattributes", "*.json filter=own\n");
    sandbox.modified(".worktree/user-auth/src/a.json", 1_700_000_001);
    let path = format!("{}:/usr/bin:/bin", sandbox.top().join("bin"));
    sandbox.piton(["plan"]).env("GIT_CONFIG_GLOBAL", global.as_str()).env("PATH", &path).run();
    assert_eq!(sprung(&sandbox), ["own"]);
}

/// A folder of the project that looks like a bare repository is not treated as one: its configuration is not read.
/// SECURITY: row 2
#[test]
fn a_bare_repository_in_the_project_is_not_used() {
    let sandbox = trapped(&KINDS[0]);
    sandbox.git(["-c", "safe.bareRepository=all", "clone", "--quiet", "--bare", ".", "planted"]);
    let planted = sandbox.root().join("planted/config");
    let run = format!("sh {}/trap planted", sandbox.top());
    let core =
        format!("\n[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = {run}\n[filter \"x\"]\n\tclean = {run}\n");
    write(&planted, &(crate::support::read(&planted).replace("bare = true", "") + &core));
    sprung(&sandbox);
    let state = sandbox.read(projects::NINE_STEP);
    sandbox.file("planted/.workflow-state.json", &state).file("planted/.gitattributes", "* filter=x\n");
    for words in [&["list"][..], &["plan", "planted"], &["status", "planted"], &["validate"], &["doctor"]] {
        let output = sandbox.piton(words.iter().copied()).run();
        assert!(output.code < 10, "{output}");
        assert_eq!(sprung(&sandbox), [""; 0], "{words:?}\n{output}");
    }
}

/// Files elsewhere are not read: `core.worktree` of an untrusted repository is not part of the project.
/// SECURITY: row 2
#[test]
fn a_work_tree_elsewhere_is_not_counted() {
    let sandbox = trapped(&KINDS[1]);
    let outside = super::Outside::of(&sandbox);
    sandbox.git(["config", "core.worktree", outside.folder.as_str()]);
    sprung(&sandbox);
    read_all(&sandbox, &mut |line, output| {
        check_answer(line, output);
        super::check_silent(line, output);
    });
    outside.is_untouched("core.worktree");
    assert_eq!(sprung(&sandbox), [""; 0]);
}

/// Git refuses a repository of another user (`safe.directory`): there is no answer, and nothing runs.
/// SECURITY: row 2
#[test]
fn a_repository_of_another_user_is_not_asked() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let sandbox = trapped(&KINDS[0]);
    for path in [".git", ".git/config", ".worktree/user-auth", ".worktree/user-auth/.git", ""] {
        std::os::unix::fs::lchown(sandbox.root().join(path), Some(4_242), Some(4_242)).expect("the superuser may");
    }
    read_all(&sandbox, &mut |line, output| {
        check_answer(line, output);
        assert_eq!(sprung(&sandbox), [""; 0], "{line}");
    });
}
