//! SHA-256, in lower-case hexadecimal.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 of the bytes in lower-case hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    sha256_hex_of([bytes])
}

/// Returns the SHA-256 of the concatenated pieces in lower-case hexadecimal.
pub(crate) fn sha256_hex_of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digest = Sha256::new();
    pieces.into_iter().for_each(|piece| digest.update(piece));
    digest.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::sha256_hex_of;

    #[test]
    fn pieces_add_up_to_the_digest_of_the_whole() {
        // FIPS 180-4, "abc".
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex_of([b"a".as_slice(), b"bc"]), abc);
    }
}
