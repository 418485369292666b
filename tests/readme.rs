//! The README and the pages it links are correct: their examples are run and compared, and their tables match the program.

use std::collections::BTreeSet;

use camino::Utf8Path;
use serde_json::Value;

use crate::support::{self, Sandbox, Tree};

/// Matches anything.
const ANYTHING: &str = "…";

/// The pages for users, README first.
fn pages() -> Vec<(String, String)> {
    let repository = support::repository();
    let mut pages = vec![repository.join("README.md")];
    pages.extend(support::files_below(&repository.join("docs"), "md"));
    pages.iter().map(|path| (relative(path), support::read(path))).collect()
}

fn relative(path: &Utf8Path) -> String {
    path.strip_prefix(support::repository()).expect("a page of the repository").to_string()
}

fn commands_page() -> String {
    support::read(&support::repository().join("docs/commands.md"))
}

/// Returns the content of every block of a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    text.split(open.as_str()).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

/// Splits a console block into commands and their output.
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

/// Splits like a shell with double quotes only.
fn words(command: &str) -> Vec<&str> {
    let unquoted = |(at, part)| if at % 2 == 1 { vec![part] } else { str::split_whitespace(part).collect() };
    command.split('"').enumerate().flat_map(unquoted).collect()
}

/// Tells whether a printed line is the one shown, in which [`ANYTHING`] stands for any text.
fn is_line(shown: &str, real: &str) -> bool {
    let mut parts = shown.split(ANYTHING);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = real.strip_prefix(first) else { return false };
    let mut is_open = false;
    for part in parts {
        is_open = part.is_empty();
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    is_open || rest.is_empty()
}

fn is_text(shown: &str, real: &str) -> bool {
    let (shown, real): (Vec<&str>, Vec<&str>) = (shown.trim_end().lines().collect(), real.trim_end().lines().collect());
    shown.len() == real.len() && shown.iter().zip(&real).all(|(shown, real)| is_line(shown, real))
}

#[test]
fn only_what_is_left_open_may_differ() {
    for (shown, real, expected) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("a … c", "a b c", true),
        ("a … c", "a b d", false),
        ("a …", "a anything", true),
        ("… c", "b c", true),
        ("… c", "b c d", false),
    ] {
        assert_eq!(is_line(shown, real), expected, "{shown} and {real}");
    }
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

/// They share the dev profile, so that the second has little to build.
#[test]
fn the_first_commands_show_it_and_test_it_as_the_gate_does() {
    let text = support::read(&support::repository().join("README.md"));
    let first = blocks(&text, "sh")[0];
    let commands: Vec<&str> = first.lines().filter_map(|line| line.split('#').next()).map(str::trim).collect();
    assert_eq!(commands, ["cargo run --locked -- demo", "cargo test --locked"]);
    let gate = support::read(&support::repository().join(".ci/check"));
    assert!(gate.contains("suite tests cargo test --locked\n"));
}

#[test]
fn the_examples_print_what_is_shown() {
    let mut wrong = Vec::new();
    let mut examples = 0;
    for (page, text) in pages() {
        // A console block that follows a file in the page runs in a folder with that file.
        let file = blocks(&text, "yaml").first().copied().unwrap_or_default();
        for block in blocks(&text, "console") {
            if !block.contains("\n✅") && !block.contains("\n{") && !block.contains("\n#") {
                continue;
            }
            examples += 1;
            check_example(&page, file, block, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "other than shown:\n{}", wrong.join("\n"));
    assert_eq!(examples, 3);
}

/// Runs the commands of a block and compares their output.
fn check_example(page: &str, file: &str, block: &str, wrong: &mut Vec<String>) {
    let sandbox = Sandbox::new();
    for (command, shown) in commands(block) {
        if let Some(folder) = command.strip_prefix("cd ") {
            Tree::of(&support::repository().join(folder)).write_to(&sandbox.root());
            continue;
        }
        if command.contains("release.yaml") {
            sandbox.file("release.yaml", file);
        }
        let arguments = words(command).into_iter().skip(1);
        let is_json = shown.starts_with('{');
        let format = if is_json { "json" } else { "text" };
        let output = sandbox.piton(arguments).env("PITON_FORMAT", format).run().expect_code(0);
        if is_json {
            let shown = serde_json::from_str(&shown).unwrap_or_else(|error| panic!("{command}: {error}\n{shown}"));
            differences(command, &shown, &output.json(), wrong);
        } else if !is_text(&shown, &output.stdout) {
            wrong.push(format!("{page}, {command}:\n{}", output.stdout));
        }
    }
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
    let listed =
        help.split("\nSee:\n").nth(1).and_then(|rest| rest.split("\nOptions:").next()).expect("a list of verbs");
    let rows = listed.lines().filter(|line| line.starts_with("  "));
    let verbs: Vec<&str> = rows.filter_map(|line| line.split_whitespace().next()).collect();
    let verbs: Vec<&str> = verbs.into_iter().filter(|verb| *verb != "help").collect();
    let text = commands_page();
    let rows = table(&text, "Verbs");
    let shown: Vec<&str> =
        rows.iter().filter_map(|row| row[0].trim_start_matches('`').split([' ', '`']).next()).collect();
    assert_eq!(shown, verbs);
    let readme = support::read(&support::repository().join("README.md"));
    let rows = table(&readme, "Commands");
    let named: BTreeSet<&str> = rows.iter().flat_map(|row| row[1].split('`').skip(1).step_by(2)).collect();
    assert_eq!(named, verbs.into_iter().collect());
}

#[test]
fn the_readme_fits_a_first_read() {
    let lines = support::read(&support::repository().join("README.md")).lines().count();
    assert!(lines <= 200, "README.md has {lines} lines");
}

/// The names are not part of any output, so they are read from the source.
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
    assert_eq!(table(&commands_page(), "Exit codes"), expected);
}

#[test]
fn every_file_that_is_named_is_there() {
    for (page, text) in pages() {
        let folder = support::repository().join(&page);
        let folder = folder.parent().expect("a page lies in a folder");
        let linked = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for path in linked.filter(|path| !path.is_empty() && !path.contains("://")) {
            assert!(folder.join(path).exists(), "{page} links to {path}");
        }
        let quoted = text.split('`').filter(|text| text.starts_with("src/") || text.starts_with("tests/"));
        for path in quoted.filter(|path| !path.contains(['*', ' '])) {
            assert!(support::repository().join(path).exists(), "{page} names {path}");
        }
    }
}
