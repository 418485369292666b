//! `bin/piton` finds the program for any location of the plugin, and stays silent in hooks if it is missing.

use std::{
    io::BufRead as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use crate::support;

/// An installed plugin: manifests and launcher, without a program, in a folder with a space in its name.
struct Installed {
    _folder: TempDir,
    top: Utf8PathBuf,
}

/// The launcher's output and exit code.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Installed {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let top = Utf8PathBuf::from_path_buf(folder.path().canonicalize().expect("it was just made")).expect("UTF-8");
        let installed = Self { _folder: folder, top };
        for file in ["bin/piton", ".ci/ship", ".claude-plugin/plugin.json", "Cargo.toml"] {
            let to = installed.root().join(file);
            std::fs::create_dir_all(to.parent().expect("a file is in a folder")).expect("a fresh folder");
            std::fs::copy(support::repository().join(file), &to).expect("a file of the plugin");
        }
        installed
    }

    fn root(&self) -> Utf8PathBuf {
        self.top.join("a plugin's home")
    }

    /// Installs a program that prints its name and arguments.
    fn program(&self, path: impl AsRef<Utf8Path>, name: &str) -> Utf8PathBuf {
        let path = self.top.join(path);
        std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder of ours");
        let version = env!("CARGO_PKG_VERSION");
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo 'piton {version}' && exit\nprintf '%s' {name}\nprintf ' <%s>' \"$@\"\n"
        );
        std::fs::write(&path, script).expect("a file of ours");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a file of ours");
        path
    }

    /// Installs prebuilt programs for four systems, with their checksums.
    fn prebuilt(&self) {
        let mut sums = String::new();
        for triple in TRIPLES {
            let path = format!("bin/prebuilt/{triple}/piton");
            let program = self.program(format!("a plugin's home/{path}"), "prebuilt");
            let sum = support::run_tool(Path::new("/usr/bin/sha256sum"), &[program.as_str()], &[]);
            let sum = String::from_utf8(sum.stdout).expect("text");
            sums.push_str(&format!("{}  {path}\n", sum.split(' ').next().expect("a sum")));
        }
        std::fs::write(self.root().join("SHA256SUMS"), sums).expect("a file of ours");
    }

    /// Returns the names of the files in the cache, below it.
    fn in_cache(&self) -> Vec<String> {
        let cache = self.top.join("home/.cache/piton");
        let files = walk(&cache).into_iter().map(|path| path.strip_prefix(&cache).expect("below").to_string());
        files.collect()
    }

    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Answer {
        self.run_as(self.root().join("bin/piton").as_std_path(), arguments, variables)
    }

    fn run_as(&self, launcher: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Answer {
        let home = self.top.join("home");
        let mut all = vec![("HOME", home.as_str()), ("PATH", "/usr/bin:/bin")];
        all.extend(variables);
        let output = support::run_tool(launcher, arguments, &all);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replace(self.top.as_str(), "$TOP");
        Answer { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

const TRIPLES: [&str; 4] =
    ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-apple-darwin"];

fn walk(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let Ok(entries) = folder.read_dir_utf8() else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path().to_owned());
    let mut files: Vec<_> = paths.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect();
    files.sort();
    files
}

fn ran(stdout: &str) -> Answer {
    Answer { code: Some(0), stdout: stdout.to_owned(), stderr: String::new() }
}

/// The folder of a cached program: the version is part of it, so that an update never runs a stale one.
fn cached(cache: &str) -> String {
    format!("{cache}/{}/piton", env!("CARGO_PKG_VERSION"))
}

#[test]
fn it_is_executable_and_posix() {
    let launcher = support::repository().join("bin/piton");
    let mode = launcher.metadata().expect("it is there").permissions().mode();
    assert_eq!(mode & 0o100, 0o100, "it has to be committed as 100755");
    let checked = support::run_tool(Path::new("/bin/sh"), &["-n", launcher.as_str()], &[]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert!(support::read(&launcher).starts_with("#!/bin/sh\n"));
    assert!(!support::read(&launcher).contains('\r'));
}

#[test]
fn candidates_are_tried_in_their_order() {
    let installed = Installed::new();
    let arguments = ["plan", "a b", "", "$(x)"];
    let said = |name: &str| ran(&format!("{name} <plan> <a b> <> <$(x)>"));

    installed.program("a plugin's home/target/release/piton", "built");
    assert_eq!(installed.run(&arguments, &[]), said("built"));
    installed.prebuilt();
    assert_eq!(installed.run(&arguments, &[]), said("prebuilt"));
    installed.program(cached("home/.cache/piton"), "cached");
    assert_eq!(installed.run(&arguments, &[]), said("cached"));
    let own = installed.program("my own/piton", "mine");
    assert_eq!(installed.run(&arguments, &[("PITON_BIN", own.as_str())]), said("mine"));
}

#[test]
fn the_cache_can_be_elsewhere() {
    let installed = Installed::new();
    let top = installed.top.clone();
    installed.program(cached("xdg/piton"), "xdg");
    installed.program(cached("own cache"), "own");
    let xdg = top.join("xdg");
    let own = top.join("own cache");
    let both = [("XDG_CACHE_HOME", xdg.as_str()), ("PITON_CACHE", own.as_str())];
    assert_eq!(installed.run(&["list"], &both[..1]), ran("xdg <list>"));
    assert_eq!(installed.run(&["list"], &both), ran("own <list>"));
}

/// S-11: a relative path is one of the project, and nothing of a project is run.
/// SECURITY: row 23
#[test]
fn relative_caches_and_programs_are_ignored() {
    let installed = Installed::new();
    installed.program(cached("project/.cache/piton"), "of the project");
    installed.program("project/piton", "of the project");
    let project = installed.top.join("project");
    let launcher = installed.root().join("bin/piton");
    let run = |variables: &[(&str, &str)]| {
        let script = r#"cd "$0" && exec "$1" hook session-start </dev/null"#;
        let mut all = vec![("PATH", "/usr/bin:/bin"), ("CLAUDE_CODE_ENTRYPOINT", "sdk")];
        all.extend(variables);
        let arguments = ["-c", script, project.as_str(), launcher.as_str()];
        let output = support::run_tool(Path::new("/bin/sh"), &arguments, &all);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    for variables in [
        &[("XDG_CACHE_HOME", ".cache")][..],
        &[("PITON_CACHE", ".cache/piton")],
        &[("HOME", ".")],
        &[("HOME", "")],
        &[("PITON_BIN", "./piton")],
        &[("PITON_BIN", "piton")],
    ] {
        assert_eq!(run(variables), (Some(0), String::new()), "{variables:?}");
    }
    let home = installed.top.join("home");
    installed.program(cached("home/.cache/piton"), "cached");
    let both = [("HOME", home.as_str()), ("XDG_CACHE_HOME", ".cache")];
    assert_eq!(run(&both), (Some(0), "cached <hook> <session-start>".to_owned()));
}

#[test]
fn a_program_of_another_version_is_not_run() {
    let installed = Installed::new();
    installed.program("home/.cache/piton/0.0.0/piton", "stale");
    assert_eq!(installed.run(&["list"], &[]).code, Some(127));
}

#[test]
fn the_version_is_read_without_the_manifest_too() {
    let installed = Installed::new();
    installed.program(cached("home/.cache/piton"), "cached");
    std::fs::remove_file(installed.root().join(".claude-plugin/plugin.json")).expect("it was copied");
    assert_eq!(installed.run(&["list"], &[]), ran("cached <list>"));
}

#[test]
fn it_is_found_through_links_and_through_sh() {
    let installed = Installed::new();
    installed.program("a plugin's home/target/release/piton", "built");
    let links = installed.top.join("links");
    std::fs::create_dir(&links).expect("a fresh folder");
    for (target, link) in [("../a plugin's home/bin/piton", "relative"), ("relative", "twice")] {
        std::os::unix::fs::symlink(target, links.join(link)).expect("a fresh folder");
    }
    std::os::unix::fs::symlink(installed.root().join("bin/piton"), links.join("absolute")).expect("a fresh folder");
    for link in ["relative", "twice", "absolute"] {
        assert_eq!(installed.run_as(links.join(link).as_std_path(), &["list"], &[]), ran("built <list>"), "{link}");
    }
    let launcher = installed.root().join("bin/piton");
    assert_eq!(
        installed.run_as(&PathBuf::from("/bin/sh"), &[launcher.as_str(), "list"], &[]),
        ran("built <list>"),
        "sh PATH"
    );
}

#[test]
fn without_a_program_it_says_how_to_get_one() {
    let installed = Installed::new();
    let answer = installed.run(&["plan"], &[]);
    assert_eq!(answer.code, Some(127));
    assert_eq!(answer.stdout, "");
    assert_eq!(answer.stderr, "piton: its program is missing; run: piton setup\n");
}

#[test]
fn a_hook_without_a_program_is_silent() {
    let installed = Installed::new();
    assert_eq!(installed.run(&["hook", "prompt"], &[]), ran(""));
    assert_eq!(installed.run(&["hook", "stop"], &[("PITON_BIN", "/nowhere")]), ran(""));
    assert_eq!(installed.run(&["statusline"], &[]), ran(""));
}

/// An update that was cut off leaves a part of the launcher; the client takes exit 2 of a hook as an order to block.
#[test]
fn no_hook_blocks_whatever_is_left_of_the_launcher() {
    let installed = Installed::new();
    let launcher = installed.root().join("bin/piton");
    let whole = support::read(&launcher);
    let hooks = support::read(&support::repository().join("hooks/hooks.json"));
    let hooks: serde_json::Value = serde_json::from_str(&hooks).expect("JSON");
    let events = hooks["hooks"].as_object().expect("an object").values().filter_map(serde_json::Value::as_array);
    let commands: Vec<&str> = events.flatten().filter_map(|event| event["hooks"][0]["command"].as_str()).collect();
    assert!(commands.len() > 5, "{commands:?}");
    let variables =
        [("CLAUDE_PLUGIN_ROOT", installed.root().to_string()), ("CLAUDE_CODE_ENTRYPOINT", "sdk".to_owned())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut blocking = 0;
    for (number, length) in (0..whole.len()).step_by(61).enumerate() {
        std::fs::write(&launcher, &whole[..length]).expect("a file of ours");
        let left = installed.run_as(Path::new("/bin/sh"), &[launcher.as_str(), "hook", "prompt"], &variables);
        blocking += usize::from(left.code == Some(2));
        let command = commands[number % commands.len()];
        let answer = installed.run_as(Path::new("/bin/sh"), &["-c", command], &variables);
        assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), ""), "{command}, {length} bytes: {answer:?}");
    }
    assert!(blocking > 10, "the cuts are those that a shell refuses with 2: {blocking}");
    std::fs::remove_file(&launcher).expect("a file of ours");
    for command in commands {
        assert_eq!(installed.run_as(Path::new("/bin/sh"), &["-c", command], &variables).code, Some(0), "{command}");
    }
}

#[test]
fn a_person_is_told_once_that_the_program_is_missing() {
    let installed = Installed::new();
    let start = ["hook", "session-start"];
    let headless = [("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")];
    assert_eq!(installed.run(&start, &headless), ran(""), "where no person reads it");
    assert_eq!(installed.in_cache(), [""; 0]);
    assert_eq!(
        installed.run(&start, &[("CLAUDE_CODE_ENTRYPOINT", "cli")]),
        ran("{\"systemMessage\":\"Piton needs its program: /piton:setup\"}\n")
    );
    assert_eq!(installed.run(&start, &[("CLAUDE_CODE_ENTRYPOINT", "cli")]), ran(""));
    assert_eq!(installed.in_cache(), [format!("told-{}", env!("CARGO_PKG_VERSION"))]);
    let closed = installed.top.join("a file");
    std::fs::write(&closed, "").expect("a file of ours");
    assert_eq!(installed.run(&start, &[("PITON_CACHE", closed.as_str())]), ran(""), "it would be told each time");
}

/// SECURITY: row 22
#[test]
fn a_prebuilt_program_is_verified_and_kept() {
    let version = env!("CARGO_PKG_VERSION");
    let installed = Installed::new();
    installed.prebuilt();
    let answer = installed.run(&["setup"], &[]);
    assert_eq!(answer.stdout, "prebuilt <setup>");
    assert_eq!(
        answer.stderr,
        format!(
            "piton: installed the prebuilt version {version} in $TOP/home/.cache/piton/{version}; its checksum and version are verified\n"
        )
    );
    assert_eq!(installed.in_cache(), [format!("{version}/piton")]);
    let unasked = Installed::new();
    unasked.prebuilt();
    assert_eq!(unasked.run(&["hook", "prompt"], &[]), ran("prebuilt <hook> <prompt>"), "no setup is needed");
    assert_eq!(unasked.in_cache(), [format!("{version}/piton")]);
    let flags = Installed::new();
    flags.prebuilt();
    assert_eq!(flags.run(&["setup", "--permissions"], &[]).stdout, "prebuilt <setup> <--permissions>");
}

#[test]
fn where_the_cache_takes_no_program_the_prebuilt_one_is_run_where_it_is() {
    let installed = Installed::new();
    installed.prebuilt();
    let file = installed.top.join("a file");
    std::fs::write(&file, "").expect("a file of ours");
    for variables in [&[("HOME", "")][..], &[("HOME", file.as_str())], &[("PITON_CACHE", file.as_str())]] {
        assert_eq!(installed.run(&["plan"], variables), ran("prebuilt <plan>"), "{variables:?}");
        assert_eq!(installed.run(&["hook", "prompt"], variables), ran("prebuilt <hook> <prompt>"), "{variables:?}");
        let setup = installed.run(&["setup"], variables);
        assert_eq!(setup.stdout, "prebuilt <setup>");
        assert!(setup.stderr.contains("is run where it is (cannot write into ") && setup.stderr.contains("verified"));
    }
    assert_eq!(installed.in_cache(), [""; 0]);
    std::fs::write(installed.root().join("SHA256SUMS"), "").expect("a file of ours");
    assert_eq!(installed.run(&["hook", "prompt"], &[("HOME", "")]), ran(""), "not without its checksum");
    let path = tools(&installed, env!("CARGO_PKG_VERSION"));
    let built = installed.run(&["setup"], &[("PATH", &path), ("PITON_CACHE", file.as_str())]);
    assert_eq!(built.code, Some(127));
    assert!(
        built
            .stderr
            .ends_with("; set PITON_CACHE to the absolute path of a folder that can be written and runs programs\n"),
        "{built:?}"
    );
}

#[test]
fn a_number_that_a_build_left_is_no_build() {
    let installed = Installed::new();
    let (path, cache) = (tools(&installed, env!("CARGO_PKG_VERSION")), installed.top.join("home/.cache/piton"));
    std::fs::create_dir_all(&cache).expect("a fresh folder");
    let other = std::process::id().to_string();
    for number in ["0", "-1", "1", "01", "", "x", "1 2", other.as_str(), "4194304"] {
        std::fs::write(cache.join("building"), format!("{number}\n")).expect("a file of ours");
        let asked = installed.run(&["plan"], &[("PATH", &path)]);
        assert_eq!(asked.stderr, "piton: its program is missing; run: piton setup\n", "{number:?}");
    }
    std::fs::write(cache.join("building"), format!("{other}\n")).expect("a file of ours");
    let built = installed.run(&["setup"], &[("PATH", &path)]);
    assert_eq!((built.code, built.stdout.as_str()), (Some(0), "fresh <setup>"), "{built:?}");
}

/// SECURITY: row 22
#[test]
fn a_prebuilt_program_that_is_not_the_recorded_one_is_never_run() {
    let version = env!("CARGO_PKG_VERSION");
    let changed = Installed::new();
    changed.prebuilt();
    let without_sums = Installed::new();
    without_sums.prebuilt();
    std::fs::remove_file(without_sums.root().join("SHA256SUMS")).expect("it was just made");
    for triple in TRIPLES {
        changed.program(format!("a plugin's home/bin/prebuilt/{triple}/piton"), "another");
    }
    let other_version = Installed::new();
    other_version.prebuilt();
    let manifest = other_version.root().join(".claude-plugin/plugin.json");
    let newer = support::read(&manifest).replace(&format!("\"{version}\""), "\"9.9.9\"");
    std::fs::write(&manifest, newer).expect("a file of ours");
    for (installed, reason, version) in [
        (changed, "its checksum is not the one in SHA256SUMS", version),
        (without_sums, "its checksum is not the one in SHA256SUMS", version),
        (other_version, "it does not run here as piton 9.9.9", "9.9.9"),
    ] {
        let answer = installed.run(&["plan"], &[]);
        assert_eq!((answer.code, answer.stdout.as_str()), (Some(127), ""), "{answer:?}");
        assert!(answer.stderr.contains(&format!("is not used: {reason}\n")), "{answer:?}");
        assert_eq!(installed.run(&["hook", "prompt"], &[]), ran(""));
        let path = tools(&installed, version);
        let built = installed.run(&["setup"], &[("PATH", &path)]);
        assert_eq!(built.stdout, "fresh <setup>", "it is built instead: {built:?}");
        assert_eq!(installed.run(&["plan"], &[]), ran("fresh <plan>"));
    }
}

#[test]
fn only_the_plain_setup_builds() {
    let installed = Installed::new();
    let path = tools(&installed, env!("CARGO_PKG_VERSION"));
    for flags in [&["--permissions"][..], &["--permissions", "--yes"], &["--statusline"], &["--help"]] {
        let words: Vec<&str> = ["setup"].into_iter().chain(flags.iter().copied()).collect();
        let answer = installed.run(&words, &[("PATH", &path)]);
        assert_eq!(answer.code, Some(127));
        assert_eq!(answer.stderr, "piton: the program comes first; run: piton setup\n", "{flags:?}");
    }
    assert_eq!(installed.in_cache(), [""; 0]);
}

/// Puts tools there: a cargo that says how it was called and builds a program which says its name, its arguments and its version, a
/// rustc, and a compiler whose C library can be linked into a program.
fn tools(installed: &Installed, version: &str) -> String {
    let tool = |name: &str, script: &str| {
        let path = installed.program(format!("tools/{name}"), name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}")).expect("a file of ours");
    };
    tool(
        "cargo",
        &format!(
            r#"printf 'cargo in %s' "$PWD" >&2; printf ' <%s>' "$@" >&2; printf '\n' >&2
while [ $# -gt 1 ]; do
  case $1 in --target-dir) folder=$2 ;; --target) triple=$2 ;; esac
  shift
done
mkdir -p "$folder/$triple/dist"
cat >"$folder/$triple/dist/piton" <<'END'
#!/bin/sh
[ "$1" = --version ] && echo 'piton {version}' && exit
printf 'fresh'; printf ' <%s>' "$@"
END
chmod +x "$folder/$triple/dist/piton"
"#
        ),
    );
    let folder = installed.top.join("tools");
    tool("rustc", "[ \"$1\" = -vV ] && echo 'host: m-linux-gnu'\n");
    tool("cc", &format!("echo '{folder}/libc.a'\n"));
    std::fs::write(folder.join("libc.a"), "").expect("a file of ours");
    format!("{folder}:/usr/bin:/bin")
}

#[test]
fn setup_builds_into_the_cache_and_says_so() {
    let installed = Installed::new();
    let version = env!("CARGO_PKG_VERSION");
    let path = tools(&installed, version);
    let answer = installed.run(&["setup"], &[("PATH", &path)]);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), "fresh <setup>"), "{answer:?}");
    let begun = format!(
        "piton: building version {version} into $TOP/home/.cache/piton/{version} in the background; once, about 7 minutes with two processors\n"
    );
    assert!(answer.stderr.starts_with(&begun), "{answer:?}");
    assert_eq!(installed.run(&["plan"], &[]), ran("fresh <plan>"), "it is found without cargo from now on");
    let cache = installed.top.join("home/.cache/piton");
    let names: Vec<String> =
        cache.read_dir_utf8().expect("it is there").flatten().map(|entry| entry.file_name().to_owned()).collect();
    assert_eq!(names, [version], "what building left is removed");
    assert_eq!(installed.run(&["setup"], &[("PATH", &path)]), ran("fresh <setup>"), "nothing is built twice");
    let again = installed.run(&["setup", "--rebuild", "--yes"], &[("PATH", &path)]);
    assert_eq!(again.stdout, "fresh <setup> <--yes>");
    assert_eq!(
        again.stderr,
        format!(
            "piton: building version {version} into $TOP/home/.cache/piton/{version}; once, about 7 minutes with two processors\n\
             cargo in $TOP/a plugin's home <build> <--profile> <dist> <--locked> <--bin> <piton> <--target> <m-linux-gnu> <--config> \
             <target.m-linux-gnu.rustflags = ['-C', 'target-feature=+crt-static']> \
             <--target-dir> <$TOP/home/.cache/piton/build>\n"
        )
    );
}

