//! SHA-256, in lower-case hexadecimal.

use std::fmt::Write as _;

use sha2::Digest as _;
use sha2::Sha256;

/// Returns the SHA-256 of the bytes in lower-case hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    sha256_hex_of([bytes])
}

/// Returns the SHA-256 of the concatenated pieces in lower-case hexadecimal.
pub(crate) fn sha256_hex_of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digest = Digest::default();
    pieces.into_iter().for_each(|piece| digest.add(piece));
    digest.hex()
}

/// An incremental SHA-256.
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

    /// Returns the digest of the bytes added so far, in lower-case hexadecimal.
    pub(crate) fn hex(&self) -> String {
        self.0.clone().finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.hex() == other.hex()
    }
}

impl Eq for Digest {}

#[cfg(test)]
mod tests {
    use super::Digest;
    use super::sha256_hex;

    /// FIPS 180-4, "abc".
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn pieces_add_up_to_the_digest_of_the_whole() {
        let mut digest = Digest::of(b"a");
        digest.add(b"bc");
        assert_eq!((digest.hex().as_str(), sha256_hex(b"abc").as_str()), (ABC, ABC));
        assert_ne!(digest, Digest::of(b"ab"));
    }
}
