//! Task ids as people and agents spell them: `impl-1.2`, `IMPL-001`, `L0`, `IMPL-001.3-validation` (docs/formats/ccw.md#task-ids).

use std::collections::BTreeMap;

/// An index of tasks by the names that dependencies, checklist lines and file names use.
#[derive(Debug)]
pub(super) struct Index {
    exact: BTreeMap<String, usize>,
    /// `None` if two tasks share the loose spelling, so that `IMPL-1` and `IMPL-001` are never confused.
    loose: BTreeMap<String, Option<usize>>,
}

impl Index {
    /// Creates an index of all task ids and aliases. An alias never overrides an id.
    pub(super) fn of<'n>(ids: impl Iterator<Item = &'n str>, aliases: impl Iterator<Item = (&'n str, usize)>) -> Self {
        let mut index = Self { exact: BTreeMap::new(), loose: BTreeMap::new() };
        for (at, id) in ids.enumerate() {
            index.exact.entry(id.to_lowercase()).or_insert(at);
            index.loose.entry(loose_key(id)).and_modify(|known| *known = None).or_insert(Some(at));
        }
        for (name, at) in aliases {
            index.exact.entry(name.to_lowercase()).or_insert(at);
            index.loose.entry(loose_key(name)).or_insert(Some(at));
        }
        index
    }

    /// Finds the only task of this name: ignoring case, then also leading zeros.
    pub(super) fn find(&self, text: &str) -> Option<usize> {
        let text = text.trim().trim_matches(['*', '`', '[', ']', '"', '\'']).trim();
        let text = text.strip_suffix(".json").unwrap_or(text);
        let exact = self.exact.get(&text.to_lowercase()).copied();
        exact.or_else(|| self.loose.get(&loose_key(text)).copied().flatten())
    }

    /// Finds the task of a text that begins with its id: `IMPL-001 (foundation)`, `IMPL-001-setup`.
    pub(super) fn find_leading(&self, text: &str) -> Option<usize> {
        if let Some(at) = self.find(text) {
            return Some(at);
        }
        let mut token = leading_token(text.trim_start_matches(|c: char| !c.is_alphanumeric()));
        loop {
            if let Some(at) = self.find(token) {
                return Some(at);
            }
            let (head, tail) = token.rsplit_once(['-', '.'])?;
            if !tail.starts_with(|c: char| c.is_ascii_alphabetic()) {
                return None;
            }
            token = head;
        }
    }
}

/// Returns a key that ignores case and leading zeros of numbers.
pub(super) fn loose_key(id: &str) -> String {
    let mut key = String::with_capacity(id.len());
    let mut rest = id;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 {
            let number = rest[..digits].trim_start_matches('0');
            key.push_str(if number.is_empty() { "0" } else { number });
            rest = &rest[digits..];
        } else {
            let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            key.push_str(&rest[..end].to_lowercase());
            rest = &rest[end..];
        }
    }
    key
}

/// Returns the beginning of a text that could be an id.
pub(super) fn leading_token(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))).unwrap_or(text.len());
    text[..end].trim_end_matches(['-', '_', '.'])
}

/// Returns the word before the number of an id: `impl` of `IMPL-001`.
pub(super) fn word_of(id: &str) -> String {
    let end = id.find(|c: char| c.is_ascii_digit()).unwrap_or(id.len());
    id[..end].to_lowercase()
}

/// Splits a text that may list several tasks: `IMPL-1 and IMPL-2`. Text in brackets is dropped.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut outside = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '(' | '（' => depth += 1,
            ')' | '）' => depth = depth.saturating_sub(1),
            _ if depth == 0 => outside.push(c),
            _ => {}
        }
    }
    let words = [" and ", " or ", " 和 "].iter().fold(outside, |outside, word| outside.replace(word, ","));
    let pieces = words.split([',', ';', '/', '&', '+', '、', '，']).map(str::trim);
    pieces.filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
}

/// Expands a range of tasks: `IMPL-1 to IMPL-3`, `IMPL-001..003`. Empty for any other text.
pub(super) fn range(text: &str) -> Vec<String> {
    const JOINTS: [&str; 8] = [" to ", " through ", "..", " - ", "–", "~", "至", "到"];
    const LIMIT: u32 = 100;
    let ends = JOINTS.iter().find_map(|joint| text.split_once(joint));
    let Some((first, last)) = ends.map(|(first, last)| (first.trim(), last.trim())) else { return Vec::new() };
    let head = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_same_head = last.get(..head.len()).is_some_and(|other| other.eq_ignore_ascii_case(head));
    let last = if is_same_head { &last[head.len()..] } else { last };
    let numbers = (first[head.len()..].parse::<u32>(), last.parse::<u32>());
    match numbers {
        (Ok(first), Ok(last)) if !head.is_empty() && first < last && last - first < LIMIT => {
            (first..=last).map(|number| format!("{head}{number}")).collect()
        }
        (Ok(_) | Err(_), Ok(_) | Err(_)) => Vec::new(),
    }
}

/// Tells whether a token has the form of a task id: a word, a dash, a number (`IMPL-001`, `TEST-2.1`, `impl-1.2-docs`,
/// `IMPL-FE-3`). Words of prose such as `utf-8` are excluded: a lowercase word must be one that CCW uses.
pub(super) fn is_task_shaped(token: &str) -> bool {
    let Some((prefix, rest)) = token.split_once('-') else { return false };
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
    };
    let numbered = rest.split('-').find(|segment| !is_word(segment)).unwrap_or_default();
    let known = ["impl", "task", "test", "fix", "refactor", "docs", "review"].contains(&prefix.to_lowercase().as_str());
    (known || (2..=16).contains(&prefix.len()) && is_word(prefix) && !["UTF", "ISO", "SHA", "RFC"].contains(&prefix))
        && numbered.starts_with(|c: char| c.is_ascii_digit())
}

/// Tells whether an id is safe in a file name and on a command line (docs/formats/ccw.md#task-ids).
pub(super) fn is_safe(id: &str) -> bool {
    let bytes = id.as_bytes();
    (1..=200).contains(&bytes.len())
        && !bytes.iter().any(|byte| matches!(byte, b'/' | b'\\'))
        && !bytes.windows(2).any(|pair| pair == b"..")
        && !id.chars().any(char::is_control)
}

/// Returns the prefixes of a file name that may be a task id, the longest first; a prefix ends before `-`, `.` or the end
/// (docs/formats/ccw.md#summaries). `IMPL-1.1-summary.md` and `IMPL-10.md` are not about `IMPL-1`.
pub(super) fn named_in(file_name: &str) -> impl Iterator<Item = &str> {
    let ends = std::iter::once(file_name.len()).chain(file_name.rmatch_indices(['-', '.']).map(|(at, _)| at));
    ends.take(64).filter_map(move |end| {
        let (id, rest) = file_name.split_at(end);
        let goes_on = rest.get(1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let is_longer_id = goes_on && (rest.starts_with('.') || !id.ends_with(|c: char| c.is_ascii_digit()));
        (!is_longer_id).then_some(id)
    })
}

/// Returns the parent ids of an id, in loose spelling, the nearest first: `impl-1.2` and `impl-1` for `impl-1.2.3`.
pub(super) fn ancestors(id: &str) -> Vec<String> {
    if !id.contains('.') {
        return Vec::new();
    }
    let key = loose_key(id);
    key.rmatch_indices('.').take(8).map(|(at, _)| key[..at].to_owned()).collect()
}

#[cfg(test)]
#[path = "ids_tests.rs"]
mod tests;
