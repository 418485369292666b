//! What is said of a run when it ends: on the terminal, in the JSON, and as a JUnit report.

use super::support::Stage;

const FLOW: &str = "name: nightly
steps:
- {id: build, title: 'Build <all> & \"more\"', shell: 'true'}
- {id: lint, shell: 'exit 1', on_failure: {shell: 'true', attempts: 0, fail_workflow: false}}
- {id: test, shell: 'echo boom >&2; test -e fixed', retry: {attempts: 2, initial_delay: 10ms}}
- {id: publish, shell: 'true'}
";

#[test]
fn a_ci_service_gets_a_run_as_a_junit_report() {
    let stage = Stage::in_place(FLOW);
    let (output, id) = stage.run(&["--no-worktree"]);
    output.expect_code(7);
    let report = stage.piton(["show", &id, "--format", "junit"]).run().expect_code(0).stdout;
    assert!(report.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "), "{report}");
    assert!(report.contains("tests=\"4\" failures=\"1\" skipped=\"1\""), "{report}");
    assert!(report.contains("name=\"build: Build &lt;all&gt; &amp; &quot;more&quot;\""), "{report}");
    let case = |id: &str| {
        let start = report.find(&format!("name=\"{id}")).unwrap_or_else(|| panic!("no case {id}: {report}"));
        report[start..].split("</testcase>").next().unwrap_or_default().to_owned()
    };
    assert!(case("test").contains("<failure message=") && case("test").contains("exit code 1"), "{report}");
    assert!(case("publish").contains("<skipped message="), "{report}");
    let tolerated = case("lint");
    assert!(tolerated.contains("<property name=\"tolerated\" value=\"exit code 1\">"), "{report}");
    assert!(tolerated.contains("<system-out>never passed; ") && tolerated.contains(": exit code 1<"), "{report}");
    assert!(!tolerated.contains("<failure") && report.matches("\"tolerated\"").count() == 1, "{report}");
    assert!(!case("build").contains("<failure") && !case("build").contains("<skipped"), "{report}");
    assert!(is_well_formed(&report), "{report}");
    stage.sandbox.file("fixed", "");
    stage.resume(&id).expect_code(0);
    let report = stage.piton(["show", &id, "--format", "junit"]).run().expect_code(0).stdout;
    assert!(report.contains("tests=\"4\" failures=\"0\" skipped=\"0\""), "{report}");
}

/// Tells whether every element is closed in the order in which it was opened.
fn is_well_formed(xml: &str) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for tag in xml.split('<').skip(2) {
        let Some((tag, text)) = tag.split_once('>') else { return false };
        if text.contains('&') && !["&amp;", "&lt;", "&gt;", "&quot;"].iter().any(|known| text.contains(known)) {
            return false;
        }
        match tag.strip_prefix('/') {
            Some(name) if open.pop() == Some(name) => {}
            Some(_) => return false,
            None => open.push(tag.split(' ').next().unwrap_or_default()),
        }
    }
    open.is_empty()
}
