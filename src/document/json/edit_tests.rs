use serde_json::json;

use crate::document::{Editor, Syntax, parse_json};

fn edited(text: &str, edit: impl FnOnce(&mut Editor)) -> String {
    let mut document = Editor::parse(text.as_bytes(), Syntax::Json).unwrap();
    edit(&mut document);
    String::from_utf8(document.into_bytes()).unwrap()
}

#[test]
fn setting_a_value_touches_only_its_bytes() {
    let text = "\u{feff}{\r\n    \"b\" : 1.10,\r\n    \"a\": {\"x\":[1,2]},\r\n\t\"s\": \"old\"}";
    let expected = text.replace("\"old\"", "\"new\\n\"");
    assert_eq!(edited(text, |doc| doc.set("/s", &json!("new\n")).unwrap()), expected);
    assert_eq!(edited(text, |doc| doc.set("/a/x/1", &json!(3)).unwrap()), text.replace("[1,2]", "[1,3]"));
}

#[test]
fn keys_are_added_in_the_style_of_the_file() {
    for (text, expected) in [
        (
            "{\n    \"a\": 1\n}\n",
            "{\n    \"a\": 1,\n    \"k\": {\n        \"v\": [\n            1\n        ]\n    }\n}\n",
        ),
        ("{\r\n  \"a\": 1\r\n}", "{\r\n  \"a\": 1,\r\n  \"k\": {\r\n    \"v\": [\r\n      1\r\n    ]\r\n  }\r\n}"),
        ("{\"a\":1}", "{\"a\":1,\"k\":{\"v\":[1]}}"),
        ("{\"a\": 1, \"b\": 2}", "{\"a\": 1, \"b\": 2, \"k\": {\"v\": [1]}}"),
        ("{\n\t\"a\":1\n}", "{\n\t\"a\":1,\n\t\"k\":{\n\t\t\"v\": [\n\t\t\t1\n\t\t]\n\t}\n}"),
    ] {
        assert_eq!(edited(text, |doc| doc.set("/k", &json!({"v": [1]})).unwrap()), expected, "{text}");
        let mut document = Editor::parse(text.as_bytes(), Syntax::Json).unwrap();
        document.set("/k", &json!({"v": [1]})).unwrap();
        assert_eq!(document.get("/k").unwrap().to_json(), json!({"v": [1]}));
    }
}

#[test]
fn empty_containers_are_filled() {
    assert_eq!(edited("{}", |doc| doc.set("/a", &json!(1)).unwrap()), "{\"a\": 1}");
    assert_eq!(edited("{\n  \"l\": []\n}", |doc| doc.push("/l", &json!(1)).unwrap()), "{\n  \"l\": [\n    1\n  ]\n}");
    assert_eq!(edited("{\"l\":[]}", |doc| doc.push("/l", &json!(1)).unwrap()), "{\"l\":[1]}");
}

#[test]
fn an_empty_container_stays_on_one_line() {
    let empty = json!({"v": {}, "w": []});
    assert_eq!(
        edited("{\n  \"a\": 1\n}", |doc| doc.set("/k", &empty).unwrap()),
        "{\n  \"a\": 1,\n  \"k\": {\n    \"v\": {},\n    \"w\": []\n  }\n}"
    );
    assert_eq!(edited("{\"a\": 1}", |doc| doc.set("/a", &empty).unwrap()), "{\"a\": {\"v\": {}, \"w\": []}}");
}

#[test]
fn elements_go_together_as_they_go_one_by_one() {
    for text in ["{\"l\": [1, 2 , 3,4]}", "{\n  \"l\": [\n    1,\n    2,\n    3,\n    4\n  ]\n}"] {
        for gone in [&[0][..], &[3], &[0, 1], &[2, 3], &[0, 2], &[1, 3], &[0, 1, 2, 3]] {
            let together = edited(text, |doc| doc.remove_elements("/l", gone).unwrap());
            let each = |doc: &mut Editor| gone.iter().rev().for_each(|at| doc.remove(&format!("/l/{at}")).unwrap());
            assert_eq!(together, edited(text, each), "{gone:?}");
        }
        assert_eq!(edited(text, |doc| doc.remove_elements("/l", &[4]).unwrap()), text);
    }
}

#[test]
fn pushing_follows_the_last_element() {
    assert_eq!(
        edited("{\n  \"l\": [\n    {\"a\": 1}\n  ]\n}", |doc| doc.push("/l", &json!({"a": 2})).unwrap()),
        "{\n  \"l\": [\n    {\"a\": 1},\n    {\"a\": 2}\n  ]\n}"
    );
    assert_eq!(
        edited("{\n  \"l\": [\n    {\n      \"a\": 1\n    }\n  ]\n}", |doc| doc.push("/l", &json!({"a": 2})).unwrap()),
        "{\n  \"l\": [\n    {\n      \"a\": 1\n    },\n    {\n      \"a\": 2\n    }\n  ]\n}"
    );
    assert_eq!(edited("{\"l\": [1, 2]}", |doc| doc.push("/l", &json!(3)).unwrap()), "{\"l\": [1, 2, 3]}");
    assert_eq!(edited("{\"l\": [1 ,2]}", |doc| doc.push("/l", &json!(3)).unwrap()), "{\"l\": [1 ,2 ,3]}");
    assert_eq!(edited("{\"l\":[1]}", |doc| doc.push("/l", &json!({"a": 2})).unwrap()), "{\"l\":[1,{\"a\":2}]}");
    assert_eq!(edited("{\"a\": 1}", |doc| doc.push("/l", &json!(3)).unwrap()), "{\"a\": 1, \"l\": [3]}");
}

