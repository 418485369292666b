use super::projects;
use crate::support::{Output, Sandbox};

/// Leaves the other screen, and shows the cursor.
const LEFT: &str = "\u{1b}[?25h\u{1b}[?1049l";

/// Watches until `shown` is on the screen, then does something else, until the program ends.
fn watched(sandbox: &Sandbox, words: &[&str], then: &[(&str, Then<'_>)]) -> Option<Output> {
    let output =
        sandbox.piton(words.iter().copied()).env("TERM", "xterm").on_screen(then.iter().map(|(shown, then)| {
            let then: Box<dyn Fn(u32) -> String> = match *then {
                Then::Type(text) => Box::new(move |_| text.to_owned()),
                Then::Signal(name) => Box::new(move |id| {
                    sandbox.tool("/bin/sh", ["-c", &format!("kill -{name} {id}")]).run();
                    String::new()
                }),
                Then::Write(path, from, to) => Box::new(move |_| {
                    projects::replace(sandbox, path, from, to);
                    String::new()
                }),
            };
            (*shown, then)
        }))?;
    assert!(output.stderr.ends_with(LEFT), "the screen was not left: {output}");
    Some(output)
}

#[derive(Clone, Copy)]
enum Then<'a> {
    Type(&'a str),
    Signal(&'a str),
    Write(&'a str, &'a str, &'a str),
}

#[test]
fn keys_show_the_step_the_brief_and_the_commands() {
    let sandbox = projects::nine_step();
    let before = sandbox.tree();
    let steps = [
        ("It can go on: return 2:3", Then::Type("d")),
        ("the state says completed", Then::Type("b")),
        ("Position:", Then::Type("r")),
        ("piton context user-auth", Then::Type("\u{1b}[D")),
        ("Phase 2", Then::Type("q")),
    ];
    let Some(output) = watched(&sandbox, &["show", "--watch"], &steps) else { return };
    output.expect_code(0);
    assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
}

#[test]
fn every_signal_leaves_the_terminal_as_it_was() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129), ("QUIT", 143), ("USR1", 143), ("ALRM", 143)] {
        let sandbox = projects::nine_step();
        let Some(output) = watched(&sandbox, &["show", "--watch"], &[("It can go on", Then::Signal(signal))]) else {
            return;
        };
        output.expect_code(code);
    }
    let Some(output) = watched(&projects::nine_step(), &["show", "--watch"], &[("It can go on", Then::Type("\u{3}"))])
    else {
        return;
    };
    output.expect_code(130);
}

#[test]
fn a_change_is_shown() {
    let sandbox = projects::nine_step();
    let change = Then::Write(projects::NINE_STEP, "\"user-auth\"", "\"renamed-run\"");
    let Some(output) =
        watched(&sandbox, &["show", "--watch"], &[("It can go on", change), ("renamed-run", Then::Type("q"))])
    else {
        return;
    };
    output.expect_code(0);
}

#[test]
fn a_state_that_cannot_be_read_any_more_is_said_with_the_time() {
    let sandbox = projects::nine_step();
    let broken = Then::Write(projects::NINE_STEP, "\"feature_name\":", "\"feature_name\"");
    let mended =
        Then::Write(projects::NINE_STEP, "\"feature_name\" \"user-auth\"", "\"feature_name\": \"renamed-run\"");
    let steps = [("It can go on", broken), ("It cannot be read since ", mended), ("renamed-run", Then::Type("q"))];
    let Some(output) = watched(&sandbox, &["show", "--watch"], &steps) else { return };
    output.expect_code(0);
}

#[test]
fn all_runs_are_listed_and_one_is_opened() {
    let sandbox = projects::both();
    let steps =
        [("WFS-user-auth", Then::Type("j\r")), ("→ piton", Then::Type("\u{1b}")), ("open  q quit", Then::Type("q"))];
    let Some(output) = watched(&sandbox, &["show", "--watch", "--all"], &steps) else { return };
    output.expect_code(0);
}

#[test]
fn without_colour_nothing_is_coloured() {
    let sandbox = projects::nine_step();
    let program = sandbox.piton(["show", "--watch"]).env("TERM", "xterm").env("NO_COLOR", "1");
    let end: Box<dyn Fn(u32) -> String> = Box::new(|_| "q".to_owned());
    let Some(output) = program.on_screen([("It can go on", end)]) else { return };
    let shown = output.expect_code(0).stderr;
    let mut sequences =
        shown.split("\u{1b}[").skip(1).map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'));
    assert!(sequences.all(|rest| !rest.starts_with('m')), "{shown}");
}

#[test]
fn watch_needs_a_terminal() {
    let output = projects::nine_step().piton(["show", "--watch"]).run().expect_code(2);
    assert!(output.stdout.contains("piton show"), "{output}");
}
