//! A kill while the worktree of a run is made and files of the project are put into it: the next command finishes that, and each step sees
//! whole files.

use camino::Utf8PathBuf;

use super::{ensure, kills::writes_of, sample};
use crate::support::{Output, Sandbox, Strace, Tree, say};

const SETTINGS: &str = "worktree: {copy: [.env], link: cache}\n";
const SHELL: &str = "- {id: look, shell: 'read env < .env; read linked < cache/one; echo $env $linked > seen.txt'}\n";
const AGENT: &str = "- {id: note, agent: writer, instructions: Note., outputs: note.md}\n";

/// A project with files that git ignores.
fn project(steps: &str) -> Sandbox {
    let sandbox = Sandbox::in_memory();
    sandbox.file("w.yml", &format!("{SETTINGS}steps:\n{steps}"));
    sandbox.file(".gitignore", ".env\ncache\n").file(".env", "S=1\n").file("cache/one", "linked\n");
    sandbox.git_init();
    sandbox
}

/// Returns the worktrees of runs.
fn worktrees(sandbox: &Sandbox) -> Vec<Utf8PathBuf> {
    let homes = sandbox.home().join(".local/state/piton").read_dir_utf8().into_iter().flatten();
    let folders = homes.filter_map(|home| home.ok()?.path().join("worktrees").read_dir_utf8().ok()).flatten();
    folders.filter_map(|folder| Some(folder.ok()?.path().to_owned())).collect()
}

fn check_seen(sandbox: &Sandbox) -> Result<(), String> {
    let seen = worktrees(sandbox).into_iter().map(|folder| std::fs::read_to_string(folder.join("seen.txt")));
    let seen: Vec<String> = seen.filter_map(Result::ok).collect();
    ensure(seen == ["S=1 linked\n"], || format!("the step saw {seen:?}"))
}

/// Kills a command at its writes, each time in the same project, and goes on.
fn kill_everywhere(what: &str, steps: &str, cut: &[&str], go_on: fn(&Sandbox) -> Result<(), String>) {
    let Some(strace) = Strace::find() else { return };
    let sandbox = project(steps);
    let beginning: Tree = sandbox.everything();
    let moments = writes_of(sandbox.piton(cut.iter().copied()), strace);
    assert!(moments.iter().any(|call| call.name.starts_with("symlink")), "a link is made: {moments:?}");
    let tried = sample(moments, what.len());
    let mut problems = Vec::new();
    for (_, moment) in &tried {
        sandbox.put_back(&beginning);
        let output = strace.inject(sandbox.piton(cut.iter().copied()), moment, "signal=SIGKILL");
        let is_killed = ensure(output.code == 137, || format!("not killed\n{output}"));
        let went_on = is_killed.and_then(|()| go_on(&sandbox)).and_then(|()| check_seen(&sandbox));
        problems.extend(went_on.err().map(|problem| format!("{moment}: {problem}")));
    }
    assert!(problems.is_empty(), "{what}: {} of {}\n{}", problems.len(), tried.len(), problems.join("\n"));
    say(&format!("crash points  {what:<40} {:>4}, all clean", tried.len()));
}

fn done(output: &Output) -> Result<(), String> {
    ensure(output.code == 0, || output.to_string())
}

#[test]
fn run() {
    kill_everywhere("run, a worktree with files", SHELL, &["run", "w.yml"], |sandbox| {
        let resumed = sandbox.piton(["resume", "--yes"]).run();
        match resumed.code {
            // It was killed before it began, or when all was done.
            3 if worktrees(sandbox).is_empty() => done(&sandbox.piton(["run", "w.yml"]).run()),
            3 => Ok(()),
            // All was done, and the step committed nothing.
            1 if resumed.stderr.contains("nothing was merged") => Ok(()),
            _ => done(&resumed),
        }
    });
}

#[test]
fn start() {
    let cut = ["start", "w.yml", "--feature", "demo", "--worktree"];
    kill_everywhere("start, a worktree with files", &format!("{AGENT}{SHELL}"), &cut, |sandbox| {
        let call = |words: &[&str]| sandbox.piton(words.iter().copied()).run();
        let begin = ["begin", "note", "--run", "demo"];
        let mut begun = call(&begin);
        if begun.code == 3 {
            done(&call(&["start", "w.yml", "--feature", "demo", "--worktree"]))?;
            begun = call(&begin);
        }
        done(&begun)?;
        let folders = worktrees(sandbox);
        ensure(folders.len() == 1, || format!("{folders:?}"))?;
        std::fs::write(folders[0].join("note.md"), "noted").map_err(|error| error.to_string())?;
        done(&call(&["finish", "note", "--run", "demo", "--summary", "noted"]))?;
        done(&call(&["exec", "look", "--run", "demo"]))
    });
}
