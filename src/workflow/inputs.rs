//! The values of the inputs of a workflow: what was given, else the default. Pure.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Input;
use crate::{model::nearest, schema};

/// What is wrong with the inputs that were given, and how to give them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct InputError {
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// Returns the value of every input. `given` are texts `NAME=VALUE`.
///
/// # Errors
///
/// When one is unknown, missing or of another kind.
pub(crate) fn values(inputs: &[Input], given: &[String]) -> Result<BTreeMap<String, Value>, InputError> {
    let wrong = |message: String, hint: String| InputError { message, hint };
    let mut texts: BTreeMap<&str, &str> = BTreeMap::new();
    for text in given {
        let Some((name, value)) = text.split_once('=') else {
            let message = format!("`--input {text}` has no value");
            return Err(wrong(message, "write --input NAME=VALUE".to_owned()));
        };
        if !inputs.iter().any(|input| input.name == name) {
            let names = inputs.iter().map(|input| input.name.as_str());
            let hint = match nearest(name, names.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if inputs.is_empty() => "the workflow has no inputs".to_owned(),
                None => format!("its inputs: {}", names.collect::<Vec<_>>().join(", ")),
            };
            return Err(wrong(format!("the workflow has no input `{name}`"), hint));
        }
        texts.insert(name, value);
    }
    let mut values = BTreeMap::new();
    for input in inputs {
        let name = &input.name;
        let value = match (texts.get(name.as_str()), &input.default) {
            (Some(text), _) => input
                .kind
                .value(text)
                .map_err(|why| wrong(format!("the input `{name}` {why}"), format!("write --input {name}=VALUE")))?,
            (None, Some(default)) => default.clone(),
            (None, None) => {
                let what = input.description.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
                let message = format!("the input `{name}`{what} is needed");
                return Err(wrong(message, format!("write --input {name}=VALUE")));
            }
        };
        if let Some((pattern, _)) = &input.pattern
            && let Some(why) = mismatch(pattern, &value)
        {
            let message = format!("the input `{name}` {why}");
            return Err(wrong(message, format!("write --input {name}=VALUE with a value that does")));
        }
        values.insert(name.clone(), value);
    }
    Ok(values)
}

fn mismatch(pattern: &str, value: &Value) -> Option<String> {
    match schema::violation(&json!({"pattern": pattern}), value) {
        Ok(None) => None,
        Ok(Some(_)) => Some(format!("does not match `{pattern}`")),
        Err(problem) => Some(format!("has a `pattern` that is no regular expression: {problem}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::values;
    use crate::{model::RelPath, workflow};

    fn of(given: &[&str]) -> Result<Value, String> {
        let text = "inputs:\n  version: {pattern: '^[0-9.]+$', description: what is released}\n  count: {type: number, default: 3}\n  dry: {type: boolean, default: false}\n  target: {choices: [linux, macos], default: linux}\nsteps: [{id: a, shell: b}]\n";
        let parsed = workflow::parse(&RelPath::parse("w.yaml").unwrap(), text.as_bytes());
        let read = parsed.workflow.unwrap_or_else(|| panic!("{:?}", parsed.findings));
        let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
        values(&read.inputs, &given).map(|values| json!(values)).map_err(|error| error.to_string())
    }

    #[test]
    fn inputs_are_given_or_have_a_default_and_are_of_their_kind() {
        let all = json!({"version": "1.2", "count": 3, "dry": false, "target": "linux"});
        assert_eq!(of(&["version=1.2"]), Ok(all));
        let given = json!({"version": "1", "count": 4.5, "dry": true, "target": "macos"});
        assert_eq!(of(&["version=1", "count=4.5", "dry=true", "target=macos"]), Ok(given));
        for (given, expected) in [
            (&[][..], "the input `version` (what is released) is needed"),
            (&["version=x"], "the input `version` does not match `^[0-9.]+$`"),
            (&["version=1", "count=many"], "the input `count` is `many`, not a number"),
            (&["version=1", "dry=maybe"], "the input `dry` is `maybe`, not true or false"),
            (&["version=1", "target=bsd"], "the input `target` is `bsd`, not one of linux, macos"),
            (&["verison=1"], "the workflow has no input `verison`"),
            (&["version"], "`--input version` has no value"),
        ] {
            assert_eq!(of(given), Err(expected.to_owned()), "{given:?}");
        }
    }
}