#[test]
fn a_build_outlives_the_call_and_says_how_far_it_is() {
    let installed = Installed::new();
    let path = tools(&installed, env!("CARGO_PKG_VERSION"));
    let (cargo, gate) = (installed.top.join("tools/cargo"), installed.top.join("gate"));
    let script = support::read(&cargo);
    let slow = format!(
        "#!/bin/sh\nprintf '   Compiling serde\\n    Building [==>  ] 34/118: serde, syn\\r' >&2\nread -r line <'{gate}'\n"
    );
    std::fs::write(&cargo, script.replacen("#!/bin/sh\n", &slow, 1)).expect("a file of ours");
    support::run_tool(Path::new("/usr/bin/mkfifo"), &[gate.as_str()], &[]);

    // Returns a call that waits for the build and has said how far it is, with what it says from then on.
    let waiting = || {
        let begun = std::process::Command::new(installed.root().join("bin/piton"))
            .arg("setup")
            .env_clear()
            .envs([("HOME", installed.top.join("home").as_str()), ("PATH", &path)])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut begun = support::bounded(begun);
        let mut said = std::io::BufReader::new(begun.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
        let mut told = String::new();
        while !told.ends_with("piton: building: 34 of 118 crates\n") {
            told += &format!("{}\n", said.next().expect("it says how far it is"));
        }
        (begun, told, said)
    };
    let (mut waits, told, _) = waiting();
    assert!(told.contains("building version"), "{told}");
    waits.kill().expect("it waits");
    waits.wait().expect("it ended");

    let asked = installed.run(&["plan"], &[("PATH", &path)]);
    assert_eq!(asked.code, Some(127));
    assert_eq!(asked.stderr, "piton: its program is being built: 34 of 118 crates; to wait for it: piton setup\n");
    let hook = installed.run(&["hook", "session-start"], &[("PATH", &path), ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")]);
    assert_eq!(hook, ran(""));
    // What waits before the build goes on clears up after it.
    let (waits, told, said) = waiting();
    assert!(!told.contains("building version"), "it was not begun again: {told}");
    // Opening a pipe waits for its reader; a tool has a bound.
    let go_on = format!("echo go on >'{gate}'");
    assert!(support::run_tool(Path::new("/bin/sh"), &["-c", &go_on], &[]).status.success(), "the build waits for it");
    let rest: Vec<String> = said.collect();
    let built = waits.wait_with_output().expect("it ends");
    assert_eq!((built.status.code(), built.stdout.as_slice()), (Some(0), &b"fresh <setup>"[..]), "{rest:?}");
    assert_eq!(installed.in_cache(), [cached("").trim_start_matches('/')]);
}

#[test]
fn without_the_archive_of_the_c_library_the_program_is_linked_as_usual() {
    let installed = Installed::new();
    let path = tools(&installed, env!("CARGO_PKG_VERSION"));
    std::fs::remove_file(installed.top.join("tools/libc.a")).expect("it was just made");
    let answer = installed.run(&["setup", "--rebuild"], &[("PATH", &path)]);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), "fresh <setup>"), "{answer:?}");
    assert!(answer.stderr.contains(" <target.m-linux-gnu.rustflags = []> "), "{answer:?}");
}

