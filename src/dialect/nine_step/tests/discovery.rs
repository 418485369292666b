//! Where runs are found (docs/formats/nine-step.md#finding-runs), and where their work happens.

use std::sync::Arc;

use super::{codes, files_at, path, state};
use crate::{
    dialect::{Dialect as _, Probed, nine_step::NineStep},
    model::{Config, FindingCode, Listing, ListingEntry, ReadSpec},
};

const OURS: &str = "{\"feature_name\": \"quotes\", \"current_step\": 4, \"last_execution\": {\"step\": 4}}";

fn probe(entries: &[(&str, Option<&str>)]) -> Probed {
    probe_with(Config::default(), entries)
}

fn probe_with(config: Config, entries: &[(&str, Option<&str>)]) -> Probed {
    let entries = entries.iter().map(|(at, look)| ListingEntry {
        path: path(at),
        is_dir: false,
        content: look.map(|text| Arc::from(text.as_bytes())),
    });
    let (entries, config) = (entries.collect(), Arc::new(config));
    NineStep.probe(&Listing { root: "/project".into(), entries, config, ..Listing::default() })
}

fn found(probed: &Probed) -> Vec<(&str, &str)> {
    probed.candidates.iter().map(|c| (c.name.as_str(), c.state.as_str())).collect()
}

#[test]
fn names_of_the_wild_are_looked_into() {
    for (name, marked) in [
        (".workflow-state.json", true),
        (".worktree/x/.workflow-state.json", true),
        (".plan/x.workflow-state.json", true),
        (".workflow_state.json", true),
        ("workflow-state.json", true),
        (".worktree/x/.workflow-state.json.backup", false),
        (".workflow-state.json.tmp", false),
        ("state.json", false),
        ("x_workflow-state.json", false),
    ] {
        assert_eq!(NineStep.marks(name), marked, "{name}");
    }
}

#[test]
fn runs_are_found_at_the_root_in_worktrees_and_beside_plans() {
    let other = OURS.replace("quotes", "orders");
    let third = OURS.replace("quotes", "alerts");
    let probed = probe(&[
        (".plan/orders.workflow-state.json", Some(&other)),
        (".workflow-backups/quotes/phase1/.workflow-state.json", Some(OURS)),
        (".workflow-state.json", Some(&third)),
        (".worktree/feat-quotes/.workflow-state.json", Some(OURS)),
        (".worktree/feat-quotes/.workflow-state.json.backup", Some(OURS)),
        ("node_modules/x/.workflow-state.json", Some(OURS)),
    ]);
    assert_eq!(
        found(&probed),
        [
            ("orders", ".plan/orders.workflow-state.json"),
            ("alerts", ".workflow-state.json"),
            ("quotes", ".worktree/feat-quotes/.workflow-state.json"),
        ]
    );
    assert_eq!(
        probed.candidates[2].reads,
        [
            ReadSpec::File(path(".worktree/feat-quotes/.workflow-state.json")),
            ReadSpec::File(path(".worktree/feat-quotes/.workflow-state.json.backup")),
        ]
    );
    assert!(probed.findings.is_empty());
}

#[test]
fn other_tools_files_of_the_same_name_are_left_alone() {
    for text in ["{\"phase\": \"build\", \"tasks\": []}", "[]", "{\"current_phase\": 2, \"status\": \"ok\"}", "{}"] {
        for at in [".workflow-state.json", ".worktree/x/.workflow-state.json", ".plan/x.workflow-state.json"] {
            let probed = probe(&[(at, Some(text))]);
            assert!(probed.candidates.is_empty(), "{at} {text}");
            assert_eq!(probed.findings[0].code, FindingCode::LookAlike);
            assert!(probed.findings[0].message.contains("not a nine-step state file"));
        }
    }
}

#[test]
fn a_damaged_state_is_still_a_run() {
    for (at, text, is_run) in [
        (".worktree/feat-quotes/.workflow-state.json", "{\"feat", true),
        (".worktree/feat-quotes/.workflow-state.json", "", true),
        (".plan/quotes.workflow-state.json", "", true),
        (".workflow-state.json", "{\"feature_name\": \"q\", \"last_execution\": {", true),
        (".workflow-state.json", "", true),
        (".workflow-state.json", "steps: yaml", false),
        ("workflow-state.json", "", false),
    ] {
        assert_eq!(probe(&[(at, Some(text))]).candidates.len(), usize::from(is_run), "{at} {text:?}");
    }
    let probed = probe(&[(".worktree/feat-quotes/.workflow-state.json", Some("{"))]);
    assert_eq!(probed.candidates[0].name, "feat-quotes");
}

#[test]
fn other_folders_and_names_can_be_configured() {
    let mut config = Config::default();
    config.nine_step.worktree_dir = "trees/".to_owned();
    config.nine_step.state_file = "nine.json".to_owned();
    let probed = probe_with(config, &[("trees/a/nine.json", None), (".worktree/b/.workflow-state.json", Some(OURS))]);
    assert_eq!(found(&probed), [("a", "trees/a/nine.json")]);
}

#[test]
fn the_worktree_is_where_the_state_lies() {
    let last = "{\"phase\": 1, \"step\": 3, \"status\": \"completed\"}";
    for (recorded, expected) in [
        (".worktree/feat-quotes/", &[][..]),
        ("/project/.worktree/feat-quotes", &[]),
        ("/home/somebody/repo/.worktree/feat-quotes", &[]),
        ("C:\\repo\\.worktree\\feat-quotes", &[]),
        (".worktree/other", &[FindingCode::FieldIgnored]),
        ("/srv/elsewhere", &[FindingCode::FieldIgnored]),
    ] {
        let recorded = serde_json::Value::from(recorded);
        let loaded = super::load(&state(last, &format!("\"worktree_path\": {recorded}")));
        assert_eq!(codes(&loaded), expected, "{recorded}");
        assert_eq!(loaded.run.unwrap().workspace.worktree, Some(path(".worktree/feat-quotes")), "{recorded}");
    }
}

#[test]
fn the_plan_lies_in_the_main_tree() {
    let last = "{\"phase\": 1, \"step\": 3, \"status\": \"completed\"}";
    for reference in [
        ".plan/quotes_plan.md",
        "./.plan/quotes_plan.md",
        "../../.plan/quotes_plan.md",
        "/project/.plan/quotes_plan.md",
        "/home/somebody/repo/.plan/quotes_plan.md",
    ] {
        let text = state(last, &format!("\"plan_reference\": \"{reference}\""));
        let loaded = super::load(&text);
        assert_eq!(loaded.wanted.documents, [path(".plan/quotes_plan.md")], "{reference}");
        let mut linked = files_at(".workflow-state.json", text.as_bytes());
        linked.main_root = Some("/main".into());
        let loaded = NineStep.load(&linked);
        assert_eq!(loaded.wanted.documents, [path(".plan/quotes_plan.md")], "{reference}");
        assert_eq!((codes(&loaded), loaded.wanted.workspace), (vec![], Some(None)));
    }
}
