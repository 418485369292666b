use proptest::prelude::*;

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

/// Applies a diff as `git apply` does: every place and count in the head of a hunk has to be right.
fn applied(before: &str, diff: &str) -> Result<String, String> {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let range = |text: &str| {
        let (start, count) = text[1..].split_once(',').unwrap_or((&text[1..], "1"));
        (start.parse::<usize>().unwrap(), count.parse::<usize>().unwrap())
    };
    let mut lines = diff.split_inclusive('\n').skip(2).peekable();
    let (mut after, mut at): (Vec<String>, usize) = (Vec::new(), 0);
    while let Some(head) = lines.next() {
        let mut words = head.split(' ').skip(1);
        let ((from, mut gone), (to, mut come)) = (range(words.next().unwrap()), range(words.next().unwrap()));
        let from = if gone == 0 { from } else { from - 1 };
        after.extend(old.get(at..from).ok_or(format!("{head} goes back"))?.iter().map(|line| (*line).to_owned()));
        at = from;
        if after.len() != if come == 0 { to } else { to - 1 } {
            return Err(format!("{head} has the wrong place"));
        }
        while gone + come > 0 {
            let line = lines.next().ok_or(format!("{head} is too long"))?;
            let (sign, mut text) = (&line[..1], line[1..].to_owned());
            if lines.next_if(|next| next.starts_with('\\')).is_some() {
                text.pop();
            }
            if sign != "+" {
                if old.get(at) != Some(&text.as_str()) {
                    return Err(format!("{head} does not fit: {text}"));
                }
                (at, gone) = (at + 1, gone.checked_sub(1).ok_or(format!("{head} is too short"))?);
            }
            if sign != "-" {
                after.push(text);
                come = come.checked_sub(1).ok_or(format!("{head} is too short"))?;
            }
        }
    }
    after.extend(old[at..].iter().map(|line| (*line).to_owned()));
    Ok(after.concat())
}

#[test]
fn a_line_that_becomes_equal_to_its_neighbour_has_the_right_head() {
    let before = "- [x] 1.1 a\n- [ ] Write tests (done)\n- [x] Write tests (done)";
    let after = before.replace("[ ]", "[x]");
    assert_eq!(applied(before, &unified_diff("x", Some(before), &after)), Ok(after));
}

proptest! {
    #[test]
    fn a_diff_makes_the_second_text_of_the_first(before in "[abc\n]{0,40}", after in "[abc\n]{0,40}") {
        let diff = unified_diff("x", Some(&before), &after);
        prop_assert_eq!(applied(&before, &diff), Ok(after), "{}", diff);
    }

    #[test]
    fn a_diff_of_equal_neighbours_applies(lines in proptest::collection::vec((0..3_u8, 0..3_u8), 0..24), is_ended: bool) {
        let text = |part: fn(&(u8, u8)) -> u8| {
            let lines: Vec<String> = lines.iter().map(|line| part(line).to_string()).collect();
            format!("{}{}", lines.join("\n"), if is_ended { "\n" } else { "" })
        };
        let (before, after) = (text(|line| line.0), text(|line| line.1));
        let diff = unified_diff("x", Some(&before), &after);
        prop_assert_eq!(applied(&before, &diff), Ok(after), "{}", diff);
    }
}
