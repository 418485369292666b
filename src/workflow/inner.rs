//! Variables in a program that a shell step hands to another interpreter, where a value becomes code. Pure.

use super::template::{Piece, Template};

/// Programs that take code after a flag.
const INTERPRETERS: [(&str, &[&str]); 9] = [
    ("sh", &["-c", "-ec", "-xc"]),
    ("bash", &["-c", "-ec", "-lc", "-xc"]),
    ("dash", &["-c", "-ec"]),
    ("zsh", &["-c", "-ec"]),
    ("python", &["-c"]),
    ("python3", &["-c"]),
    ("perl", &["-e"]),
    ("ruby", &["-e"]),
    ("node", &["-e"]),
];
/// Programs all of whose words are code.
const EVALUATORS: [&str; 2] = ["eval", "ssh"];

/// Returns each variable in such a program, with the interpreter.
pub(super) fn variables_in_code(template: &Template) -> Vec<(&str, &'static str)> {
    let mut before = String::new();
    let mut found = Vec::new();
    for piece in &template.pieces {
        match piece {
            Piece::Literal(text) => before.push_str(text),
            Piece::Variable(reference) => {
                if let Some(interpreter) = interpreter(&before) {
                    found.push((reference.path.as_str(), interpreter));
                }
                before.push('x');
            }
        }
    }
    found
}

/// Returns the interpreter whose code goes on at the end of a text.
fn interpreter(before: &str) -> Option<&'static str> {
    let with_code = INTERPRETERS.iter().find(|(name, flags)| {
        flags.iter().any(|flag| after_word(before, &format!("{name} {flag} ")).is_some_and(is_code))
    });
    let evaluator = || {
        let is_open = |rest: &str| !rest.contains(['\n', ';', '|', '&']);
        EVALUATORS.iter().find(|name| after_word(before, &format!("{name} ")).is_some_and(is_open)).copied()
    };
    with_code.map(|(name, _)| *name).or_else(evaluator)
}

/// Returns what follows the last occurrence of words that begin at a word.
fn after_word<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let (at, _) = text.rmatch_indices(words).next()?;
    let is_start = text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.'));
    is_start.then(|| &text[at + words.len()..])
}

/// Tells whether the code that follows a flag goes on at the end: in quotes that are open, or a bare word.
fn is_code(rest: &str) -> bool {
    let rest = rest.trim_start();
    match rest.chars().next() {
        Some(quote @ ('\'' | '"')) => rest.matches(quote).count() == 1,
        Some(_) => !rest.contains(char::is_whitespace),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::variables_in_code;
    use crate::workflow::template::{Reader, Template};

    #[test]
    fn a_value_in_the_code_of_another_interpreter_is_found() {
        for (text, expected) in [
            ("sh -c 'echo ${v}'", Some("sh")),
            ("sh -c \"echo a; echo ${v}\"", Some("sh")),
            ("/bin/bash -lc 'x ${v}'", Some("bash")),
            ("sh -c ${v}", Some("sh")),
            ("eval \"x ${v}\"", Some("eval")),
            ("ssh host rm ${v}", Some("ssh")),
            ("python3 -c 'print(${v})'", Some("python3")),
            ("sh -c 'echo \"$1\"' _ ${v}", None),
            ("sh build.sh ${v}", None),
            ("ssh host true; echo ${v}", None),
            ("echo 'eval' ${v}", None),
            ("echo medieval ${v}", None),
            ("echo ${v}", None),
        ] {
            let template = Template::parse(text, Reader::Shell).unwrap();
            assert_eq!(variables_in_code(&template).first().map(|(_, by)| *by), expected, "{text}");
        }
    }
}
