use super::{Suggested, Verb};
use crate::model::{RunId, quoted};

/// Splits a line into words as a POSIX shell does, for the quoting that `quoted` uses. Anything else that a shell would read
/// as more than itself is an error.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' => words.extend(word.take()),
            // As bash and zsh read `$'`, for the two escapes that `quoted` writes.
            '$' if chars.as_str().starts_with('\'') => {
                chars.next();
                let mut bytes = Vec::new();
                loop {
                    match chars.next().ok_or("an open quote")? {
                        '\'' => break,
                        '\\' if chars.as_str().starts_with(|c: char| c.is_ascii_digit()) => {
                            let code: String = chars.by_ref().take(3).collect();
                            bytes.push(u8::from_str_radix(&code, 8).map_err(|error| error.to_string())?);
                        }
                        '\\' => bytes.extend(chars.next().ok_or("a lonely backslash")?.to_string().bytes()),
                        c => bytes.extend(c.to_string().bytes()),
                    }
                }
                let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
                word.get_or_insert_default().push_str(&text);
            }
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some('\'') => break,
                        Some(c) => word.push(c),
                        None => return Err("an open quote".to_owned()),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next().ok_or("a lonely backslash")?),
            c if c.is_ascii_alphanumeric() || "-_./:@+,=".contains(c) => word.get_or_insert_default().push(c),
            c => return Err(format!("{c:?} outside of quotes")),
        }
    }
    words.extend(word);
    Ok(words)
}

const HOSTILE: [&str; 18] = [
    "IMPL-1.2",
    "1:2.5",
    "",
    " ",
    "a b",
    "'",
    "''",
    "a'b'c",
    "$(rm -rf ~)",
    "`id`",
    "x; rm y",
    "a\nb'\\c\u{202e}",
    "\\",
    "~root",
    "*?[a]",
    "a&b|c>d<e",
    "!history #comment",
    "日本 $IFS",
];

#[test]
fn a_quoted_text_is_one_word_and_itself() {
    for text in HOSTILE.into_iter().chain(["-x", "--force"]) {
        assert_eq!(words(&quoted(text)).as_deref(), Ok([text.to_owned()].as_slice()), "{text:?}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "bash itself says how it reads a word")]
fn bash_reads_a_quoted_text_as_itself_in_every_locale() {
    let line: String = HOSTILE.iter().map(|text| format!(" {}", quoted(text))).collect();
    for locale in ["C", "C.UTF-8"] {
        let mut bash = std::process::Command::new("bash");
        let read = bash.env("LC_ALL", locale).args(["-c", &format!("printf '%s\\0'{line}")]).output().unwrap();
        let expected: String = HOSTILE.iter().map(|text| format!("{text}\0")).collect();
        assert_eq!(String::from_utf8_lossy(&read.stdout), expected, "{locale}");
    }
}

#[test]
fn plain_ids_stay_readable() {
    for (text, shown) in [("IMPL-1", "IMPL-1"), ("2:2.5", "2:2.5"), ("a/b_c@d+e,f", "a/b_c@d+e,f"), ("a b", "'a b'")] {
        assert_eq!(quoted(text), shown);
    }
}

#[test]
fn no_id_becomes_another_word_or_an_option() {
    for id in HOSTILE {
        let line = Suggested::on_step(Verb::Begin, id, &RunId::new(id)).flag("again").to_string();
        assert_eq!(words(&line).unwrap(), ["piton", "begin", id, "--run", id, "--again"], "{id:?}");
    }
    for id in ["-x", "--force", "--", "-", "--x=$(y)"] {
        let command = Suggested::of(Verb::Begin, id).option("agent", id).pair("skip-step", "a b", "c");
        let tied = format!("--agent={id}");
        let expected = ["piton", "begin", tied.as_str(), "--skip-step", "a b", "c", "--", id];
        assert_eq!(words(&command.to_string()).unwrap(), expected, "{id:?}");
        let Suggested::Own(call) = command else { unreachable!("it is a call of piton") };
        assert_eq!(call.arguments(), expected, "{id:?}");
    }
}

#[test]
fn a_command_begins_another_that_has_more_options() {
    let plan = Suggested::of(Verb::Plan, "r");
    let other = |line: &str| Suggested::Other(line.to_owned());
    for (one, two, expected) in [
        (plan.clone(), plan.clone().flag("patch"), true),
        (plan.clone().flag("patch"), plan.clone(), false),
        (plan.clone(), Suggested::of(Verb::Plan, "rr"), false),
        (other("git status"), other("git status"), true),
        (other("git"), other("git status"), false),
    ] {
        assert_eq!(one.begins(&two), expected, "{one} / {two}");
    }
}

#[test]
fn a_person_consents_once() {
    let yes = Suggested::of(Verb::Close, "r").comment("it is over").yes().yes();
    assert_eq!(yes, "piton close r --yes   # it is over");
    assert_eq!(yes.verb(), Some(Verb::Close));
}
