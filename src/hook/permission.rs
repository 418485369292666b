//! `PermissionRequest`: allows a plain call of a verb that only reads or records, about a run that this session drives.
//!
//! The client asks this hook only where it would ask the person, so a rule that denies wins. A run is driven by this session after the client let
//! it begin a step, by a rule or by the person's yes: that was the first consent. Everything else gets no answer, and the client asks
//! as usual.

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::{Answer, input::Input, session::HookSession};
use crate::{
    model::{RECORDING_VERBS, VERBS_READ_BY_CALL},
    ops::{self, ProjectContext, Request},
    store,
};

const EVENT: &str = "PermissionRequest";
/// Bytes of a command.
const COMMAND_LIMIT: usize = 16 << 10;
/// Fields of the tool that change nothing about where and how the command runs.
const HARMLESS_FIELDS: [&str; 3] = ["command", "description", "timeout"];
/// Modes in which the client asks about every command that no rule allows. The others leave it to a check, plan, or never ask.
const ASKING_MODES: [&str; 2] = ["default", "acceptEdits"];
/// Settings that an administrator sets for all users.
const MANAGED: [&str; 2] =
    ["/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json"];

/// A call of the program, as its own command line reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CalledVerb {
    /// With its subcommand.
    pub(crate) verb: &'static str,
    /// The run that is named, and the step that may decide between several runs.
    pub(crate) run: Option<String>,
    pub(crate) step: Option<String>,
    /// Whether it is about all runs.
    pub(crate) is_of_all: bool,
}

impl CalledVerb {
    /// Returns a verb about one run.
    pub(crate) fn of_run(verb: &'static str, run: Option<&String>, step: Option<&String>) -> Self {
        Self { verb, run: run.cloned(), step: step.cloned(), is_of_all: false }
    }

    /// Returns a verb about all runs.
    pub(crate) const fn of_all(verb: &'static str) -> Self {
        Self { verb, run: None, step: None, is_of_all: true }
    }
}

/// Reads the words of a call; `None` if they are invalid, or ask for another project or time.
pub(crate) type ReadCall = fn(&[String]) -> Option<CalledVerb>;

pub(super) fn asked(session: &HookSession, input: &Input, read: ReadCall) -> Option<Answer> {
    let fields = input.tool_input.as_object()?;
    let is_plain = fields.keys().all(|name| HARMLESS_FIELDS.contains(&name.as_str()));
    let is_main_agent = input.agent_id.is_empty();
    if input.tool_name != "Bash"
        || !is_plain
        || !is_main_agent
        || !ASKING_MODES.contains(&input.permission_mode.as_str())
    {
        return None;
    }
    let words = words_of(fields.get("command")?.as_str()?)?;
    let (program, arguments) = words.split_first()?;
    if !is_own_program(program) {
        return None;
    }
    let is_known = |verb: &str| RECORDING_VERBS.contains(&verb) || VERBS_READ_BY_CALL.contains(&verb);
    let called = read(arguments).filter(|called| is_known(called.verb))?;
    if !drives(session, input, &called) || is_reserved(session, input, &words) {
        return None;
    }
    Some(Answer { event: EVENT, allows: true, ..Answer::default() })
}

/// Splits one simple command into its words as a shell does. `None` for anything that a shell would do more with: other commands,
/// substitutions, variables, patterns, redirections, escapes, comments, several lines.
fn words_of(command: &str) -> Option<Vec<String>> {
    if command.len() > COMMAND_LIMIT {
        return None;
    }
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    let quoted = characters.next()?;
                    let is_special = character == '"' && matches!(quoted, '$' | '`' | '\\' | '!');
                    if quoted == character {
                        break;
                    } else if is_special || quoted.is_control() {
                        return None;
                    }
                    word.push(quoted);
                }
            }
            // zsh expands a word that begins with `=`.
            '=' if word.is_none() => return None,
            _ if is_plain(character) => word.get_or_insert_default().push(character),
            _ => return None,
        }
    }
    words.extend(word);
    Some(words)
}

/// Tells whether a character means only itself outside of quotes.
const fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | '/' | ':' | ',' | '@' | '+' | '=')
}

/// Tells whether the program is `piton` by its bare name, or by its path in this plugin.
fn is_own_program(program: &str) -> bool {
    let root = || store::variable("CLAUDE_PLUGIN_ROOT").filter(|root| Utf8Path::new(root).is_absolute());
    program == "piton" || root().is_some_and(|root| program == format!("{root}/bin/piton"))
}

/// Tells whether the call is about a run that this session drives.
fn drives(session: &HookSession, input: &Input, called: &CalledVerb) -> bool {
    let held = session.held(&session.log.events());
    if held.is_empty() || called.is_of_all {
        return !held.is_empty();
    }
    let request = Request {
        project: Some(input.cwd.clone()),
        run: called.run.clone(),
        step: called.step.clone(),
        now: Some(session.ctx.clock.now.to_string()),
        ..Request::default()
    };
    let location = ProjectContext::open(&request).and_then(|ctx| ops::location(&ctx));
    location.is_ok_and(|location| {
        held.iter().any(|held| held.root == location.root && held.run.state == location.candidate.state)
    })
}

