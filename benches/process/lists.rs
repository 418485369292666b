//! Discovery in large trees.

use super::{
    budget::{Budget, Line},
    contest::{self, Contender},
    fixture::Scratch,
    report::Report,
    tools::{self, Tools},
};

pub(crate) fn measure(scratch: &Scratch, tools: &Tools, report: &mut Report) {
    let tree = scratch.forest("forest", 1_000, 100_000);
    let one = tree.join(".worktree/run-7/.workflow-state.json");
    let find = || tools::given("find", [&tree]);
    let list = || tools.piton(&tree, &["list"]);
    let status = || tools.piton(&tree, &["status", one.to_str().unwrap()]);
    let contenders = vec![
        Contender::new("find, 100,000 files", &find),
        Contender::piton("list, 1,000 runs", &list).may_take(Budget::ms(Line::List, 400.0)),
        Contender::piton("status of one of them, by path", &status),
    ];
    report.group("A tree of 100,000 files with 1,000 runs", &contest::hold(7, contenders));

    let stories = scratch.stories("stories", 1_000);
    let find = || tools::given("find", [&stories]);
    let list = || tools.piton(&stories, &["list"]);
    let contenders = vec![
        Contender::new("find, 1,000 stories", &find),
        Contender::piton("list, 1,000 stories of AIOS", &list).may_take(Budget::ms(Line::List, 400.0)),
    ];
    report.group("1,000 stories of AIOS", &contest::hold(7, contenders));

    let guests = scratch.guests("guests", 300, 100, 2_000);
    let find = || tools::given("find", [&guests]);
    let list = || tools.piton(&guests, &["list"]);
    let contenders = vec![
        Contender::new("find, 300 changes and 100 plans", &find),
        Contender::piton("list, 300 changes, 100 plans, 2,000 tasks, with git", &list)
            .may_take(Budget::ms(Line::Guests, 200.0)),
    ];
    report.group("Plans of other systems", &contest::hold(7, contenders));
}
