//! A project in a temporary folder, with its own home and a fixed environment.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use super::{NOW, Program, Tree};

/// The folders that programs in the sandbox write to.
const WRITABLE: [&str; 3] = ["project", "home", "tmp"];

/// A temporary project. It is deleted when dropped.
pub(crate) struct Sandbox {
    /// Dropping it removes the folder.
    folder: TempDir,
    top: Utf8PathBuf,
}

impl Sandbox {
    /// Makes an empty project outside of any git repository.
    pub(crate) fn new() -> Self {
        Self::in_folder(tempfile::Builder::new().prefix("piton-test-").tempdir())
    }

    /// Makes one where a flush is free, if the machine has such a place; for tests in which only the order of system calls
    /// matters.
    pub(crate) fn in_memory() -> Self {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("piton-test-");
        Self::in_folder(builder.tempdir_in("/dev/shm").or_else(|_| builder.tempdir()))
    }

    fn in_folder(folder: std::io::Result<TempDir>) -> Self {
        super::bound::hear_signals();
        let folder = folder.expect("a temporary folder");
        let top = folder.path().canonicalize().expect("it was just made");
        let top = Utf8PathBuf::from_path_buf(top).expect("a temporary folder in UTF-8");
        for name in ["project", "home", "bin", "empty", "tmp"] {
            std::fs::create_dir(top.join(name)).expect("a folder in a fresh one");
        }
        if let Some(git) = git() {
            std::os::unix::fs::symlink(git, top.join("bin/git")).expect("a link in a fresh folder");
        }
        Self { folder, top }
    }

    /// Makes an empty project that is a git repository on branch `main` with one commit.
    pub(crate) fn with_git() -> Self {
        let sandbox = Self::new();
        sandbox.git_init();
        sandbox
    }

    /// Returns the folder of the project, absolute and without links.
    pub(crate) fn root(&self) -> Utf8PathBuf {
        self.top.join("project")
    }

    pub(crate) fn home(&self) -> Utf8PathBuf {
        self.top.join("home")
    }

    /// Returns the folder that holds the project, the home and the rest.
    pub(crate) fn top(&self) -> &Utf8Path {
        &self.top
    }

    /// Writes a file of the project, with the folders above it.
    pub(crate) fn file(&self, path: &str, text: &str) -> &Self {
        self.bytes(path, text.as_bytes())
    }

    /// Writes a file byte for byte.
    pub(crate) fn bytes(&self, path: &str, bytes: &[u8]) -> &Self {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder in the sandbox");
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{path}: {error}"));
        self
    }

    /// Makes a folder of the project.
    pub(crate) fn dir(&self, path: &str) -> &Self {
        std::fs::create_dir_all(self.root().join(path)).expect("a folder in the sandbox");
        self
    }

    /// Removes a file or a folder of the project.
    pub(crate) fn remove(&self, path: &str) -> &Self {
        let path = self.root().join(path);
        let removed = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        removed.unwrap_or_else(|error| panic!("{path}: {error}"));
        self
    }

    /// Sets the permission bits of a file or folder of the project.
    pub(crate) fn mode(&self, path: &str, mode: u32) -> &Self {
        let path = self.root().join(path);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        self
    }

    /// Sets the time of the last change of a file of the project.
    pub(crate) fn modified(&self, path: &str, unix_seconds: u64) -> &Self {
        let path = self.root().join(path);
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(unix_seconds);
        let file = std::fs::File::options().write(true).open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        file.set_modified(time).expect("a file of our own");
        self
    }

    /// Rewrites which process is behind each driver of a run of a workflow file.
    pub(crate) fn driven_by(&self, run: &str, process: serde_json::Value) {
        let path = format!(".piton/runs/{run}/local.json");
        let mut local = self.read_json(&path);
        let drivers = local["drivers"].as_object_mut().expect("drivers by name");
        assert!(!drivers.is_empty(), "an attempt was begun");
        drivers.values_mut().for_each(|driver| *driver = process.clone());
        self.file(&path, &local.to_string());
    }

    /// Reads a text file of the project.
    pub(crate) fn read(&self, path: &str) -> String {
        super::read(&self.root().join(path))
    }

    /// Reads a file of the project as JSON.
    pub(crate) fn read_json(&self, path: &str) -> serde_json::Value {
        serde_json::from_str(&self.read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.root().join(path).exists()
    }

    /// Reads every byte of the project.
    pub(crate) fn tree(&self) -> Tree {
        Tree::of(&self.root())
    }

    /// Reads every byte of the project, the home and the temporary folder.
    pub(crate) fn everything(&self) -> Tree {
        Tree::of(&self.top).only(|path| WRITABLE.iter().any(|folder| path.starts_with(folder)))
    }

    /// Restores an earlier tree, from this or another sandbox.
    pub(crate) fn put_back(&self, everything: &Tree) -> &Self {
        for folder in WRITABLE {
            std::fs::remove_dir_all(self.top.join(folder)).expect("a folder of the sandbox");
        }
        everything.write_to(&self.top);
        self
    }

    /// Makes the project a git repository on branch `main` with one commit of what is there.
    pub(crate) fn git_init(&self) -> &Self {
        self.git(["init", "--quiet", "--initial-branch=main"]);
        self.commit("start");
        self
    }

    /// Commits everything, at [`NOW`], and returns the id of the commit. Equal content gives equal ids.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(["add", "--all"]);
        self.git(["commit", "--quiet", "--allow-empty", "--message", message]);
        self.git(["rev-parse", "HEAD"])
    }

