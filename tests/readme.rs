//! The README is true: its examples are run and compared, its tables are those of the program.

use camino::Utf8Path;
use serde_json::Value;

use crate::support;
use crate::support::Sandbox;
use crate::support::Tree;

/// Stands for anything.
const ANYTHING: &str = "…";

fn readme() -> String {
    support::read(&support::repository().join("README.md"))
}

/// Returns the content of every block of a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    text.split(open.as_str()).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

/// Splits a console block into commands and what each printed.
fn commands(block: &str) -> Vec<(&str, String)> {
    let mut commands: Vec<(&str, String)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command, String::new())),
            (None, Some((_, output))) => output.push_str(&format!("{line}\n")),
            (None, None) => panic!("`{line}` comes before any command"),
        }
    }
    commands
}

/// Splits as a shell does that knows double quotes only.
fn words(command: &str) -> Vec<&str> {
    let unquoted = |(at, part)| if at % 2 == 1 { vec![part] } else { str::split_whitespace(part).collect() };
    command.split('"').enumerate().flat_map(unquoted).collect()
}

/// Returns where a shown document differs from the real one. Keys that are not shown may be there.
fn differences(place: &str, shown: &Value, real: &Value, wrong: &mut Vec<String>) {
    match (shown, real) {
        (Value::String(text), _) if text == ANYTHING => {}
        (Value::Object(shown), Value::Object(real)) => {
            for (key, value) in shown {
                differences(&format!("{place}/{key}"), value, real.get(key).unwrap_or(&Value::Null), wrong);
            }
        }
        (Value::Array(shown), Value::Array(real)) => {
            let is_cut = shown.last().is_some_and(|last| last == ANYTHING);
            let shown = if is_cut { &shown[..shown.len() - 1] } else { &shown[..] };
            if shown.len() > real.len() || !is_cut && shown.len() != real.len() {
                wrong.push(format!("{place}: {} items, not {}", real.len(), shown.len()));
            }
            for (at, (shown, real)) in shown.iter().zip(real).enumerate() {
                differences(&format!("{place}/{at}"), shown, real, wrong);
            }
        }
        _ if shown == real => {}
        _ => wrong.push(format!("{place}: {real}, not {shown}")),
    }
}

#[test]
fn the_examples_print_what_is_shown() {
    let text = readme();
    let mut wrong = Vec::new();
    for block in blocks(&text, "console") {
        let sandbox = Sandbox::new();
        for (command, shown) in commands(block) {
            if let Some(folder) = command.strip_prefix("cd ") {
                Tree::of(&support::repository().join(folder)).write_to(&sandbox.root());
                continue;
            }
            let arguments = words(command).into_iter().skip(1);
            let is_json = shown.starts_with('{');
            let format = if is_json { "json" } else { "text" };
            let output = sandbox.piton(arguments).env("PITON_FORMAT", format).run().expect_code(0);
            if is_json {
                let shown = serde_json::from_str(&shown).unwrap_or_else(|error| panic!("{command}: {error}\n{shown}"));
                differences(command, &shown, &output.json(), &mut wrong);
            } else if output.stdout.trim_end() != shown.trim_end() {
                wrong.push(format!("{command}:\n{}", output.stdout));
            }
        }
    }
    assert!(wrong.is_empty(), "README.md shows something else than\n{}", wrong.join("\n"));
}

/// Returns the cells of the table under a heading.
fn table<'a>(text: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let section = text.split(&format!("\n## {heading}\n")).nth(1).expect("the heading is there");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

#[test]
fn every_verb_is_in_the_table() {
    let sandbox = Sandbox::new();
    let help = sandbox.piton(["--help"]).real_clock().run().expect_code(0).stdout;
    let listed = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a list of verbs");
    let verbs: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let verbs: Vec<&str> = verbs.into_iter().filter(|verb| *verb != "help").collect();
    let text = readme();
    let rows = table(&text, "Verbs");
    let shown: Vec<&str> =
        rows.iter().filter_map(|row| row[0].trim_start_matches('`').split([' ', '`']).next()).collect();
    assert_eq!(shown, verbs);
}

/// The names stand in no output of their own, so they are read where they are written.
#[test]
fn the_table_of_exit_codes_is_that_of_the_program() {
    let help = Sandbox::new().piton(["--help"]).real_clock().run().expect_code(0).stdout;
    let listed = help.split("Exit codes:\n").nth(1).expect("a list of exit codes");
    let listed = listed.lines().filter_map(|line| line.trim_start().split_once("  "));
    let source = support::read(&support::repository().join("src/ops/exit.rs"));
    let arms = source.split("fn name(").nth(1).and_then(|rest| rest.split("\n    }\n").next()).expect("the names");
    let name = |line: &str| Some(line.split_once(" => \"")?.1.trim_end_matches(',').trim_end_matches('"').to_owned());
    let names: Vec<String> = arms.lines().filter_map(name).collect();
    let expected: Vec<Vec<String>> = listed
        .zip(&names)
        .map(|((code, meaning), name)| vec![code.to_owned(), name.clone(), meaning.trim().to_owned()])
        .collect();
    assert!(expected.len() >= 10 && expected.len() == names.len(), "{help}");
    assert_eq!(table(&readme(), "Exit codes"), expected);
}

#[test]
fn every_file_that_is_named_is_there() {
    let text = readme();
    let linked = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let quoted = text.split('`').filter(|text| text.starts_with("src/") || text.starts_with("tests/"));
    for path in linked.chain(quoted).filter(|path| !path.contains("://")) {
        assert!(support::repository().join(Utf8Path::new(path)).exists(), "README.md names {path}");
    }
}
