use std::collections::BTreeSet;

use super::FindingCode;

const PAGE: &str = include_str!("../../docs/findings.md");

#[test]
fn the_page_lists_every_code_with_its_severity_and_meaning() {
    let row = |code: &FindingCode| {
        let look = if code.needs_confirmation() { "yes" } else { "" };
        let (severity, meaning) = (code.severity().as_str(), code.meaning());
        format!("| `{code}` | {severity} | {look} | {meaning} |")
    };
    let expected: Vec<String> = FindingCode::ALL.iter().map(row).collect();
    let found: Vec<&str> = PAGE.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(found, expected, "docs/findings.md should have these rows:\n{}", expected.join("\n"));
}

#[test]
fn no_code_is_used_twice() {
    let codes: BTreeSet<&str> = FindingCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(codes.len(), FindingCode::ALL.len());
}
