use super::{Piece, Reader, Template};

/// Writes pieces as `text` and `<path>` or `<path|fallback>`.
fn shown(template: &Template) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Literal(text) => text.clone(),
        Piece::Variable(reference) => match &reference.fallback {
            None => format!("<{}>", reference.path),
            Some(fallback) => format!("<{}|{}>", reference.path, shown(fallback)),
        },
    };
    template.pieces.iter().map(piece).collect()
}

#[test]
fn variables_are_found() {
    for (text, expected) in [
        ("plain", "plain"),
        ("", ""),
        ("a ${x} b ${y.z}", "a <x> b <y.z>"),
        ("${x:-}${y:-none}", "<x|><y|none>"),
        ("${x:-${y:-z}}", "<x|<y|z>>"),
        ("${step.build-all.output}", "<step.build-all.output>"),
        ("${files.0}", "<files.0>"),
        ("$HOME $1 $$ 5$", "$HOME $1 $$ 5$"),
        ("$${x} and $${x:-${y}}", "${x} and ${x:-${y}}"),
        ("{\"a\": \"${x}\"}", "{\"a\": \"<x>\"}"),
    ] {
        for reader in [Reader::Plain, Reader::Shell] {
            assert_eq!(shown(&Template::parse(text, reader).unwrap()), expected, "{text} for {reader:?}");
        }
    }
}

#[test]
fn what_only_a_shell_knows_is_left_to_it_and_nowhere_else() {
    for text in ["${x%.rs}", "${#x}", "${1}", "${x:+y}", "${x-y}", "${x/${y}/z}", "${}"] {
        assert_eq!(shown(&Template::parse(text, Reader::Shell).unwrap()), text);
        let error = Template::parse(text, Reader::Plain).unwrap_err();
        assert!(error.contains("is not a variable") && error.contains(&format!("`${text}`")), "{error}");
    }
}

#[test]
fn a_backslash_protects_from_a_shell_only() {
    assert_eq!(shown(&Template::parse("\\${x} \\\\${y}", Reader::Shell).unwrap()), "\\${x} \\\\<y>");
    assert_eq!(shown(&Template::parse("C:\\${x}", Reader::Plain).unwrap()), "C:\\<x>");
    assert_eq!(shown(&Template::parse("é\\", Reader::Shell).unwrap()), "é\\");
}

#[test]
fn a_variable_without_an_end_is_refused() {
    for text in ["${x", "a $${x", "${x:-{}"] {
        for reader in [Reader::Plain, Reader::Shell] {
            assert!(Template::parse(text, reader).unwrap_err().contains("does not end"), "{text}");
        }
    }
}

#[test]
fn references_include_those_in_fallbacks() {
    let template = Template::parse("${a:-${b}} ${c}", Reader::Plain).unwrap();
    let paths: Vec<&str> = template.references().iter().map(|reference| reference.path.as_str()).collect();
    assert_eq!(paths, ["a", "b", "c"]);
    assert_eq!(template.to_string(), "${a:-${b}} ${c}");
}
