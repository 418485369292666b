//! Reads `sprint-status.yaml` (docs/formats/bmad.md#sprint).

use std::collections::{BTreeMap, BTreeSet};

use super::words::{self, SprintWord};
use crate::{
    document::{self, Fault, Node, ParseError, Syntax, salvage},
    model::{clean_line, mask_secrets},
};

/// Stories of a sprint that are read as steps.
pub(super) const STEPS: usize = 20_000;
/// Characters of a key that are kept.
const KEY: usize = 160;
/// The map of all statuses.
pub(super) const STATUSES: &str = "development_status";

/// A sprint.
#[derive(Debug, Default)]
pub(super) struct Sprint {
    pub(super) project: Option<String>,
    /// The folder of its stories, as written.
    pub(super) story_location: Option<String>,
    pub(super) epics: Vec<Epic>,
    /// In the order of the file.
    pub(super) stories: Vec<SprintStory>,
    /// Keys that occur more than once, with the line of the first; the last one counts.
    pub(super) repeated: Vec<(String, u32)>,
    /// Those of them that a line before the last one calls done.
    pub(super) done_before: BTreeSet<String>,
}

/// An epic of a sprint.
#[derive(Clone, Debug)]
pub(super) struct Epic {
    /// `3`, `1a`.
    pub(super) number: String,
    pub(super) key: String,
    /// As written; `None` if only its stories name it.
    pub(super) claim: Option<String>,
    /// From 1.
    pub(super) line: u32,
}

/// A story of a sprint.
#[derive(Clone, Debug)]
pub(super) struct SprintStory {
    pub(super) key: String,
    pub(super) word: SprintWord,
    /// As written.
    pub(super) value: String,
    /// Position in [`Sprint::epics`].
    pub(super) epic: Option<usize>,
    /// Epic and number in the epic, if its key has them.
    pub(super) number: Option<(String, String)>,
    /// From 1.
    pub(super) line: u32,
}

/// Reads a sprint.
///
/// # Errors
///
/// If it does not parse.
pub(super) fn read(bytes: &[u8]) -> Result<Sprint, ParseError> {
    let (root, repeated) = parse(bytes)?;
    let is_done = |line: &&Repeated| words::meaning(&line.value) == SprintWord::Done;
    let done_before = repeated.iter().filter(is_done).map(|line| line.key.clone()).collect();
    let repeated = repeated.into_iter().map(|line| (line.key, line.line)).collect();
    let text = |key: &str| root.get(key).and_then(Node::scalar).map(|text| clean_line(text, 300));
    let mut sprint = Sprint {
        project: text("project"),
        story_location: text("story_location"),
        repeated,
        done_before,
        ..Sprint::default()
    };
    let mut above = None;
    for member in root.get(STATUSES).map(Node::members).unwrap_or_default() {
        let key = clean_line(&member.key, KEY);
        let value = member.value.scalar().unwrap_or_default();
        let line = member.place.line;
        match kind_of(&key) {
            KeyKind::Retrospective => {}
            KeyKind::Epic(number) => {
                let claim = Some(clean_line(&mask_secrets(value), 80));
                above = Some(sprint.epic(&number, Some((&key, claim, line))));
            }
            KeyKind::Story(epic, number) => {
                let epic_at = sprint.epic(&epic, None);
                sprint.add(&key, value, Some(epic_at), Some((epic, number)), line);
            }
            KeyKind::Other if key.is_empty() => {}
            KeyKind::Other => sprint.add(&key, value, above, None, line),
        }
    }
    Ok(sprint)
}

/// A line that does not count, because its key is repeated.
struct Repeated {
    key: String,
    value: String,
    /// From 1.
    line: u32,
}

