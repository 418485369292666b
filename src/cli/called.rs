//! A call of the program that the client asks about, read by the same parser as a real one.

use clap::Parser as _;

use super::args::Cli;
use crate::hook::CalledVerb;

/// Reads the words of a call. `None` if they are invalid, leave this project or time, or are of a verb that a person is asked about.
pub(super) fn called(words: &[String]) -> Option<CalledVerb> {
    let cli = Cli::try_parse_from(std::iter::once("piton").chain(words.iter().map(String::as_str))).ok()?;
    let global = &cli.global;
    if global.project.is_some() || global.now.is_some() || global.mode.is_some() {
        return None;
    }
    cli.verb.into_command().called()
}

#[cfg(test)]
mod tests {
    use super::called;
    use crate::model::{RECORDING_VERBS, VERBS_READ_BY_CALL};

    fn read(line: &str) -> Option<(&'static str, Option<String>)> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        called(&words).map(|called| (called.verb, called.run))
    }

    #[test]
    fn a_call_is_read_as_the_program_reads_it() {
        for (line, verb, run) in [
            ("plan", "plan", None),
            ("plan x --exit-code", "plan", Some("x")),
            ("status x", "status", Some("x")),
            ("context x --step 2:3", "context", Some("x")),
            ("history", "history", None),
            ("pause --run x --note later", "pause", Some("x")),
            ("pause x", "pause", Some("x")),
            ("begin 2:3 --run x --agent a", "begin", Some("x")),
            ("begin 2:3 --again", "begin", None),
            ("finish 2:3 --summary done", "finish", None),
            ("list --all", "list", None),
            ("validate", "validate", None),
            ("show", "show", None),
            ("decide", "decide", None),
            ("decide 2:3 --run x", "decide", Some("x")),
            ("show x --format markdown", "show", Some("x")),
        ] {
            assert_eq!(read(line), Some((verb, run.map(str::to_owned))), "{line}");
            assert!(RECORDING_VERBS.contains(&verb) || VERBS_READ_BY_CALL.contains(&verb), "{verb}");
        }
    }

    #[test]
    fn a_call_that_does_more_or_goes_elsewhere_is_not() {
        for line in [
            "",
            "decide 1:2.5 approve",
            "decide 1:2.5 approve --by Ann --note x",
            "run x.yaml",
            "resume",
            "setup",
            "close",
            "hook prompt",
            "sessions",
            "sessions list",
            "plan --project /x",
            "--project /x plan",
            "plan --now 2026-01-31T12:00:00Z",
            "finish --json x.json",
            "begin --json -",
            "validate /etc/passwd",
            "plan --mode autopilot",
            "show x --html x.html",
            "show --html=/tmp/x --open",
            "show --html -",
            "show --watch",
            "plan --help",
            "--version",
            "plan --nonsense",
            "piton plan",
            "finish",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
