//! The files that the text of a task names (docs/formats/checklist.md#files-of-a-task).

use crate::model::RelPath;

/// Words that are commands to look at something: what such a task names, it reads.
const LOOKING: [&str; 16] = [
    "run", "rerun", "re-run", "execute", "validate", "verify", "check", "test", "review", "confirm", "ensure",
    "measure", "audit", "manually", "manual", "inspect",
];
/// Words that are commands to remove something: what such a task names is gone when it is done.
const REMOVING: [&str; 4] = ["remove", "delete", "drop", "uninstall"];
/// Words that are commands to move something: the result stands behind `to`.
const MOVING: [&str; 3] = ["move", "rename", "migrate"];
/// Words before a file that is only read.
const BEFORE_SOURCES: [&str; 13] =
    ["from", "per", "see", "following", "via", "like", "against", "with", "using", "matching", "match", "vs", "under"];
/// Names without an extension that are files all the same.
const BARE_NAMES: [&str; 6] = ["Makefile", "Dockerfile", "Procfile", "Gemfile", "Rakefile", "LICENSE"];
/// Files of a feature that tasks read.
const READ_NAMES: [&str; 8] = ["quickstart", "spec", "plan", "research", "data-model", "tasks", "proposal", "design"];
/// Maximum number of files that count for one task.
const LIMIT: usize = 32;

/// Returns the files that a task makes or changes, by its text. `own` is the folder of the check list, which tasks read.
pub(super) fn results(text: &str, own: Option<&RelPath>) -> Vec<RelPath> {
    let verb = verb_of(text);
    let is = |verbs: &[&str]| verbs.contains(&verb.as_str());
    if is(&REMOVING) {
        return Vec::new();
    }
    let mut before = String::new();
    let mut found: Vec<RelPath> = Vec::new();
    let mut is_past_to = !is(&MOVING);
    for word in words(text) {
        let plain = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        is_past_to |= matches!(plain.as_str(), "to" | "into") || matches!(word, "->" | "→" | "=>");
        if let Some(path) = path(word) {
            let is_read = BEFORE_SOURCES.contains(&before.as_str())
                || own.is_some_and(|own| path.starts_with(own))
                || path.name().strip_suffix(".md").is_some_and(|stem| READ_NAMES.contains(&stem))
                || (is(&LOOKING) && !(verb == "test" && is_test(&path)));
            if is_past_to && !is_read && !found.contains(&path) && found.len() < LIMIT {
                found.push(path);
            }
        }
        before = plain;
    }
    found
}

/// Returns the files of an entry in a list of files: also those at the top of the project.
pub(super) fn declared(item: &str) -> Vec<RelPath> {
    let at_top = |word: &str| {
        let word = word.trim_end_matches([',', ';', ')']);
        let (stem, end) = word.rsplit_once('.')?;
        let is_name =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        let is_file =
            is_name(stem) && is_name(end) && end.len() <= 12 && end.starts_with(|c: char| c.is_ascii_alphabetic());
        is_file.then(|| RelPath::parse(word).ok()).flatten()
    };
    // Behind the files, in brackets, stands why.
    let item = item.split(" (").next().unwrap_or_default();
    let is_quoted = item.contains('`');
    let words = words(item).into_iter();
    let mut found: Vec<RelPath> = Vec::new();
    for path in words.filter_map(|word| path(word).or_else(|| at_top(word).filter(|_| is_quoted))) {
        if !found.contains(&path) && found.len() < LIMIT {
            found.push(path);
        }
    }
    found
}

/// Tells whether an entry in a list of files names one outside of the project.
pub(super) fn is_outside(item: &str) -> bool {
    let is_path = |word: &&str| {
        let word = word.trim_matches(['"', '\'', '*', '(', ')', ',', ';', ':']);
        let below = ["/", "~/", "../"].iter().find_map(|start| word.strip_prefix(start));
        let is_drive = word.as_bytes().get(1..3).is_some_and(|rest| rest[0] == b':' && matches!(rest[1], b'/' | b'\\'));
        is_drive || below.is_some_and(|below| below.starts_with(|c: char| c.is_alphanumeric() || c == '.'))
    };
    words(item.split(" (").next().unwrap_or_default()).iter().any(is_path)
}

