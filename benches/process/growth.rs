//! How calls grow: with the steps of a run, with the runs of a project, with what a run has behind it.

use std::process::Stdio;

use super::{
    budget::Taken,
    contest::{self, Contender},
    fixture::{Project, Scratch},
    report::{Curve, Report},
    tools::Tools,
};

const STEPS: [usize; 4] = [10, 100, 1_000, 10_000];
const RUNS: [usize; 4] = [1, 10, 100, 1_000];
const CHECKPOINTS: [usize; 3] = [10, 100, 1_000];

pub(crate) fn measure(scratch: &Scratch, tools: &Tools, report: &mut Report) {
    with_steps(scratch, tools, report);
    with_runs(scratch, tools, report);
    with_checkpoints(scratch, tools, report);
}

fn with_steps(scratch: &Scratch, tools: &Tools, report: &mut Report) {
    let (mut curves, mut sizes) = (Vec::new(), Vec::new());
    for dialect in ["nine-step", "ccw"] {
        let at_sizes = STEPS.map(|steps| {
            let name = format!("grow-{dialect}-{steps}");
            let (run, step) = match dialect {
                "ccw" => (scratch.ccw(&name, steps), format!("IMPL-{:03}", steps / 2 + 1)),
                _ => (scratch.nine_step(&name, steps / 10), format!("{}:3", (steps / 10).div_ceil(2))),
            };
            let taken = calls(tools, &run, &step, if steps < 10_000 { 15 } else { 5 });
            taken.iter().for_each(|one| report.judge(one, &taken));
            let bytes: u64 = run.state().files().map(|file| std::fs::metadata(file).unwrap().len()).sum();
            (taken, bytes)
        });
        for (at, verb) in ["plan", "begin", "finish", "show"].iter().enumerate() {
            let ms = at_sizes.iter().map(|(taken, _)| taken[at].median());
            curves.push(Curve::new(format!("{verb}, {dialect}"), STEPS.into_iter().zip(ms)));
        }
        let bytes = at_sizes.iter().map(|(_, bytes)| *bytes as f64);
        sizes.push(Curve::new(format!("files that `finish` replaces, {dialect}"), STEPS.into_iter().zip(bytes)));
    }
    report.growth("Growth with the steps of a run", "step", &curves);
    sizes.iter().for_each(|curve| report.sizes(curve, "step"));
}

fn calls(tools: &Tools, run: &Project, step: &str, rounds: usize) -> Vec<Taken> {
    let state = run.state();
    let put_back = || state.put_back();
    let plan = || tools.piton(run.project(), &["plan"]);
    let begin = || tools.piton(run.project(), &["begin", step, "--agent", "developer"]);
    let finish = || tools.piton(run.project(), &["finish", step]);
    let show = || tools.piton(run.project(), &["show"]);
    let name = |verb: &str| format!("{verb}, {}", run.project().file_name().unwrap().display());
    let contenders = vec![
        Contender::piton(name("plan"), &plan).before(&put_back),
        Contender::piton(name("begin"), &begin),
        Contender::piton(name("finish"), &finish),
        Contender::piton(name("show"), &show),
    ];
    contest::hold(rounds, contenders)
}

fn with_runs(scratch: &Scratch, tools: &Tools, report: &mut Report) {
    let ms = RUNS.map(|runs| {
        let tree = scratch.forest(&format!("grow-runs-{runs}"), runs, 0);
        let list = || tools.piton(&tree, &["list"]);
        let taken = contest::hold(15, vec![Contender::piton(format!("list, {runs} runs"), &list)]);
        report.judge(&taken[0], &taken);
        taken[0].median()
    });
    let curve = Curve::new("list".to_owned(), RUNS.into_iter().zip(ms));
    report.growth("Growth with the runs of a project", "run", &[curve]);
}

/// What a run has behind it lies in the history of its state and in the folder `.piton`.
fn with_checkpoints(scratch: &Scratch, tools: &Tools, report: &mut Report) {
    let at_sizes = CHECKPOINTS.map(|checkpoints| {
        let run = scratch.nine_step_with_history(&format!("grow-history-{checkpoints}"), 10, checkpoints);
        let state = run.state();
        let put_back = || state.put_back();
        let begin = || tools.piton(run.project(), &["begin", "5:3", "--agent", "developer"]);
        let history = || tools.piton(run.project(), &["history"]);
        for _ in 0..checkpoints {
            put_back();
            super::run(begin().stdout(Stdio::null()));
        }
        let contenders = vec![
            Contender::piton(format!("begin after {checkpoints} checkpoints"), &begin).before(&put_back),
            Contender::piton(format!("history of {checkpoints} checkpoints"), &history),
        ];
        let taken = contest::hold(15, contenders);
        taken.iter().for_each(|one| report.judge(one, &taken));
        [taken[0].median(), taken[1].median()]
    });
    let curve = |name: &str, at: usize| {
        Curve::new(name.to_owned(), CHECKPOINTS.into_iter().zip(at_sizes.iter().map(|ms| ms[at])))
    };
    let curves = [curve("begin, nine-step, 100 steps", 0), curve("history, nine-step, 100 steps", 1)];
    report.growth("Growth with the checkpoints that a run has behind it", "checkpoint", &curves);
}
