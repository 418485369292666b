use super::unified_diff;

#[test]
fn a_changed_line_is_shown_between_three_others() {
    let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let after = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
    let diff = "--- a/x.md\n+++ b/x.md\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n";
    assert_eq!(unified_diff("x.md", Some(before), after), diff);
    assert_eq!(unified_diff("x.md", Some(before), before), "");
    assert_eq!(unified_diff("x.md", None, "a\n"), "--- /dev/null\n+++ b/x.md\n@@ -0,0 +1 @@\n+a\n");
}

#[test]
fn changes_close_to_each_other_share_a_hunk() {
    let text = |changed: &[usize]| -> String {
        (1..=20).map(|line| format!("{line}{}\n", if changed.contains(&line) { "!" } else { "" })).collect()
    };
    for (changed, heads) in [
        (vec![1, 2], vec!["@@ -1,5 +1,5 @@"]),
        (vec![4, 11], vec!["@@ -1,14 +1,14 @@"]),
        (vec![4, 12], vec!["@@ -1,7 +1,7 @@", "@@ -9,7 +9,7 @@"]),
        (vec![20], vec!["@@ -17,4 +17,4 @@"]),
    ] {
        let diff = unified_diff("x", Some(&text(&[])), &text(&changed));
        let found: Vec<&str> = diff.lines().filter(|line| line.starts_with("@@")).collect();
        assert_eq!(found, heads, "{changed:?}\n{diff}");
    }
}

#[test]
fn line_ends_and_a_missing_last_one_are_kept() {
    let diff = unified_diff("x", Some("a\r\nb"), "a\r\nB");
    let end = "\n\\ No newline at end of file\n";
    assert_eq!(diff, format!("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\r\n-b{end}+B{end}"));
    // A carriage return alone ends no line.
    let diff = unified_diff("x", Some("a\rb\r"), "A\rb\r");
    assert_eq!(diff, format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\rb\r{end}+A\rb\r{end}"));
}

#[test]
fn lines_may_come_and_go() {
    let cases = [
        ("a\nb\n", "a\nx\nb\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n"),
        ("a\nb\n", "b\n", "@@ -1,2 +1 @@\n-a\n b\n"),
        ("", "a\n", "@@ -0,0 +1 @@\n+a\n"),
    ];
    for (before, after, hunk) in cases {
        assert_eq!(unified_diff("x", Some(before), after), format!("--- a/x\n+++ b/x\n{hunk}"));
    }
}

#[test]
fn names_are_quoted_as_git_quotes_them() {
    for (path, name) in [
        ("docs/a b.md", "a/docs/a b.md\t"),
        ("docs/é.md", "\"a/docs/\\303\\251.md\""),
        ("docs/\"x\".md", "\"a/docs/\\\"x\\\".md\""),
        ("docs/\u{202e}.md", "\"a/docs/\\342\\200\\256.md\""),
    ] {
        let diff = unified_diff(path, Some("a\n"), "b\n");
        assert_eq!(diff.lines().next(), Some(format!("--- {name}").as_str()));
    }
}