    /// Adds a linked worktree on a new branch.
    pub(crate) fn worktree(&self, path: &str, branch: &str) -> &Self {
        self.git(["worktree", "add", "--quiet", "-b", branch, path]);
        self
    }

    /// Runs git in the project and returns what it printed, trimmed; any failure fails the test.
    pub(crate) fn git<const N: usize>(&self, arguments: [&str; N]) -> String {
        self.git_in("", arguments)
    }

    /// Runs git in a folder of the project.
    pub(crate) fn git_in<const N: usize>(&self, folder: &str, arguments: [&str; N]) -> String {
        self.git_words(&self.root().join(folder), &arguments)
    }

    /// Runs git in a folder, with any number of words.
    pub(crate) fn git_words(&self, folder: &Utf8Path, words: &[impl AsRef<str>]) -> String {
        let words = || words.iter().map(AsRef::as_ref);
        let git = git().expect("git is on the PATH of the tests");
        let output = Program::new(self, git).arguments(words()).folder(folder).run();
        assert_eq!(output.code, 0, "git {}:\n{output}", words().collect::<Vec<_>>().join(" "));
        output.stdout.trim_end().to_owned()
    }

    /// Prepares a call of piton in the project, at [`NOW`].
    pub(crate) fn piton<'a>(&'a self, arguments: impl IntoIterator<Item = &'a str>) -> Program<'a> {
        Program::new(self, env!("CARGO_BIN_EXE_piton").into()).arguments(arguments).now(NOW)
    }

    /// Prepares a call of another program of the machine, such as `/bin/sh`, in the project.
    pub(crate) fn tool<'a>(&'a self, program: &str, arguments: impl IntoIterator<Item = &'a str>) -> Program<'a> {
        Program::new(self, program.into()).arguments(arguments)
    }

    /// Gives everything in the sandbox to a user, and returns where in it that user finds a program: its own folder may be closed.
    pub(super) fn give_to(&self, user: u32, program: &Path) -> PathBuf {
        let here = self.top.join("bin").join(program.file_name().and_then(|name| name.to_str()).expect("a program"));
        if !here.exists() && std::fs::hard_link(program, &here).is_err() {
            // Not by this process: what another test starts meanwhile would hold the file open for writing, and it could not be run.
            let words = [program.to_str().expect("a path of our own"), here.as_str()];
            assert!(super::run_tool(Path::new("/bin/cp"), &words, &[]).status.success(), "room for a program");
        }
        let mut open = vec![self.top.clone()];
        while let Some(path) = open.pop() {
            if path != here {
                std::os::unix::fs::lchown(&path, Some(user), Some(user)).expect("the superuser may");
            }
            if !path.is_symlink() && path.is_dir() {
                let entries = path.read_dir_utf8().expect("the superuser may");
                open.extend(entries.map(|entry| entry.expect("a readable folder").into_path()));
            }
        }
        here.into()
    }

    /// Returns the name that Claude Code gives to the folder of the project.
    pub(crate) fn slug(&self) -> String {
        self.root().as_str().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
    }

    /// Keeps the folder, for a person to look at, and returns where the project is.
    pub(crate) fn keep(self) -> Utf8PathBuf {
        let _ = self.folder.keep();
        self.top.join("project")
    }

    /// Returns the whole environment of everything that runs in the sandbox.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let below = |name: &str| self.top.join(name).into_string();
        let mut variables: Vec<(&'static str, String)> = [
            ("HOME", "home"),
            ("XDG_CONFIG_HOME", "home/.config"),
            ("XDG_CACHE_HOME", "home/.cache"),
            ("XDG_DATA_HOME", "home/.local/share"),
            ("XDG_STATE_HOME", "home/.local/state"),
            ("XDG_RUNTIME_DIR", "tmp"),
            ("TMPDIR", "tmp"),
            ("PATH", "bin"),
            ("GIT_CEILING_DIRECTORIES", ""),
        ]
        .map(|(name, path)| (name, below(path)))
        .to_vec();
        let fixed = [
            ("LANG", "C.UTF-8"),
            ("TZ", "UTC"),
            ("RUST_BACKTRACE", "0"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "Test"),
            ("GIT_AUTHOR_EMAIL", "test@example.test"),
            ("GIT_AUTHOR_DATE", NOW),
            ("GIT_COMMITTER_NAME", "Test"),
            ("GIT_COMMITTER_EMAIL", "test@example.test"),
            ("GIT_COMMITTER_DATE", NOW),
        ];
        variables.extend(fixed.map(|(name, value)| (name, value.to_owned())));
        variables
    }

    /// Replaces the paths of this sandbox by `$ROOT`, `$HOME` and `$TOP`.
    pub(crate) fn normalise(&self, text: &str) -> String {
        text.replace(self.root().as_str(), "$ROOT")
            .replace(self.home().as_str(), "$HOME")
            .replace(self.top.as_str(), "$TOP")
            .replace(&self.slug(), "$SLUG")
    }
}

/// Finds git on the PATH of the tests, once.
fn git() -> Option<PathBuf> {
    static GIT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file())
    };
    GIT.get_or_init(find).clone()
}
