//! What calls of `piton` cost in instructions: the same on a busy machine as on a quiet one, so that a slower build is seen.
//!
//! `cargo bench --bench instructions` counts with callgrind and compares with `benches/instructions.txt`. It ends with 1 when a call
//! needs more than was recorded, and with 77 when it cannot compare: no valgrind, or other tools than those of the record.
#![expect(clippy::disallowed_methods, reason = "a benchmark makes files, runs programs and reads the environment")]
#![expect(clippy::print_stdout, reason = "the table is the result")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on ends")]

mod calls;
#[path = "../process/fixture.rs"]
#[expect(dead_code, reason = "the other benchmark uses more of it")]
mod fixture;
mod record;
#[path = "../shipped.rs"]
mod shipped;

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;
use std::process::Stdio;
use std::sync::LazyLock;

use calls::CALLS;
use calls::Call;
use fixture::Scratch;
use record::Record;
use record::TOLERANCE;
use record::Verdict;

/// Is what is measured. Laid out for what runs, it would need other numbers with every change of what is thought to be usual.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| shipped::program(&["--as-written"]));
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions.txt");
const USAGE: &str = "\
cargo bench --bench instructions [-- [--record | --spread N | --list] [WORD...]]
  WORD      only calls with all of these in their name
  --record  write the figures to benches/instructions.txt instead of comparing
  --spread  count N times, in other folders, and show how far the figures lie apart
  --list    show the calls
";

/// What the arguments ask for.
enum Wish {
    Compare,
    Record,
    Spread(usize),
    List,
}

fn main() -> ExitCode {
    let Some((wish, words)) = arguments() else {
        print!("{USAGE}");
        return ExitCode::from(2);
    };
    let chosen: Vec<&Call> = CALLS.iter().filter(|call| words.iter().all(|word| call.name.contains(word))).collect();
    if matches!(wish, Wish::List) {
        chosen.iter().for_each(|call| println!("{}", call.name));
        return ExitCode::SUCCESS;
    }
    let Some(tools) = tools() else {
        println!(
            "The instructions were not counted: `valgrind --version` does not run here (Debian: apt-get install valgrind)."
        );
        return ExitCode::from(77);
    };
    match wish {
        Wish::Compare => compare(&chosen, &tools, words.is_empty()),
        Wish::Record => record(&chosen, tools),
        Wish::Spread(times) => spread(&chosen, times),
        Wish::List => ExitCode::SUCCESS,
    }
}

fn arguments() -> Option<(Wish, Vec<String>)> {
    let (mut wish, mut words) = (Wish::Compare, Vec::new());
    // Cargo adds the first of them.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--record" => wish = Wish::Record,
            "--spread" => wish = Wish::Spread(arguments.next()?.parse().ok().filter(|times| *times > 1)?),
            "--list" => wish = Wish::List,
            flag if flag.starts_with('-') => return None,
            _ => words.push(argument),
        }
    }
    Some((wish, words))
}

/// Returns what figures depend on besides the code; nothing where there is no valgrind.
fn tools() -> Option<Vec<(String, String)>> {
    let answer = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let valgrind = answer("valgrind", "--version")?;
    let unknown = || "unknown".to_owned();
    let named = [
        ("compiler", answer("rustc", "--version").unwrap_or_else(unknown)),
        ("libc", answer("getconf", "GNU_LIBC_VERSION").unwrap_or_else(unknown)),
        ("valgrind", valgrind),
        ("processor", processor()),
        ("target", target()),
    ];
    Some(named.map(|(name, version)| (name.to_owned(), version)).to_vec())
}

