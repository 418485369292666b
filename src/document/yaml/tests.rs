use super::{parse, parse_state};
use crate::document::{
    Fault,
    tree::{Kind, Node, Style, TextPosition},
};

fn find<'a>(node: &'a Node, key: &str) -> &'a Node {
    let Kind::Map(members) = &node.kind else { panic!("no mapping: {node:?}") };
    &members.iter().find(|member| member.key == key).unwrap().value
}

#[test]
fn every_scalar_keeps_its_spelling_and_its_place() {
    let text = "a: 1.10\nb: 007\nc: yes\nd: true\ne: ~\nf: 'é' \ng: [x, 2.50]\nh: 1e3\n";
    let root = parse(text.as_bytes()).unwrap();
    for (key, kind, line, column) in [
        ("a", Kind::Number("1.10".into()), 1, 4),
        ("b", Kind::Text("007".into()), 2, 4),
        ("c", Kind::Text("yes".into()), 3, 4),
        ("d", Kind::Bool(true), 4, 4),
        ("e", Kind::Null, 5, 4),
        ("f", Kind::Text("é".into()), 6, 4),
        ("h", Kind::Number("1e3".into()), 8, 4),
    ] {
        let node = find(&root, key);
        let spelled = |kind: &Kind| match kind {
            Kind::Number(text) | Kind::Text(text) => Some(text.clone()),
            Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Map(_) => None,
        };
        assert_eq!(spelled(&node.kind), spelled(&kind), "{key}");
        assert_eq!(node.place, TextPosition { line, column }, "{key}");
    }
    let Kind::List(items) = &find(&root, "g").kind else { panic!() };
    assert_eq!((items[1].place, &items[1].kind), (TextPosition { line: 7, column: 8 }, &Kind::Number("2.50".into())));
}

#[test]
fn json_is_read_with_tabs_and_places() {
    let root = parse(b"{\n\t\"steps\": [\n\t\t{\"id\": \"a\", \"title\": \"A\"}\n\t]\n}\n").unwrap();
    let Kind::List(items) = &find(&root, "steps").kind else { panic!() };
    assert_eq!(find(&items[0], "title").place, TextPosition { line: 3, column: 24 });
}

#[test]
fn what_is_no_yaml_is_an_error_with_its_place() {
    for (text, line, column, message) in [
        ("a: 1\na: 2\n", 2, 1, "duplicate mapping key: a"),
        ("{\"a\": 1, \"a\": 2}", 1, 10, "duplicate mapping key: a"),
        ("a: [1, 2\nb: 3\n", 2, 2, "illegal placement"),
        ("a: *nothing\n", 1, 4, ""),
    ] {
        let error = parse(text.as_bytes()).unwrap_err();
        assert_eq!((error.place.line, error.place.column), (line, column), "{text}: {error:?}");
        assert!(error.message.contains(message), "{error:?}");
    }
    assert_eq!(parse(b"a: \xff").unwrap_err().place, TextPosition { line: 1, column: 4 });
}

#[test]
fn aliases_cannot_multiply_what_is_read() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let before = level - 1;
        let list = vec![format!("*a{before}"); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{list}]\n"));
    }
    assert!(parse(text.as_bytes()).is_err());
    assert!(parse("[".repeat(100_000).as_bytes()).is_err());
    assert!(parse(&vec![b' '; 2 << 20]).is_err());
}

/// Follows keys, and positions in lists.
fn at<'a>(root: &'a Node, path: &str) -> &'a Node {
    path.split('/').fold(root, |node, part| match &node.kind {
        Kind::List(items) => &items[part.parse::<usize>().unwrap()],
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => node.get(part).unwrap(),
    })
}

