//! What the steps of a group for items can say: conditions about the steps before them, what follows a skipped one.

use super::support::Stage;

const OUTPUTS: &str = "
steps:
- id: l
  foreach: {items: [a, b]MORE}
  steps:
  - id: make
    shell: 'echo make ${item} >> LOG; WRITE'
    outputs: {path: 'out/${item}.json', schema: {type: object, required: [ok]}}
  - {id: check, shell: 'echo check ${item} >> LOG'}
  - {id: pack, shell: 'echo pack ${item} >> LOG; [ -e LOG.repaired ]'}
- {id: after, shell: echo after >> LOG}
";

fn outputs(more: &str, write: &str) -> Stage {
    let stage = Stage::new(&OUTPUTS.replace("MORE", more).replace("WRITE", write));
    stage.sandbox.file("out/kept", "").commit("the workflow");
    stage
}

#[test]
fn a_step_of_an_item_whose_outputs_are_gone_is_done_again_with_those_after_it() {
    for more in ["", ", worktree: each"] {
        let write = "echo \"{\\\"ok\\\": 1}\" > out/${item}.json";
        for damage in ["rm", "empty"] {
            let stage = outputs(more, write);
            let (output, id) = stage.run(&[]);
            output.expect_code(7);
            let folder = match more {
                "" => stage.worktree(&id),
                _ => {
                    let listed = stage.sandbox.git(["worktree", "list", "--porcelain"]);
                    let of_a =
                        listed.lines().find_map(|line| line.strip_prefix("worktree ").filter(|at| at.ends_with("/a")));
                    of_a.expect("the worktree of a").replace("$TOP", stage.sandbox.top().as_str()).into()
                }
            };
            let file = folder.join("out/a.json");
            match damage {
                "rm" => std::fs::remove_file(&file),
                _ => std::fs::write(&file, ""),
            }
            .unwrap_or_else(|error| panic!("{file}: {error}"));
            std::fs::write(format!("{}.repaired", stage.log()), "").expect("the sandbox is ours");
            let output = stage.resume(&id).expect_code(0);
            assert!(output.stderr.contains("l[a].make is done again: its outputs are not there"), "{output}");
            assert_eq!(
                stage.executions(),
                ["make a", "check a", "pack a", "make a", "check a", "pack a", "make b", "check b", "pack b", "after"],
                "{more} {damage}"
            );
        }
    }
}
