//! Suggestions for misspelled names.

/// Number of characters compared, because names come from files of any size.
const COMPARED: usize = 100;

/// Returns the most similar name; `None` if all are too different.
pub(crate) fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let distances = names.into_iter().map(|other| (edit_distance(&name, other), other));
    let (distance, nearest) = distances.min()?;
    (distance <= 3 && distance < nearest.len()).then_some(nearest)
}

/// Returns the Levenshtein distance, in characters.
pub(crate) fn edit_distance(left: &str, right: &str) -> usize {
    let compared = |text: &str| text.chars().take(COMPARED).collect::<String>();
    strsim::levenshtein(&compared(left), &compared(right))
}