/// Tells whether a rule of the client reserves the command for the person, or cannot be read.
fn is_reserved(session: &HookSession, input: &Input, words: &[String]) -> bool {
    let rest = words[1..].iter().map(|word| format!(" {word}")).collect::<String>();
    let commands = [format!("{}{rest}", words[0]), format!("piton{rest}")];
    settings_files(session, input).iter().any(|file| match store::settings::read(file) {
        Ok(None) => false,
        Ok(Some(bytes)) => serde_json::from_slice::<Value>(&bytes).map_or(true, |settings| {
            let rules = ["/permissions/deny", "/permissions/ask"].into_iter().filter_map(|at| settings.pointer(at));
            rules
                .filter_map(Value::as_array)
                .flatten()
                .any(|rule| rule.as_str().is_none_or(|rule| commands.iter().any(|command| may_match(rule, command))))
        }),
        Err(_) => true,
    })
}

/// Tells whether a rule may be about a command: by its text up to the first asterisk.
fn may_match(rule: &str, command: &str) -> bool {
    let Some(pattern) = rule.strip_prefix("Bash") else { return rule.starts_with('*') };
    let Some(pattern) = pattern.strip_prefix('(').and_then(|pattern| pattern.strip_suffix(')')) else {
        return pattern.is_empty();
    };
    let fixed = pattern.split_once('*').map_or(pattern, |(fixed, _)| fixed);
    command.starts_with(fixed.trim_end_matches(':').trim())
}

/// Returns the settings files that the client may use: those of the user, of an administrator, and of the folders around the session.
fn settings_files(session: &HookSession, input: &Input) -> Vec<Utf8PathBuf> {
    let mut files: Vec<Utf8PathBuf> = MANAGED.map(Utf8PathBuf::from).to_vec();
    files.extend(session.ctx.environment.client_home.as_ref().map(|home| home.join("settings.json")));
    let root = &session.ctx.project.root;
    let cwd = Utf8Path::new(&input.cwd);
    let above = cwd.ancestors().take_while(|folder| folder.starts_with(root)).map(Utf8Path::to_owned);
    let given = store::variable("CLAUDE_PROJECT_DIR").map(Utf8PathBuf::from).filter(|folder| folder.is_absolute());
    for folder in above.chain([root.clone()]).chain(given) {
        files.extend(["settings.json", "settings.local.json"].map(|name| folder.join(".claude").join(name)));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::{may_match, words_of};

    #[test]
    fn one_simple_command_is_split_as_a_shell_does() {
        for (command, words) in [
            ("piton plan", vec!["piton", "plan"]),
            ("  piton  finish 2:3 --summary=x ", vec!["piton", "finish", "2:3", "--summary=x"]),
            (
                "piton finish 2:3 --summary 'a; b | c $(d) `e` > f * # \"g\" \\'",
                vec!["piton", "finish", "2:3", "--summary", "a; b | c $(d) `e` > f * # \"g\" \\"],
            ),
            (
                "piton finish a --summary \"it's (done); all\"",
                vec!["piton", "finish", "a", "--summary", "it's (done); all"],
            ),
            (
                "piton finish a --summary '' --error x'y'\"z\"",
                vec!["piton", "finish", "a", "--summary", "", "--error", "xyz"],
            ),
        ] {
            assert_eq!(words_of(command).unwrap(), words, "{command}");
        }
    }

    #[test]
    fn what_a_shell_would_do_more_with_is_not_split() {
        for command in [
            "piton plan; x",
            "piton plan & x",
            "piton plan | x",
            "piton plan > x",
            "piton plan < x",
            "piton plan\nx",
            "piton plan\rx",
            "piton plan\tx",
            "piton $X",
            "piton ${X}",
            "piton `x`",
            "piton $(x)",
            "piton \"$X\"",
            "piton \"`x`\"",
            "piton \"a\\\"b\"",
            "piton *",
            "piton ?",
            "piton [a]",
            "piton {a,b}",
            "piton ~",
            "piton =x",
            "piton !x",
            "piton \"!x\"",
            "piton #x",
            "piton \\x",
            "piton (x)",
            "piton 'a",
            "piton \"a",
            "piton 'a\nb'",
            "piton \"a\u{0}b\"",
            "piton 'a\u{1b}b'",
            "piton\u{a0}plan",
            "piton %x",
            "piton ^x",
            "piton $'x'",
            "X=1 piton plan\n",
        ] {
            assert_eq!(words_of(command), None, "{command:?}");
        }
        assert_eq!(words_of(&format!("piton plan {}", "x".repeat(20_000))), None);
    }

    #[test]
    fn a_rule_is_about_a_command_if_it_may_be() {
        for rule in [
            "Bash",
            "Bash(*)",
            "Bash(piton:*)",
            "Bash(piton *)",
            "Bash(piton finish:*)",
            "Bash(piton finish *)",
            "Bash(pit*)",
            "*",
            "Bash(piton finish 2:3)",
            "Bash(* finish *)",
            "Bash(piton finish 2:*)",
        ] {
            assert!(may_match(rule, "piton finish 2:3"), "{rule}");
        }
        for rule in ["Bash(piton plan:*)", "Bash(rm:*)", "Read", "Edit(*)", "BashOutput", "Bash(piton finish 2:4)"] {
            assert!(!may_match(rule, "piton finish 2:3"), "{rule}");
        }
    }
}
