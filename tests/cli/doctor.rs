use super::projects;
use super::projects::NINE_STEP;
use super::projects::document;
use crate::support::Output;
use crate::support::Sandbox;

fn check(output: &Output, name: &str) -> serde_json::Value {
    let document = document(output);
    let checks = document["data"]["checks"].as_array().expect("a list of checks").clone();
    checks.into_iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no check `{name}`\n{output}"))
}

#[test]
fn a_sound_project_is_sound() {
    let sandbox = projects::both();
    sandbox.git_init();
    let output = sandbox.piton(["doctor"]).run().expect_code(0);
    assert_eq!(check(&output, "runs")["detail"], "2 found");
    assert_eq!(check(&output, "run user-auth")["result"], "ok");
    assert_eq!(check(&output, "project")["detail"], "$ROOT (git)");
}

#[test]
fn without_git_it_says_what_is_not_checked() {
    let output = Sandbox::new().piton(["doctor"]).without_git().run().expect_code(0);
    let git = check(&output, "git");
    assert_eq!(
        (git["result"].as_str(), git["fix"].as_str()),
        (Some("warning"), Some("install git, or continue without it"))
    );
}

#[test]
fn a_broken_run_is_a_problem_with_a_way_out() {
    let sandbox = projects::both();
    sandbox.file(NINE_STEP, "{\"feature_name\": ");
    let before = sandbox.tree();
    let output = sandbox.piton(["doctor"]).run().expect_code(1);
    let run = check(&output, "run user-auth");
    assert_eq!(run["result"], "problem");
    assert!(run["fix"].as_str().unwrap().contains("piton archive ./"), "{run}");
    assert_eq!(check(&output, "run WFS-user-auth")["result"], "ok");
    assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
}