/// Parses a sprint. Of keys that are repeated, the last one counts, so the lines of the others are left out.
fn parse(bytes: &[u8]) -> Result<(Node, Vec<Repeated>), ParseError> {
    let first = match document::parse(bytes, Syntax::Yaml) {
        Ok(root) => return Ok((root, Vec::new())),
        Err(error) if error.fault == Fault::DuplicateKey && salvage::conflict(bytes).is_none() => error,
        Err(error) => return Err(error),
    };
    let Ok(text) = std::str::from_utf8(bytes) else { return Err(first) };
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lines: Vec<&str> = text.split('\n').collect();
    let mut repeated = Vec::new();
    for at in 0..lines.len() {
        let line = lines[at];
        let Some((key, _)) = line.split_once(':').filter(|(key, _)| !key.trim().is_empty() && !key.contains('#'))
        else {
            continue;
        };
        if let Some(before) = last.insert(key, at) {
            let value = lines[before].split_once(':').map(|(_, value)| value.trim()).unwrap_or_default();
            // What is below it would be left without its key.
            if value.is_empty() && lines.get(before + 1).is_some_and(|next| indent(next) > indent(lines[before])) {
                return Err(first);
            }
            repeated.push(Repeated {
                key: clean_line(key.trim().trim_matches(['"', '\'']), KEY),
                value: clean_line(value, KEY),
                line: u32::try_from(before + 1).unwrap_or(u32::MAX),
            });
            lines[before] = "";
        }
    }
    let root = document::parse(lines.join("\n").as_bytes(), Syntax::Yaml)?;
    Ok((root, repeated))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

impl Sprint {
    /// Returns the position of an epic, which is added if it is new.
    fn epic(&mut self, number: &str, stated: Option<(&str, Option<String>, u32)>) -> usize {
        let at = self.epics.iter().position(|epic| epic.number == number).unwrap_or_else(|| {
            let key = format!("epic-{number}");
            self.epics.push(Epic { number: number.to_owned(), key, claim: None, line: 0 });
            self.epics.len() - 1
        });
        if let Some((key, claim, line)) = stated {
            let epic = &mut self.epics[at];
            key.clone_into(&mut epic.key);
            epic.claim = claim;
            epic.line = line;
        }
        at
    }

    fn add(&mut self, key: &str, value: &str, epic: Option<usize>, number: Option<(String, String)>, line: u32) {
        let (word, value) = (words::meaning(value), clean_line(&mask_secrets(value), 80));
        self.stories.push(SprintStory { key: key.to_owned(), word, value, epic, number, line });
    }
}

/// What a key names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    Epic(String),
    Retrospective,
    /// Epic and number.
    Story(String, String),
    Other,
}

/// Returns what a key names.
pub(super) fn kind_of(key: &str) -> KeyKind {
    let lower = key.to_lowercase();
    if let Some(rest) = lower.strip_prefix("epic-") {
        if rest.ends_with("retrospective") || rest.ends_with("-retro") {
            return KeyKind::Retrospective;
        }
        return KeyKind::Epic(rest.to_owned());
    }
    let mut parts = lower.splitn(3, '-');
    let number = |part: Option<&str>| {
        let part = part?;
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let letter = &part[digits..];
        let fits =
            (1..=4).contains(&digits) && letter.len() <= 1 && letter.bytes().all(|byte| byte.is_ascii_alphabetic());
        fits.then(|| part.to_owned())
    };
    match (number(parts.next()), number(parts.next()), parts.next()) {
        (Some(epic), Some(story), Some(_)) => KeyKind::Story(epic, story),
        (Some(epic), Some(story), None) if key.contains('-') => KeyKind::Story(epic, story),
        (_, _, _) => KeyKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyKind, kind_of, read};
    use crate::dialect::bmad::words::SprintWord;

    #[test]
    fn keys_are_epics_stories_or_retrospectives() {
        let story = |epic: &str, number: &str| KeyKind::Story(epic.to_owned(), number.to_owned());
        for (key, kind) in [
            ("epic-1", KeyKind::Epic("1".to_owned())),
            ("epic-1A", KeyKind::Epic("1a".to_owned())),
            ("epic-1-retrospective", KeyKind::Retrospective),
            ("1-2-login", story("1", "2")),
            ("1a-2b-login", story("1a", "2b")),
            ("1-2", story("1", "2")),
            ("td-001-cleanup", KeyKind::Other),
            ("hotfix", KeyKind::Other),
            ("1-login", KeyKind::Other),
            ("2026-01-02-x", story("2026", "01")),
        ] {
            assert_eq!(kind_of(key), kind, "{key}");
        }
    }

    #[test]
    fn a_sprint_is_read_in_the_order_of_the_file() {
        let text = "\u{feff}# development_status\r\nproject: \"Ä\"\r\nstory_location: '{project-root}/docs'\r\n\r\ndevelopment_status:\r\n  \
                    epic-2: in-progress\r\n  # 2-9-old: done\r\n  2-1-a: done # 2026-01-02\r\n  td-1: backlog\r\n  \
                    epic-2-retrospective: optional\r\n  1-1-b: review\r\n  2-1-a: review\r\n";
        let sprint = read(text.as_bytes()).unwrap();
        let stories: Vec<(&str, SprintWord, Option<usize>)> =
            sprint.stories.iter().map(|story| (story.key.as_str(), story.word, story.epic)).collect();
        let expected = [
            ("td-1", SprintWord::Backlog, Some(0)),
            ("1-1-b", SprintWord::Review, Some(1)),
            ("2-1-a", SprintWord::Review, Some(0)),
        ];
        assert_eq!(stories, expected);
        assert_eq!(sprint.repeated, [("2-1-a".to_owned(), 8)]);
        assert_eq!(sprint.story_location.as_deref(), Some("{project-root}/docs"));
        assert!(read(b"a: [").is_err());
        assert!(read(b"<<<<<<< a\ndevelopment_status:\n").is_err());
        assert!(read(b"").unwrap().stories.is_empty());
    }
}
