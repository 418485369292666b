//! Masks keys, tokens and passwords in error texts and program output, which Piton stores and prints.
//!
//! Secrets are recognised by shape, so one that looks like a word is missed. The text around a masked secret is kept, so that the
//! error still says what failed.

use std::borrow::Cow;
use std::ops::Range;

use super::clean;
use super::clean_line;

const MASK: &str = "[masked]";
/// Bytes to search ahead, which keeps the run time linear in the length of the text.
const AHEAD: usize = 200;
/// Minimum length of a token, in bytes.
const TOKEN_CHARS: usize = 16;

/// Prefixes of tokens of well-known services.
const PREFIXES: [&str; 26] = [
    "AKIA",
    "ASIA",
    "AIza",
    "AGE-SECRET-KEY-1",
    "dop_v1_",
    "gho_",
    "ghp_",
    "ghr_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "gldt-",
    "glpat-",
    "glrt-",
    "rk_live_",
    "shpat_",
    "sk_live_",
    "sk_test_",
    "xapp-",
    "xoxa-",
    "xoxb-",
    "xoxe.",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "ya29.",
];
/// Prefixes that ordinary words share; the token must contain a digit.
const COMMON_PREFIXES: [&str; 6] = ["eyJ", "hf_", "npm_", "pypi-", "sk-", "SG."];

/// Endings of variable, field and option names with secret values; `-` counts as `_`.
const NAMES: [&str; 14] = [
    "access_key",
    "account_key",
    "api_key",
    "apikey",
    "auth",
    "credential",
    "credentials",
    "passphrase",
    "passwd",
    "password",
    "private_key",
    "pwd",
    "secret",
    "token",
];

/// Returns an untrusted text without control characters and secrets.
pub(crate) fn safe_text(text: &str) -> String {
    mask_secrets(&clean(text)).into_owned()
}

/// Returns an untrusted text as one safe line of at most `limit` characters.
pub(crate) fn safe_line(text: &str, limit: usize) -> String {
    clean_line(&safe_text(text), limit)
}

/// Replaces secrets with `[masked]`. Idempotent.
pub(crate) fn mask_secrets(text: &str) -> Cow<'_, str> {
    let mut masked = String::new();
    let mut found: Option<Range<usize>> = None;
    let mut done = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if at >= done {
            let rest = &text[at..];
            // The name in front of a secret may contain a token itself.
            let secret = if found.is_none() { secret_at(rest, c, before) } else { token_at(rest, c, before) };
            if let Some(secret) = secret.map(|secret| at + secret.start..at + secret.end) {
                found = Some(
                    found.map_or(secret.clone(), |found| found.start.min(secret.start)..found.end.max(secret.end)),
                );
            }
            if let Some(secret) = found.take_if(|secret| secret.start == at) {
                masked.push_str(&text[done..secret.start]);
                masked.push_str(MASK);
                done = secret.end;
            }
        }
        before = c;
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    masked.push_str(&text[done..]);
    Cow::Owned(masked)
}

/// Returns the range of a secret in the text that begins here.
fn secret_at(rest: &str, first: char, before: char) -> Option<Range<usize>> {
    match first {
        ':' => password_of_address(rest),
        '-' if before != '-' => private_key(rest).or_else(|| value_of_option(rest)),
        _ if !first.is_ascii_alphanumeric() || before.is_ascii_alphanumeric() => None,
        _ if is_of_name(before) => token(rest),
        _ => token(rest).or_else(|| bearer(rest)).or_else(|| value_of_name(rest)),
    }
}

fn token_at(rest: &str, first: char, before: char) -> Option<Range<usize>> {
    let begins = first.is_ascii_alphanumeric() && !before.is_ascii_alphanumeric();
    begins.then(|| token(rest)).flatten()
}

/// `-----BEGIN RSA PRIVATE KEY----- ... -----END RSA PRIVATE KEY-----`, to the end of the text if truncated.
fn private_key(rest: &str) -> Option<Range<usize>> {
    let label = head(rest.strip_prefix("-----BEGIN ")?);
    let label = label.split_once("-----").map(|(label, _)| label)?;
    if !label.contains("PRIVATE KEY") {
        return None;
    }
    let start = "-----BEGIN ".len() + label.len() + "-----".len();
    let end = rest[start..].find("-----END").map_or(rest.len(), |length| start + length);
    not_masked(rest, start..end)
}

