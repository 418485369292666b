//! What a call of `piton` costs as a process: cold starts, side by side with the least that the same work can cost and with scripts that
//! do the same.
//!
//! `cargo bench --bench process` prints tables in Markdown and ends with 1 when a budget is not met. The machine decides the milliseconds,
//! so what is compared is measured in turns, and the median of the ratios counts.
#![expect(clippy::disallowed_methods, reason = "a benchmark makes files, runs programs and reads the clock")]
#![expect(clippy::print_stdout, reason = "the table is the result")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on ends")]

mod budget;
mod contest;
mod fixture;
mod growth;
mod hooks;
mod lists;
mod plans;
mod report;
mod runs;
mod sessions;
mod tools;
mod writes;

use std::process::{Command, ExitCode};

use fixture::Scratch;
use report::Report;
use tools::Tools;

/// Measures a group of calls.
type Group = fn(&Scratch, &Tools, &mut Report);

const GROUPS: [(&str, &str, Group); 7] = [
    ("writes", "one checkpoint and the next step: piton, the C floor, scripts", writes::measure),
    ("plans", "plans of 100, 1,000 and 10,000 steps", plans::measure),
    ("lists", "a tree of 100,000 files", lists::measure),
    ("runs", "the runner against a C program that runs the same", runs::measure),
    ("hooks", "events of the client", hooks::measure),
    ("growth", "from 10 to 10,000 steps, 1 to 1,000 runs and checkpoints", growth::measure),
    ("sessions", "sessions of 10 to 10,000 steps, captures of 1 kB to 8 MB", sessions::measure),
];

fn main() -> ExitCode {
    // Cargo adds the first of them.
    let words: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let unknown = words.iter().any(|word| GROUPS.iter().all(|(name, _, _)| name != word));
    if unknown {
        println!("cargo bench --bench process [-- GROUP...]\n");
        GROUPS.iter().for_each(|(name, what, _)| println!("{name:10} {what}"));
        return if words == ["--list"] { ExitCode::SUCCESS } else { ExitCode::from(2) };
    }
    let start = std::time::Instant::now();
    let scratch = Scratch::below(&std::env::temp_dir());
    let tools = Tools::build(scratch.top());
    tools::describe(scratch.top());
    let mut report = Report::default();
    for (name, _, measure) in GROUPS {
        if words.is_empty() || words.iter().any(|word| word == name) {
            measure(&scratch, &tools, &mut report);
        }
    }
    let is_met = report.summary();
    println!("\nTook {} s.", start.elapsed().as_secs());
    ExitCode::from(u8::from(!is_met))
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}");
}
