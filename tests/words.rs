//! Plain words: what `tests/words.toml` refuses stands in no comment, message or page, and its names are no identifiers. Lines of pages
//! are short enough for a diff.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;

use crate::support;

/// The longest line of prose in a page, in characters.
const WIDTH: usize = 160;

/// The pages outside of `docs/` and of the top folder that people edit. The texts of the plugin are prompts, and `examples/` are data.
const OTHER_PAGES: [&str; 4] = [".ci/README.md", "evals/README.md", "fuzz/README.md", "tests/cases/README.md"];

/// The file of words.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    phrases: Vec<Entry>,
    names: BTreeMap<String, Vec<String>>,
}

/// Phrases that are refused, or to be avoided where no test can tell, with what to write instead.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(default)]
    refuse: Vec<String>,
    #[serde(default)]
    refuse_in_pages: Vec<String>,
    #[serde(default)]
    avoid: Vec<String>,
    write: String,
    example: String,
}

/// The phrases and names that are refused.
#[derive(Debug)]
struct Words {
    phrases: Vec<String>,
    of_pages: Vec<String>,
    names: BTreeSet<String>,
}

impl Words {
    fn read() -> Self {
        Self::of(&support::read(&support::repository().join("tests/words.toml")))
    }

    fn of(file: &str) -> Self {
        let file: File = toml::from_str(file).expect("a file of words");
        for entry in &file.phrases {
            let kinds = [&entry.refuse, &entry.refuse_in_pages, &entry.avoid];
            assert_eq!(kinds.into_iter().filter(|kind| !kind.is_empty()).count(), 1, "one kind: {entry:?}");
            assert!(!entry.write.is_empty() && !entry.example.is_empty(), "what to write instead: {entry:?}");
        }
        let lower = |words: fn(&Entry) -> &Vec<String>| -> Vec<String> {
            file.phrases.iter().flat_map(words).map(|word| word.to_lowercase()).collect()
        };
        Self {
            phrases: lower(|entry| &entry.refuse),
            of_pages: lower(|entry| &entry.refuse_in_pages),
            names: file.names.into_keys().collect(),
        }
    }

    fn phrase_in(&self, text: &str) -> Option<&str> {
        first_of(&self.phrases, text)
    }

    fn phrase_in_page(&self, line: &str) -> Option<&str> {
        self.phrase_in(line).or_else(|| first_of(&self.of_pages, line))
    }
}

/// Returns the first phrase that a text has.
fn first_of<'a>(phrases: &'a [String], text: &str) -> Option<&'a str> {
    let text = text.to_lowercase();
    phrases.iter().find(|phrase| has_words(&text, phrase)).map(String::as_str)
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
    ["tests.rs", "testing.rs"].iter().any(|end| path.as_str().ends_with(end))
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

/// Returns the pages that people edit.
fn pages() -> Vec<Utf8PathBuf> {
    let root = support::repository();
    let top = root.read_dir_utf8().expect("the repository").map(|entry| entry.expect("an entry").into_path());
    let top = top.filter(|path| path.extension() == Some("md"));
    let others = OTHER_PAGES.map(|page| root.join(page));
    top.chain(support::files_below(&root.join("docs"), "md")).chain(others).collect()
}

/// Returns the numbers of the lines of prose that are too long. Code, rows of tables and addresses have no line ends to choose.
fn long_lines(page: &str) -> Vec<usize> {
    let mut is_code = false;
    let lines = page.lines().enumerate().filter(|(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence && !line.starts_with('|')
    });
    let width = |line: &str| {
        line.split(' ').filter(|word| !word.contains("://")).map(|word| word.chars().count() + 1).sum::<usize>()
    };
    lines.filter(|(_, line)| width(line) > WIDTH + 1).map(|(at, _)| at + 1).collect()
}

#[test]
fn lines_of_pages_are_short_enough_for_a_diff() {
    let mut wrong = Vec::new();
    for path in pages() {
        let lines = long_lines(&support::read(&path));
        wrong.extend(lines.into_iter().map(|line| format!("{path}:{line}: more than {WIDTH} characters")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_long_line_of_prose_is_noticed() {
    let (fits, long) = ("a ".repeat(80), "a ".repeat(81));
    let (fits, long) = (fits.trim_end(), long.trim_end());
    assert_eq!(long_lines(&format!("{fits}ü\n{long}\n- {long}\n")), [2, 3]);
    assert_eq!(
        long_lines(&format!("| {long} |\n```sh\n{long}\n```\n{fits} https://example.com/{}\n", "b".repeat(200))),
        [0; 0]
    );
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
    let prompts = ["skills", "commands"].map(|folder| support::files_below(&repository.join(folder), "md"));
    for path in pages().into_iter().chain(prompts.concat()) {
        for (number, line) in support::read(&path).lines().enumerate() {
            if let Some(phrase) = words.phrase_in_page(line) {
                wrong.push(format!("{path}:{}: `{phrase}`: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "tests/words.toml says what to write instead:\n{}", wrong.join("\n"));
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
    assert!(wrong.is_empty(), "tests/words.toml says what to call them instead:\n{}", wrong.join("\n"));
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
    let words = Words::of(
        "phrases = [{ refuse = ['nobody', 'is none'], write = 'no one', example = '-' }, \
         { avoid = ['told'], write = 'x', example = '-' }, { refuse_in_pages = ['anew'], write = 'x', example = '-' }]\n\
         [names]\nDesk = ['LockedRun']\n",
    );
    assert_eq!(words.phrases, ["nobody", "is none"]);
    assert_eq!(words.names, BTreeSet::from(["Desk".to_owned()]));
    assert_eq!(words.phrase_in(" Nobody knows."), Some("nobody"));
    assert_eq!(words.phrase_in("this nonesuch"), None);
    assert_eq!((words.phrase_in("begins anew"), words.phrase_in_page("begins anew")), (None, Some("anew")));
    assert_eq!(prose_of("    say(\"a b\"); // why"), ["a b", "why"]);
    assert_eq!(identifiers("let desk = Desk::open(\"Spot\");").collect::<Vec<_>>(), ["let", "desk", "Desk", "open"]);
}