/// Returns what the program was built for, which cargo names the folder by: `target/TRIPLE/release/piton`.
fn target() -> String {
    let folder = PROGRAM.ancestors().nth(2).and_then(Path::file_name);
    folder.map_or_else(|| "unknown".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Returns what the libraries choose their code by. Valgrind hides what is newer, AVX-512 and the SHA instructions among it.
#[cfg(target_arch = "x86_64")]
fn processor() -> String {
    format!("x86_64, {} AVX2", if std::is_x86_feature_detected!("avx2") { "with" } else { "without" })
}

#[cfg(not(target_arch = "x86_64"))]
fn processor() -> String {
    std::env::consts::ARCH.to_owned()
}

fn compare(chosen: &[&Call], tools: &[(String, String)], are_all: bool) -> ExitCode {
    let record =
        std::fs::read_to_string(RECORD).map_err(|error| error.to_string()).and_then(|text| Record::parse(&text));
    let record = record.unwrap_or_else(|error| panic!("{RECORD}: {error}"));
    let others = record.other_tools(tools);
    let figures = count(chosen);
    println!("| call | instructions | recorded | difference |\n| --- | ---: | ---: | ---: |");
    let (mut slower, mut faster) = (Vec::new(), Vec::new());
    for (name, now) in &figures {
        let verdict = record.judge(name, *now);
        let recorded = record.figure(name).map_or_else(|| "-".to_owned(), |figure| figure.to_string());
        let difference = match verdict {
            Verdict::Same(percent) | Verdict::Slower(percent) | Verdict::Faster(percent) => format!("{percent:+.2} %"),
            Verdict::Unrecorded => "not recorded".to_owned(),
        };
        println!("| {name} | {now} | {recorded} | {difference} |");
        match verdict {
            Verdict::Slower(_) | Verdict::Unrecorded => slower.push(name.as_str()),
            Verdict::Faster(_) => faster.push(name.as_str()),
            Verdict::Same(_) => {}
        }
    }
    if are_all {
        slower.extend(record.not_among(&figures));
    }
    println!();
    if !others.is_empty() {
        println!("Not compared: the record was made with other tools.\n  {}", others.join("\n  "));
        return ExitCode::from(77);
    }
    if !faster.is_empty() {
        println!("More than {TOLERANCE} % faster than recorded: {}.\n{LOWER}", faster.join("; "));
    }
    if slower.is_empty() {
        println!("No call needs over {TOLERANCE} % more than was recorded.");
        return ExitCode::SUCCESS;
    }
    println!(
        "Over {TOLERANCE} % slower than recorded, not recorded, or recorded and gone: {}.\n{RAISE}",
        slower.join("; ")
    );
    ExitCode::FAILURE
}

const LOWER: &str =
    "Lower the record, so that nobody can lose it again unseen: cargo bench --bench instructions -- --record";
const RAISE: &str = "Find out why (valgrind --tool=callgrind; callgrind_annotate). When it is worth it, say so in the commit, with the new
record: cargo bench --bench instructions -- --record";

fn record(chosen: &[&Call], tools: Vec<(String, String)>) -> ExitCode {
    if chosen.len() < CALLS.len() {
        println!("A record has all calls: leave out the words.");
        return ExitCode::from(2);
    }
    let record = Record { tools, calls: count(chosen) };
    std::fs::write(RECORD, record.render()).unwrap();
    print!("{}", record.render());
    ExitCode::SUCCESS
}

fn spread(chosen: &[&Call], times: usize) -> ExitCode {
    let rounds: Vec<Vec<(String, u64)>> = (0..times).map(|_| count(chosen)).collect();
    println!("| call | least | most | apart |\n| --- | ---: | ---: | ---: |");
    for (at, call) in chosen.iter().enumerate() {
        let figures = || rounds.iter().map(|round| round[at].1);
        let (least, most) = (figures().min().unwrap(), figures().max().unwrap());
        println!("| {} | {least} | {most} | {:.3} % |", call.name, (most as f64 / least as f64 - 1.0) * 100.0);
    }
    ExitCode::SUCCESS
}

/// Counts the instructions of calls, each in a project of its own.
fn count(chosen: &[&Call]) -> Vec<(String, u64)> {
    // The length of a path counts, so it is not that of `TMPDIR`.
    let scratch = Scratch::below(Path::new("/tmp"));
    let least = |call: &Call| (0..call.tries).map(|at| count_one(&scratch, call, at)).min().unwrap();
    chosen.iter().map(|call| (call.name.to_owned(), least(call))).collect()
}

fn count_one(scratch: &Scratch, call: &Call, tried: usize) -> u64 {
    let at = CALLS.iter().position(|other| other.name == call.name).unwrap();
    let project = (call.project)(scratch, &format!("call-{at:02}-{tried}"));
    for arguments in call.before {
        run(piton(scratch, &project, Command::new(&*PROGRAM)).args(*arguments).stdout(Stdio::null()));
    }
    let figures = scratch.top().join(format!("figures-{at:02}-{tried}"));
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--quiet"]).arg(format!("--callgrind-out-file={}", figures.display()));
    let mut command = piton(scratch, &project, valgrind);
    command.arg(&*PROGRAM).args(call.arguments);
    if call.is_hook {
        let event = scratch.event(&project, "known", "startup");
        command.stdin(std::fs::File::open(event).unwrap());
    }
    let output = command.output().unwrap();
    let code = output.status.code();
    // 9 says that a person decides: an answer.
    assert!(matches!(code, Some(0 | 9)), "{}: {command:?} ended with {code:?}\n{output:?}", call.name);
    let text = std::fs::read_to_string(&figures).unwrap();
    let totals = text.lines().find_map(|line| line.strip_prefix("totals: ")).unwrap();
    totals.parse().unwrap()
}

/// Gives a command the same surroundings everywhere.
fn piton(scratch: &Scratch, project: &Path, mut command: Command) -> Command {
    command.current_dir(project).env_clear().stdin(Stdio::null());
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", scratch.top().join("home"));
    command.env("PITON_HOME", scratch.top().join("state")).env("PITON_NOW", "2026-02-01T12:00:00Z");
    command.env("CLAUDE_CODE_SESSION_ID", "known");
    command
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}");
}
