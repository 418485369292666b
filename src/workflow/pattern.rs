//! Patterns of file names: `*`, `?` and `**`. Pure.

/// Tells whether a path matches a pattern. One without `/` is matched against the file name.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    let path = if pattern.contains('/') { path } else { path.rsplit('/').next().unwrap_or(path) };
    let (pattern, path): (Vec<char>, Vec<char>) = (pattern.chars().collect(), path.chars().collect());
    // The positions of the pattern that are reached after each character of the path.
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    pass_stars(&pattern, &mut reached);
    for c in path {
        let mut next = vec![false; pattern.len() + 1];
        for (at, part) in pattern.iter().enumerate().filter(|(at, _)| reached[*at]) {
            let is_deep = *part == '*' && (pattern.get(at + 1) == Some(&'*') || at > 0 && pattern[at - 1] == '*');
            match part {
                '*' if c != '/' || is_deep => next[at] = true,
                '*' => {}
                '?' if c != '/' => next[at + 1] = true,
                part if *part == c => next[at + 1] = true,
                _ => {}
            }
        }
        pass_stars(&pattern, &mut next);
        reached = next;
    }
    reached[pattern.len()]
}

/// A star also stands for nothing, and `**/` for no folder.
fn pass_stars(pattern: &[char], reached: &mut [bool]) {
    for at in 0..pattern.len() {
        if reached[at] && pattern[at] == '*' {
            reached[at + 1] = true;
        }
        if reached[at] && pattern[at..].starts_with(&['*', '*', '/']) {
            reached[at + 3] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_pattern_matches_paths() {
        for (pattern, path, expected) in [
            ("*.md", "a.md", true),
            ("*.md", "docs/a.md", true),
            ("*.md", "a.mdx", false),
            ("specs/*.md", "specs/1.md", true),
            ("specs/*.md", "specs/old/1.md", false),
            ("specs/**/*.md", "specs/old/1.md", true),
            ("specs/**/*.md", "specs/1.md", true),
            ("**/*.rs", "src/a/b.rs", true),
            ("src/**", "src/a/b.rs", true),
            ("src/?.rs", "src/a.rs", true),
            ("src/?.rs", "src/ab.rs", false),
            ("*-coverage-improvements.md", "specs/12-coverage-improvements.md", true),
            ("", "a", false),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c-b", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_long_pattern_takes_no_long_time() {
        assert!(!matches(&"*a".repeat(200), &"b".repeat(10_000)));
    }
}
