//! Suggestions for misspelled names.

/// Number of characters compared, because names come from files of any size.
const COMPARED: usize = 100;

/// Returns the most similar name; `None` if all are too different.
pub(crate) fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let distances = names.into_iter().map(|other| (edit_distance(&name, other), other));
    let (distance, nearest) = distances.min()?;
    is_near(distance, nearest).then_some(nearest)
}

/// Returns how different a name is, ignoring case; `None` if it is too different to be suggested.
pub(crate) fn nearness(name: &str, other: &str) -> Option<usize> {
    let distance = edit_distance(&name.to_lowercase(), &other.to_lowercase());
    is_near(distance, other).then_some(distance)
}

fn is_near(distance: usize, other: &str) -> bool {
    distance <= 3 && distance < other.len()
}

/// Returns the Levenshtein distance, in characters.
pub(crate) fn edit_distance(left: &str, right: &str) -> usize {
    let compared = |text: &str| text.chars().take(COMPARED).collect::<String>();
    strsim::levenshtein(&compared(left), &compared(right))
}
