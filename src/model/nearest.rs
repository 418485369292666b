//! The name that was probably meant by one that does not exist.

/// Characters of a name that are compared: names come from files of any size.
const COMPARED: usize = 100;

/// Returns the name that was probably meant; `None` where all are too different.
pub(crate) fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distances = names.into_iter().map(|other| (edit_distance(&name.to_lowercase(), other), other));
    let (distance, nearest) = distances.min()?;
    (distance <= 3 && distance < nearest.len()).then_some(nearest)
}

/// Counts the characters to insert, remove or change.
pub(crate) fn edit_distance(left: &str, right: &str) -> usize {
    let compared = |text: &str| text.chars().take(COMPARED).collect::<String>();
    strsim::levenshtein(&compared(left), &compared(right))
}
