//! Masks keys, tokens and passwords in error texts and program output, which Piton stores and prints.
//!
//! Secrets are recognised by shape, so one that looks like a word is missed. The text around a masked secret is kept, so that the
//! error still says what failed.

use std::{borrow::Cow, ops::Range};

use super::{clean, clean_line};

const MASK: &str = "[masked]";
/// Bytes to search ahead, which keeps the run time linear in the length of the text.
const AHEAD: usize = 200;
/// Minimum length of a token, in bytes.
const TOKEN_CHARS: usize = 16;

/// Prefixes of tokens of well-known services.
const PREFIXES: [&str; 33] = [
    "AKIA",
    "ASIA",
    "AIza",
    "AGE-SECRET-KEY-1",
    "ATATT",
    "HRKU-",
    "dop_v1_",
    "figd_",
    "gho_",
    "ghp_",
    "ghr_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "gldt-",
    "glpat-",
    "glrt-",
    "hvb.",
    "hvs.",
    "lin_api_",
    "lin_oauth_",
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

/// Prefixes of tokens that are otherwise hexadecimal digits.
const HEX_PREFIXES: [&str; 2] = ["SK", "dapi"];
/// Number of hexadecimal digits in such a token.
const HEX_DIGITS: usize = 32;
/// Addresses that are secret as a whole: to know one is enough to post.
const WEBHOOKS: [&str; 5] = [
    "hooks.slack.com/services/",
    "hooks.slack.com/workflows/",
    "hooks.slack.com/triggers/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
];

/// Words in the name of a variable, field or option with a secret value.
const NAME_WORDS: [&str; 8] =
    ["credential", "credentials", "passphrase", "passwd", "password", "pwd", "secret", "token"];
/// The kinds of keys that are secret, before the word `key`.
const KEY_KINDS: [&str; 8] = ["access", "account", "api", "encryption", "master", "private", "secret", "signing"];
/// Last words of names that tell something about a secret.
const ABOUT: [&str; 12] =
    ["count", "dir", "expiry", "file", "length", "limit", "path", "size", "ttl", "type", "url", "usage"];
/// Names of what configuration is read from: an access below them is no secret.
const SOURCES: [&str; 12] =
    ["config", "env", "github", "import", "inputs", "os", "process", "secrets", "self", "settings", "this", "vars"];

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
            let secret = if found.is_none() { secret_at(text, at, c, before) } else { token_at(rest, c, before) };
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

/// Returns the range of a secret in the text that begins at `at`, from there.
fn secret_at(text: &str, at: usize, first: char, before: char) -> Option<Range<usize>> {
    let rest = &text[at..];
    match first {
        ':' => password_of_address(rest),
        '-' if before != '-' => {
            private_key(rest).or_else(|| password_of_call(text, at)).or_else(|| value_of_option(rest))
        }
        _ if !first.is_ascii_alphanumeric() || before.is_ascii_alphanumeric() => None,
        _ if is_of_name(before) => token(rest),
        _ => token(rest)
            .or_else(|| bearer(rest))
            .or_else(|| cookie(rest))
            .or_else(|| netrc(text, at))
            .or_else(|| value_of_name(rest, before)),
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
    if let Some(secret) = webhook(rest).or_else(|| hex_token(rest)).or_else(|| bot_token(rest)) {
        return Some(secret);
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

/// The path of a webhook.
fn webhook(rest: &str) -> Option<Range<usize>> {
    let start = WEBHOOKS.iter().find(|place| rest.starts_with(**place))?.len();
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | ')' | ']');
    let end = rest[start..].find(ends).map_or(rest.len(), |length| start + length);
    (end - start >= TOKEN_CHARS).then(|| not_masked(rest, start..end)).flatten()
}

/// `SK` or `dapi` and 32 hexadecimal digits.
fn hex_token(rest: &str) -> Option<Range<usize>> {
    let prefix = HEX_PREFIXES.iter().find(|prefix| rest.starts_with(**prefix))?;
    let digits = rest[prefix.len()..].bytes().take(HEX_DIGITS + 1).take_while(u8::is_ascii_hexdigit).count();
    let end = prefix.len() + digits;
    let is_over = !rest[end..].starts_with(|c: char| c.is_ascii_alphanumeric());
    (digits == HEX_DIGITS && is_over).then_some(0..end)
}

/// `123456789:AA...`, of a bot of Telegram.
fn bot_token(rest: &str) -> Option<Range<usize>> {
    let digits = rest.bytes().take(13).take_while(u8::is_ascii_digit).count();
    let after = rest.get(digits..)?.strip_prefix(":A")?;
    let length = after
        .bytes()
        .take(AHEAD)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        .count();
    ((8..=12).contains(&digits) && length >= 32).then_some(0..digits + 2 + length)
}

/// `Cookie: a=b; c=d` and `Set-Cookie: ...`, to the end of the line or of the quoted text.
fn cookie(rest: &str) -> Option<Range<usize>> {
    let name = ["cookie:", "set-cookie:"].into_iter().find(|name| begins(rest, name))?;
    let start = rest.len() - rest[name.len()..].trim_start_matches(' ').len();
    let end = rest[start..].find(['\n', '\r', '"', '\'', '`']).map_or(rest.len(), |length| start + length);
    let value = &rest[start..end];
    let (first, _) = value.split_once('=')?;
    let is_one = !first.is_empty() && first.len() < AHEAD && first.chars().all(is_of_name);
    (is_one && end - start >= 8 && !value.contains(MASK)).then_some(start..end)
}

/// `curl -u user:password`, and `mysql -ppassword`.
fn password_of_call(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    let line = tail(&text[..at]).rsplit('\n').next().unwrap_or_default();
    let word = |start: usize| {
        let quoted = start + usize::from(rest[start..].starts_with(['"', '\'']));
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`');
        let end = rest[quoted..].find(ends).map_or(rest.len(), |length| quoted + length);
        quoted..end
    };
    if line.contains("curl") || line.contains("wget") {
        let start =
            ["-u ", "--user ", "--user=", "--proxy-user ", "-u"].iter().find(|flag| rest.starts_with(**flag))?.len();
        let word = word(start);
        let (user, password) = rest[word.clone()].split_once(':')?;
        let is_secret =
            !password.is_empty() && !password.starts_with(['$', '/', '<', '{', '[']) && !user.contains(MASK);
        return is_secret.then(|| word.start + user.len() + 1..word.end);
    }
    let is_mysql = line.contains("mysql") || line.contains("mariadb");
    if !is_mysql || !rest.starts_with("-p") || !text[..at].ends_with(char::is_whitespace) {
        return None;
    }
    let word = word(2);
    let is_secret = word.len() >= 3 && !rest[word.clone()].starts_with(['$', '<', '{', '[']);
    is_secret.then_some(word)
}

/// `machine host login user password ...`.
fn netrc(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    let name = ["password ", "password\t", "password\n"].into_iter().find(|name| rest.starts_with(name))?;
    if tail(&text[..at]).split_whitespace().rev().nth(1) != Some("login") {
        return None;
    }
    value(rest, rest.len() - rest[name.len()..].trim_start().len())
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

/// `DB_PASSWORD=...`, `"api_key": "..."`, `token: ...`, and the signature in an address.
fn value_of_name(rest: &str, before: char) -> Option<Range<usize>> {
    let seen = head(rest);
    let name = &seen[..seen.find(|c| !is_of_name(c))?];
    let is_signature = name == "sig" && matches!(before, '?' | '&');
    if !is_signature && !is_secret_name(name) {
        return None;
    }
    let after = rest[name.len()..].trim_start_matches(['"', '\'', ' ']);
    if after.starts_with("::") {
        return None;
    }
    let assigned = after.strip_prefix(['=', ':'])?;
    let assigned = assigned.strip_prefix('=').filter(|_| after.starts_with(':')).unwrap_or(assigned);
    let assigned = assigned.trim_start_matches(' ');
    let secret = value(rest, rest.len() - assigned.len())?;
    let text = &rest[secret.clone()];
    if is_reference(&rest[secret.start..], assigned)
        || is_path(text)
        || (name.eq_ignore_ascii_case("pwd") && text.starts_with('/'))
    {
        return None;
    }
    // A sentence may follow a colon.
    (after.starts_with('=') || is_no_word(text)).then_some(secret)
}

/// Tells whether a value is a call, an index or an access to what configuration is read from: `require("auth")`, `env["X"]`. A quoted one is
/// none.
fn is_reference(value: &str, assigned: &str) -> bool {
    if assigned.starts_with(['"', '\'']) {
        return false;
    }
    let seen = head(value);
    let name = &seen[..seen.find(|c| !is_of_name(c)).unwrap_or(seen.len())];
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_of_source = name.split_once('.').is_some_and(|(source, _)| SOURCES.contains(&source));
    is_name && (is_of_source || seen[name.len()..].starts_with(['(', '[']) || seen[name.len()..].starts_with("::"))
}

/// Tells whether a value is a path of several plain names.
fn is_path(value: &str) -> bool {
    let is_plain = |name: &str| name.len() <= 24 && name.chars().all(|c| is_of_name(c) || c == '~');
    let is_rooted = ["/", "./", "../", "~/"].iter().any(|root| value.starts_with(root));
    is_rooted && value[1..].contains('/') && value.split('/').all(is_plain)
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

/// Splits a name into words (`accessKey`, `ACCESS_KEY`, `access-key`) and tells whether they name a secret.
fn is_secret_name(name: &str) -> bool {
    let words = words_of(name);
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    if words.last().is_some_and(|last| ABOUT.contains(&last.as_str())) {
        return false;
    }
    let is_key = has(&["key", "keys"]) && has(&KEY_KINDS);
    let ends_so = |last: &String| {
        let is_joined_key = || last.strip_suffix("key").is_some_and(|kind| KEY_KINDS.contains(&kind));
        last == "auth" || NAME_WORDS.iter().any(|word| last.ends_with(word)) || is_joined_key()
    };
    has(&NAME_WORDS) || is_key || words.last().is_some_and(ends_so)
}

fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    let mut characters = name.chars().peekable();
    while let Some(c) = characters.next() {
        let ends_acronym = before.is_ascii_uppercase() && characters.peek().is_some_and(char::is_ascii_lowercase);
        let begins_word =
            c.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit() || ends_acronym);
        if !c.is_ascii_alphanumeric() || begins_word {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

fn not_masked(rest: &str, secret: Range<usize>) -> Option<Range<usize>> {
    (!rest[secret.clone()].trim_start().starts_with(MASK)).then_some(secret)
}

/// Returns the last [`AHEAD`] bytes, cut at a character boundary.
fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(AHEAD);
    let start = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[start..]
}

/// Returns the first [`AHEAD`] bytes, cut at a character boundary.
fn head(text: &str) -> &str {
    let end = (0..=AHEAD.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
