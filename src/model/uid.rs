//! The names of records and drivers: 16 bytes that no other has.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::sha256_hex_of;

/// A name of 16 bytes. As text it has 32 hexadecimal digits in lower case.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Uid(u128);

/// The number of digits that a command shows.
const SHORT: usize = 8;

impl Uid {
    pub(crate) const fn new(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }

    /// Returns the name that follows from some facts: the same for the same facts.
    pub(crate) fn of<'a>(facts: impl IntoIterator<Item = &'a str>) -> Self {
        let digest = sha256_hex_of(facts.into_iter().flat_map(|fact| [fact.as_bytes(), &[0]]));
        Self(u128::from_str_radix(&digest[..32], 16).unwrap_or_default())
    }

    /// Returns the digits that stand for it in a command.
    pub(crate) fn short(self) -> String {
        let mut digits = self.to_string();
        digits.truncate(SHORT);
        digits
    }

    /// Tells whether some digits, at least [`SHORT`] of them, are its first.
    pub(crate) fn begins_with(self, digits: &str) -> bool {
        digits.len() >= SHORT && self.to_string().starts_with(digits)
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Uid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Uid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let is_plain = text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let digits = u128::from_str_radix(&text, 16).ok().filter(|_| is_plain);
        digits.map(Self).ok_or_else(|| D::Error::custom("a name has 32 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::Uid;

    #[test]
    fn a_name_is_written_in_full_and_named_by_its_first_digits() {
        let uid = Uid::new([0, 0x1a, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        let text = "\"001a02030405060708090a0b0c0d0e0f\"";
        assert_eq!(serde_json::to_string(&uid).unwrap(), text);
        assert_eq!(serde_json::from_str::<Uid>(text).unwrap(), uid);
        assert!(uid.begins_with(&uid.short()) && uid.begins_with("001a020304"));
        for other in ["", "001a", "001a0204", "001A0203"] {
            assert!(!uid.begins_with(other), "{other}");
        }
        for wrong in ["\"\"", "\"1\"", "\"001A02030405060708090a0b0c0d0e0f\"", "\"+01a02030405060708090a0b0c0d0e0f\""] {
            assert!(serde_json::from_str::<Uid>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn facts_are_told_apart() {
        assert_eq!(Uid::of(["a", "b"]), Uid::of(["a", "b"]));
        assert_ne!(Uid::of(["a", "b"]), Uid::of(["ab"]));
    }
}
