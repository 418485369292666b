//! Story ids. Ids are text: `1.10` is not `1.1`.

use super::status::fold;
use crate::model::RelPath;

/// Reads the id from a value such as `1.2`, `"STORY-X-01"` or `ACT-6 (Foundation)`.
pub(super) fn of_value(value: &str) -> Option<String> {
    let value = value.trim_start_matches(|c: char| !c.is_alphanumeric());
    let end = value.find(|c: char| !is_id(c)).unwrap_or(value.len());
    let id = value[..end].trim_end_matches(['.', '-', '_']);
    (!id.is_empty()).then(|| id.to_owned())
}

/// Reads the id from a title: after the word for story any id with a digit, else only unmistakable ids.
pub(super) fn of_title(title: &str) -> Option<String> {
    let title = title.trim_start_matches(|c: char| !c.is_alphanumeric());
    let words = ["user story", "stories", "story", "histórias", "historias", "história", "historia"];
    let behind_word = words.iter().find_map(|word| {
        let head = title.get(..word.len()).filter(|head| head.to_lowercase() == *word)?;
        title[head.len()..].starts_with([' ', ':', '#', '\t']).then(|| &title[head.len()..])
    });
    let id = of_value(behind_word.unwrap_or(title))?;
    let has_digit = id.bytes().any(|byte| byte.is_ascii_digit());
    (has_digit && (behind_word.is_some() || is_unmistakable(&id))).then_some(id)
}

/// Returns whether a title begins with the word for a story.
pub(super) fn names_a_story(title: &str) -> bool {
    let title = fold(title.trim_start_matches(|c: char| !c.is_alphanumeric()));
    ["story", "userstory", "historia"].iter().any(|word| title.starts_with(word))
}

/// Returns whether a title speaks of stories: one file may have several.
pub(super) fn names_stories(title: &str) -> bool {
    let words = || title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(fold);
    // `Story 4.2: Sort the stories` is one.
    let is_one = words().next().is_some_and(|first| matches!(first.as_str(), "story" | "historia" | "user"));
    !is_one && words().any(|word| matches!(word.as_str(), "stories" | "historias"))
}

/// Reads an id that stands anywhere in a title.
pub(super) fn within_title(title: &str) -> Option<String> {
    title.split_whitespace().filter_map(of_value).find(|id| is_unmistakable(id))
}

/// Reads the id from the file name, or from the folder name for `story.md`.
pub(in crate::dialect) fn of_path(path: &RelPath) -> String {
    let name = path.name();
    let parent = path.parent();
    let stem = match (name, &parent) {
        ("story.md", Some(folder)) => folder.name(),
        _ => name.strip_suffix(".md").unwrap_or(name),
    };
    let stem = stem.strip_suffix(".story").unwrap_or(stem);
    let stem = without_day(stem);
    let number = stem.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    if number > 0 {
        return stem[..number].trim_end_matches('.').to_owned();
    }
    let stem = stem.strip_prefix("story-").unwrap_or(stem);
    let mut end = 0;
    for part in stem.split('-') {
        end += part.len();
        if part.bytes().any(|byte| byte.is_ascii_digit()) {
            return stem[..end].to_owned();
        }
        end += 1;
    }
    stem.to_owned()
}

/// Bytes of a day such as `2026-01-31`.
pub(super) const DAY_LENGTH: usize = 10;

/// Tells whether these bytes have the form of a day.
pub(super) fn is_day(bytes: &[u8]) -> bool {
    let fits = |(at, byte): (usize, &u8)| if matches!(at, 4 | 7) { *byte == b'-' } else { byte.is_ascii_digit() };
    bytes.len() == DAY_LENGTH && bytes.iter().enumerate().all(fits)
}

/// Returns a name without the day that it begins with, which many stories share.
fn without_day(name: &str) -> &str {
    match (name.get(..DAY_LENGTH), name.get(DAY_LENGTH..)) {
        (Some(day), Some(rest)) if is_day(day.as_bytes()) => {
            rest.strip_prefix(['-', '_']).filter(|rest| !rest.is_empty()).unwrap_or(name)
        }
        (Some(_) | None, _) => name,
    }
}

/// Returns the name of a story from a path, which may be from another machine (docs/formats/aios.md#paths-of-another-machine).
/// Ids are returned unchanged.
pub(in crate::dialect) fn name_of(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    ["-state.yaml", ".md", ".story"].iter().fold(name, |name, end| name.strip_suffix(end).unwrap_or(name))
}

/// Returns whether two ids are equal, ignoring case and a leading `STORY-`; `1.10` is not `1.1`.
pub(in crate::dialect) fn same(left: &str, right: &str) -> bool {
    bare(left) == bare(right)
}

/// Normalizes an id for comparison.
pub(in crate::dialect) fn bare(id: &str) -> String {
    let id = id.trim().to_lowercase();
    id.strip_prefix("story-").map(str::to_owned).unwrap_or(id)
}

const fn is_id(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')
}

/// `1.2`, `1.2.5`, `STORY-X-01`, `TD-006`; not `OAuth2` and not `1`.
fn is_unmistakable(id: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let dotted = id.contains('.') && id.split('.').all(is_number);
    let (head, tail) = id.rsplit_once('-').unwrap_or(("", ""));
    let prefixed = !matches!(head, "" | "EPIC" | "QA")
        && head.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-')
        && tail.split('.').all(is_number);
    dotted || prefixed
}
