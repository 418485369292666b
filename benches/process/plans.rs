//! Plans of growing runs against an empty process, and where a step is a file also against reading those files.

use super::{
    budget::{Budget, Line},
    contest::{self, Contender},
    fixture::Scratch,
    report::Report,
    tools::{self, Tools},
};

const BUDGETS: [(usize, usize, Budget); 3] = [
    (100, 40, Budget::times(Line::Plan, 4.0, 0)),
    (1_000, 30, Budget::ms(Line::LargePlan, 10.0)),
    (10_000, 10, Budget::ms(Line::LargePlan, 100.0)),
];

pub(crate) fn measure(scratch: &Scratch, tools: &Tools, report: &mut Report) {
    for (steps, rounds, budget) in BUDGETS {
        let nine_step = scratch.nine_step(&format!("plan-nine-step-{steps}"), steps / 10);
        let ccw = scratch.ccw(&format!("plan-ccw-{steps}"), steps);
        let empty = || tools.empty();
        let cat = || tools::given("cat", ccw.state_files());
        let plan_nine_step = || tools.piton(nine_step.project(), &["plan"]);
        let plan_ccw = || tools.piton(ccw.project(), &["plan"]);
        let taken = contest::hold(
            rounds,
            vec![
                Contender::new("empty Rust process", &empty),
                Contender::piton(format!("plan, nine-step, {steps} steps"), &plan_nine_step).may_take(budget),
                Contender::new(format!("cat, {steps} files of ccw"), &cat),
                Contender::piton(format!("plan, ccw, {steps} steps"), &plan_ccw).may_take(budget.beside(2)),
            ],
        );
        report.group(&format!("Plans, {steps} steps, no git"), &taken);
    }
    in_git(scratch, tools, report);
}

fn in_git(scratch: &Scratch, tools: &Tools, report: &mut Report) {
    let git = scratch.nine_step_in_git("plan-git", 10);
    let plan = || tools.piton(git.project(), &["plan"]);
    let status = || {
        let mut command = tools::given("git", ["status", "--porcelain"]);
        command.current_dir(git.project());
        command
    };
    let contenders =
        vec![Contender::new("git status", &status), Contender::piton("plan, nine-step, 100 steps, in git", &plan)];
    report.group("Plans in git", &contest::hold(40, contenders));
}
