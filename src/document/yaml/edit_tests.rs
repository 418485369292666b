use std::ops::Range;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::document::{
    EditRefused, Editor, Syntax,
    tree::{Kind, Node, Style},
};

/// The change that a test makes to a text.
enum Do<'a> {
    Set(&'a str, Value),
    Behind(&'a str, Value, &'a str),
    Push(&'a str, Value),
    Remove(&'a str),
}

const fn set(at: &str, value: Value) -> Do<'_> {
    Do::Set(at, value)
}

const fn push(at: &str, value: Value) -> Do<'_> {
    Do::Push(at, value)
}

fn done(text: &str, what: &Do<'_>) -> Result<String, EditRefused> {
    let mut document = Editor::parse(text.as_bytes(), Syntax::Yaml).unwrap();
    match what {
        Do::Set(at, value) => document.set(at, value)?,
        Do::Behind(at, value, neighbour) => document.set_after(at, value, Some(neighbour))?,
        Do::Push(at, value) => document.push(at, value)?,
        Do::Remove(at) => document.remove(at)?,
    }
    Ok(String::from_utf8(document.into_bytes()).unwrap())
}

#[test]
fn a_value_is_replaced_in_its_own_style_and_nothing_else() {
    for (text, what, expected) in [
        ("a: b # c\nd: e\n", set("/a", json!("x")), "a: x # c\nd: e\n"),
        ("a: 'b'\n", set("/a", json!("it's")), "a: 'it''s'\n"),
        ("a: 'b'\n", set("/a", json!("two\nlines")), "a: \"two\\nlines\"\n"),
        ("a: \"b\"\n", set("/a", json!("x \"y\" \\")), "a: \"x \\\"y\\\" \\\\\"\n"),
        ("a: b\n", set("/a", json!("")), "a: \"\"\n"),
        ("a: b\n", set("/a", json!("x: y")), "a: \"x: y\"\n"),
        ("a: b\nq: 'x'\n", set("/a", json!("# no")), "a: '# no'\nq: 'x'\n"),
        ("a: b\n", set("/a", json!("2.10")), "a: \"2.10\"\n"),
        ("a: b\n", set("/a", json!("yes")), "a: \"yes\"\n"),
        ("a: b\n", set("/a", json!("5_push")), "a: 5_push\n"),
        ("a: 1\n", set("/a", json!(2)), "a: 2\n"),
        ("a: 1\n", set("/a", json!(null)), "a: null\n"),
        ("a:\n", set("/a", json!(true)), "a: true\n"),
        ("a:   # later\nb: 1\n", set("/a", json!("x")), "a: x   # later\nb: 1\n"),
        ("a: ~\n", set("/a", json!("x")), "a: x\n"),
        // A stamp keeps its formatting.
        (
            "a: 2026-01-31T11:00:00.000Z\n",
            set("/a", json!("2026-01-31T12:00:00.000Z")),
            "a: 2026-01-31T12:00:00.000Z\n",
        ),
        ("a: null\n", set("/a", json!("2026-01-31T12:00:00Z")), "a: \"2026-01-31T12:00:00Z\"\n"),
        // What only resembles one is a text.
        ("a: 2026-01-31T11:00:00Z\n", set("/a", json!("2026-01-31T12:00")), "a: \"2026-01-31T12:00\"\n"),
        ("a: 2026-01-31T11:00:00Z\n", set("/a", json!("12345678901234567890")), "a: \"12345678901234567890\"\n"),
        ("a: [x, y]\n", set("/a/1", json!("z, w")), "a: [x, \"z, w\"]\n"),
        ("a:\n  - x\n  - 'y' # c\n", set("/a/1", json!("z")), "a:\n  - x\n  - 'z' # c\n"),
        ("1: { s: a, t: b } # c\n", set("/1/s", json!("done")), "1: { s: done, t: b } # c\n"),
        ("{a: , b: 1}", set("/a", json!("x")), "{a: x , b: 1}"),
        ("a: |-\n  one\n  two\nb: 1\n", set("/a", json!("x")), "a: x\nb: 1\n"),
        ("a: [x]\n", set("/a", json!([])), "a: []\n"),
        ("a: {}\n", set("/a", json!({ "b": 1 })), "a:\n  b: 1\n"),
        ("a: {} # none\n", set("/a", json!({ "b": 1 })), "a: { b: 1 } # none\n"),
        ("a: [x]\n", set("/a", json!(["z"])), "a: [z]\n"),
        ("a: b\n", set("/a", json!({})), "a: {}\n"),
        ("a : b\n", set("/a", json!("x")), "a : x\n"),
        ("a : b\n", set("/c", json!("x")), "a : b\nc: x\n"),
        ("a: b\n", set("/a", json!("x\u{1b}y")), "a: \"x\\u001by\"\n"),
        ("a: 'b'\n", set("/a", json!("x\u{85}y")), "a: \"x\\u0085y\"\n"),
        // Line ends, a BOM and a missing last line end stay.
        ("\u{feff}a: b\r\nc: d", set("/c", json!("x")), "\u{feff}a: b\r\nc: x"),
        ("a/b:\n  c~d: 1\n", set("/a~1b/c~0d", json!(2)), "a/b:\n  c~d: 2\n"),
        ("1.10: a\n1.1: b\n", set("/1.10", json!("c")), "1.10: c\n1.1: b\n"),
    ] {
        assert_eq!(done(text, &what).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn a_new_key_stands_where_its_neighbours_do() {
    for (text, what, expected) in [
        ("a: 1\n", set("/b", json!("x")), "a: 1\nb: x\n"),
        ("a: 1", set("/b", json!("x")), "a: 1\nb: x"),
        ("a: 1 # one\n# after\n", set("/b", json!(2)), "a: 1 # one\nb: 2\n# after\n"),
        ("m:\r\n    a: 1\r\n", set("/m/b", json!(2)), "m:\r\n    a: 1\r\n    b: 2\r\n"),
        ("m:\n  a: 1\nn: 2\n", set("/m/b", json!(2)), "m:\n  a: 1\n  b: 2\nn: 2\n"),
        ("m:\n  a:\nn: 2\n", set("/m/b", json!(2)), "m:\n  a:\n  b: 2\nn: 2\n"),
        ("m:\n  a: 1\n  c: 3\n", Do::Behind("/m/b", json!(2), "a"), "m:\n  a: 1\n  b: 2\n  c: 3\n"),
        ("m:\n  a: |\n    x\n\n  c: 3\n", Do::Behind("/m/b", json!(2), "a"), "m:\n  a: |\n    x\n  b: 2\n\n  c: 3\n"),
        ("m:\n  'a': 1\n", set("/m/2.10", json!("x")), "m:\n  'a': 1\n  '2.10': x\n"),
        ("m:\n  1: x\n", set("/m/2", json!("x")), "m:\n  1: x\n  2: x\n"),
        ("m: { a: 1, b: 2 }\n", set("/m/c", json!("x")), "m: { a: 1, b: 2, c: x }\n"),
        ("m: { a: 1, c: 2 }\n", Do::Behind("/m/b", json!("x"), "a"), "m: { a: 1, b: x, c: 2 }\n"),
        ("m: {a: 1,}\n", set("/m/c", json!("x")), "m: {a: 1, c: x,}\n"),
        ("m: {\n  a: 1\n}\n", set("/m/c", json!("x")), "m: {\n  a: 1,\n  c: x\n}\n"),
        ("{\"a\": 1}\n", set("/b", json!("x")), "{\"a\": 1, \"b\": x}\n"),
        ("m:\nn: 1\n", set("/m/a", json!("x")), "m:\n  a: x\nn: 1\n"),
        ("m: {}\n", set("/m/a/b", json!("x")), "m:\n  a:\n    b: x\n"),
        (
            "x: 1\n",
            set("/m/a", json!([1, { "b": "c", "d": [] }])),
            "x: 1\nm:\n  a:\n    - 1\n    - b: c\n      d: []\n",
        ),
        (
            "m:\n    a:\n        b: 1\nn: {}\n",
            set("/n/x", json!({ "y": 2 })),
            "m:\n    a:\n        b: 1\nn:\n    x:\n        y: 2\n",
        ),
        ("m:\n  a:\n    x: 1\n", set("/m/b", json!({ "y": 2 })), "m:\n  a:\n    x: 1\n  b:\n    y: 2\n"),
        ("a: 1\n", set("/m", json!({})), "a: 1\nm: {}\n"),
        // What stands behind a value, and is not of it, stays there.
        (
            "m:\n  a: {\n    x: 1\n  }\n  c: 2\n",
            Do::Behind("/m/b", json!(2), "a"),
            "m:\n  a: {\n    x: 1\n  }\n  b: 2\n  c: 2\n",
        ),
        (
            "m:\n  a: [\n    1\n  ]\n  c: 2\n",
            Do::Behind("/m/b", json!(2), "a"),
            "m:\n  a: [\n    1\n  ]\n  b: 2\n  c: 2\n",
        ),
        (
            "m:\n  a:\n    x: 1\n\n  # c\n  c: 2\n",
            Do::Behind("/m/b", json!(2), "a"),
            "m:\n  a:\n    x: 1\n  b: 2\n\n  # c\n  c: 2\n",
        ),
        (
            "m:\n  a:\n    - 1\n\n  # c\n  c: 2\n",
            Do::Behind("/m/b", json!(2), "a"),
            "m:\n  a:\n    - 1\n  b: 2\n\n  # c\n  c: 2\n",
        ),
        ("m:\n  a:\n    x:\n  c: 2\n", Do::Behind("/m/b", json!(2), "a"), "m:\n  a:\n    x:\n  b: 2\n  c: 2\n"),
        ("m:\n  a:\n    -\n  c: 2\n", Do::Behind("/m/b", json!(2), "a"), "m:\n  a:\n    -\n  b: 2\n  c: 2\n"),
        ("l:\n- a: 1\n  b: 2\n", set("/l/0/c", json!(3)), "l:\n- a: 1\n  b: 2\n  c: 3\n"),
        ("l:\n- a: 1\n", set("/l/0/c", json!(3)), "l:\n- a: 1\n  c: 3\n"),
        // What stands in brackets beside it says how it is written.
        (
            "m:\n  1: { s: a }\n",
            set("/m/2", json!({ "s": "a: b", "t": null })),
            "m:\n  1: { s: a }\n  2: { s: \"a: b\", t: null }\n",
        ),
        (
            "t: 2026-01-31T11:00:00Z\nm: {}\n",
            set("/m/at", json!("2026-01-31T12:00:00Z")),
            "t: 2026-01-31T11:00:00Z\nm:\n  at: 2026-01-31T12:00:00Z\n",
        ),
    ] {
        assert_eq!(done(text, &what).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn a_new_key_is_quoted_where_it_would_mean_something_else() {
    for (key, quoted) in [
        ("plain", "plain"),
        ("1.10", "1.10"),
        ("yes", "\"yes\""),
        ("Null", "\"Null\""),
        ("<<", "\"<<\""),
        ("a: b", "\"a: b\""),
        ("a b", "a b"),
        (" a", "\" a\""),
        ("-", "\"-\""),
        ("... a", "\"... a\""),
        ("--- a", "\"--- a\""),
        ("a\tb", "\"a\\tb\""),
    ] {
        let expected = format!("a: 1\n{quoted}: 2\n");
        assert_eq!(done("a: 1\n", &set(&format!("/{key}"), json!(2))).as_ref(), Ok(&expected), "{key}");
        let one_line = if key == "a\tb" { quoted.to_owned() } else { format!("'{key}'") };
        let expected = format!("'a': 1\n{one_line}: 2\n");
        assert_eq!(done("'a': 1\n", &set(&format!("/{key}"), json!(2))).as_ref(), Ok(&expected), "{key}");
    }
}

#[test]
fn lists_grow_and_what_goes_takes_only_its_own_lines() {
    for (text, what, expected) in [
        ("l:\n  - a # c\nm: 1\n", push("/l", json!("b")), "l:\n  - a # c\n  - b\nm: 1\n"),
        ("l:\n- a", push("/l", json!({ "x": 1, "y": 2 })), "l:\n- a\n- x: 1\n  y: 2"),
        ("l:\n- { x: 0 }\n", push("/l", json!({ "x": 1 })), "l:\n- { x: 0 }\n- { x: 1 }\n"),
        ("l: [a, b]\n", push("/l", json!("c")), "l: [a, b, c]\n"),
        ("l: [a,b]\n", push("/l", json!("c")), "l: [a,b,c]\n"),
        ("l:\n  - a\n", push("/l", json!({})), "l:\n  - a\n  - {}\n"),
        ("l:\n  - a\n  -\nm: 1\n", push("/l", json!("b")), "l:\n  - a\n  -\n  - b\nm: 1\n"),
        ("l:\n  - a:\n  - b\n", Do::Remove("/l/0"), "l:\n  - b\n"),
        ("l:\n  - x: 1\n", push("/l", json!({ "x": 2 })), "l:\n  - x: 1\n  - x: 2\n"),
        ("l: []\n", push("/l", json!("c")), "l:\n  - c\n"),
        ("l:\n", push("/l", json!("c")), "l:\n  - c\n"),
        ("m: 1\n", push("/l", json!("c")), "m: 1\nl:\n  - c\n"),
        ("m: { l: [] }\n", push("/m/l", json!({ "x": 1 })), "m: { l: [{ x: 1 }] }\n"),
        ("a: 1 # one\nb:\n  c: 2\nd: 3\n", Do::Remove("/b"), "a: 1 # one\nd: 3\n"),
        ("a: 1\nb: 2", Do::Remove("/b"), "a: 1"),
        ("a: 1\r\nb: 2", Do::Remove("/b"), "a: 1"),
        ("m:\n  # why\n  a: 1\nn: 2\n", Do::Remove("/m/a"), "m: {}\n  # why\nn: 2\n"),
        ("m: { a: 1, b: 2 }\n", Do::Remove("/m/a"), "m: { b: 2 }\n"),
        ("m: { a: 1, b: 2 }\n", Do::Remove("/m/b"), "m: { a: 1 }\n"),
        ("l:\n  - a\n  - b: 1\n    c: 2\n  - d\n", Do::Remove("/l/1"), "l:\n  - a\n  - d\n"),
        ("l:\n  - a\n", Do::Remove("/l/0"), "l: []\n"),
        ("l:\n  -\n  - b\n", Do::Remove("/l/0"), "l:\n  - b\n"),
        ("l:\n  -\n  - b\n", Do::Remove("/l/1"), "l:\n  -\n"),
        ("a: 1\n", Do::Remove("/b"), "a: 1\n"),
    ] {
        assert_eq!(done(text, &what).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn what_cannot_be_changed_by_itself_is_refused_with_its_place() {
    for (text, what, line) in [
        ("a: &x b\nc: *x\n", set("/a", json!("z")), 1),
        ("a: &x b\nc: *x\n", set("/c", json!("z")), 2),
        ("a: &x { b: 1 }\nc: *x\n", set("/a/b", json!("z")), 1),
        ("a: &x { b: 1 }\nc: *x\n", set("/c/b", json!("z")), 2),
        ("a: &x\nb: *x\n", set("/a", json!("z")), 1),
        ("a: !!str 1\n", set("/a", json!("z")), 1),
        ("b: &b { x: 1 }\na:\n  <<: *b\n  y: 1\n", set("/a/x", json!(2)), 1),
        ("a: [1]\n", set("/a/b", json!(1)), 1),
        ("a: text\n", set("/a/b", json!(1)), 1),
        ("a:\n  b: 1\n", set("/a", json!(1)), 1),
        ("? a\n: b\n", set("/a", json!(1)), 1),
        ("l:\n  -\n  - b\n", set("/l/0", json!("x")), 2),
        ("l:\n  - |\n    a\n", set("/l/0", json!("x")), 3),
        ("text\n", set("", json!("x")), 1),
        ("a: |+\n  x\n\nb: 1\n", Do::Behind("/c", json!(1), "a"), 1),
        ("a: 1\n", Do::Push("/a", json!(1)), 1),
        ("- a: 1\n  b: 2\n", Do::Remove("/0/a"), 1),
        ("", set("/a", json!(1)), 1),
    ] {
        let refused = done(text, &what).expect_err(text);
        assert_eq!(refused.line, line, "{text}: {refused:?}");
    }
    for text in ["a: 1\n---\nb: 2\n", "a: 1\na: 2\n", "a:\n\tb: 1\n"] {
        assert!(Editor::parse(text.as_bytes(), Syntax::Yaml).is_err(), "{text}");
    }
}

/// Lists the pointer of every value, with the bytes that a change of it may touch.
fn pointers(text: &str) -> Vec<(String, Range<usize>)> {
    fn walk(text: &str, node: &Node, at: &str, held: Range<usize>, all: &mut Vec<(String, Range<usize>)>) {
        all.push((at.to_owned(), held));
        match &node.kind {
            Kind::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    walk(text, item, &format!("{at}/{index}"), item.span.range(), all);
                }
            }
            Kind::Map(members) => {
                for member in members {
                    let key = member.key.replace('~', "~0").replace('/', "~1");
                    let colon = member.span.end + text[member.span.end..].find(':').map_or(0, |at| at + 1);
                    let held = member.span.end..member.value.span.end.max(colon);
                    walk(text, &member.value, &format!("{at}/{key}"), held, all);
                }
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {}
        }
    }
    let mut all = Vec::new();
    if let Ok(document) = Editor::parse(text.as_bytes(), Syntax::Yaml) {
        walk(text, document.root(), "", 0..text.len(), &mut all);
    }
    all
}

/// Tells whether one text is the other with one piece put into it.
fn has_only_more(old: &str, new: &str) -> bool {
    let prefix = old.bytes().zip(new.bytes()).take_while(|(one, other)| one == other).count();
    let suffix = old.bytes().rev().zip(new.bytes().rev()).take_while(|(one, other)| one == other).count();
    prefix + suffix >= old.len()
}

/// Renders a mapping of mappings to a depth, with comments and every style of scalar.
fn document() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("plain"),
        Just("'it''s'"),
        Just("\"q\\n\""),
        Just("1.10"),
        Just("~"),
        Just(""),
        Just("[a, 'b']"),
        Just("{ x: 1, \"y\": [2] }"),
        Just("{}"),
        Just("2026-01-31T12:00:00Z"),
        Just("|-\n@  one\n@  two"),
    ];
    let line = (0_usize..3, scalar, prop_oneof![Just(""), Just(" # why"), Just("\n@# before"), Just("\n")]);
    (prop::collection::vec(line, 1..12), prop_oneof![Just("\n"), Just("\r\n")], any::<bool>()).prop_map(
        |(lines, newline, ends)| {
            let mut text = String::new();
            let mut depth = 0;
            for (index, (wanted, scalar, tail)) in lines.into_iter().enumerate() {
                let pad = "  ".repeat(depth);
                let (scalar, is_map) = if wanted > depth { ("", true) } else { (scalar, false) };
                let tail = if scalar.starts_with('|') { "" } else { tail };
                text.push_str(&format!("{pad}k{index}: {scalar}{tail}\n").replace('@', &pad));
                if is_map {
                    depth += 1;
                    text.push_str(&format!("{}only{index}: x\n", "  ".repeat(depth)));
                } else {
                    depth = wanted.min(depth);
                }
            }
            let text = text.replace('\n', newline);
            if ends { text } else { text.trim_end().to_owned() }
        },
    )
}

fn value() -> impl Strategy<Value = Value> {
    let text = "[a-z0-9é'\"\\\\ :#,\\[\\]{}&*!|>%@`~=?-]{0,8}";
    prop_oneof![
        text.prop_map(Value::String),
        Just(json!(null)),
        Just(json!(7)),
        Just(json!(true)),
        Just(json!("a\nb")),
        Just(json!("2026-01-31T12:00:00Z")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// What the tree says afterwards is held to what was asked for by the editor itself; here the bytes are.
    #[test]
    fn only_the_bytes_of_the_value_change(text in document(), value in value()) {
        let places = pointers(&text);
        prop_assert!(!places.is_empty(), "{text}");
        for (pointer, held) in places.into_iter().skip(1) {
            let node = Editor::parse(text.as_bytes(), Syntax::Yaml).unwrap().get(&pointer).unwrap().clone();
            let is_open = !matches!(node.kind, Kind::Map(_)) || node.style == Style::Flow;
            match done(&text, &set(&pointer, value.clone())) {
                Ok(new) => {
                    prop_assert!(new.starts_with(&text[..held.start]) && new.ends_with(&text[held.end..]), "{text}\n->\n{new}");
                }
                Err(refused) => prop_assert!(!is_open, "{pointer} of\n{text}: {refused:?}"),
            }
            if matches!(node.kind, Kind::Map(_)) {
                let new = done(&text, &set(&format!("{pointer}/new"), value.clone()));
                prop_assert!(new.is_ok(), "{pointer} of\n{text}: {new:?}");
                prop_assert!(node.style == Style::Flow || has_only_more(&text, &new.unwrap()), "{text}");
            }
        }
    }

    #[test]
    fn no_text_and_no_change_panics(text in "([a-c0-9é \\n\\t:{}\\[\\],#&*|>'\"~?!-]|\\r\\n|: |- |\\n  |<<: ){0,40}", value in value()) {
        for (pointer, _) in pointers(&text) {
            let deeper = format!("{pointer}/new");
            for what in [set(&pointer, value.clone()), set(&deeper, value.clone()), push(&pointer, value.clone()), Do::Remove(&pointer)] {
                if let Ok(new) = done(&text, &what) {
                    prop_assert!(Editor::parse(new.as_bytes(), Syntax::Yaml).is_ok());
                }
            }
        }
    }
}
