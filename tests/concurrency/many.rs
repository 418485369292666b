//! Sixteen processes that write, some of them killed, and one that reads: each change counts once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::{
    cli::projects::{self, NINE_STEP, SESSION, document},
    support::{
        Dice, Sandbox, Tree, repository, say, takes_all,
        versions::{Earlier, versions},
    },
};

const WRITERS: usize = 16;
/// How many changes each of them makes; `PITON_TESTS=all` makes it [`ALL`].
const SOME: usize = 5;
const ALL: usize = 200;
/// One call in this many is killed.
const KILLED: usize = 16;
/// The longest time before a kill, in milliseconds.
const LONGEST: usize = 60;

fn changes() -> usize {
    if takes_all() { ALL } else { SOME }
}

/// The result of a call.
enum End {
    Done,
    Killed,
    /// The wait for the lock timed out.
    Late,
}

/// Calls piton, and sometimes kills it.
fn write(sandbox: &Sandbox, words: &[&str], dice: &mut Dice) -> End {
    // No person is there to look at what failed before.
    let program = sandbox.piton(words.iter().copied()).real_clock().env("PITON_MODE", "autopilot");
    let output = if dice.below(KILLED) == 0 {
        let limit = Duration::from_millis(1 + dice.below(LONGEST) as u64);
        match program.run_within(limit) {
            Some(output) => output,
            None => return End::Killed,
        }
    } else {
        program.run()
    };
    let answer = document(&output);
    match output.code {
        0 => End::Done,
        6 => {
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains("/lock is still locked"), "{words:?}\n{output}");
            End::Late
        }
        _ => panic!("{words:?}\n{output}"),
    }
}

/// Counts what happened to all writers.
#[derive(Default)]
struct Tally {
    done: AtomicUsize,
    killed: AtomicUsize,
    late: AtomicUsize,
}

impl Tally {
    fn count(&self, end: &End) {
        let counter = match end {
            End::Done => &self.done,
            End::Killed => &self.killed,
            End::Late => &self.late,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn say(&self, what: &str) {
        let hint = if changes() == ALL { "" } else { " (PITON_TESTS=all makes more)" };
        let [done, killed, late] =
            [&self.done, &self.killed, &self.late].map(|counter| counter.load(Ordering::Relaxed));
        say(&format!("many at once: {what}: {done} changes, {killed} kills, {late} waited in vain{hint}"));
    }
}

/// How often the reader reads at least.
const READS: usize = 10;

/// Runs the writers concurrently, each with its number, and a reader until they are done.
fn side_by_side(writer: impl Fn(usize) + Sync, reader: impl Fn(usize) + Sync) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                let writer = &writer;
                scope.spawn(move || writer(number))
            })
            .collect();
        let reads = scope.spawn(|| {
            let mut reads = 0;
            // On a busy machine the writers may be done before it has read often.
            while !is_over.load(Ordering::Relaxed) || reads < READS {
                reader(reads);
                reads += 1;
            }
        });
        let results: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        reads.join().expect("a reader that saw whole states");
        for result in results {
            result.expect("a writer that lost nothing");
        }
    });
}

/// Returns the journal of a run in the project that begins at `root`.
fn journal_of(root: &Utf8Path, run: &str) -> Utf8PathBuf {
    root.join(".piton/runs").join(run).join("journal.jsonl")
}

/// Checks that no time is before the one before it, and that the journals agree. Returns how many changes there are.
fn check_order(own: &Utf8Path, history: &BTreeMap<usize, Earlier>) -> usize {
    let all: Vec<_> = history.iter().collect();
    for pair in all.windows(2) {
        let [(before, older), (number, newer)] = [pair[0], pair[1]];
        assert!(before < number, "{own}");
        assert!(older.at <= newer.at, "{own}: {} after {}", newer.at, older.at);
    }
    check_log(own);
    history.len()
}