/// SECURITY: row 16
#[test]
fn setup_heeds_no_settings_of_the_folder_that_it_is_called_from() {
    let installed = Installed::new();
    let path = tools(&installed, env!("CARGO_PKG_VERSION"));
    let answer = installed.run(&["setup", "--rebuild"], &[("PATH", &path)]);
    assert!(answer.stderr.contains("cargo in $TOP/a plugin's home <build>"), "{answer:?}");
}

#[test]
fn a_build_that_is_not_this_version_is_not_used() {
    let installed = Installed::new();
    let path = tools(&installed, "9.9.9");
    let answer = installed.run(&["setup"], &[("PATH", &path)]);
    assert_eq!(answer.code, Some(127));
    let reason = format!("it does not run here as piton {}", env!("CARGO_PKG_VERSION"));
    assert!(
        answer.stderr.contains(&format!("piton: the built program is not used: {reason}; if the cache is full")),
        "{answer:?}"
    );
    assert_eq!(installed.run(&["plan"], &[]).code, Some(127));
}

#[test]
fn without_cargo_it_says_what_to_install() {
    let installed = Installed::new();
    let empty = installed.top.join("empty");
    std::fs::create_dir(&empty).expect("a fresh folder");
    for tool in ["uname", "mkdir", "readlink"] {
        let _ = std::os::unix::fs::symlink(format!("/usr/bin/{tool}"), empty.join(tool));
    }
    let answer = installed.run(&["setup"], &[("PATH", empty.as_str())]);
    assert_eq!(answer.code, Some(127));
    assert_eq!(
        answer.stderr,
        "piton: no prebuilt program fits, and cargo is missing; install the release, which has one \
         (https://github.com/piton-dev/piton#install), or Rust 1.95 or newer (https://rustup.rs), then run: piton setup\n"
    );
}

