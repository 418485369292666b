//! SECURITY.md has a numbered row for each threat, and each row the tests that name it: `/// SECURITY: row 7` on a test, `// SECURITY: row 7`
//! on one of the client, `# SECURITY: row 7` in a case. Every row has a test, and every row that is named exists.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;

use crate::support;

/// A comment that names rows, and the line of code that it stands on.
#[derive(Debug, PartialEq)]
struct Mark<'a> {
    rows: Vec<&'a str>,
    is_on_a_test: bool,
}

/// The kind of file that a mark stands in, which decides what a test looks like there.
#[derive(Clone, Copy)]
enum Kind {
    Rust,
    Client,
    Case,
}

impl Kind {
    /// Returns the start of a comment that names rows.
    fn comment(self) -> &'static str {
        match self {
            Self::Rust => "/// SECURITY: row ",
            Self::Client => "// SECURITY: row ",
            Self::Case => "# SECURITY: row ",
        }
    }

    /// Tells whether the lines after a mark are a test. A case is one as a whole.
    fn is_test<'a>(self, mut following: impl Iterator<Item = &'a str>) -> bool {
        match self {
            Self::Rust => following
                .take_while(|line| line.starts_with("///") || line.starts_with("#["))
                .any(|line| line == "#[test]"),
            Self::Client => following.next().is_some_and(|line| line.starts_with("test(")),
            Self::Case => true,
        }
    }
}

/// Returns the numbers of the rows of the threat table.
fn rows(page: &str) -> Vec<&str> {
    let table = page.split("\n## Threats\n").nth(1).expect("the page has a table of threats");
    let table = table.split("\n## ").next().unwrap_or_default();
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.split('|').nth(1).unwrap_or_default().trim()).collect()
}

/// Returns the marks of a file.
fn marks(kind: Kind, text: &str) -> Vec<Mark<'_>> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let marked = lines.iter().enumerate().filter_map(|(at, line)| Some((at, line.strip_prefix(kind.comment())?)));
    marked
        .map(|(at, named)| Mark {
            rows: named.split(", ").collect(),
            is_on_a_test: kind.is_test(lines[at + 1..].iter().copied()),
        })
        .collect()
}

/// Returns what is wrong with a table and the marks of all files.
fn faults(page: &str, files: &[(String, Kind, String)]) -> Vec<String> {
    let rows = rows(page);
    let mut tests: BTreeMap<&str, usize> = rows.iter().map(|row| (*row, 0)).collect();
    let mut wrong = Vec::new();
    if tests.len() != rows.len() {
        wrong.push(format!("a number is there twice: {}", rows.join(", ")));
    }
    for (path, kind, text) in files {
        for mark in marks(*kind, text) {
            if !mark.is_on_a_test {
                wrong.push(format!("{path}: row {} is named, but by no test", mark.rows.join(", ")));
            }
            for row in mark.rows {
                match tests.get_mut(row) {
                    Some(count) => *count += 1,
                    None => wrong.push(format!("{path}: SECURITY.md has no row `{row}`")),
                }
            }
        }
    }
    let open: BTreeSet<&str> = tests.into_iter().filter(|(_, count)| *count == 0).map(|(row, _)| row).collect();
    wrong.extend(open.into_iter().map(|row| format!("no test names row {row} of SECURITY.md")));
    wrong
}

#[test]
fn every_threat_has_a_test_that_names_it() {
    let root = support::repository();
    let of = |folder: &str, extension: &str, kind: Kind| {
        let paths = support::files_below(&root.join(folder), extension);
        let paths = paths.into_iter().filter(|path| is_read(root, path, kind));
        paths.map(|path| (path.to_string(), kind, support::read(&path))).collect::<Vec<_>>()
    };
    let files = [
        of("tests", "rs", Kind::Rust),
        of("src", "rs", Kind::Rust),
        of("tests/client", "mjs", Kind::Client),
        of("tests", "yaml", Kind::Case),
    ];
    let page = support::read(&root.join("SECURITY.md"));
    assert!(rows(&page).len() > 15, "the table of threats has lost its rows");
    let wrong = faults(&page, &files.concat());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tells whether the marks of a file count: of the YAML files only those of cases.
fn is_read(root: &Utf8Path, path: &Utf8Path, kind: Kind) -> bool {
    match kind {
        Kind::Rust => true,
        Kind::Client => !path.as_str().contains("/node_modules/"),
        Kind::Case => path.starts_with(root.join("tests/cases")) && path.file_name() == Some("case.yaml"),
    }
}

#[test]
fn a_row_without_a_test_and_a_test_without_a_row_are_noticed() {
    let page =
        "# S\n\n## Threats\n\n| # | threat |\n| --- | --- |\n| 1 | a |\n| 2 | b |\n| 3 | c |\n\n## Next\n| 9 | z |\n";
    assert_eq!(rows(page), ["1", "2", "3"]);
    let file = |kind, text: &str| ("f".to_owned(), kind, text.to_owned());
    let rust = file(Kind::Rust, "/// Why.\n/// SECURITY: row 1, 2\n#[cfg(unix)]\n#[test]\nfn a() {}\n");
    let client = file(Kind::Client, "  // SECURITY: row 3\n  test('a', () => {});\n");
    let case = file(Kind::Case, "# SECURITY: row 3\ncalls: []\n");
    assert_eq!(faults(page, &[rust.clone(), client]), [""; 0]);
    assert_eq!(faults(page, &[rust.clone(), case]), [""; 0]);
    assert_eq!(faults(page, std::slice::from_ref(&rust)), ["no test names row 3 of SECURITY.md"]);

    let unknown = file(Kind::Case, "# SECURITY: row 3, 4\n");
    assert_eq!(faults(page, &[rust.clone(), unknown]), ["f: SECURITY.md has no row `4`"]);
    let loose = file(Kind::Rust, "/// SECURITY: row 3\nfn helper() {}\n\n#[test]\nfn a() {}\n");
    assert_eq!(faults(page, &[rust.clone(), loose]), ["f: row 3 is named, but by no test"]);
    let twice = page.replace("| 3 |", "| 2 |");
    assert_eq!(faults(&twice, &[rust]), ["a number is there twice: 1, 2, 2"]);
}
