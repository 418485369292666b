//! Locates the values of a JSON text that `serde_json` accepts.

use std::ops::Range;

use crate::document::tree::unescape;

/// The bytes of an object member or array element.
pub(super) struct Element {
    /// The key literal with its quotes; `None` in an array.
    pub(super) key: Option<Range<usize>>,
    pub(super) value: Range<usize>,
}

impl Element {
    pub(super) fn start(&self) -> usize {
        self.key.as_ref().unwrap_or(&self.value).start
    }

    /// Tells whether its key equals this text, after resolving escapes.
    pub(super) fn has_key(&self, text: &str, key: &str) -> bool {
        let literal = self.key.clone().map(|key| &text[key]);
        literal.is_some_and(|literal| serde_json::from_str::<String>(literal).is_ok_and(|known| known == key))
    }
}

/// Returns the bytes of the value at a JSON pointer; of duplicate keys the last counts, as in `serde_json`.
pub(super) fn find(text: &str, pointer: &str) -> Option<Range<usize>> {
    let start = skip(text.as_bytes(), 0, b" \n\r\t");
    let mut found = start..end_of_value(text.as_bytes(), start);
    for part in pointer.split('/').skip(1) {
        let part = unescape(part);
        let inside = elements(text, &found);
        let named = match text.as_bytes()[found.start] {
            b'[' => part.parse().ok().and_then(|at: usize| inside.into_iter().nth(at)),
            _ => inside.into_iter().rfind(|element| element.has_key(text, &part)),
        };
        found = named?.value;
    }
    Some(found)
}

/// Returns the elements of a container; none for other values.
pub(super) fn elements(text: &str, value: &Range<usize>) -> Vec<Element> {
    let bytes = text.as_bytes();
    let is_object = bytes[value.start] == b'{';
    let mut elements = Vec::new();
    if !is_object && bytes[value.start] != b'[' {
        return elements;
    }
    let mut at = skip(bytes, value.start + 1, b" \n\r\t");
    while at + 1 < value.end {
        let key = is_object.then(|| at..end_of_value(bytes, at));
        let start = key.as_ref().map_or(at, |key| skip(bytes, key.end, b" \n\r\t:"));
        let end = end_of_value(bytes, start);
        elements.push(Element { key, value: start..end });
        at = skip(bytes, end, b" \n\r\t,");
    }
    elements
}

/// Returns the offset of the first byte, from here on, that is not in the set.
fn skip(bytes: &[u8], from: usize, these: &[u8]) -> usize {
    bytes[from..].iter().position(|byte| !these.contains(byte)).map_or(bytes.len(), |length| from + length)
}

/// Returns the end of the value that begins here.
fn end_of_value(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_u32);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at),
            b'{' | b'[' => (at, depth) = (at + 1, depth + 1),
            b'}' | b']' => (at, depth) = (at + 1, depth.saturating_sub(1)),
            _ if depth == 0 => {
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
                return bytes[at..].iter().position(ends).map_or(bytes.len(), |length| at + length);
            }
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    loop {
        match bytes.get(at) {
            None => return bytes.len(),
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

#[cfg(test)]
#[path = "span_tests.rs"]
mod tests;