#[test]
fn the_launcher_for_windows_looks_in_the_same_places() {
    let text = support::read(&support::repository().join("bin/piton.cmd"));
    for part in [
        "PITON_BIN",
        "bin\\prebuilt",
        "PITON_CACHE",
        ".cache\\piton",
        "target\\release",
        "--locked",
        "pushd",
        "exit /b 127",
    ] {
        assert!(text.contains(part), "{part}");
    }
    let attributes = support::read(&support::repository().join(".gitattributes"));
    assert!(attributes.lines().any(|line| line == "*.cmd text eol=crlf"));
}

/// There is no Windows here to run it: what is read is that a prebuilt program only becomes the program by way of the cache.
/// SECURITY: row 22
#[test]
fn the_launcher_for_windows_verifies_too() {
    let text = support::read(&support::repository().join("bin/piton.cmd"));
    let taken: Vec<&str> = text.lines().map(str::trim).filter(|line| line.contains("set \"program=")).collect();
    assert!(taken.iter().all(|line| !line.contains("prebuilt") && !line.contains("%file%")), "{taken:?}");
    let take = text.split("\r\n:take\r\n").nth(1).or_else(|| text.split("\n:take\n").nth(1)).expect("it has the part");
    let at = |part: &str| take.find(part).unwrap_or_else(|| panic!("{part}"));
    let order = [
        "certutil -hashfile \"%file%\" SHA256",
        "usebackq tokens=1,2",
        "if /i not \"%found%\"==\"%recorded%\" goto refused",
        "copy /y \"%file%\" \"%new%\"",
        "--version",
        "if \"%says%\"==\"piton %version%\"",
        "set \"program=%cache%\\%version%\\piton.exe\"",
    ];
    assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{take}");
}

#[test]
fn a_wrong_program_is_named_and_nothing_else_is_run() {
    let installed = Installed::new();
    installed.program("a plugin's home/target/release/piton", "built");
    let answer = installed.run(&["plan"], &[("PITON_BIN", "/nowhere")]);
    assert_eq!(answer.code, Some(127));
    assert_eq!(answer.stderr, "piton: PITON_BIN is not a program: /nowhere\n");
}
