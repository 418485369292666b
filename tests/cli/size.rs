//! What answers cost an agent, in bytes.

use serde_json::Value;

use super::projects::{self, document};
use crate::support::{Sandbox, Tree, repository};

/// The tail of a report: 400 bytes.
const SUMMARY: &str = "The endpoint checks the token, refuses one that is expired or was issued for another audience, and answers 401 with \
     a header that names the scheme. Keys are read once at the start and looked up by id. Errors of the store are mapped to 503 and \
     retried by the caller. Tests cover an expired token, a wrong audience, a missing header and a key that was rotated away. Open: \
     limits per client are guesses.";

/// A project with a run of a chain of `total` steps, of which `done` are finished.
fn chain(done: usize, total: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut flow = "name: chain\nsteps:\n- {id: s100, title: Step number 100}\n".to_owned();
    for at in 101..100 + total {
        flow.push_str(&format!("- {{id: s{at}, title: Step number {at}, depends_on: s{}}}\n", at - 1));
    }
    sandbox.file("flow.yaml", &flow);
    sandbox.piton(["start", "flow.yaml", "--feature", "demo"]).run().expect_code(0);
    for at in 100..100 + done {
        sandbox.piton(["begin", &format!("s{at}")]).run().expect_code(0);
        sandbox.piton(["finish", &format!("s{at}"), "--summary", SUMMARY]).run().expect_code(0);
    }
    sandbox
}

#[test]
fn a_plan_does_not_grow_with_the_steps_that_are_finished() {
    let sizes = [12, 32].map(|done| {
        let sandbox = chain(done, 52);
        let plan = sandbox.piton(["plan"]).run().expect_code(0);
        document(&plan);
        let all = sandbox.piton(["plan", "--steps"]).run().expect_code(0);
        document(&all);
        assert_eq!(all.at("/data/steps/completed").as_array().map(Vec::len), Some(done));
        plan.stdout.len()
    });
    assert_eq!(sizes[0], sizes[1]);
}

#[test]
fn a_brief_has_as_many_older_reports_as_there_is_room_for() {
    for done in [2, 12, 32] {
        let sandbox = chain(done, 52);
        let context = sandbox.piton(["context"]).run().expect_code(0);
        let data = context.at("/data").to_string();
        assert!(data.len() <= 4_096, "{}\n{context}", data.len());
        assert_eq!(context.at("/data/reports/0/summary"), SUMMARY);
        assert_eq!(context.at("/data/done"), Value::Null);
        assert_eq!(data.contains("\"omitted\""), done == 32, "{context}");
    }
}

/// The plan of each example, without the path of its project, which differs from place to place.
#[test]
fn the_plan_of_each_example_is_small() {
    for (name, limit) in
        [("nine-step", 1_650), ("ccw", 1_680), ("dotagent", 1_980), ("aios", 1_450), ("own-workflow", 1_540)]
    {
        let plan = projects::example(name).piton(["plan"]).run().expect_code(0);
        document(&plan);
        let root = plan.at("/data/run/root").as_str().map(str::len).expect("it has a root");
        let size = plan.stdout.len() - root;
        assert!(size <= limit, "{name}: {size} bytes without its root\n{plan}");
    }
}

/// An example in which the third step has two predecessors, with what takes it back to its first.
struct Example {
    name: &'static str,
    /// Files, a text in them, and what stands in its place.
    replaced: &'static [(&'static str, &'static str, &'static str)],
    removed: &'static [&'static str],
}

const EXAMPLES: [Example; 5] = [
    Example {
        name: "ccw",
        replaced: &[
            (".workflow/active/WFS-user-auth/.task/IMPL-001.json", "\"completed\"", "\"pending\""),
            (".workflow/active/WFS-user-auth/TODO_LIST.md", "[x]", "[ ]"),
        ],
        removed: &[".workflow/active/WFS-user-auth/.summaries/IMPL-001-summary.md"],
    },
    Example { name: "nine-step", replaced: &[], removed: &[] },
    Example { name: "dotagent", replaced: &[], removed: &[] },
    Example { name: "aios", replaced: &[], removed: &[] },
    Example { name: "own-workflow", replaced: &[], removed: &[] },
];

#[test]
fn begin_and_finish_of_a_third_step_are_small() {
    for Example { name, replaced, removed } in EXAMPLES {
        let sandbox = Sandbox::new();
        Tree::of(&repository().join("examples").join(name)).write_to(&sandbox.root());
        for (path, from, to) in replaced {
            sandbox.file(path, &sandbox.read(path).replace(from, to));
        }
        for path in removed {
            sandbox.remove(path);
        }
        if name == "own-workflow" {
            sandbox.piton(["trust", "spring"]).run().expect_code(0);
        }
        let steps: Vec<(usize, String)> = (0..3).map(|_| step(&sandbox)).collect();
        let (bytes, third) = &steps[2];
        assert!(*bytes <= 2_560, "{name}: begin and finish cost {bytes} bytes\n{third}");
    }
}

/// Begins the next step, writes its output and finishes it with a report; returns the bytes of both answers, and their text.
fn step(sandbox: &Sandbox) -> (usize, String) {
    let begun = sandbox.piton(["begin"]).run().expect_code(0);
    let mut texts = Vec::new();
    long_texts(&document(&begun), &mut texts);
    for (at, text) in texts.iter().enumerate() {
        assert!(!texts[..at].contains(text), "said twice: {text}\n{begun}");
    }
    let id = begun.at("/data/step").as_str().expect("it has an id").to_owned();
    let report = begun.at("/data/brief/report");
    let is_review = report.as_str().expect("it is reported").contains("--verdict");
    for path in outputs(&begun.at("/data/brief").to_string()).iter().filter(|_| !is_review) {
        sandbox.file(path, "{\"passed\": 1, \"failed\": 0}");
    }
    let mut words = vec!["finish", &id, "--summary", SUMMARY];
    if is_review {
        words.extend(["--verdict", "APPROVED"]);
    }
    let finished = sandbox.piton(words).run().expect_code(0);
    document(&finished);
    (begun.stdout.len() + finished.stdout.len(), format!("{begun}\n{finished}"))
}

/// Returns the files in a brief that an agent has to write.
fn outputs(brief: &str) -> Vec<String> {
    let known = ["out/report.json"];
    let written = brief.split_once("Write ").and_then(|(_, rest)| rest.split_once(" as compact")).map(|(path, _)| path);
    known.into_iter().filter(|path| brief.contains(path)).chain(written).map(str::to_owned).collect()
}

fn long_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        // The reports of this test are all the same.
        Value::String(text) if text.len() > 24 && text.contains(' ') && text != SUMMARY => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| long_texts(item, texts)),
        Value::Object(fields) => fields.values().for_each(|value| long_texts(value, texts)),
        _ => {}
    }
}