fn check_log(own: &Utf8Path) {
    let top = own.ancestors().find(|folder| folder.join(".piton/runs").is_dir()).expect("a home of runs");
    let runs = top.join(".piton/runs").read_dir_utf8().expect("a folder").map(|run| run.expect("the sandbox is ours"));
    for run in runs.filter(|run| run.file_name().contains('.')) {
        let log = match std::fs::read_to_string(run.path().join("journal.jsonl")) {
            // Every change of this run was killed before its record: how many there must be is checked with its versions.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            log => log.expect("every change is in the journal"),
        };
        // A kill may truncate the last line.
        let times: Vec<_> = log.lines().filter(|line| line.ends_with('}')).map(time_of).collect();
        assert!(times.is_sorted(), "{own}: {log}");
    }
}

fn time_of(line: &str) -> chrono::DateTime<chrono::FixedOffset> {
    let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    chrono::DateTime::parse_from_rfc3339(line["entry"]["at"].as_str().expect("a time")).expect("a time")
}

/// Lists files that a write leaves only when it was cut off.
fn leftovers(sandbox: &Sandbox) -> Vec<String> {
    let all = Sandbox::new().tree().changes(&sandbox.tree());
    all.into_iter().filter(|path| path.ends_with(".piton-tmp") || path.ends_with("txn/pending")).collect()
}

/// Every writer increments its own variable. The number is there after each answer, and still there before the next call.
#[test]
fn of_sixteen_writers_at_one_run_none_loses_a_change() {
    let sandbox = Sandbox::in_memory();
    projects::add_ccw(&sandbox);
    for words in
        [&["resume", "--yes"][..], &["begin", "IMPL-002"], &["begin", "IMPL-002", "--part", "analyze_patterns"]]
    {
        sandbox.piton(words.iter().copied()).real_clock().run().expect_code(0);
    }
    let (own, journal) =
        (sandbox.root().join(SESSION).join(".piton"), journal_of(&sandbox.root(), "ccw.WFS-user-auth"));
    // A change that the state already contains makes no checkpoint.
    let begun = check_order(&own, &versions(&journal));
    let task = format!("{SESSION}/.task/IMPL-002.json");
    let value = |writer: usize| variable(&sandbox.read_json(&task), &format!("w{writer}"));
    let tally = Tally::default();
    let progress: [AtomicUsize; WRITERS] = std::array::from_fn(|_| AtomicUsize::new(0));
    let slowest = AtomicUsize::new(0);
    let writer = |writer: usize| {
        let mut dice = Dice::new(writer as u64);
        for change in 1..=changes() {
            let set = format!("w{writer}={change}");
            loop {
                let end =
                    write(&sandbox, &["finish", "IMPL-002", "--part", "analyze_patterns", "--set", &set], &mut dice);
                tally.count(&end);
                let found = value(writer);
                match end {
                    End::Done => break assert_eq!(found, change, "writer {writer}"),
                    // A kill may come before or after the moment at which it counts.
                    End::Killed => {
                        assert!(found == change || found + 1 == change, "writer {writer}: {found} at {change}")
                    }
                    End::Late => assert_eq!(found + 1, change, "writer {writer}"),
                }
            }
            progress[writer].store(change, Ordering::Relaxed);
        }
        let least = progress.iter().map(|one| one.load(Ordering::Relaxed)).min().unwrap_or_default();
        // Only the first to finish reports how far the others are.
        let _ = slowest.compare_exchange(0, least.max(1), Ordering::Relaxed, Ordering::Relaxed);
    };
    let reader = |turn: usize| {
        let words = [["plan"], ["validate"], ["history"]][turn % 3];
        let output = sandbox.piton(words).real_clock().env("PITON_LOCK_TIMEOUT_MS", "60000").run().expect_code(0);
        assert_eq!(document(&output)["findings"].as_array().unwrap().len(), 0, "{output}");
        versions(&journal);
    };
    side_by_side(writer, reader);
    let slowest = slowest.into_inner();
    tally.say(&format!("one run (the slowest writer had made {slowest} changes when the first was done)"));
    // The lock is not fair. Over a few changes each that is chance, over many it would be starvation.
    assert!(changes() < ALL || slowest >= ALL / 4, "a writer starves at its change {slowest}");

    sandbox.piton(["begin", "IMPL-002", "--part", "analyze_patterns"]).real_clock().run().expect_code(0);
    assert_eq!(leftovers(&sandbox), [] as [&str; 0]);
    let kept = versions(&journal);
    let last = check_order(&own, &kept);
    let (done, killed) = (tally.done.into_inner() + begun + 1, tally.killed.into_inner());
    assert_eq!(done, WRITERS * changes() + begun + 1);
    assert!((done..=done + killed).contains(&last), "{done} changes and {killed} kills make {last} checkpoints");
}

