//! What a call of `piton` costs as a process: cold starts, side by side with the least that the same work can cost.
//!
//! `cargo bench --bench process` prints one table. Nothing is asserted: the machine decides the milliseconds, so every row is
//! measured in turns with what it is compared to, and the ratio is what counts.
#![expect(clippy::disallowed_methods, reason = "a benchmark makes files, runs programs and reads the clock")]
#![expect(clippy::print_stdout, reason = "the table is the result")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on ends")]

mod contest;
mod fixture;

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use contest::Contender;
use contest::Row;
use fixture::Scratch;

fn main() {
    let scratch = Scratch::below(&std::env::temp_dir());
    let tools = Tools::build(scratch.top());
    let mut rows = Vec::new();
    writes(&scratch, &tools, &mut rows);
    plans(&scratch, &tools, &mut rows);
    lists(&scratch, &tools, &mut rows);
    runs(&scratch, &tools, &mut rows);
    hooks(&scratch, &tools, &mut rows);
    println!("{}", contest::table(&rows));
}

/// Is what piton is compared to.
struct Tools {
    piton: PathBuf,
    /// A Rust program that does nothing.
    empty: PathBuf,
    /// A C program that replaces files durably and does nothing else.
    floor: PathBuf,
    /// A C program that runs shell commands, with two durable records for each, and does nothing else.
    steps: PathBuf,
}

impl Tools {
    fn build(into: &Path) -> Self {
        let (empty, floor, steps) = (into.join("empty"), into.join("floor"), into.join("steps"));
        let source = into.join("empty.rs");
        std::fs::write(&source, "fn main() {}\n").unwrap();
        let rustc = ["-C", "opt-level=3", "-C", "strip=symbols", "--edition=2024", "-o"];
        run(Command::new("rustc").args(rustc).arg(&empty).arg(&source));
        let floor_c = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/floor.c");
        let steps_c = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/steps.c");
        for (program, source) in [(&floor, floor_c), (&steps, steps_c)] {
            run(Command::new("cc").args(["-O2", "-o"]).arg(program).arg(source));
        }
        let piton = std::env::var_os("PITON_BIN").map_or_else(|| env!("CARGO_BIN_EXE_piton").into(), PathBuf::from);
        Self { piton, empty, floor, steps }
    }

    fn piton(&self, project: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.piton);
        command.args(arguments).current_dir(project).env_clear();
        for name in ["PATH", "HOME"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command
    }
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}");
}

/// One durable checkpoint of a run of 100 steps against a C program that replaces the same files durably.
fn writes(scratch: &Scratch, tools: &Tools, rows: &mut Vec<Row>) {
    let nine_step = scratch.nine_step("write-nine-step", 10);
    let ccw = scratch.ccw("write-ccw", 100);
    for (title, run, step) in [("nine-step", nine_step, "5:3"), ("ccw", ccw, "IMPL-051")] {
        let copies = run.copies();
        let state = run.state();
        let floor = |files: &[PathBuf]| {
            let mut command = Command::new(&tools.floor);
            command.args(files);
            command
        };
        let one = || floor(&copies[copies.len() - 1..]);
        let all = || floor(&copies);
        let begin = || tools.piton(run.project(), &["begin", step, "--agent", "developer"]);
        let finish = || tools.piton(run.project(), &["finish", step, "--summary", "done"]);
        let results = contest::hold(
            60,
            &mut [
                Contender::new("C floor, 1 file".to_owned(), &one),
                Contender::new(format!("C floor, {}", files(copies.len())), &all),
                Contender::new(format!("begin, {title}, 100 steps"), &begin).before(&|| state.put_back()),
                Contender::new(format!("finish, {title}, 100 steps"), &finish),
            ],
        );
        rows.extend(contest::compared(results, 0, &["", "", "≤ 1.5 ×", "≤ 1.5 × as many files"]));
    }
}

fn files(number: usize) -> String {
    if number == 1 { "1 file".to_owned() } else { format!("{number} files") }
}

/// Plans of growing runs against an empty process, and where a step is a file also against reading those files.
fn plans(scratch: &Scratch, tools: &Tools, rows: &mut Vec<Row>) {
    let empty = || Command::new(&tools.empty);
    let budgets = [(100, 60, "≤ 3 ×"), (1_000, 30, "≤ 5 ms"), (10_000, 10, "≤ 30 ms")];
    for (steps, rounds, budget) in budgets {
        let nine_step = scratch.nine_step(&format!("plan-nine-step-{steps}"), steps / 10);
        let ccw = scratch.ccw(&format!("plan-ccw-{steps}"), steps);
        let cat = || {
            let mut command = Command::new("cat");
            command.args(ccw.state_files());
            command
        };
        let plan_nine_step = || tools.piton(nine_step.project(), &["plan"]);
        let plan_ccw = || tools.piton(ccw.project(), &["plan"]);
        let results = contest::hold(
            rounds,
            &mut [
                Contender::new("empty Rust process".to_owned(), &empty),
                Contender::new(format!("plan, nine-step, {steps} steps, no git"), &plan_nine_step).may_ask(),
                Contender::new(format!("cat, {steps} files of ccw"), &cat),
                Contender::new(format!("plan, ccw, {steps} steps, no git"), &plan_ccw).may_ask(),
            ],
        );
        let ccw_budget = format!("{budget} + cat");
        rows.extend(contest::compared(results, 0, &["", budget, "", &ccw_budget]));
    }
    let git = scratch.nine_step_in_git("plan-git", 10);
    let plan = || tools.piton(git.project(), &["plan"]);
    let status = || {
        let mut command = Command::new("git");
        command.args(["status", "--porcelain"]).current_dir(git.project());
        command
    };
    let results = contest::hold(
        40,
        &mut [
            Contender::new("git status".to_owned(), &status),
            Contender::new("plan, nine-step, 100 steps, in git".to_owned(), &plan).may_ask(),
        ],
    );
    rows.extend(contest::compared(results, 0, &["", ""]));
}

