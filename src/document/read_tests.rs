//! Reading: the words of errors, lenient and strict fields, and what is left of broken files.

use serde_json::json;

use super::{
    Fault, Kind, Node, OpenError, Reader, Syntax,
    definition::{Problems, identifier, text_of},
    parse, parse_definition, salvage,
    tree::Span,
};
use crate::model::{FileSet, RelPath, testing::files_of};

fn file() -> RelPath {
    RelPath::parse("state.json").unwrap()
}

/// Returns a set with another file.
fn files() -> FileSet {
    files_of("other.json", b"{}")
}

fn tree(text: &str) -> Node {
    parse(text.as_bytes(), Syntax::Yaml).unwrap()
}

#[test]
fn an_error_of_json_has_its_place_and_plain_words() {
    let deep = "[".repeat(200);
    for (text, expected) in [
        ("", "line 1, column 1: the file is empty"),
        (" \n ", "line 2, column 1: the file is empty"),
        (deep.as_str(), "line 1, column 128: it is nested too deep"),
        ("{\"a\":", "line 1, column 5: the file ends too early (EOF while parsing a value)"),
        ("{\n  a: 1}", "line 2, column 3: key must be a string"),
        ("{}\n=======\n", "line 2, column 1: unresolved merge conflict at line 2"),
    ] {
        let error = parse(text.as_bytes(), Syntax::Json).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text:.20}");
    }
}

#[test]
fn values_nest_sixty_four_levels_in_every_form() {
    let fault = |text: String| parse(text.as_bytes(), Syntax::Yaml).err().map(|error| error.fault);
    let lists = |levels: usize| format!("{}x\n", "- ".repeat(levels));
    let maps = |levels: usize| (0..levels).map(|level| format!("{}a:\n", " ".repeat(level))).collect::<String>();
    for (levels, expected) in [(64, None), (65, Some(Fault::TooMuch)), (70, Some(Fault::TooMuch))] {
        assert_eq!(fault(lists(levels)), expected, "{levels} lists");
        assert_eq!(fault(maps(levels)), expected, "{levels} mappings");
    }
    for (open, close) in [("[", "]"), ("{a: ", "}")] {
        let nested = |levels: usize| format!("{}x{}\n", open.repeat(levels), close.repeat(levels));
        assert_eq!((fault(nested(64)), fault(nested(65))), (None, Some(Fault::TooMuch)), "{open}");
        // Both count.
        let mixed = |levels: usize| format!("{}{}", "- ".repeat(32), nested(levels));
        assert_eq!((fault(mixed(32)), fault(mixed(33))), (None, Some(Fault::TooMuch)), "{open}");
    }
    let error = parse(lists(65).as_bytes(), Syntax::Yaml).unwrap_err();
    assert_eq!(error.message, "values are nested deeper than 64 levels");
}

#[test]
fn a_definition_may_have_a_mebibyte() {
    let comment = |bytes: usize| format!("#{}", "x".repeat(bytes - 1));
    assert!(parse_definition(comment(1 << 20).as_bytes()).is_ok());
    let error = parse_definition(comment((1 << 20) + 1).as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "line 1, column 1: the file has 1048577 bytes, more than the 1048576 that are read");
}

#[test]
fn a_conflict_explains_a_mistake_and_not_a_limit() {
    for (text, fault, is_conflict) in [
        ("a: 1\n=======\nb: 2\n".to_owned(), Fault::Syntax, true),
        ("a: 1\na: 2\n".to_owned(), Fault::DuplicateKey, false),
        (format!("{}x\n=======\n", "- ".repeat(70)), Fault::TooMuch, false),
    ] {
        let error = parse(text.as_bytes(), Syntax::Yaml).unwrap_err();
        assert_eq!((error.fault, error.message.contains("merge conflict")), (fault, is_conflict), "{error}");
    }
}

#[test]
fn a_finding_names_the_key_and_blocks_only_for_the_field_that_is_required() {
    let text = "a:\n  b: [1]\nl:\n  - c: {}\nk: x\n";
    let files = files();
    let reader = Reader::new(&files, &file(), tree(text));
    let said = || reader.take_findings().into_iter().map(|finding| format!("{}: {}", finding.code, finding.message));
    let said = || said().collect::<Vec<String>>();
    assert_eq!(reader.get("a").get("b").text(), None);
    assert_eq!(said(), ["field-ignored: `b` is a list, not text and was ignored"]);
    assert_eq!(reader.get("a").required().get("b").text(), None);
    assert_eq!(said(), ["field-ignored: `b` is a list, not text and was ignored"], "the key above is required");
    assert_eq!(reader.get("a").get("b").required().text(), None);
    assert_eq!(said(), ["state-wrong-type: `b` is a list, not text"]);
    assert_eq!(reader.get("gone").required().text(), None);
    assert_eq!(said(), ["state-missing-field: `gone` is missing"]);
    let members = reader.get("a").required().members();
    assert_eq!((members[0].0, members[0].1.text()), ("b", None));
    assert_eq!(said(), ["field-ignored: `b` is a list, not text and was ignored"]);
    let items = reader.get("l").required().items();
    assert_eq!(items[0].text(), None);
    assert_eq!(said(), ["field-ignored: `l` is a mapping, not text and was ignored"]);
}