/// Finds a number of that name, however deep.
fn variable(value: &Value, name: &str) -> usize {
    match value {
        Value::Object(object) => match object.get(name) {
            Some(Value::Number(number)) => number.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0),
            _ => object.values().map(|value| variable(value, name)).max().unwrap_or(0),
        },
        Value::Array(items) => items.iter().map(|value| variable(value, name)).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// One of the runs with many writers.
struct Run<'a> {
    sandbox: &'a Sandbox,
    system: System,
    /// What `--run` says.
    name: String,
    /// Marks of changes that were answered, and of those that were killed.
    done: Mutex<BTreeSet<String>>,
    killed: Mutex<BTreeSet<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    NineStep,
    Ccw,
    Aios,
    Dotagent,
    /// A run of a workflow file for agents.
    Flow,
    Session,
}

const SYSTEMS: [System; 6] =
    [System::NineStep, System::Ccw, System::Aios, System::Dotagent, System::Flow, System::Session];

impl Run<'_> {
    /// Returns a change that leaves a mark in the state, and one of another kind.
    fn words<'w>(&'w self, mark: &'w str, assigned: &'w str, is_begin: bool) -> Vec<&'w str> {
        let begin = ["begin", self.step(), "--agent", mark, "--again", "--run", &self.name].to_vec();
        let failed = ["finish", self.step(), "--status", "failed", "--error", mark, "--run", &self.name];
        let part = ["--part", "analyze_patterns", "--run", &self.name];
        match (self.system, is_begin) {
            (System::Ccw, true) => [&["begin", self.step()], &part[..]].concat(),
            (System::Ccw, false) => [&["finish", self.step(), "--set", assigned], &part[..]].concat(),
            (System::NineStep | System::Aios | System::Dotagent | System::Flow, true) => begin,
            // Only the runner begins a step of a session.
            (System::NineStep | System::Aios | System::Dotagent | System::Flow, false) | (System::Session, _) => {
                failed.to_vec()
            }
        }
    }

    /// Tells whether a beginning leaves its mark as well.
    fn begin_marks(&self) -> bool {
        match self.system {
            System::NineStep | System::Aios | System::Flow | System::Session => true,
            System::Ccw | System::Dotagent => false,
        }
    }

    fn step(&self) -> &'static str {
        match self.system {
            System::NineStep => "2:3",
            System::Ccw => "IMPL-002",
            System::Aios => "7.2",
            System::Dotagent => "task-002",
            System::Flow => "draft",
            System::Session => "two",
        }
    }

    /// Returns the folder of its journal.
    fn journal(&self) -> &str {
        match self.system {
            System::NineStep => "nine-step.user-auth",
            System::Ccw => "ccw.WFS-user-auth",
            System::Aios => "aios.epic-7",
            System::Dotagent => "dotagent.user-auth",
            System::Flow | System::Session => &self.name,
        }
    }

    /// Returns the file that takes the marks, and the folder of Piton's own data.
    fn places(&self) -> (Utf8PathBuf, Utf8PathBuf) {
        let at = |path: &str| self.sandbox.root().join(path);
        match self.system {
            System::NineStep => (at(NINE_STEP), at(".worktree/user-auth/.piton")),
            System::Ccw => (at(&format!("{SESSION}/.task/IMPL-002.json")), at(SESSION).join(".piton")),
            System::Aios => (at(".aios/epic-7-state.yaml"), at(".aios/.piton/epic-7-state.yaml")),
            System::Dotagent => (at("memory/state/execution.json"), at("memory/state/.piton")),
            System::Flow | System::Session => (at(&self.name).join("journal.jsonl"), at(&self.name)),
        }
    }

    /// Checks that each change that was answered was made once, and each that was killed once or not at all.
    fn check(&self) {
        let (file, own) = self.places();
        let (done, killed) =
            (self.done.lock().expect("no writer failed"), self.killed.lock().expect("no writer failed"));
        let marks = match self.system {
            System::Flow | System::Session => {
                check_log(&own);
                let journal = std::fs::read(&file).expect("a journal");
                let lines = journal.split_inclusive(|byte| *byte == b'\n').map(marks_of).collect();
                check_chain(&journal);
                lines
            }
            System::NineStep | System::Ccw | System::Aios | System::Dotagent => {
                let history = versions(&journal_of(&self.sandbox.root(), self.journal()));
                let last = check_order(&own, &history);
                // A part that is in progress already is not begun again.
                let least = done.iter().filter(|mark| mark.starts_with("mark")).count();
                // And the resume before.
                let most = done.len() + killed.len() + 1;
                assert!((least..=most).contains(&last), "{file}: {last} checkpoints for {least} to {most} changes");
                let name = file.file_name().expect("a file");
                let versions = history.into_values().flat_map(|checkpoint| checkpoint.files);
                let versions = versions.filter(|(path, _)| path.ends_with(name)).map(|(_, bytes)| marks_of(&bytes));
                let now = marks_of(&std::fs::read(&file).expect("a state"));
                introduced(&versions.chain([now]).collect::<Vec<_>>(), self.system)
            }
        };
        let mut seen = BTreeSet::new();
        for mark in marks.into_iter().flatten() {
            assert!(seen.insert(mark.clone()), "{file}: {mark} counts twice");
            assert!(done.contains(&mark) || killed.contains(&mark), "{file}: {mark} comes from nowhere");
        }
        let lost: Vec<&String> =
            done.iter().filter(|mark| !mark.starts_with("silent") && !seen.contains(*mark)).collect();
        assert!(lost.is_empty(), "{file}: {lost:?} are lost");
    }
}