/// `postgres://user:password@host`.
fn password_of_address(rest: &str) -> Option<Range<usize>> {
    let address = head(rest.strip_prefix("://")?);
    let end = address.find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '<' | '>'));
    let (user, _) = address[..end.unwrap_or(address.len())].rsplit_once('@')?;
    let (name, password) = user.split_once(':')?;
    let start = "://".len() + name.len() + 1;
    // Masking may have turned other text into an address: `://token=/abcdef;x:y@z`.
    let is_secret = !password.is_empty() && !password.starts_with('$') && !user.contains(MASK);
    is_secret.then(|| start..start + password.len())
}

fn token(rest: &str) -> Option<Range<usize>> {
    if rest.len() < TOKEN_CHARS {
        return None;
    }
    let is_common = || COMMON_PREFIXES.iter().any(|prefix| rest.starts_with(prefix));
    let needs_digit = !PREFIXES.iter().any(|prefix| rest.starts_with(prefix));
    if needs_digit && !is_common() {
        return None;
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '=');
    let seen = head(rest);
    let seen = &seen[..seen.find(|c| !is_part(c)).unwrap_or(seen.len())];
    if seen.len() < TOKEN_CHARS || (needs_digit && !seen.bytes().any(|byte| byte.is_ascii_digit())) {
        return None;
    }
    Some(0..rest.find(|c| !is_part(c)).unwrap_or(rest.len()))
}

/// `Bearer ...`, and the value of an `Authorization` header.
fn bearer(rest: &str) -> Option<Range<usize>> {
    if begins(rest, "bearer ") {
        return value(rest, "bearer ".len()).filter(|secret| is_no_word(&rest[secret.clone()]));
    }
    if !begins(rest, "authorization") {
        return None;
    }
    let header = rest["authorization".len()..].trim_start_matches(['"', '\'']).strip_prefix([':', '='])?;
    let header = header.trim_start_matches(['"', '\'', ' ']);
    let schemes = ["bearer ", "basic ", "token "];
    let scheme = schemes.iter().find(|scheme| begins(header, scheme));
    let secret = value(rest, rest.len() - header.len() + scheme.map_or(0, |scheme| scheme.len()))?;
    (scheme.is_some() || is_no_word(&rest[secret.clone()])).then_some(secret)
}

/// `DB_PASSWORD=...`, `"api_key": "..."`, `token: ...`.
fn value_of_name(rest: &str) -> Option<Range<usize>> {
    let seen = head(rest);
    let name = &seen[..seen.find(|c| !is_of_name(c))?];
    if !is_secret_name(name) {
        return None;
    }
    let after = rest[name.len()..].trim_start_matches(['"', '\'', ' ']);
    let assigned = after.strip_prefix(['=', ':'])?.trim_start_matches(' ');
    let secret = value(rest, rest.len() - assigned.len())?;
    // A sentence may follow a colon.
    (after.starts_with('=') || is_no_word(&rest[secret.clone()])).then_some(secret)
}

/// `--password ...`.
fn value_of_option(rest: &str) -> Option<Range<usize>> {
    let name = head(rest.strip_prefix("--")?);
    let name = &name[..name.find(|c| !is_of_name(c))?];
    let start = "--".len() + name.len();
    let is_apart = rest[start..].starts_with(' ') && !rest[start + 1..].starts_with('-');
    if is_apart && is_secret_name(name) { value(rest, start + 1) } else { None }
}

/// Returns the range of the value that begins here; `None` if it is a variable, already masked, or too short for a secret.
fn value(rest: &str, start: usize) -> Option<Range<usize>> {
    let start = start + usize::from(rest[start..].starts_with(['"', '\'']));
    let text = &rest[start..];
    if text.starts_with(['$', '<', '{', '=', '[']) {
        return None;
    }
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | '&' | ')' | '}');
    // An earlier pass may have masked it: `--pwd :[masked]`.
    if head(text).split(ends).next().is_some_and(|value| value.contains(MASK)) {
        return None;
    }
    let length = text.find(ends).unwrap_or(text.len());
    (length >= 6).then_some(start..start + length)
}

fn is_no_word(value: &str) -> bool {
    value.len() >= 20 || value.bytes().any(|byte| byte.is_ascii_digit())
}

fn begins(text: &str, word: &str) -> bool {
    text.as_bytes().get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word.as_bytes()))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    NAMES.iter().any(|end| name.ends_with(end))
}

fn not_masked(rest: &str, secret: Range<usize>) -> Option<Range<usize>> {
    (!rest[secret.clone()].trim_start().starts_with(MASK)).then_some(secret)
}

/// Returns the first [`AHEAD`] bytes, cut at a character boundary.
fn head(text: &str) -> &str {
    let end = (0..=AHEAD.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