#[test]
fn of_two_spellings_the_first_that_has_a_value_counts() {
    for (text, expected) in [
        ("{a: 1, b: 2}", Some("1")),
        ("{b: 2}", Some("2")),
        ("{a: null, b: 2}", Some("2")),
        ("{a: 1}", Some("1")),
        ("{}", None),
    ] {
        let files = files();
        let reader = Reader::new(&files, &file(), tree(text));
        assert_eq!(reader.root().either(["a", "b"]).text(), expected, "{text}");
        // What is missing has its first name.
        reader.root().either(["a", "b"]).required().text();
        let missing = reader.into_findings();
        assert_eq!(
            missing.first().map(|finding| finding.message.as_str()),
            expected.is_none().then_some("`a` is missing")
        );
    }
}

#[test]
fn a_file_that_is_not_there_is_not_a_broken_one() {
    let files = files();
    let missing = Reader::open(&files, &file(), Syntax::Json);
    assert!(matches!(missing, Err(OpenError::Unread(_))), "{missing:?}");
}

#[test]
fn an_id_can_be_used_in_commands_and_file_names() {
    let long = "x".repeat(101);
    for (text, fix) in [
        ("a-b_c.d:1", None),
        ("é1", None),
        ("a b", Some("for instance `a-b`")),
        ("-a", Some("for instance `a`")),
        (".a", Some("for instance `a`")),
        ("a/b", Some("for instance `a-b`")),
        ("--", Some("write an id of these")),
        (&long, Some(&*format!("for instance `{}`", "x".repeat(60)))),
        (" ", Some("write a text, or leave the key out")),
    ] {
        let path = file();
        let mut problems = Problems::of(&path);
        let node = Node::of(&json!(text));
        let found = identifier(&node, "the id", &mut problems);
        assert_eq!((found.is_some(), problems.is_empty()), (fix.is_none(), fix.is_none()), "{text}");
        let findings = problems.in_order();
        assert_eq!(findings.first().and_then(crate::model::Finding::fix_text).as_deref(), fix, "{text}");
    }
}

#[test]
fn a_number_is_a_text_and_a_blank_is_not() {
    for (value, expected) in [
        (json!("a"), Some("a")),
        (json!(1), Some("1")),
        (json!(" "), None),
        (json!(""), None),
        (json!(true), None),
        (json!([]), None),
    ] {
        let path = file();
        let found = text_of(&Node::of(&value), "it", &mut Problems::of(&path));
        assert_eq!(found.map(|found| found.text).as_deref(), expected, "{value}");
    }
}

#[test]
fn a_broken_file_begins_with_an_object_or_has_none() {
    for (text, expected) in [
        ("{\"a\": 1} {\"b\"", Some(json!({"a": 1}))),
        ("{\"a\": 1, \"b\"", Some(json!({"a": 1}))),
        ("[1]", None),
        ("text", None),
        ("{\"a\": 1}\n=======\n", None),
    ] {
        assert_eq!(salvage::json_object(text.as_bytes()), expected, "{text}");
    }
    let long = |length: usize| format!("mode: {}\n", "x".repeat(length));
    assert_eq!(salvage::text(long(400).as_bytes(), "mode").map(|text| text.len()), Some(400));
    assert_eq!(salvage::text(long(401).as_bytes(), "mode"), None, "it is not a word");
}

#[test]
fn a_span_contains_what_lies_between_its_ends() {
    let span = |start, end| Span { start, end };
    for (inner, expected) in [
        (span(2, 5), true),
        (span(3, 4), true),
        (span(2, 2), true),
        (span(1, 5), false),
        (span(2, 6), false),
        (span(1, 6), false),
        (span(7, 9), false),
    ] {
        assert_eq!(span(2, 5).contains(inner), expected, "{inner:?}");
    }
}

#[test]
fn only_a_boolean_is_true_or_false() {
    for (text, expected) in [("true", Some(true)), ("false", Some(false)), ("yes", None), ("1", None), ("~", None)] {
        assert_eq!(tree(text).as_bool(), expected, "{text}");
    }
}

#[test]
fn the_exponent_of_a_number_has_digits() {
    for (text, expected) in [
        ("1", true),
        ("-1.5", true),
        ("1e3", true),
        ("1.5e-3", true),
        ("1e", false),
        ("1e+", false),
        ("1ex", false),
        ("1.2.3", false),
    ] {
        assert_eq!(matches!(tree(text).kind, Kind::Number(_)), expected, "{text}");
    }
}
