//! What holds for the plans of all other systems: where they are listed, and where they are only planned by their path.

use crate::support::Sandbox;
use crate::support::Tree;
use crate::support::repository;

/// The example of each system, with its state.
const EXAMPLES: [(&str, &str); 4] = [
    ("gsd", ".planning"),
    ("taskmaster", ".taskmaster/tasks/tasks.json"),
    ("checklist", "specs/001-order-export/tasks.md"),
    ("bmad", "_bmad-output/implementation-artifacts/sprint-status.yaml"),
];

/// Returns a project with an example in a folder.
fn below(folder: &str, example: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    Tree::of(&repository().join("examples").join(example)).write_to(&sandbox.root().join(folder));
    sandbox.git_init();
    sandbox
}

fn listed(sandbox: &Sandbox) -> Vec<String> {
    let output = sandbox.piton(["list"]).run();
    let runs = output.at("/data/runs");
    let states = runs.as_array().into_iter().flatten().filter_map(|run| run["state"].as_str());
    states.map(str::to_owned).collect()
}

#[test]
fn a_plan_is_listed_in_a_package_and_only_planned_by_its_path_in_a_folder_of_copies() {
    for (example, state) in EXAMPLES {
        for folder in ["apps/web", "a/b/c", "contests/1"] {
            assert_eq!(listed(&below(folder, example)), [format!("{folder}/{state}")], "{folder} {example}");
        }
        for folder in ["examples/a", "Templates", "fixtures", "test-data", "packages/backup-1", "archived/b"] {
            let sandbox = below(folder, example);
            assert_eq!(listed(&sandbox), [""; 0], "{folder} {example}");
            let output = sandbox.piton(["plan", &format!("{folder}/{state}")]).run();
            assert_eq!(output.at("/data/run/dialect"), example, "{folder}: {output}");
            assert!(output.at("/data/next/0/step").is_string(), "{folder}: {output}");
        }
    }
}

#[test]
fn a_plan_that_is_too_deep_for_a_package_is_not_listed() {
    for (example, _) in &EXAMPLES[..3] {
        assert_eq!(listed(&below("a/b/c/d", example)), [""; 0], "{example}");
    }
}
