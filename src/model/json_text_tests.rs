use serde_json::Value;
use serde_json::json;

use super::JsonText;

#[test]
fn a_value_is_kept_as_it_is_written() {
    for (text, written) in [
        ("null", "null"),
        ("[ ]", "[]"),
        ("{ }", "{}"),
        (" [1, -2, 3.50, 1e400000, 18446744073709551615, true, null] ", ""),
        ("[1, -2, 3.50, 1e3, 18446744073709551615, true, null]", "[1,-2,3.5,1000.0,18446744073709551615,true,null]"),
        (r#"{"z": {"a": [[], [{}]]}, "a": "\u0041\n\"/"}"#, r#"{"z":{"a":[[],[{}]]},"a":"A\n\"/"}"#),
        ("\"\u{e4}\u{1f600}\\u0000\"", "\"\u{e4}\u{1f600}\\u0000\""),
    ] {
        let read: Result<JsonText, _> = serde_json::from_str(text);
        let known: Result<Value, _> = serde_json::from_str(text);
        let (Ok(read), Ok(known)) = (&read, &known) else {
            assert!(read.is_err() && known.is_err() && written.is_empty(), "{text}");
            continue;
        };
        assert_eq!(read.as_str(), written, "{text}");
        assert_eq!((read, read.value()), (&JsonText::from(known), known), "{text}");
        assert_eq!(serde_json::to_string(&json!({"x": known})).ok(), Some(format!("{{\"x\":{written}}}")), "{text}");
        assert_eq!(serde_json::to_string(&[read]).ok(), Some(format!("[{written}]")), "{text}");
        assert_eq!(serde_json::from_value::<JsonText>(known.clone()).ok().as_ref(), Some(read), "{text}");
    }
}

#[test]
fn what_is_nested_too_deep_is_no_value() {
    let mut value = Value::Null;
    for _ in 0..200 {
        value = json!([value]);
    }
    let text = JsonText::from(&value);
    assert_eq!(text.value(), &value);
    assert!(serde_json::from_str::<JsonText>(text.as_str()).is_err());
}