#[test]
fn spans_are_the_bytes_of_a_value_whatever_stands_around_it() {
    let text = "\u{feff}# é\r\nwaves:\r\n  1: # first\r\n    'é': { status: in_progress , \"b\": 'it''s', empty: }\r\n    13.10: \
                2026-02-14T04:38:53.739Z # stamp\r\n  note: |-\r\n    one\r\n    two\r\n\r\n  # before\r\n  list:\r\n  - &x \
                \"q\\n\"\r\n  - *x\r\n  - [1, a b]\r\nlast: plain\r\n  on two\r\n";
    let root = parse_state(text.as_bytes()).unwrap();
    for (path, written, style) in [
        ("waves/1/é", "{ status: in_progress , \"b\": 'it''s', empty: }", Style::Flow),
        ("waves/1/é/status", "in_progress", Style::Plain),
        ("waves/1/é/b", "'it''s'", Style::SingleQuoted),
        ("waves/1/é/empty", "", Style::Plain),
        ("waves/1/13.10", "2026-02-14T04:38:53.739Z", Style::Plain),
        ("waves/note", "one\r\n    two", Style::BlockScalar),
        ("waves/list", "- &x \"q\\n\"\r\n  - *x\r\n  - [1, a b]", Style::Block),
        ("waves/list/0", "\"q\\n\"", Style::DoubleQuoted),
        ("waves/list/1", "*x", Style::Alias),
        ("waves/list/2/1", "a b", Style::Plain),
        ("last", "plain\r\n  on two", Style::Plain),
    ] {
        let node = at(&root, path);
        assert_eq!((&text[node.span.range()], node.style), (written, style), "{path}");
        assert!(root.span.contains(node.span), "{path}");
    }
    for (text, written) in [
        ("l:\n- - a\n  - b\n- c\n", "- - a\n  - b\n- c"),
        ("l:\n  - -x\n  - b\n", "- -x\n  - b"),
        ("l:\n- -x\n", "- -x"),
    ] {
        let root = parse_state(text.as_bytes()).unwrap();
        assert_eq!(&text[at(&root, "l").span.range()], written, "{text}");
    }
    let member = at(&root, "waves/1").member("é").unwrap();
    assert_eq!((&text[member.span.range()], member.place), ("'é'", TextPosition { line: 4, column: 5 }));
    assert_eq!(at(&root, "waves/list/1").kind, Kind::Text("q\n".into()));
}

#[test]
fn ids_are_the_text_they_are_written_as() {
    let root =
        parse_state(b"13.1: a\n13.10: b\n'1': c\n0o7: d\n1_0: 1_0\n12:30: 0x1f\nnull: .inf\nTrue: True\n").unwrap();
    for (key, value) in [
        ("13.1", "a"),
        ("13.10", "b"),
        ("1", "c"),
        ("0o7", "d"),
        ("1_0", "1_0"),
        ("12:30", "0x1f"),
        ("null", ".inf"),
        ("True", "True"),
    ] {
        assert_eq!(root.get(key).unwrap().kind, Kind::Text(value.into()), "{key}");
    }
    assert_eq!(parse_state(b"1: a\n'1': b\n").unwrap_err().fault, Fault::DuplicateKey);
}

#[test]
fn what_goes_on_after_a_document_is_told_from_what_is_broken() {
    for (text, fault, line) in [
        ("---\na: 1\n---\n# Digest\n- [x: y: z\n", Fault::SecondDocument, 3),
        ("a: 1\n...\n---\nb: 2\n", Fault::SecondDocument, 3),
        ("a: 1\nb: [\n", Fault::Syntax, 2),
        ("a:\n  x: 1\n  x: 2\n", Fault::DuplicateKey, 3),
        ("a: &x [*x]\n", Fault::Syntax, 1),
        ("[a, b]: c\n", Fault::Syntax, 1),
    ] {
        let error = parse_state(text.as_bytes()).unwrap_err();
        assert_eq!((error.fault, error.place.line), (fault, line), "{text}: {error}");
    }
    assert_eq!(parse_state(b"").unwrap().kind, Kind::Null);
    assert_eq!(parse_state(b"---\n# nothing\n").unwrap().kind, Kind::Null);
}

#[test]
fn a_merge_brings_only_what_the_mapping_does_not_have() {
    let root = parse_state(b"base: &b {x: 1, y: 2}\na:\n  <<: *b\n  y: 3\n").unwrap();
    assert_eq!(root.get("a").unwrap().to_json(), serde_json::json!({ "y": 3, "x": 1 }));
}

#[test]
fn anchors_inside_of_anchors_cannot_multiply_either() {
    let deep: String = (0..60).map(|level| format!("&a{level} [")).collect();
    let text = format!("{deep}{}{}", "1,".repeat(20_000), "]".repeat(60));
    assert_eq!(parse_state(text.as_bytes()).unwrap_err().fault, Fault::TooMuch);
    assert!(parse_state(format!("[{}]", "1,".repeat(20_000)).as_bytes()).is_ok());
}

proptest::proptest! {
    /// Any input gives an answer, and every span lies in the text and in the span around it.
    #[test]
    fn no_text_panics_and_every_span_lies_in_the_text(text in "([a-c0-9é \\n\\t:{}\\[\\],#&*|>'\"~?!-]|\\r\\n|: |- |\\n  ){0,60}") {
        fn check(node: &Node, text: &str) {
            assert!(text.get(node.span.range()).is_some(), "{node:?}");
            match &node.kind {
                Kind::List(items) => items.iter().for_each(|item| check(item, text)),
                Kind::Map(members) => members.iter().for_each(|member| {
                    assert!(text.get(member.span.range()).is_some(), "{member:?}");
                    check(&member.value, text);
                }),
                Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {}
            }
        }
        if let Ok(root) = parse_state(text.as_bytes()) {
            check(&root, &text);
        }
    }
}