/// Finds the marks in a text: `mark_12_34`.
fn marks_of(bytes: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(bytes);
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("mark_")).map(str::to_owned).collect()
}

/// Returns which marks each version has that the one before it had not. One change makes one mark at most.
fn introduced(versions: &[BTreeSet<String>], system: System) -> Vec<BTreeSet<String>> {
    let new = |pair: &[BTreeSet<String>]| -> BTreeSet<String> {
        let new: BTreeSet<String> = pair[1].difference(&pair[0]).cloned().collect();
        assert!(new.len() <= 1, "{system:?}: one change brings {new:?}");
        // These two keep all of them.
        assert!(!matches!(system, System::NineStep | System::Ccw) || pair[0].is_subset(&pair[1]), "{system:?} forgets");
        new
    };
    versions.windows(2).map(new).collect()
}

/// Checks that the records of a journal are numbered one after the other.
fn check_chain(journal: &[u8]) {
    let lines = journal.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    for (at, line) in lines.enumerate() {
        let record: Value = serde_json::from_slice(line).expect("a sound record");
        assert_eq!(record["seq"], at as u64 + 1);
    }
}

/// Makes a project with a run of every system.
fn six_runs() -> Sandbox {
    let sandbox = Sandbox::in_memory();
    for name in ["nine-step", "ccw", "aios", "dotagent"] {
        Tree::of(&repository().join("examples").join(name)).write_to(&sandbox.root());
    }
    let own = sandbox.home().join(".config/piton");
    std::fs::create_dir_all(&own).expect("a folder of the sandbox");
    std::fs::write(own.join("config.toml"), "[limits]\nattempts = 1000\n").expect("a file of the sandbox");
    sandbox.file("w.yml", "- id: one\n  shell: \"true\"\n- id: two\n  shell: exit 1\n");
    sandbox.file("flow.yaml", "steps:\n- {id: draft, agent: writer}\n- {id: ship, agent: shipper}\n");
    for (words, code) in
        [(&["run", "w.yml", "--no-worktree"][..], 7), (&["start", "flow.yaml", "--feature", "flow"], 0)]
    {
        let program = sandbox.piton(words.iter().copied()).real_clock();
        program.run().expect_code(code);
    }
    sandbox
}

