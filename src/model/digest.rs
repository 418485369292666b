//! SHA-256, computed and as files hold it.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;
use sha2::Digest as _;
use sha2::Sha256;

use super::spelled::spelled;

/// Returns the SHA-256 of the bytes in lower-case hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    sha256_hex_of([bytes])
}

/// Returns the same of pieces, as if they were one after the other.
pub(crate) fn sha256_hex_of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digest = Digest::default();
    pieces.into_iter().for_each(|piece| digest.add(piece));
    digest.hex()
}

/// Is the SHA-256 of all that was added to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digest(Sha256);

impl Digest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut digest = Self::default();
        digest.add(bytes);
        digest
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns it in lower-case hexadecimal, as [`sha256_hex`] does.
    pub(crate) fn hex(&self) -> String {
        text(&digits(&self.bytes())).to_owned()
    }

    /// Tells whether a text is its [`Digest::hex`].
    pub(crate) fn is(&self, hex: &str) -> bool {
        sha256(hex) == Some(self.bytes())
    }

    fn bytes(&self) -> [u8; 32] {
        self.0.clone().finalize().into()
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Digest {}

/// Is a SHA-256 in lower-case hexadecimal, or a text that stands where one should. Of the thousands in a large state each is compared,
/// and few are written out again.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub(crate) enum DigestText {
    Sha256([u8; 32]),
    /// It is the digest of nothing, and stays as it was written.
    Other(Box<str>),
}

impl DigestText {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self::Sha256(Digest::of(bytes).bytes())
    }
}

impl From<&str> for DigestText {
    fn from(text: &str) -> Self {
        sha256(text).map_or_else(|| Self::Other(text.into()), Self::Sha256)
    }
}

fn digits(bytes: &[u8; 32]) -> [[u8; 2]; 32] {
    bytes.map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
}

fn text(digits: &[[u8; 2]; 32]) -> &str {
    str::from_utf8(digits.as_flattened()).expect("digits are text")
}

fn sha256(text: &str) -> Option<[u8; 32]> {
    let (pairs, []) = text.as_bytes().as_chunks() else { return None };
    let pairs: &[[u8; 2]; 32] = pairs.try_into().ok()?;
    let (mut bytes, mut seen) = ([0; 32], 0);
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        let (high, low) = (WORTH[usize::from(*high)], WORTH[usize::from(*low)]);
        *byte = high << 4 | low;
        seen |= high | low;
    }
    (seen & NO_DIGIT == 0).then_some(bytes)
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Is what each byte is worth as a digit. Nobody can guess which digit comes next, a processor included.
const WORTH: [u8; 256] = {
    let mut worth = [NO_DIGIT; 256];
    let mut digit = 0;
    while digit < 16 {
        worth[DIGITS[digit as usize] as usize] = digit;
        digit += 1;
    }
    worth
};
const NO_DIGIT: u8 = 16;

impl fmt::Display for DigestText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sha256(bytes) => f.write_str(text(&digits(bytes))),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl Serialize for DigestText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DigestText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        spelled(deserializer, |text| Ok(Self::from(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;
    use super::DigestText;

    /// FIPS 180-4, "abc".
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_digest_is_its_digits_and_nothing_else() {
        let mut digest = Digest::of(b"a");
        digest.add(b"bc");
        assert_eq!(digest.hex(), ABC);
        assert!(digest.is(ABC));
        for other in ["", "ba", &ABC[1..], &ABC[..62], &ABC.to_uppercase(), &ABC.replace("ad", "ae"), &ABC.repeat(2)] {
            assert!(!digest.is(other), "{other}");
        }
        assert!(!digest.is(&format!("{ABC}0")));
    }

    #[test]
    fn every_text_stays_as_it_was_written() {
        let abc = DigestText::of(b"abc");
        assert_eq!((DigestText::from(ABC), abc.to_string().as_str()), (abc.clone(), ABC));
        let others = ["", "d", &ABC[1..], &ABC[..62], &ABC.to_uppercase(), &ABC.replace("ad", "ag"), &ABC.repeat(2)];
        for other in others {
            let read: DigestText = serde_json::from_str(&format!("\"{other}\"")).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), format!("\"{other}\""));
            assert_ne!(read, abc, "{other}");
        }
        assert_ne!(DigestText::from(ABC.replace("ad", "ae").as_str()), abc);
    }
}
