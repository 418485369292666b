//! Where things are in a list, by their names.

use std::cell::Cell;

/// Finds the positions of things by their names; of those with the same name the first counts.
///
/// Short names differ in their first bytes, and those compare as one number: looking up every step of a large run costs little.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    sorted: Vec<(u64, &'a str, usize)>,
    /// By position, those that count: who looks up one after the other finds each where the one before it ends.
    names: Vec<Option<&'a str>>,
    /// Behind what was found last.
    next: Cell<usize>,
}

impl<'a> Places<'a> {
    pub(crate) fn of(names: impl Iterator<Item = &'a str>) -> Self {
        let mut sorted: Vec<(u64, &str, usize)> = names.zip(0..).map(|(name, at)| (head(name), name, at)).collect();
        sorted.sort_unstable();
        let mut names = vec![None; sorted.len()];
        for same in sorted.chunk_by(|(_, one, _), (_, other, _)| one == other) {
            names[same[0].2] = Some(same[0].1);
        }
        Self { sorted, names, next: Cell::new(0) }
    }

    pub(crate) fn get(&self, name: &str) -> Option<usize> {
        let next = self.next.get();
        let is_next = self.names.get(next).is_some_and(|known| *known == Some(name));
        let found = if is_next { Some(next) } else { self.search(name) };
        self.next.set(found.map_or(next, |at| at + 1));
        found
    }

    fn search(&self, name: &str) -> Option<usize> {
        let wanted = (head(name), name);
        let at = self.sorted.partition_point(|(head, known, _)| (*head, *known) < wanted);
        self.sorted.get(at).filter(|(_, known, _)| *known == name).map(|(_, _, place)| *place)
    }
}

/// Returns the first bytes of a name as a number. Names are in the order of their heads, and those of one head in their own.
fn head(name: &str) -> u64 {
    let byte = |at: usize| name.as_bytes().get(at).copied().unwrap_or_default();
    match name.as_bytes().first_chunk() {
        Some(chunk) => u64::from_be_bytes(*chunk),
        None => (0..8).fold(0, |head, at| head << 8 | u64::from(byte(at))),
    }
}

#[cfg(test)]
mod tests {
    use super::Places;

    #[test]
    fn names_are_found_where_they_are_first() {
        let names = ["IMPL-10", "b", "", "IMPL-1.10", "IMPL-1.1", "b", "ab\0", "ab", "IMPL-1.1.2", "é"];
        let places = Places::of(names.into_iter());
        for (at, name) in names.iter().enumerate().chain(names.iter().enumerate().rev()) {
            assert_eq!(places.get(name), Some(if at == 5 { 1 } else { at }), "{name:?}");
        }
        for name in ["a", "abc", "ab\0\0", "IMPL-1", "IMPL-1.", "IMPL-1.11", "impl-10", "è", "\0"] {
            assert_eq!(places.get(name), None, "{name:?}");
        }
        assert_eq!(Places::of([].into_iter()).get(""), None);
    }
}
