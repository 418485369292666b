//! A check list as a sixth dialect: it lists, plans, begins and finishes like any other.

use crate::{
    dialect::{Dialect as _, Toy},
    engine,
    model::*,
};

fn files(text: &[u8]) -> FileSet {
    testing::files_of("checklist.yaml", text)
}

#[test]
fn a_check_list_is_listed_planned_begun_and_finished() {
    let path = RelPath::parse("docs/checklist.yaml").unwrap();
    let entries = vec![ListingEntry { path: path.clone(), is_dir: false, content: None }];
    assert_eq!(Toy.probe(&Listing { entries, ..Listing::default() }).candidates[0].state, path);
    let mut text = b"items: # three words\n  - { id: write, is: done }\n  - { id: ship, is: todo }\n".to_vec();
    for (kind, said) in [("begin", "doing"), ("finish", "done")] {
        let loaded = Toy.load(&files(&text));
        let run = loaded.run.unwrap();
        let options = Options::at(files(&text).clock.now);
        let plan = engine::plan(&run, testing::header_of(&run), &Evidence::default(), loaded.findings, &options).plan;
        let step = plan.next[0].step.clone();
        assert_eq!(step.as_str(), "ship");
        let begin = ChangeKind::Begin { step: step.clone(), part: None, agent: None, attempt: 0, reopens: Vec::new() };
        let finish = ChangeKind::Finish(Box::new(Outcome::completed(step)));
        let change = Change { at: options.now, kind: if kind == "begin" { begin } else { finish } };
        let limits = engine::ChangeLimits::of(3);
        let admitted = engine::admit(&run, (&Evidence::default(), &[]), change, limits, None).unwrap();
        let engine::Admitted::Change { change, .. } = admitted else { panic!("the state says so already") };
        text = Toy.edit(&files(&text), &change).unwrap()[0].after().unwrap().to_vec();
        let expected = format!("items: # three words\n  - {{ id: write, is: done }}\n  - {{ id: ship, is: {said} }}\n");
        assert_eq!(String::from_utf8_lossy(&text), expected);
    }
    let run = Toy.load(&files(&text)).run.unwrap();
    let options = Options::at(files(&text).clock.now);
    let plan = engine::plan(&run, testing::header_of(&run), &Evidence::default(), Vec::new(), &options).plan;
    assert_eq!(plan.verdict, Verdict::Complete);
}
