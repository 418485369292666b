//! Sprints and stories that are cut off, lack a line or have conflict markers.

use super::FOLDER;
use super::STATE;
use super::sprint;
use super::story;
use crate::cli::checklist::next;
use crate::cli::checklist::plan;
use crate::cli::checklist::steps;
use crate::support::Sandbox;
use crate::support::takes_all;

const DONE: [&str; 2] = ["1-1-a", "1-2-b"];

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sprint(&sandbox, "  epic-1: in-progress\n  1-1-a: done\n  1-2-b: done\n  1-3-c: in-progress\n  1-4-d: backlog\n");
    story(&sandbox, "1-1-a", "done", "xx");
    story(&sandbox, "1-3-c", "in-progress", "x ");
    sandbox
}

fn check(sandbox: &Sandbox, what: &str) {
    let output = plan(sandbox, STATE);
    assert!([0, 3, 4, 9].contains(&output.code), "{what}: {output}");
    let wrong: Vec<String> =
        steps(sandbox, STATE, "completed").into_iter().filter(|id| !DONE.contains(&id.as_str())).collect();
    assert!(wrong.is_empty(), "{what}: {wrong:?}");
    assert!(!next(&output).iter().any(|step| DONE.iter().any(|id| *step == format!("run {id}"))), "{what}: {output}");
    assert_ne!(output.at("/data/verdict"), if what.contains("cut") { "none" } else { "complete" }, "{what}");
}

#[test]
fn damaged_files_say_nothing_wrong() {
    let step = if takes_all("PITON_PLANS") { 1 } else { 23 };
    for file in [STATE.to_owned(), format!("{FOLDER}/1-1-a.md"), format!("{FOLDER}/1-3-c.md")] {
        let sandbox = project();
        let text = sandbox.read(&file);
        for end in (0..text.len()).step_by(step) {
            sandbox.bytes(&file, &text.as_bytes()[..end]);
            check(&sandbox, &format!("{file} cut at {end}"));
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for without in (0..lines.len()).step_by(if takes_all("PITON_PLANS") { 1 } else { 3 }) {
            let (head, tail) = lines.split_at(without);
            sandbox.file(&file, &format!("{}{}", head.concat(), tail[1..].concat()));
            check(&sandbox, &format!("{file} without line {}", without + 1));
            sandbox.file(&file, &format!("{}<<<<<<< a\n=======\n>>>>>>> b\n{}", head.concat(), tail.concat()));
            check(&sandbox, &format!("{file} with a conflict at {}", without + 1));
        }
    }
}
