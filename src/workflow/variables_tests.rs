use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{RenderError, Scope, captured, holds, holds_already, render, render_known, render_shell};
use crate::workflow::{
    CaptureFormat,
    condition::Condition,
    template::{Reader, Template},
};

struct Fixed(BTreeMap<&'static str, Value>);

impl Scope for Fixed {
    fn get(&self, name: &str) -> Result<Option<Value>, String> {
        if name == "git" { Err("no repository".to_owned()) } else { Ok(self.0.get(name).cloned()) }
    }

    fn names(&self) -> Vec<String> {
        self.0.keys().map(|name| (*name).to_owned()).collect()
    }
}

fn scope() -> Fixed {
    Fixed(BTreeMap::from([
        ("name", json!("it's $(touch x)")),
        ("empty", json!("")),
        ("null", Value::Null),
        ("count", json!(3)),
        ("text_count", json!("3")),
        ("off", json!("false")),
        ("step.build.output", json!("built")),
        ("data", json!({"list": [{"id": 7}, "b"], "flag": true})),
        ("huge", json!("x".repeat(128 * 1024))),
        ("nul", json!("a\0b")),
    ]))
}

fn plain(text: &str) -> Result<String, RenderError> {
    render(&Template::parse(text, Reader::Plain).unwrap(), &scope())
}

fn shell(text: &str) -> Result<(String, Vec<String>), RenderError> {
    let rendered = render_shell(&Template::parse(text, Reader::Shell).unwrap(), &scope())?;
    Ok((rendered.text, rendered.env.into_iter().map(|(name, value)| format!("{name}={value}")).collect()))
}

#[test]
fn values_are_found_by_name_and_inside_of_values() {
    for (text, expected) in [
        ("hello ${name}", "hello it's $(touch x)"),
        ("${count}${null}${data.flag}", "3true"),
        ("${step.build.output}", "built"),
        ("${data.list.0.id} ${data.list.1}", "7 b"),
        ("${data.list}", "[{\"id\":7},\"b\"]"),
        ("${none:-a ${count}} ${empty:-b} ${data.none:-c}", "a 3 b c"),
        ("${name:-unused}", "it's $(touch x)"),
    ] {
        assert_eq!(plain(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn an_unset_variable_is_named_with_what_was_meant() {
    let error = plain("${nam}").unwrap_err();
    assert_eq!(error.message, "the variable `${nam}` is not set");
    assert!(error.hint.starts_with("did you mean `${name}`? write `${nam:-default}`"), "{}", error.hint);
    assert_eq!(plain("${data.list.9}").unwrap_err().message, "the variable `${data.list.9}` is not set");
    assert_eq!(plain("${name.inner}").unwrap_err().message, "the variable `${name.inner}` is not set");
    assert_eq!(plain("${git}").unwrap_err().message, "`${git}` cannot be read: no repository");
    assert!(shell("echo ${unknown}").unwrap_err().message.contains("`${unknown}`"));
}

#[test]
fn a_shell_gets_references_and_never_values() {
    let value = "it's $(touch x)";
    for (text, expected) in [
        ("echo ${name}", "echo \"${PITON_VAR_1}\""),
        ("echo \"a ${name}\"", "echo \"a ${PITON_VAR_1}\""),
        ("echo 'a ${name}'", "echo 'a '\"${PITON_VAR_1}\"''"),
        ("cat <<E\n${name}\nE", "cat <<E\n${PITON_VAR_1}\nE"),
        ("echo \"$(echo ${name})\"", "echo \"$(echo \"${PITON_VAR_1}\")\""),
    ] {
        assert_eq!(shell(text), Ok((expected.to_owned(), vec![format!("PITON_VAR_1={value}")])), "{text}");
    }
    assert_eq!(shell("echo $((${count} + 1)) ${x%y} $${z}").unwrap().0, "echo $((${PITON_VAR_1} + 1)) ${x%y} ${z}");
}

#[test]
fn values_that_a_command_cannot_be_given_are_named() {
    for (text, expected) in [
        ("echo ${huge}", "`${huge}` has 131072 bytes; a command can be passed at most 131008"),
        ("echo ${nul}", "`${nul}` contains a NUL byte, which cannot be passed to a command"),
        ("echo $((${name}))", "`${name}` is used in `$((...))` and is not a whole number: `it's $(touch x)`"),
    ] {
        assert_eq!(shell(text).unwrap_err().message, expected, "{text}");
    }
}

#[test]
fn conditions_hold_or_do_not() {
    for (text, expected) in [
        ("true", true),
        ("${off}", false),
        ("${empty} || ${null}", false),
        ("${data} && !${off}", true),
        ("${count} == '3'", true),
        ("${text_count} == 3.0", true),
        ("${text_count} >= 2 && ${count} < 10", true),
        ("${name} == ${name}", true),
        ("${name} != 'x'", true),
        ("${name} contains 'touch'", true),
        ("${data.list} contains 'b'", true),
        ("${data} contains 'list'", true),
        ("${data.flag} == true", true),
        ("${none:-false}", false),
        ("false && ${unset}", false),
        ("true || ${unset}", true),
    ] {
        assert_eq!(holds(&Condition::parse(text).unwrap(), &scope()), Ok(expected), "{text}");
    }
    let error = |text: &str| holds(&Condition::parse(text).unwrap(), &scope()).unwrap_err().message;
    assert_eq!(error("${unset}"), "the variable `${unset}` is not set");
    assert_eq!(error("${name} < 3"), "`it's $(touch x)` and `3` are not both numbers");
}

#[test]
fn captures_become_what_their_format_says() {
    let of = |format, text: &str| captured("v", format, text);
    for (format, text, expected) in [
        (CaptureFormat::String, " a \n\n", json!(" a ")),
        (CaptureFormat::String, "", json!("")),
        (CaptureFormat::Lines, "a\nb\r\n\n", json!(["a", "b"])),
        (CaptureFormat::Lines, "\n", json!([])),
        (CaptureFormat::Json, "{\"a\": [1]}\n", json!({"a": [1]})),
        (CaptureFormat::Number, " 42\n", json!(42)),
        (CaptureFormat::Number, "-1.5\n", json!(-1.5)),
        (CaptureFormat::Boolean, "Yes\n", json!(true)),
        (CaptureFormat::Boolean, "0\n", json!(false)),
    ] {
        assert_eq!(of(format, text), Ok(expected), "{text:?}");
    }
    for (format, what) in
        [(CaptureFormat::Json, "JSON"), (CaptureFormat::Number, "number"), (CaptureFormat::Boolean, "boolean")]
    {
        assert_eq!(
            of(format, "nan\n").unwrap_err().message,
            format!("what `v` captures cannot be read as {what}: `nan`")
        );
    }
}

#[test]
fn before_its_step_runs_a_text_keeps_what_has_no_value_yet() {
    for (text, expected) in [
        ("${count} of ${later}", "3 of ${later}"),
        ("${later:-none} ${empty:-none}", "${later:-none} none"),
        ("${data.flag} ${data.missing}", "true ${data.missing}"),
        ("${workflow.files_added:*.md} $${count}", "${workflow.files_added:*.md} ${count}"),
        ("${git}", "${git}"),
    ] {
        assert_eq!(render_known(&Template::parse(text, Reader::Plain).unwrap(), &scope()), expected);
    }
}

#[test]
fn a_condition_is_decided_as_soon_as_what_decides_it_is_known() {
    for (text, expected) in [
        ("${count} == 3", Some(true)),
        ("!${count}", Some(false)),
        ("${later} == 3", None),
        ("${later:-3} == 3", None),
        ("!${later}", None),
        ("${count} == 3 && ${later}", None),
        ("${count} == 4 && ${later}", Some(false)),
        ("${later} && ${count} == 4", Some(false)),
        ("${count} == 3 || ${later}", Some(true)),
        ("${later} || ${count} == 3", Some(true)),
        ("${later} || ${count} == 4", None),
        ("${name} < 3", None),
    ] {
        assert_eq!(holds_already(&Condition::parse(text).unwrap(), &scope()), expected, "{text}");
    }
}
