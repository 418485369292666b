//! Workflows of steps that do nothing: what is left is what the runner costs.

use super::{
    budget::{Budget, Line},
    contest::{self, Contender},
    fixture::Scratch,
    report::Report,
    tools::{self, Tools},
};

pub(crate) fn measure(scratch: &Scratch, tools: &Tools, report: &mut Report) {
    // What the runner does between two flushes does not get faster with the disk; in a long run its snapshots come on top.
    for (steps, rounds, factor) in [(100, 15, 1.5), (1_000, 7, 1.8)] {
        let folder = scratch.script(&format!("run-{steps}"), &"- shell: 'true'\n".repeat(steps));
        let (count, records) = (steps.to_string(), folder.join("records"));
        let floor = || {
            let mut command = tools::given(&tools.steps, [&count]);
            command.arg(&records);
            command
        };
        let run = || tools.piton(&folder, &["run", "w.yml", "--no-worktree"]);
        let contenders = vec![
            Contender::new(format!("C floor, {steps} shell steps"), &floor),
            Contender::piton(format!("run, {steps} shell steps"), &run).may_take(Budget::times(
                Line::Runner,
                factor,
                0,
            )),
        ];
        report.group(&format!("The runner, {steps} steps"), &contest::hold(rounds, contenders));
    }
}
