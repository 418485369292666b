//! SECURITY.md names the test behind each of its guarantees; every name must exist.

use crate::support;

/// Returns the names in backquotes that look like a test: `hostile::git::no_verb_starts_...`.
fn named_tests(text: &str) -> Vec<String> {
    let names = text.split('`').skip(1).step_by(2);
    names
        .filter(|name| name.contains("::") && !name.ends_with(':'))
        .filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | ':')))
        .map(str::to_owned)
        .collect()
}

/// Tells whether the repository has a test of that path: the last name is a function, and the one before it its file or folder.
fn exists(name: &str) -> bool {
    let mut parts: Vec<&str> = name.split("::").collect();
    let function = parts.pop().expect("a split text has a part");
    let wanted = format!("fn {function}(");
    let root = support::repository();
    let files = ["tests", "src"].map(|folder| support::files_below(&root.join(folder), "rs")).concat();
    files.iter().any(|file| {
        let path = file.strip_prefix(root).expect("it was found below").with_extension("").into_string();
        let path = path.strip_suffix("/mod").unwrap_or(&path).replace("_tests", "/tests");
        let ends = path.replace('/', "::").ends_with(&parts.join("::"));
        ends && support::read(file).contains(&wanted)
    })
}

#[test]
fn every_line_of_the_threat_model_names_tests_that_exist() {
    let text = support::read(&support::repository().join("SECURITY.md"));
    let (_, model) = text.split_once("## Threat model").expect("the page has a threat model");
    let rows: Vec<&str> = model.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---")).collect();
    let rows: Vec<&&str> = rows.iter().filter(|row| !row.starts_with("| Threat ")).collect();
    assert!(rows.len() > 15, "the threat model has lost its lines");
    for row in rows {
        let names = named_tests(row);
        assert!(!names.is_empty(), "no test is named in: {row}");
        for name in names {
            assert!(exists(&name), "{name} is no test: {row}");
        }
    }
}

#[test]
fn a_test_that_is_not_there_is_noticed() {
    assert!(exists("hostile::git::no_verb_starts_what_a_repository_names"));
    assert!(!exists("hostile::git::no_verb_starts_what_is_not_named"));
    assert!(!exists("hostile::state::no_verb_starts_what_a_repository_names"));
    assert_eq!(named_tests("a `b` and `hostile::git::x`, `Foo::bar`"), ["hostile::git::x"]);
}
