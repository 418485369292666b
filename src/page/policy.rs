//! What a browser may do with a page: show its own style, run its own script, and nothing else.

use crate::model::sha256_hex;

pub(super) const STYLE: &str = include_str!("page.css");
pub(super) const SCRIPT: &str = include_str!("page.js");

/// Returns the content security policy. It names the style and the script by their digests, so nothing that came from a state file could
/// run even if it became markup.
pub(super) fn policy() -> String {
    let (style, script) = (digest(STYLE), digest(SCRIPT));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

fn digest(text: &str) -> String {
    let hex = sha256_hex(text.as_bytes());
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("a digest is hexadecimal");
    base64(&(0..hex.len()).step_by(2).map(digits).collect::<Vec<u8>>())
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = if place <= chunk.len() { LETTERS[bits >> (18 - 6 * place) & 63] } else { b'=' };
            text.push(char::from(letter));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{base64, policy};

    #[test]
    fn a_digest_is_written_as_browsers_read_it() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert!(policy().starts_with("default-src 'none'; style-src 'sha256-"));
    }
}
