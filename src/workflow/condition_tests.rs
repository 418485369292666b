use super::{Comparison, Condition, Operand};

fn side(operand: &Operand) -> String {
    match operand {
        Operand::Literal(value) => value.to_string(),
        Operand::Variable(reference) => format!("<{}>", reference.path),
    }
}

fn shown(condition: &Condition) -> String {
    match condition {
        Condition::Value(operand) => side(operand),
        Condition::Not(inner) => format!("not({})", shown(inner)),
        Condition::And(left, right) => format!("({} and {})", shown(left), shown(right)),
        Condition::Or(left, right) => format!("({} or {})", shown(left), shown(right)),
        Condition::Compare(left, comparison, right) => format!("{} {comparison:?} {}", side(left), side(right)),
    }
}

#[test]
fn expressions_bind_as_everywhere() {
    for (text, expected) in [
        ("true", "true"),
        ("${x}", "<x>"),
        ("\"${x}\"", "<x>"),
        ("${x.exit_code} == 0", "<x.exit_code> Equal 0"),
        ("'${x}' != 'it is'", "<x> NotEqual \"it is\""),
        ("${a} && ${b} || !${c}", "((<a> and <b>) or not(<c>))"),
        ("${a} && (${b} || ${c:-false})", "(<a> and (<b> or <c>))"),
        ("${n}<=-1.5", "<n> LessOrEqual -1.5"),
        ("${list} contains \"x\"", "<list> Contains \"x\""),
        (" ( ( true ) ) ", "true"),
        (
            "!skipped( build-all ) && failed(a.1)",
            "(not(<step.build-all.status> Equal \"skipped\") and <step.a.1.status> Equal \"failed\")",
        ),
    ] {
        let condition = Condition::parse(text).unwrap();
        assert_eq!(shown(&condition), expected, "{text}");
        assert_eq!(Condition::parse(&condition.to_string()).as_ref(), Ok(&condition), "{text} is shown as {condition}");
    }
}

#[test]
fn a_condition_is_shown_with_the_parentheses_that_it_needs() {
    for text in [
        "${a} && (${b} || ${c})",
        "(${a} || ${b}) && ${c}",
        "${a} || ${b} && ${c}",
        "${a} || (${b} || ${c})",
        "${a} && (${b} && ${c})",
        "!(${a} == 1)",
        "!(${a} && ${b})",
        "!!${a}",
        "${a:-x} != \"it's\"",
        "${list} contains 'x' || ${n} >= -1.5",
    ] {
        assert_eq!(Condition::parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn mistakes_are_named() {
    for (text, expected) in [
        ("", "the expression ends where a value is needed"),
        ("${a} &&", "the expression ends where a value is needed"),
        ("${a} = 1", "`=` compares nothing; write `==`"),
        ("branch == 'main'", "`branch` is neither quoted nor a variable; write 'branch' or ${branch}"),
        ("${a} ${b}", "nothing can follow here: `${b}`"),
        ("(${a}", "a `(` is not closed"),
        ("'a", "a ' is not closed"),
        ("${a", "a `${` is not closed"),
        ("${a%b}", "`${a%b}` is not a variable"),
        ("\"${a} b\" == 'c'", "a quoted text is text or one variable, not both"),
        ("$a", "`$a` is not a value"),
        ("${a} containsx 'b'", "nothing can follow here: `containsx 'b'`"),
        ("failed(a b)", "`failed` takes the id of a step, and `a b` cannot be one"),
        ("failed(a", "a `(` is not closed"),
        ("failed", "`failed` is neither quoted nor a variable; write 'failed' or ${failed}"),
    ] {
        assert_eq!(Condition::parse(text), Err(expected.to_owned()), "{text}");
    }
    let deep = "!".repeat(10_000) + "true";
    assert_eq!(Condition::parse(&deep), Err("more than 32 levels of `!` and parentheses".to_owned()));
}

#[test]
fn every_comparison_has_its_word() {
    for (word, comparison) in super::COMPARISONS {
        let parsed = Condition::parse(&format!("1 {word} 2")).unwrap();
        assert!(matches!(parsed, Condition::Compare(_, found, _) if found == comparison), "{word}");
    }
    assert_eq!(super::COMPARISONS[6].1, Comparison::Contains);
}
