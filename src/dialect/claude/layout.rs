//! Where the client keeps what, and how things are named (docs/formats/claude.md#where-things-are).

use super::{digest::Digest, standing::TITLE_CHARS};
use crate::model::safe_line;

/// Characters of a folder's name up to which it is made of the path alone.
const SLUG_CHARS: usize = 200;

/// Returns the name of the folder of a project's transcripts: two paths may share one, and it is never read backwards. `None` for a
/// path so long that the client shortens its name in a way of its own.
pub(crate) fn slug(path: &str) -> Option<String> {
    // The client counts as JavaScript does: a character outside of the basic plane is two.
    let unit = |unit: u16| char::from_u32(unit.into()).filter(char::is_ascii_alphanumeric).unwrap_or('-');
    let slug: String = path.encode_utf16().map(unit).collect();
    (slug.len() <= SLUG_CHARS).then_some(slug)
}

/// Tells whether a folder of transcripts may be of this path or of one below it.
pub(crate) fn may_be_of(folder: &str, slug: &str) -> bool {
    folder.strip_prefix(slug).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Tells whether a name may be the id of a session.
pub(crate) fn is_session_id(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (8..=80).contains(&name.len()) && name.chars().all(plain) && !name.starts_with('-')
}

/// Returns the title of a session: the one that a person gave it, the one the client made, or the first words.
pub(super) fn title(digest: &Digest) -> String {
    let main = &digest.main;
    let prompt = main.first_prompt.as_ref().map(|prompt| prompt.text.as_str());
    let title = main.title.as_deref().or(main.made_title.as_deref()).or(prompt);
    safe_line(title.unwrap_or(&digest.session), TITLE_CHARS)
}

/// Tells whether a version is newer than another. What is not a number counts as zero.
pub(super) fn is_newer(version: &str, than: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> { text.split('.').map(|part| part.parse().unwrap_or(0)).collect() };
    numbers(version) > numbers(than)
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn a_folder_of_transcripts_is_named_in_units_of_utf_16() {
        for (path, name) in
            [("/home/ann/shop", "-home-ann-shop"), ("/h/🚀lab", "-h---lab"), ("/h/a🚀", "-h-a--"), ("/h/가é", "-h---")]
        {
            assert_eq!(slug(path).as_deref(), Some(name), "{path}");
        }
        let long = |length: usize| slug(&format!("/{}", "🚀".repeat(length))).map(|name| name.len());
        assert_eq!((long(99), long(100)), (Some(199), None));
    }
}
