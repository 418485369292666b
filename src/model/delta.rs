//! How one content of a file becomes another, as a journal keeps it: it needs no copy of either.

use serde::{Deserialize, Serialize};

use super::diff::changed_ranges;

/// The changes that make one content out of another, in the order of their places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Delta(Vec<Splice>);

/// One change: at `at`, `cut` bytes go and `put` comes. Places are bytes of the content that is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Splice {
    at: usize,
    cut: usize,
    put: Piece,
}

/// Bytes, as text where they are UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Piece {
    Text(String),
    Bytes(Vec<u8>),
}

impl Delta {
    /// Returns the changes that make `content` out of nothing.
    pub(crate) fn whole(content: &[u8]) -> Self {
        Self(vec![Splice { at: 0, cut: 0, put: Piece::of(content) }])
    }

    /// Returns the changes that make `after` out of `before`.
    pub(crate) fn between(before: &[u8], after: &[u8]) -> Self {
        let (old, new) = (pieces(before), pieces(after));
        let (old_ends, new_ends) = (ends(&old), ends(&new));
        let splice = |(cut, put): (std::ops::Range<usize>, std::ops::Range<usize>)| {
            let (from, to) = (old_ends[cut.start], old_ends[cut.end]);
            Splice { at: from, cut: to - from, put: Piece::of(&after[new_ends[put.start]..new_ends[put.end]]) }
        };
        Self(changed_ranges(&old, &new).into_iter().map(splice).collect())
    }

    /// Returns the content that `before` becomes; `None` if the changes are not of it.
    pub(crate) fn apply(&self, before: &[u8]) -> Option<Vec<u8>> {
        let mut after = Vec::with_capacity(before.len());
        let mut done = 0;
        for Splice { at, cut, put } in &self.0 {
            after.extend_from_slice(before.get(done..*at)?);
            after.extend_from_slice(put.bytes());
            done = at.checked_add(*cut)?;
        }
        after.extend_from_slice(before.get(done..)?);
        Some(after)
    }
}

impl Piece {
    fn of(bytes: &[u8]) -> Self {
        std::str::from_utf8(bytes).map_or_else(|_| Self::Bytes(bytes.to_vec()), |text| Self::Text(text.to_owned()))
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// Splits after every line end and comma, because a JSON document may be one line.
fn pieces(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| matches!(byte, b'\n' | b',')).collect()
}

/// Returns where each piece begins, and the end of the last.
fn ends(pieces: &[&[u8]]) -> Vec<usize> {
    let ends = pieces.iter().scan(0, |end, piece| {
        *end += piece.len();
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

#[cfg(test)]
#[path = "delta_tests.rs"]
mod tests;
