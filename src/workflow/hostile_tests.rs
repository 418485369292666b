//! What a real shell makes of hostile values in every place where a variable can stand.
#![expect(clippy::disallowed_methods, reason = "only a shell can tell what a shell does")]

use std::process::{Command, Stdio};

use serde_json::Value;

use super::{Scope, render_shell};
use crate::workflow::template::{Reader, Template};

const HOSTILE: [&str; 14] = [
    "'; echo INJECTED; '",
    "\"; echo INJECTED; \"",
    "$(touch x)",
    "`touch x`",
    "${HOME}",
    "$((1 + 1))",
    "a  b\tc\nd",
    "*",
    "\\",
    "a\\nb\\",
    "'",
    "# not a comment",
    "-n",
    "; exit 3 # && || | > x < y & ( ) { } ! ~ é",
];

struct Single(&'static str);

impl Scope for Single {
    fn get(&self, name: &str) -> Result<Option<Value>, String> {
        Ok((name == "v").then(|| Value::from(self.0)))
    }

    fn names(&self) -> Vec<String> {
        vec!["v".to_owned()]
    }
}

fn printed(program: &str, value: &'static str) -> String {
    let template = Template::parse(program, Reader::Shell).unwrap();
    let shell = render_shell(&template, &Single(value)).unwrap();
    let output = Command::new("sh").arg("-c").arg(&shell.text).envs(shell.env).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{} with {value:?}: {output:?}", shell.text);
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_value_is_text_wherever_it_stands() {
    for (program, before, after) in [
        ("printf '[%s]' ${v}", "[", "]"),
        ("printf '[%s]' a${v}b", "[a", "b]"),
        ("printf '[%s]' \"${v}\"", "[", "]"),
        ("printf '[%s]' \"say 'a ${v}'\"", "[say 'a ", "']"),
        ("printf '[%s]' 'a ${v} b'", "[a ", " b]"),
        ("printf '[%s]' 'say \"'\"${v}\"", "[say \"", "]"),
        ("x=${v}; printf '[%s]' \"$x\"", "[", "]"),
        ("printf '[%s]' \"$(printf '%s.' ${v})\"", "[", ".]"),
        ("printf '[%s]' \"$(printf '%s.' '${v}')\"", "[", ".]"),
        ("printf '[%s]' \"$(printf '%s.' \"$(printf '%s' \"${v}.\")\")\"", "[", "..]"),
        ("cat <<END\nit's [${v}]\nEND", "it's [", "]\n"),
        ("cat <<-END\n\t\"[$(printf '%s.' ${v})]\"\n\tEND", "\"[", ".]\"\n"),
        ("case ${v} in zz) ;; *) printf '[%s]' ${v} ;; esac", "[", "]"),
        ("# don't ${v}\nprintf '[%s]' ${v}", "[", "]"),
        ("for i in ${v}; do printf '[%s]' \"$i\"; done", "[", "]"),
        ("f() { printf '[%s]' \"$1\"; }; (f ${v})", "[", "]"),
    ] {
        for value in HOSTILE {
            assert_eq!(printed(program, value), format!("{before}{value}{after}"), "{program}");
        }
    }
}

#[test]
fn whole_numbers_can_be_computed_with() {
    assert_eq!(printed("printf '%s' $((${v} * (2 + 1)))", "-4"), "-12");
}

#[test]
fn what_is_left_to_the_shell_works_there() {
    assert_eq!(printed("f=main.rs; printf '%s' ${f%.rs} $${f} \"$f\" ${v}", "!"), "mainmain.rsmain.rs!");
}

#[test]
fn the_largest_value_that_is_let_through_can_be_given() {
    let largest: &'static str = Box::leak("x".repeat(super::LARGEST).into_boxed_str());
    assert_eq!(printed("printf '%s' ${v} | wc -c | tr -d ' '", largest), format!("{}\n", super::LARGEST));
}