/// Splits a text into words. A code span is one word, and no word if it has blanks in it, as commands have. Scripts that are written
/// without blanks end a word.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some((code, behind)) = rest.strip_prefix('`').and_then(|inner| inner.split_once('`')) {
            words.extend(Some(code).filter(|code| !code.is_empty() && !code.contains(char::is_whitespace)));
            rest = behind;
            continue;
        }
        let end = rest.find(|c: char| c == '`' || is_break(c)).unwrap_or(rest.len());
        let end = if end == 0 { first.len_utf8() } else { end };
        words.extend(Some(&rest[..end]).filter(|word| !word.starts_with(is_break)));
        rest = &rest[end..];
    }
    words
}

const fn is_break(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{ff00}'..='\u{ffef}')
}

/// Returns the first word of a task behind its labels, in lower case.
fn verb_of(text: &str) -> String {
    let word = |word: &&str| word.chars().next().is_some_and(char::is_alphabetic);
    let words = text.split_whitespace().map(|word| word.trim_matches(['*', '_', '`', '~', ':', '.', ',', '(', ')']));
    words.filter(|one| !one.starts_with('[')).find(word).unwrap_or_default().to_lowercase()
}

/// Tells whether a path has the name of a test.
fn is_test(path: &RelPath) -> bool {
    let name = path.name().to_lowercase();
    name.contains("test") || name.contains("spec")
}

/// Returns a word as a path below the project. Patterns, choices, folders, placeholders, addresses and absolute paths are not looked at.
pub(super) fn path(word: &str) -> Option<RelPath> {
    let word = word.trim_matches([
        '`', '"', '\'', '*', '(', ')', ',', ';', ':', '!', '?', '“', '”', '‘', '’', '«', '»', '（', '）', '、', '。',
        '，',
    ]);
    // `[name](path)`.
    let word = word.strip_prefix('[').and_then(|link| link.split_once("](")).map_or(word, |(_, target)| target);
    let word = word.trim_end_matches([')', '`', '.', ',', ';', ':', '*', '\'', '"']);
    if word.len() < 3 || word.len() > 300 || word.contains("://") || word.contains("...") {
        return None;
    }
    if word.contains(['*', '{', '}', '<', '>', '|', '$', '…', '=', '"', '`', '?'])
        || word.starts_with(['/', '@', '~', '-', '#', '%'])
    {
        return None;
    }
    let word = word.replace("\\_", "_");
    let word = if word.contains('/') { word } else { word.replace('\\', "/") };
    let word = without_position(&word);
    let (folder, name) = word.rsplit_once('/')?;
    let extension = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty() || name.len() > 1).map(|(_, end)| end);
    let is_extension = |end: &str| {
        (1..=12).contains(&end.len())
            && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && end.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    let is_file = extension.is_some_and(is_extension) || BARE_NAMES.contains(&name);
    let is_placeholder = folder == "path" || folder.starts_with("path/to") || folder.contains("/path/to");
    if !is_file || is_placeholder {
        return None;
    }
    RelPath::parse(word).ok()
}

