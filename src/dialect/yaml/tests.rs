use super::Kind;
use super::Node;
use super::Place;
use super::parse;

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
        assert_eq!(node.place, Place { line, column }, "{key}");
    }
    let Kind::List(items) = &find(&root, "g").kind else { panic!() };
    assert_eq!((items[1].place, &items[1].kind), (Place { line: 7, column: 8 }, &Kind::Number("2.50".into())));
}

#[test]
fn json_is_read_with_tabs_and_places() {
    let root = parse(b"{\n\t\"steps\": [\n\t\t{\"id\": \"a\", \"title\": \"A\"}\n\t]\n}\n").unwrap();
    let Kind::List(items) = &find(&root, "steps").kind else { panic!() };
    assert_eq!(find(&items[0], "title").place, Place { line: 3, column: 24 });
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
    assert_eq!(parse(b"a: \xff").unwrap_err().place, Place { line: 1, column: 4 });
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