/// Discovery, and a write that has to find its run first.
fn lists(scratch: &Scratch, tools: &Tools, rows: &mut Vec<Row>) {
    let tree = scratch.forest("forest", 1_000, 100_000);
    let find = || {
        let mut command = Command::new("find");
        command.arg(&tree);
        command
    };
    let list = || tools.piton(&tree, &["list"]);
    let one = tree.join(".worktree/run-7/.workflow-state.json");
    let begin = || tools.piton(&tree, &["status", one.to_str().unwrap()]);
    let results = contest::hold(
        7,
        &mut [
            Contender::new("find, 100,000 files".to_owned(), &find),
            Contender::new("list, 1,000 runs in 100,000 files".to_owned(), &list),
            Contender::new("status of one of them, by path".to_owned(), &begin).may_ask(),
        ],
    );
    rows.extend(contest::compared(results, 0, &["", "≤ 300 ms", ""]));
    let stories = scratch.stories("stories", 1_000);
    let find = || {
        let mut command = Command::new("find");
        command.arg(&stories);
        command
    };
    let list = || tools.piton(&stories, &["list"]);
    let results = contest::hold(
        7,
        &mut [
            Contender::new("find, 1,000 stories".to_owned(), &find),
            Contender::new("list, 1,000 stories of AIOS".to_owned(), &list),
        ],
    );
    rows.extend(contest::compared(results, 0, &["", "≤ 300 ms"]));
}

/// Workflows of steps that do nothing: what is left is what the runner costs.
fn runs(scratch: &Scratch, tools: &Tools, rows: &mut Vec<Row>) {
    for (steps, rounds) in [(100, 15), (1_000, 7)] {
        let folder = scratch.top().join(format!("run-{steps}"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("w.yml"), "- shell: 'true'\n".repeat(steps)).unwrap();
        let (count, records) = (steps.to_string(), folder.join("records"));
        let floor = || {
            let mut command = Command::new(&tools.steps);
            command.arg(&count).arg(&records);
            command
        };
        let piton = || {
            let mut command = tools.piton(&folder, &["run", "w.yml"]);
            command.env("PITON_HOME", folder.join("home"));
            command
        };
        let results = contest::hold(
            rounds,
            &mut [
                Contender::new(format!("C floor, {steps} shell steps"), &floor),
                Contender::new(format!("run, {steps} shell steps"), &piton),
            ],
        );
        rows.extend(contest::compared(results, 0, &["", "≤ 1.5 ×"]));
    }
}

/// Events of the client in a project with 20 runs; each is a process that somebody waits for.
fn hooks(scratch: &Scratch, tools: &Tools, rows: &mut Vec<Row>) {
    let forest = scratch.forest("hooks", 20, 1_000);
    let tree = forest.as_path();
    let empty = || Command::new(&tools.empty);
    let hook = |words: &'static [&'static str], session: &'static str| {
        move || {
            let mut command = tools.piton(tree, words);
            command.env("CLAUDE_CODE_SESSION_ID", session);
            command
        }
    };
    let input = scratch.event(tree, "known", "startup");
    let unknown = scratch.event(tree, "unknown", "startup");
    let first = hook(&["hook", "session-start"], "known");
    run(first().stdin(std::fs::File::open(&input).unwrap()).stdout(std::process::Stdio::null()));
    run(hook(&["begin", "1:3", "--run", "run-7", "--quiet"], "known")().stdout(std::process::Stdio::null()));
    let launched = || {
        let mut command = Command::new("sh");
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/bin/piton")).args(["hook", "prompt"]).current_dir(tree);
        command.env("PITON_BIN", &tools.piton).env("CLAUDE_CODE_SESSION_ID", "unknown");
        command
    };
    let start = hook(&["hook", "session-start"], "known");
    let stranger = hook(&["hook", "prompt"], "unknown");
    let prompt = hook(&["hook", "prompt"], "known");
    let agent = hook(&["hook", "subagent-start"], "known");
    let line = hook(&["statusline"], "known");
    let results = contest::hold(
        30,
        &mut [
            Contender::new("empty Rust process".to_owned(), &empty),
            Contender::new("hook: a session begins, 20 runs".to_owned(), &start).reads(&input),
            Contender::new("hook: a prompt, session without runs".to_owned(), &stranger).reads(&unknown),
            Contender::new("the same through `sh bin/piton`".to_owned(), &launched).reads(&unknown),
            Contender::new("hook: a prompt, session that drives a run".to_owned(), &prompt).reads(&input),
            Contender::new("hook: a subagent starts".to_owned(), &agent).reads(&input),
            Contender::new("statusline, session that drives a run".to_owned(), &line).reads(&input),
        ],
    );
    rows.extend(contest::compared(results, 0, &["", "≤ 10 ms", "≤ 10 ms", "≤ 20 ms", "≤ 10 ms", "≤ 10 ms", ""]));
}
