//! Texts that are more than texts, read where they stand: a large state has tens of thousands, and none needs a copy first.

use std::fmt;

use serde::Deserializer;
use serde::de::Error;
use serde::de::Visitor;

/// Reads what a string says.
///
/// # Errors
///
/// When it is no string, or `read` refuses it; what `read` says is the message.
pub(super) fn spelled<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    read: fn(&str) -> Result<T, String>,
) -> Result<T, D::Error> {
    deserializer.deserialize_str(Spelled(read))
}

struct Spelled<T>(fn(&str) -> Result<T, String>);

impl<T> Visitor<'_> for Spelled<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.0(text).map_err(E::custom)
    }
}