/// Cuts off a position in the file: `a/b.rs:12-40`, `a/b.rs#L3`.
fn without_position(word: &str) -> &str {
    let word = word.split_once('#').map_or(word, |(path, _)| path);
    match word.rsplit_once(':') {
        Some((path, lines))
            if lines.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b',' | b'L')) =>
        {
            path
        }
        Some(_) | None => word,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_outside, path, results};
    use crate::model::RelPath;

    fn found(text: &str) -> Vec<String> {
        let own = RelPath::parse("specs/001-a").unwrap();
        results(text, Some(&own)).iter().map(|path| path.as_str().to_owned()).collect()
    }

    #[test]
    fn the_files_that_a_task_makes_are_found() {
        for (text, files) in [
            ("[P] [US1] Create user model in src/models/user.py", vec!["src/models/user.py"]),
            ("Create `src/a.ts`, `src/b.ts` and src/c.ts.", vec!["src/a.ts", "src/b.ts", "src/c.ts"]),
            ("Erstelle das Modell in `src/größe/maß.py`", vec!["src/größe/maß.py"]),
            ("実装する（frontend/src/app.tsx）", vec!["frontend/src/app.tsx"]),
            ("在src/models/user.py中创建模型", vec!["src/models/user.py"]),
            ("src/a.py에서 모델", vec!["src/a.py"]),
            ("Add tests (`uv run pytest tests/a.py`) in `tests/a b.py`, `tests/c.py`", vec!["tests/c.py"]),
            ("Copy models from specs/x/contracts.py to src/models.py", vec!["src/models.py"]),
            ("Copy types from shared/types.ts to src/types.ts", vec!["src/types.ts"]),
            ("Move src/old.py to src/new.py", vec!["src/new.py"]),
            ("Rename src/old.py → src/new.py", vec!["src/new.py"]),
            ("Remove src/old.py", vec![]),
            ("**Delete** obsolete `src/old.py`", vec![]),
            ("Run specs/001-a/quickstart.md", vec![]),
            ("Validate docs/guide.md manually", vec![]),
            ("Test useChat hook in tests/useChat.test.ts", vec!["tests/useChat.test.ts"]),
            ("Test the server in src/server.ts", vec![]),
            ("Update specs/001-a/plan.md and docs/b.md", vec!["docs/b.md"]),
            ("Extend app in src/app/[id]/page.tsx:12-40", vec!["src/app/[id]/page.tsx"]),
            ("Write [guide](docs/guide.md)", vec!["docs/guide.md"]),
            ("Create src/a.ts and src/a.ts again", vec!["src/a.ts"]),
            (
                "Create .github/workflows/ci.yml and backend/Dockerfile",
                vec![".github/workflows/ci.yml", "backend/Dockerfile"],
            ),
        ] {
            assert_eq!(found(text), files, "{text}");
        }
    }

    #[test]
    fn files_outside_of_the_project_are_told_from_others() {
        for item in
            ["Create: `../evals/z.js`", "Modify: /opt/x.js:12", "`~/x`", "Create: `C:\\x.js`", "`../../a/b.c` (why)"]
        {
            assert!(is_outside(item), "{item}");
        }
        for item in ["Create: `src/a.rs`", "`a` / `b`", "Modify: `a.rs` (as /opt/x)", "./a/b.rs", "and/or", "`//`", ""]
        {
            assert!(!is_outside(item), "{item}");
        }
    }

    #[test]
    fn words_that_are_no_files_of_the_project_are_left_alone() {
        for word in [
            "src/",
            "src/**/*.ts",
            "src/{a,b}.ts",
            "https://a.b/c.html",
            "/etc/passwd.txt",
            "../a/b.c",
            "a/../../b.c",
            "path/to/file.py",
            "src/.../a.py",
            "src/…/a.py",
            "<folder>/a.py",
            "$HOME/a.py",
            "~/a.py",
            "@scope/pkg.js",
            "and/or",
            "TCP/IP",
            "1.2/3.4",
            "C:/a/b.c",
            "README.md",
            "a/b.c|d",
            "a/b",
            "",
            "/",
            "a/.",
            "node/v20.1",
        ] {
            assert_eq!(path(word), None, "{word}");
        }
        for (word, expected) in [
            ("`src\\lib\\a.cs`", "src/lib/a.cs"),
            ("src/my\\_file.py", "src/my_file.py"),
            ("(src/a.rs),", "src/a.rs"),
            ("src/a.rs#L10", "src/a.rs"),
            ("./src/a.rs", "src/a.rs"),
            ("config/.env", "config/.env"),
            ("frontend/.env.example", "frontend/.env.example"),
        ] {
            assert_eq!(path(word).map(|path| path.as_str().to_owned()), Some(expected.to_owned()), "{word}");
        }
    }
}
