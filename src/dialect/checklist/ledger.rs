//! The ledger of a superpowers plan: `.superpowers/sdd/PLAN/progress.md` (docs/formats/checklist.md#ledgers).

use super::grammar;
use crate::model::{CommitSpan, ListingEntry, RelPath, clean_line, name_of};

/// Where superpowers keeps its records.
pub(super) const HOME: &str = ".superpowers";
const FOLDER: &str = ".superpowers/sdd/";
const FILE: &str = "/progress.md";
/// Characters of a line that is quoted.
const QUOTED: usize = 160;

/// Words about a task that was begun. Behind its completion they are about a second look.
const BEGUN: [&str; 6] = ["started", "dispatched", "implementer", "implementation", "brief", "original implementer"];

/// What a ledger says about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LedgerEntry {
    /// The number of the task.
    pub(super) number: String,
    pub(super) kind: EntryKind,
    /// The line as written.
    pub(super) text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// Complete, with the commits that it names: `A..B` is what came behind A up to B.
    Complete(Vec<CommitSpan>),
    /// Stopped, waits for a person.
    Blocked,
    /// A round of fixes.
    Open,
}

/// Tells whether a path is that of a ledger of one plan. A ledger directly in the folder names no plan.
pub(super) fn is_ledger(path: &str) -> bool {
    let inner = path.strip_prefix(FOLDER).and_then(|rest| rest.strip_suffix(FILE));
    inner.is_some_and(|plan| !plan.is_empty() && !plan.contains('/'))
}

/// Returns the ledgers whose first line names a plan.
pub(super) fn of_plan<'a>(ledgers: &'a [&'a ListingEntry], plan: &'a RelPath) -> impl Iterator<Item = RelPath> + 'a {
    let is_its = move |bytes: &[u8]| names(&String::from_utf8_lossy(bytes), plan);
    let its = ledgers.iter().filter(move |entry| entry.content.as_ref().is_some_and(|bytes| is_its(bytes)));
    its.map(|entry| entry.path.clone())
}

/// Tells whether the first line of a ledger names a plan.
fn names(text: &str, plan: &RelPath) -> bool {
    let first = text.trim_start_matches('\u{feff}').lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let Some((_, named)) = first.rsplit_once("plan:") else { return false };
    let named = named.trim().trim_matches(['`', '*', '"']);
    let named = named.replace('\\', "/");
    name_of(&named) == plan.name()
        && (named.ends_with(plan.as_str()) || plan.as_str().ends_with(&*named) || !named.contains("docs/"))
}

/// Reads the lines of a ledger about tasks, the last one about each.
pub(super) fn read(text: &str) -> Vec<LedgerEntry> {
    let mut entries: Vec<LedgerEntry> = Vec::new();
    for line in text.lines() {
        let Some((number, said)) = grammar::superpowers_number(line) else { continue };
        let lower = said.to_lowercase();
        let kind = if lower.starts_with("complete") {
            EntryKind::Complete(commits(said))
        } else if lower.starts_with("blocked") {
            EntryKind::Blocked
        } else if ["fix round", "in progress"].iter().any(|word| lower.starts_with(word))
            || (BEGUN.iter().any(|word| lower.starts_with(word)) && !entries.iter().any(|one| one.number == number))
        {
            EntryKind::Open
        } else {
            continue;
        };
        entries.retain(|entry| entry.number != number);
        entries.push(LedgerEntry { number, kind, text: clean_line(line, QUOTED) });
    }
    entries
}

/// Returns the commits that a line names: words of 7 to 40 hexadecimal digits.
fn commits(text: &str) -> Vec<CommitSpan> {
    let is_commit = |word: &str| {
        (7..=40).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
            && word.bytes().any(|byte| byte.is_ascii_digit())
    };
    let text = text.replace('`', "");
    let span = |word: &str| {
        let (first, last) = word.split_once("..").unwrap_or(("", word));
        let last = last.trim_matches('.');
        is_commit(last).then(|| CommitSpan { after: is_commit(first).then(|| first.to_owned()), last: last.to_owned() })
    };
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.').filter_map(span).collect()
}

