//! Plain words: what `## Words` of CONTRIBUTING.md refuses stands in no comment, message or page, and its names are no identifiers.

use std::collections::BTreeSet;

use camino::Utf8Path;

use crate::support;

/// What `## Words` refuses.
#[derive(Debug, Default)]
struct Words {
    phrases: Vec<String>,
    names: BTreeSet<String>,
}

impl Words {
    fn read() -> Self {
        Self::of(&support::read(&support::repository().join("CONTRIBUTING.md")))
    }

    fn of(page: &str) -> Self {
        let section = page.split("\n## Words\n").nth(1).expect("a section of words");
        let section = section.split("\n## ").next().unwrap_or_default();
        let (phrases, names) = section.split_once("refused as identifiers").expect("two tables");
        Self {
            phrases: first_column(phrases).map(|word| word.to_lowercase()).collect(),
            names: first_column(names).collect(),
        }
    }

    fn phrase_in(&self, text: &str) -> Option<&str> {
        let text = text.to_lowercase();
        let phrase = self.phrases.iter().find(|phrase| has_words(&text, phrase));
        phrase.map(String::as_str)
    }
}

/// Returns what stands in backticks in the first column of the tables of a text.
fn first_column(text: &str) -> impl Iterator<Item = String> {
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    cells.flat_map(|cell| format!("`{cell}").split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>())
}

/// Tells whether a text has a phrase as whole words.
fn has_words(text: &str, phrase: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(phrase)
        .any(|(at, _)| !text[..at].ends_with(is_word) && !text[at + phrase.len()..].starts_with(is_word))
}

fn comment_of(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("//")
}

fn is_unit_test(path: &Utf8Path) -> bool {
    ["tests.rs", "testing.rs", "fixtures.rs"].iter().any(|end| path.as_str().ends_with(end))
        || path.components().any(|part| part.as_str() == "tests")
}

/// Splits a line of code into its strings and its comment. A quote in a character or a raw string may be missed; that only hides words.
fn prose_of(line: &str) -> Vec<&str> {
    if let Some(comment) = comment_of(line) {
        return vec![comment];
    }
    let mut prose: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
    prose.extend(line.split_once(" // ").map(|(_, comment)| comment));
    prose
}

fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split('"').step_by(2).flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && c != '_'));
    code.filter(|word| !word.is_empty())
}

#[test]
fn comments_messages_and_pages_use_plain_words() {
    let words = Words::read();
    assert!(words.phrases.len() >= 10, "{words:?}");
    let repository = support::repository();
    let mut wrong = Vec::new();
    let sources = ["src", "tests"].map(|folder| support::files_below(&repository.join(folder), "rs"));
    for path in sources.into_iter().flatten().filter(|path| !path.ends_with("words.rs")) {
        let is_test = path.starts_with(repository.join("tests")) || is_unit_test(&path);
        for (number, line) in support::read(&path).lines().enumerate() {
            // The strings of a test are its data.
            let prose = if is_test { comment_of(line).into_iter().collect() } else { prose_of(line) };
            if let Some(phrase) = prose.into_iter().find_map(|text| words.phrase_in(text)) {
                wrong.push(format!("{path}:{}: `{phrase}`: {}", number + 1, line.trim()));
            }
        }
    }
    let pages = ["docs", "skills", "commands"].map(|folder| support::files_below(&repository.join(folder), "md"));
    let top = ["README.md", "ARCHITECTURE.md", "SECURITY.md", "CHANGELOG.md"].map(|name| repository.join(name));
    for path in pages.into_iter().flatten().chain(top) {
        for (number, line) in support::read(&path).lines().enumerate() {
            if let Some(phrase) = words.phrase_in(line) {
                wrong.push(format!("{path}:{}: `{phrase}`: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "CONTRIBUTING.md says what to write instead:\n{}", wrong.join("\n"));
}

#[test]
fn refused_names_are_no_identifiers() {
    let words = Words::read();
    assert!(words.names.len() >= 10, "{words:?}");
    let mut wrong = Vec::new();
    for path in support::files_below(&support::repository().join("src"), "rs") {
        for (number, line) in support::read(&path).lines().enumerate() {
            if line.trim_start().starts_with("//") {
                continue;
            }
            if let Some(name) = identifiers(line).find(|name| words.names.contains(*name)) {
                wrong.push(format!("{path}:{}: `{name}`", number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "CONTRIBUTING.md says what to call them instead:\n{}", wrong.join("\n"));
}

/// A function does something, so its documentation begins with a verb; everything else is something.
#[test]
fn the_documentation_of_a_type_is_a_noun_phrase() {
    let mut wrong = Vec::new();
    for path in support::files_below(&support::repository().join("src"), "rs") {
        for (number, line) in support::read(&path).lines().enumerate() {
            let doc = line.trim_start().strip_prefix("/// ").unwrap_or_default();
            if ["Is ", "Are ", "Holds what ", "Says what ", "Says whose "].iter().any(|verb| doc.starts_with(verb)) {
                wrong.push(format!("{path}:{}: {doc}", number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_guard_sees_what_it_is_for() {
    let page = "\n## Words\n\n| do not write | write | example |\n| --- | --- | --- |\n| `nobody`, `is none` | no one | - |\n\n\
                Names that are refused as identifiers:\n\n| name | use |\n| --- | --- |\n| `Desk` | `LockedRun` |\n\n## Next\n| `x` | y |\n";
    let words = Words::of(page);
    assert_eq!(words.phrases, ["nobody", "is none"]);
    assert_eq!(words.names, BTreeSet::from(["Desk".to_owned()]));
    assert_eq!(words.phrase_in(" Nobody knows."), Some("nobody"));
    assert_eq!(words.phrase_in("this nonesuch"), None);
    assert_eq!(prose_of("    say(\"a b\"); // why"), ["a b", "why"]);
    assert_eq!(identifiers("let desk = Desk::open(\"Spot\");").collect::<Vec<_>>(), ["let", "desk", "Desk", "open"]);
}