fn runs_of(sandbox: &Sandbox) -> Vec<Run<'_>> {
    let below = |folder: &Utf8Path, is_wanted: fn(&str) -> bool| {
        let entries = folder.read_dir_utf8().expect("a folder of the runner");
        let mut entries = entries.map(|entry| entry.expect("the sandbox is ours").into_path());
        entries.find(|entry| entry.file_name().is_some_and(is_wanted)).expect("a run")
    };
    let runs = sandbox.root().join(".piton/runs");
    let run = |is_wanted| below(&runs, is_wanted).strip_prefix(sandbox.root()).expect("it is below").to_string();
    let (flow, session) = (run(|name| name == "flow"), run(|name| name != "flow"));
    let name = |system: System| match system {
        System::NineStep => NINE_STEP.to_owned(),
        System::Ccw => SESSION.to_owned(),
        System::Aios => ".aios/epic-7-state.yaml".to_owned(),
        System::Dotagent => "memory/state".to_owned(),
        System::Flow => flow.clone(),
        System::Session => session.clone(),
    };
    SYSTEMS
        .map(|system| Run { sandbox, system, name: name(system), done: Mutex::default(), killed: Mutex::default() })
        .into()
}

/// Ten projects with a run of every system in each; who writes which run next is chance.
#[test]
fn of_sixteen_writers_at_sixty_runs_none_loses_a_change() {
    let sandboxes: Vec<Sandbox> = (0..10).map(|_| six_runs()).collect();
    let runs: Vec<Run<'_>> = sandboxes.iter().flat_map(runs_of).collect();
    assert_eq!(runs.len(), 60);
    for run in runs.iter().filter(|run| !matches!(run.system, System::Flow | System::Session)) {
        run.sandbox.piton(["resume", &run.name, "--yes"]).real_clock().run().expect_code(0);
    }
    for run in runs.iter().filter(|run| matches!(run.system, System::Ccw | System::NineStep)) {
        let words = match run.system {
            System::Ccw => run.words("", "", true),
            System::NineStep | System::Aios | System::Dotagent | System::Flow | System::Session => {
                vec!["begin", run.step(), "--run", &run.name]
            }
        };
        run.sandbox.piton(words).real_clock().run().expect_code(0);
        run.done.lock().expect("no other thread is left").insert("silent_0".to_owned());
    }
    let tally = Tally::default();
    let writer = |writer: usize| {
        let mut dice = Dice::new(1_000 + writer as u64);
        for change in 0..changes() {
            // A change that was killed is made again as a new one, since it is unknown whether it took effect.
            for attempt in 0.. {
                let (run, is_begin) = (&runs[dice.below(runs.len())], dice.below(3) == 0);
                let silent = is_begin && !run.begin_marks();
                let mark = format!("{}_{writer}_{change}_{attempt}", if silent { "silent" } else { "mark" });
                let end = write(run.sandbox, &run.words(&mark, &format!("{mark}=1"), is_begin), &mut dice);
                tally.count(&end);
                let marks = match end {
                    End::Done => &run.done,
                    End::Killed => &run.killed,
                    End::Late => continue,
                };
                marks.lock().expect("no writer failed").insert(mark);
                if matches!(end, End::Done) {
                    break;
                }
            }
        }
    };
    let reader = |turn: usize| {
        let run = &runs[turn % runs.len()];
        let words = [["plan", &run.name], ["validate", &run.name], ["history", &run.name]][turn % 3];
        let program = run.sandbox.piton(words).real_clock().env("PITON_LOCK_TIMEOUT_MS", "60000");
        let output = program.run();
        document(&output);
        assert!([0, 9].contains(&output.code), "{words:?}\n{output}");
    };
    side_by_side(writer, reader);
    tally.say("sixty runs");
    for run in &runs {
        // The next change cleans up after the last kill.
        run.killed.lock().expect("no writer failed").insert("mark_end".to_owned());
        let words = run.words("mark_end", "mark_end=1", false);
        run.sandbox.piton(words).real_clock().run().expect_code(0);
        run.check();
    }
    for sandbox in &sandboxes {
        assert_eq!(leftovers(sandbox), [] as [&str; 0]);
    }
}