#[cfg(test)]
mod tests {
    use super::{EntryKind, commits, is_ledger, names, read};
    use crate::model::{CommitSpan, RelPath};

    #[test]
    fn a_ledger_names_its_plan() {
        let plan = RelPath::parse("docs/superpowers/plans/2026-01-02-a.md").unwrap();
        for (first, expected) in [
            ("# SDD ledger — plan: docs/superpowers/plans/2026-01-02-a.md", true),
            ("\u{feff}# SDD ledger - plan: `/home/me/p/docs/superpowers/plans/2026-01-02-a.md`", true),
            ("# SDD ledger — plan: 2026-01-02-a.md", true),
            ("# SDD ledger — plan: docs/plans/2026-01-02-b.md", false),
            ("# SDD ledger — plan: docs/plans/2026-01-02-a.md", false),
            ("# Progress", false),
            ("", false),
        ] {
            assert_eq!(names(&format!("{first}\nTask 1: complete\n"), &plan), expected, "{first}");
        }
        assert!(is_ledger(".superpowers/sdd/a/progress.md"));
        for path in [".superpowers/sdd/progress.md", ".superpowers/sdd/a/b/progress.md", ".superpowers/sdd/a/notes.md"]
        {
            assert!(!is_ledger(path), "{path}");
        }
    }

    #[test]
    fn commits_of_a_line_are_alone_or_the_ends_of_a_span() {
        for (line, expected) in [
            ("complete (commits a1b2c3d..e4f5a6b, review clean)", &[(Some("a1b2c3d"), "e4f5a6b")][..]),
            ("complete (`a1b2c3d`..`e4f5a6b`)", &[(Some("a1b2c3d"), "e4f5a6b")]),
            ("complete a1b2c3d...e4f5a6b.", &[(Some("a1b2c3d"), "e4f5a6b")]),
            ("complete (a1b2c3d, e4f5a6b).", &[(None, "a1b2c3d"), (None, "e4f5a6b")]),
            ("complete in 1234567890 ms", &[(None, "1234567890")]),
            ("complete..", &[]),
        ] {
            let found = commits(line);
            let found: Vec<(Option<&str>, &str)> =
                found.iter().map(|span| (span.after.as_deref(), span.last.as_str())).collect();
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn the_last_line_about_a_task_counts() {
        let text = "# SDD ledger\r\nTask 1: fix round 1/5 (x)\r\nTask 1: complete (commits a1b2c3d..e4f5a6b, review clean)\r\n\
                    - **Task 2:** complete\nTask 3: minor (deferred): x\nTask 4: complete (commits a1b2c3d..e4f5a6b)\n\
                    Task 4: fix round 2/5\nTask 5: BLOCKED — no key\nnotes about Task 6: complete\n\
                    Task 7: dispatched implementer; base `a1b2c3d`.\nTask 8: complete in commits `a1b2c3d..e4f5a6b`; RED 2\n\
                    Task 8: dispatched a reviewer\nTask 9: Ruling: no `a1b2c3d`\n";
        let read: Vec<(String, EntryKind)> = read(text).into_iter().map(|entry| (entry.number, entry.kind)).collect();
        let commits = || vec![CommitSpan { after: Some("a1b2c3d".to_owned()), last: "e4f5a6b".to_owned() }];
        let expected = [
            ("1", EntryKind::Complete(commits())),
            ("2", EntryKind::Complete(Vec::new())),
            ("4", EntryKind::Open),
            ("5", EntryKind::Blocked),
            ("7", EntryKind::Open),
            ("8", EntryKind::Complete(commits())),
        ];
        assert_eq!(read, expected.map(|(number, kind)| (number.to_owned(), kind)));
    }
}
