//! Sessions of the runner as they grow: what a step costs late in a session, what a plan of it costs, and how many bytes it keeps.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Instant,
};

use super::{
    budget::{Budget, Line},
    contest::{self, Contender},
    fixture::Scratch,
    report::{Curve, Report},
    tools::Tools,
};

const STEPS: [usize; 4] = [10, 100, 1_000, 10_000];
/// How many milliseconds a plan may take.
const PLANS: [(usize, f64); 2] = [(1_000, 10.0), (10_000, 100.0)];
/// The most that a step may capture is 8 MiB.
const CAPTURED: [usize; 5] = [1_000, 10_000, 100_000, 1_000_000, 8_000_000];

pub(crate) fn measure(scratch: &Scratch, tools: &Tools, report: &mut Report) {
    let measured = STEPS.map(|steps| {
        let text = format!("{}- shell: 'false'\n", "- shell: 'true'\n".repeat(steps));
        let (folder, took) = interrupted(scratch, tools, &format!("session-{steps}"), &text);
        let plan = || tools.piton(&folder, &["plan"]);
        let rounds = if steps < 10_000 { 15 } else { 5 };
        let mut contender = Contender::piton(format!("plan, session, {steps} steps"), &plan);
        if let Some((_, ms)) = PLANS.iter().find(|(size, _)| *size == steps) {
            contender = contender.may_take(Budget::ms(Line::LargePlan, *ms));
        }
        let taken = contest::hold(rounds, vec![contender]);
        report.judge(&taken[0], &taken);
        (took, taken[0].median(), kept(&folder))
    });
    let curve = |name: &str, values: [f64; 4]| Curve::new(name.to_owned(), STEPS.into_iter().zip(values));
    let run = curve("run, one process, once", measured.map(|(took, _, _)| took));
    let plan = curve("plan of the interrupted session", measured.map(|(_, ms, _)| ms));
    report.growth("Growth with the steps of a session", "step", &[run, plan]);

    let by_steps = curve("a session of shell steps", measured.map(|(_, _, bytes)| bytes as f64));
    let captured = CAPTURED.map(|bytes| {
        let shell = format!("head -c {bytes} /dev/zero | tr '\\0' x");
        let text = format!("- shell: \"{}\"\n  capture: text\n- shell: 'false'\n", shell.replace('\\', "\\\\"));
        let (folder, _) = interrupted(scratch, tools, &format!("capture-{bytes}"), &text);
        kept(&folder) as f64
    });
    let by_captured = Curve::new("a step that captures".to_owned(), CAPTURED.into_iter().zip(captured));
    report.sizes(&by_steps, "step");
    report.sizes(&by_captured, "captured byte");
}

/// Runs a workflow that fails at its last step; returns its folder and how many milliseconds it took.
fn interrupted(scratch: &Scratch, tools: &Tools, name: &str, text: &str) -> (PathBuf, f64) {
    let folder = scratch.script(name, text);
    let mut command = tools.piton(&folder, &["run", "w.yml", "--quiet", "--no-worktree"]);
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    let took = start.elapsed().as_secs_f64() * 1_000.0;
    assert_eq!(status.code(), Some(7), "{command:?}");
    (folder, took)
}

/// Returns the bytes of everything that is kept of the session of a folder.
fn kept(folder: &Path) -> u64 {
    fn below(folder: &Path) -> u64 {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let size = |entry: std::fs::DirEntry| match entry.file_type().unwrap().is_dir() {
            true => below(&entry.path()),
            false => entry.metadata().unwrap().len(),
        };
        entries.map(size).sum()
    }
    below(&folder.join(".piton"))
}