#[test]
fn missing_objects_on_the_way_are_made() {
    assert_eq!(edited("{\"a\":1}", |doc| doc.set("/x/y/z", &json!(1)).unwrap()), "{\"a\":1,\"x\":{\"y\":{\"z\":1}}}");
    assert_eq!(edited("{\"a\":1}", |doc| assert!(doc.set("/a/y", &json!(1)).is_err())), "{\"a\":1}");
    assert_eq!(edited("{\"a/b\":1}", |doc| doc.set("/a~1b", &json!(2)).unwrap()), "{\"a/b\":2}");
}

#[test]
fn keys_are_removed_with_their_comma() {
    for (text, expected) in [
        ("{\"a\": 1, \"b\": 2, \"c\": 3}", "{\"a\": 1, \"c\": 3}"),
        ("{\"b\": 2, \"c\": 3}", "{\"c\": 3}"),
        ("{\"b\": 2}", "{}"),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}\n", "{\n  \"a\": 1\n}\n"),
    ] {
        assert_eq!(edited(text, |doc| doc.remove("/b").unwrap()), expected);
    }
}

#[test]
fn a_key_that_is_there_several_times_goes_altogether() {
    for (text, expected) in [
        ("{\"b\": 1, \"a\": 2, \"b\": 3}", "{\"a\": 2}"),
        ("{\"b\": 1, \"b\": 3, \"a\": 2}", "{\"a\": 2}"),
        ("{\"a\": 2, \"b\": 1, \"\\u0062\": 3}", "{\"a\": 2}"),
        ("{\n  \"b\": 1,\n  \"a\": [2],\n  \"b\": {},\n  \"c\": 4\n}\n", "{\n  \"a\": [2],\n  \"c\": 4\n}\n"),
        ("{ \"b\": 1, \"b\": 3 }", "{  }"),
    ] {
        let mut document = Editor::parse(text.as_bytes(), Syntax::Json).unwrap();
        document.remove("/b").unwrap();
        assert!(document.get("/b").is_none(), "{text}");
        document.set("/b", &json!(5)).unwrap();
        assert_eq!(document.get("/b").unwrap().as_u64(), Some(5), "{text}");
        assert_eq!(edited(text, |doc| doc.remove("/b").unwrap()), expected);
    }
}

#[test]
fn elements_are_removed_with_their_comma() {
    for (text, expected) in [
        ("{\"l\": [1, {\"a\": [2]}, 3]}", "{\"l\": [1, 3]}"),
        ("{\"l\": [1, 2]}", "{\"l\": [1]}"),
        ("{\n  \"l\": [\n    1,\n    2,\n    3\n  ]\n}\n", "{\n  \"l\": [\n    1,\n    3\n  ]\n}\n"),
    ] {
        let removed = edited(text, |doc| {
            ["/l/1", "/l/3", "/l/7", "/l/x"].iter().for_each(|gone| doc.remove(gone).unwrap());
            assert!(doc.get("/l/0").is_some());
        });
        assert_eq!(removed, expected);
    }
    assert_eq!(
        edited("{\"l\": [1]}", |doc| {
            doc.remove("/l/0").unwrap();
            doc.push("/l", &json!(2)).unwrap();
        }),
        "{\"l\": [2]}"
    );
}

#[test]
fn the_last_of_doubled_keys_counts_as_in_serde() {
    let text = "{\"a\":1,\"a\":2}";
    assert_eq!(edited(text, |doc| doc.set("/a", &json!(3)).unwrap()), "{\"a\":1,\"a\":3}");
}

#[test]
fn errors_name_line_and_column() {
    let error = parse_json(b"{\n  \"total\": 9,166\n}").unwrap_err();
    assert_eq!((error.place.line, error.place.column), (2, 14));
    let error = parse_json(b"").unwrap_err();
    assert_eq!(error.place.line, 1);
    assert!(error.message.contains("empty"), "{}", error.message);
    let error = parse_json(b"{\"a\":\n\"\xff\"}").unwrap_err();
    assert_eq!((error.place.line, error.place.column, error.message.as_str()), (2, 2, "not UTF-8 text"));
    assert!(parse_json("[".repeat(100_000).as_bytes()).is_err());
}

#[test]
fn positions_are_those_of_the_values() {
    let root = parse_json(b"{\n  \"a\": {\n    \"b\": 1\n  }\n}").unwrap();
    let place = |pointer: &str| root.at(pointer).map(|node| (node.place.line, node.place.column));
    assert_eq!(place("/a/b"), Some((3, 10)));
    assert_eq!(place(""), Some((1, 1)));
    assert_eq!(place("/nope"), None);
}

#[test]
fn null_is_filled_like_a_missing_value() {
    assert_eq!(edited("{\"l\": null}", |doc| doc.push("/l", &json!(1)).unwrap()), "{\"l\": [1]}");
    assert_eq!(edited("{\"o\": null}", |doc| doc.set("/o/k", &json!(1)).unwrap()), "{\"o\": {\"k\": 1}}");
}

#[test]
fn an_equal_value_keeps_its_spelling() {
    for text in ["{\"a\": 1.50}", "{\"a\": \"\\u0078\"}", "{\"a\": [ 1 ,2]}"] {
        let value = parse_json(text.as_bytes()).unwrap().get("a").unwrap().to_json();
        assert_eq!(edited(text, |doc| doc.set("/a", &value).unwrap()), text);
    }
}
