//! The steps of a workflow file. Pure.

use std::time::Duration;

use serde_json::Value;

use super::Command;
use super::FileFormat;
use super::Foreach;
use super::Items;
use super::OnFailure;
use super::OnIncomplete;
use super::Retry;
use super::Step;
use super::Validate;
use super::WriteFile;
use super::condition::Condition;
use super::condition::Operand;
use super::policy;
use super::template::Reader;
use super::template::Template;
use super::values::env;
use super::values::template;
use crate::document::Kind;
use crate::document::Node;
use crate::document::definition::Fields;
use crate::document::definition::Problems;
use crate::document::definition::Text;
use crate::document::definition::identifier;
use crate::document::definition::items;
use crate::document::definition::text_of;
use crate::model::StepId;
use crate::model::clean_line;

pub(super) const COMMANDS: [&str; 7] = ["shell", "claude", "test", "foreach", "write_file", "validate", "name"];
const STEP_KEYS: [&str; 25] = [
    "shell",
    "claude",
    "test",
    "foreach",
    "write_file",
    "validate",
    "name",
    "args",
    "id",
    "when",
    "timeout",
    "retry",
    "capture",
    "capture_output",
    "capture_format",
    "capture_streams",
    "output_file",
    "env",
    "working_dir",
    "on_failure",
    "on_success",
    "commit_required",
    "idempotent",
    "irreversible",
    "probe",
];
const FOREACH_KEYS: [&str; 7] = ["foreach", "input", "items", "do", "parallel", "continue_on_error", "max_items"];
const FILE_KEYS: [&str; 5] = ["path", "content", "format", "mode", "create_dirs"];
const VALIDATE_KEYS: [&str; 8] =
    ["shell", "claude", "commands", "threshold", "timeout", "result_file", "expected_schema", "on_incomplete"];
const GAP_KEYS: [&str; 6] = ["shell", "claude", "commands", "max_attempts", "fail_workflow", "commit_required"];

/// What a step inherits from its workflow.
#[derive(Clone, Debug, Default)]
pub(super) struct Inherited {
    pub(super) timeout: Option<Duration>,
    pub(super) retry: Option<Retry>,
}

/// Reads a list of steps. `prefix` begins the ids of steps without an `id`.
pub(super) fn steps(
    node: &Node,
    prefix: &str,
    what: &str,
    inherited: &Inherited,
    problems: &mut Problems<'_>,
) -> Vec<Step> {
    let list = items(node, what, problems).iter().enumerate();
    list.filter_map(|(at, node)| step(node, &format!("{prefix}{}", at + 1), inherited, problems)).collect()
}

/// Reads a single step or a list of them.
fn one_or_more(node: &Node, prefix: &str, problems: &mut Problems<'_>) -> Vec<Step> {
    let inherited = Inherited::default();
    match &node.kind {
        Kind::List(_) => steps(node, prefix, "a list of steps", &inherited, problems),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => {
            step(node, &format!("{prefix}1"), &inherited, problems).into_iter().collect()
        }
    }
}

fn bare(node: &Node, id: &str, command: Command) -> Step {
    Step {
        id: StepId::new(id),
        title: title(&command),
        command,
        when: None,
        timeout: None,
        retry: None,
        capture: None,
        output_file: None,
        env: std::collections::BTreeMap::new(),
        working_dir: None,
        on_failure: None,
        on_success: Vec::new(),
        commit_required: false,
        idempotent: true,
        probe: None,
        place: node.place,
        canonical: Value::Null,
    }
}

fn step(node: &Node, id: &str, inherited: &Inherited, problems: &mut Problems<'_>) -> Option<Step> {
    let mut step = match &node.kind {
        Kind::Map(_) => mapped(node, id, problems)?,
        // A bare text is the name of a Claude command.
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => {
            bare(node, id, Command::Claude(slash(&text_of(node, "a step", problems)?, problems)?))
        }
    };
    step.timeout = step.timeout.or(inherited.timeout);
    if step.retry.is_none() {
        let is_claude = matches!(step.command, Command::Claude(_));
        step.retry = inherited.retry.clone().or_else(|| is_claude.then(Retry::of_claude));
    }
    step.canonical = super::canonical::of(&step);
    Some(step)
}

fn slash(text: &Text, problems: &mut Problems<'_>) -> Option<Template> {
    let text = Text { text: format!("/{}", text.text.trim_start_matches('/')), place: text.place };
    template(&text, Reader::Plain, problems)
}

fn mapped(node: &Node, id: &str, problems: &mut Problems<'_>) -> Option<Step> {
    let mut map = Fields::of(node, "a step", &STEP_KEYS, problems)?;
    let own_id = map.take("id").and_then(|node| identifier(node, "the `id` of a step", problems));
    let id = own_id.map_or_else(|| id.to_owned(), |id| id.text);
    let mut on_failure = map.take("on_failure");
    let mut timeout = map.take("timeout").and_then(|node| policy::duration(node, "`timeout`", problems));
    let command = command(node, &mut map, &id, (&mut on_failure, &mut timeout), problems);
    let when = map.take("when").and_then(|node| when(node, problems));
    let retry = map.take("retry").and_then(|node| policy::retry(node, problems));
    let capture = policy::capture(&mut map, problems);
    let probe_place = map.members.iter().find(|member| member.key == "probe").map(|member| member.place);
    let mut text = |key, reader, problems: &mut Problems<'_>| {
        map.text(key, problems).and_then(|text| template(&text, reader, problems))
    };
    let output_file = text("output_file", Reader::Plain, problems);
    let working_dir = text("working_dir", Reader::Plain, problems);
    let probe = text("probe", Reader::Shell, problems);
    let env = map.take("env").map(|node| env(node, problems)).unwrap_or_default();
    let on_failure = on_failure.and_then(|node| handler(node, &id, problems));
    let measured = match command {
        Some(Command::Shell(_) | Command::Claude(_)) => {
            map.take("validate").and_then(|node| measured(node, &id, problems))
        }
        Some(Command::Foreach(_) | Command::WriteFile(_) | Command::Validate(_)) | None => None,
    };
    let on_success = map.take("on_success").map(|node| one_or_more(node, &format!("{id}.on_success."), problems));
    let on_success = measured.into_iter().chain(on_success.into_iter().flatten()).collect();
    let commit_required = map.flag("commit_required", problems).unwrap_or(false);
    let idempotent = idempotent(&mut map, problems);
    if let (true, Some(place)) = (idempotent, probe_place) {
        problems.add(place, "a `probe` is for a step that must not run twice", "add `idempotent: false`, or remove it");
    }
    Some(Step {
        when,
        timeout,
        retry,
        capture,
        output_file,
        env,
        working_dir,
        on_failure,
        on_success,
        commit_required,
        idempotent,
        probe,
        ..bare(node, &id, command?)
    })
}

fn idempotent(map: &mut Fields<'_>, problems: &mut Problems<'_>) -> bool {
    let place = map.members.iter().find(|member| member.key == "irreversible").map(|member| member.place);
    let (twice, once) = (map.flag("idempotent", problems), map.flag("irreversible", problems));
    if let (Some(place), Some(twice), Some(once)) = (place, twice, once)
        && twice == once
    {
        problems.add(place, "`idempotent` and `irreversible` contradict each other", "keep one of them");
    }
    twice.unwrap_or_else(|| !once.unwrap_or(false))
}

/// Reads the command of a step. `outer` are the `on_failure` and the timeout of the step, which some commands may set themselves.
fn command<'a>(
    node: &Node,
    map: &mut Fields<'a>,
    id: &str,
    outer: (&mut Option<&'a Node>, &mut Option<Duration>),
    problems: &mut Problems<'_>,
) -> Option<Command> {
    let mut given: Vec<&str> = COMMANDS.into_iter().filter(|key| map.members.iter().any(|m| m.key == *key)).collect();
    if matches!(given.as_slice(), ["shell" | "claude", "validate"]) {
        // It measures what the command did.
        given.pop();
    }
    let [key] = given.as_slice() else {
        let message = match given.as_slice() {
            [] => "the step has no command".to_owned(),
            several => format!("a step has one command, and this one has {}", several.join(" and ")),
        };
        problems.add(node.place, message, "give it one of shell, claude, test, foreach, write_file or validate");
        return None;
    };
    let Some(value) = map.take(key) else {
        problems.add(node.place, format!("`{key}` has no value"), "write what the step does");
        return None;
    };
    match *key {
        "shell" => text(value, "`shell`", Reader::Shell, problems).map(Command::Shell),
        "claude" => text(value, "`claude`", Reader::Plain, problems).map(Command::Claude),
        "test" => test(value, outer.0, problems),
        "foreach" => foreach(value, id, problems).map(Command::Foreach),
        "write_file" => write_file(value, problems).map(Command::WriteFile),
        "validate" => validate(value, id, outer.1, problems).map(Command::Validate),
        _ => named(value, map, problems).map(Command::Claude),
    }
}

fn text(node: &Node, what: &str, reader: Reader, problems: &mut Problems<'_>) -> Option<Template> {
    let text = text_of(node, what, problems)?;
    template(&text, reader, problems)
}

/// Reads `{name, args}`, the oldest spelling of a Claude command.
fn named(value: &Node, map: &mut Fields<'_>, problems: &mut Problems<'_>) -> Option<Template> {
    let mut name = text_of(value, "`name` of a step", problems)?;
    if let Some(node) = map.take("args") {
        let list = match &node.kind {
            Kind::List(items) => items.as_slice(),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => std::slice::from_ref(node),
        };
        for arg in list.iter().filter_map(|node| text_of(node, "an entry of `args`", problems)) {
            name.text = format!("{} {}", name.text, arg.text);
        }
    }
    slash(&name, problems)
}

/// Reads `test`: a shell command with an optional handler.
fn test<'a>(node: &'a Node, on_failure: &mut Option<&'a Node>, problems: &mut Problems<'_>) -> Option<Command> {
    if !matches!(node.kind, Kind::Map(_)) {
        return text(node, "`test`", Reader::Shell, problems).map(Command::Shell);
    }
    let mut map = Fields::of(node, "`test`", &["command", "on_failure"], problems)?;
    if let Some(handler) = map.take("on_failure")
        && on_failure.replace(handler).is_some()
    {
        problems.add(handler.place, "the step has an `on_failure` already", "keep one of the two");
    }
    let Some(command) = map.take("command") else {
        problems.add(node.place, "`test` needs a `command`", "add `command:`");
        return None;
    };
    text(command, "`command`", Reader::Shell, problems).map(Command::Shell)
}

fn foreach(node: &Node, id: &str, problems: &mut Problems<'_>) -> Option<Foreach> {
    let mut map = Fields::of(node, "`foreach`", &FOREACH_KEYS, problems)?;
    let given = policy::either(&mut map, "foreach", "input", problems);
    let given = given.or_else(|| map.take("items"));
    let body = map.take("do").map(|node| one_or_more(node, &format!("{id}."), problems));
    let parallel = match map.take("parallel") {
        Some(Node { kind: Kind::Bool(false), .. }) | None => 1,
        Some(Node { kind: Kind::Bool(true), .. }) => 4,
        Some(node) => policy::count(node, "`parallel`", (1, 64), problems).map_or(1, |count| count as usize),
    };
    let continue_on_error = map.flag("continue_on_error", problems).unwrap_or(false);
    let max_items = map.take("max_items").and_then(|node| policy::count(node, "`max_items`", (1, 100_000), problems));
    let (Some(given), Some(steps)) = (given, body) else {
        problems.add(
            node.place,
            "`foreach` needs items and what to do",
            "add `foreach:` with a list or a command, and `do:`",
        );
        return None;
    };
    let items = match &given.kind {
        Kind::List(list) => Items::List(
            list.iter().filter_map(|item| text(item, "an item of `foreach`", Reader::Plain, problems)).collect(),
        ),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => {
            Items::Command(text(given, "the items of `foreach`", Reader::Shell, problems)?)
        }
    };
    Some(Foreach { items, steps, parallel, continue_on_error, max_items: max_items.map(|count| count as usize) })
}

fn write_file(node: &Node, problems: &mut Problems<'_>) -> Option<WriteFile> {
    let mut map = Fields::of(node, "`write_file`", &FILE_KEYS, problems)?;
    let path = map.text("path", problems).and_then(|text| template(&text, Reader::Plain, problems));
    let content = match map.take("content") {
        // An empty file is a file.
        Some(Node { kind: Kind::Text(text), .. }) if text.trim().is_empty() => {
            Template::parse(text, Reader::Plain).ok()
        }
        Some(node) => text(node, "`content`", Reader::Plain, problems),
        None => None,
    };
    let format = map.text("format", problems).map_or(Some(FileFormat::Text), |text| match text.text.as_str() {
        "text" => Some(FileFormat::Text),
        "json" => Some(FileFormat::Json),
        "yaml" => Some(FileFormat::Yaml),
        other => {
            let message = format!("`{}` is not a file format", clean_line(other, 40));
            problems.add(text.place, message, "use text, json or yaml");
            None
        }
    });
    let mode = map.text("mode", problems).map_or(Some(0o644), |text| {
        let mode = u32::from_str_radix(text.text.trim_start_matches("0o"), 8).ok().filter(|mode| *mode <= 0o777);
        if mode.is_none() {
            problems.add(text.place, "`mode` is an octal number from 0 to 0777", "write it like `\"0644\"`");
        }
        mode
    });
    let create_dirs = map.flag("create_dirs", problems).unwrap_or(false);
    if path.is_none() || content.is_none() {
        problems.add(node.place, "`write_file` needs a `path` and a `content`", "add `path:` and `content:`");
    }
    Some(WriteFile { path: path?, content: content?, format: format?, mode: mode?, create_dirs })
}

/// Reads `validate` beside a command: a step that runs after it, under its record (docs/formats/prodigy.md#validation).
fn measured(node: &Node, id: &str, problems: &mut Problems<'_>) -> Option<Step> {
    let (id, mut timeout) = (format!("{id}.validate"), None);
    let validate = validate(node, &id, &mut timeout, problems)?;
    let mut step = Step { timeout, ..bare(node, &id, Command::Validate(validate)) };
    step.canonical = super::canonical::of(&step);
    Some(step)
}

fn validate(node: &Node, id: &str, timeout: &mut Option<Duration>, problems: &mut Problems<'_>) -> Option<Validate> {
    if matches!(node.kind, Kind::List(_)) {
        let steps = one_or_more(node, &format!("{id}."), problems);
        let rest = (100.0, None, None, None);
        let (threshold, result_file, expected_schema, on_incomplete) = rest;
        return Some(Validate { steps, threshold, result_file, expected_schema, on_incomplete });
    }
    let mut map = Fields::of(node, "`validate`", &VALIDATE_KEYS, problems)?;
    let steps = body(node, &mut map, &format!("{id}."), problems);
    let own = map.take("timeout").and_then(|node| policy::duration(node, "`timeout`", problems));
    *timeout = timeout.or(own);
    let threshold = map.take("threshold").and_then(|node| policy::number(node, "`threshold`", 100.0, problems));
    let result_file = map.text("result_file", problems).and_then(|text| template(&text, Reader::Plain, problems));
    let expected_schema = map.take("expected_schema").map(Node::to_json);
    let on_incomplete = map.take("on_incomplete").and_then(|node| on_incomplete(node, id, problems));
    Some(Validate { steps, threshold: threshold.unwrap_or(100.0), result_file, expected_schema, on_incomplete })
}

fn on_incomplete(node: &Node, id: &str, problems: &mut Problems<'_>) -> Option<OnIncomplete> {
    let mut map = Fields::of(node, "`on_incomplete`", &GAP_KEYS, problems)?;
    let steps = body(node, &mut map, &format!("{id}.on_incomplete."), problems);
    let attempts = map.take("max_attempts").and_then(|node| policy::count(node, "`max_attempts`", (1, 100), problems));
    Some(OnIncomplete {
        steps,
        max_attempts: attempts.unwrap_or(2),
        fail_workflow: map.flag("fail_workflow", problems).unwrap_or(true),
        commit_required: map.flag("commit_required", problems).unwrap_or(false),
    })
}

/// Reads `on_failure`: a text (a Claude command when it begins with `/`, else one of a shell), a list of steps, or a mapping.
fn handler(node: &Node, id: &str, problems: &mut Problems<'_>) -> Option<OnFailure> {
    let prefix = format!("{id}.on_failure.");
    let usual = |steps| OnFailure { steps, max_attempts: 3, fail_workflow: true };
    match &node.kind {
        Kind::List(_) => Some(usual(one_or_more(node, &prefix, problems))),
        Kind::Text(line) if line.trim_start().starts_with('/') => Some(usual(one_or_more(node, &prefix, problems))),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {
            let command = text(node, "`on_failure`", Reader::Shell, problems)?;
            let mut step = bare(node, &format!("{prefix}1"), Command::Shell(command));
            step.canonical = super::canonical::of(&step);
            Some(usual(vec![step]))
        }
        Kind::Map(_) => {
            let mut map = Fields::of(node, "`on_failure`", &GAP_KEYS, problems)?;
            let mut steps = body(node, &mut map, &prefix, problems);
            let attempts = map.take("max_attempts");
            let attempts = attempts.and_then(|node| policy::count(node, "`max_attempts`", (0, 100), problems));
            if let (Some(true), Some(last)) = (map.flag("commit_required", problems), steps.last_mut()) {
                last.commit_required = true;
                last.canonical = super::canonical::of(last);
            }
            let fail_workflow = map.flag("fail_workflow", problems).unwrap_or(true);
            Some(OnFailure { steps, max_attempts: attempts.unwrap_or(3), fail_workflow })
        }
    }
}

/// Reads the `shell`, `claude` or `commands` of a mapping.
fn body(node: &Node, map: &mut Fields<'_>, prefix: &str, problems: &mut Problems<'_>) -> Vec<Step> {
    let given: Vec<(&str, &Node)> =
        ["shell", "claude", "commands"].into_iter().filter_map(|key| Some((key, map.take(key)?))).collect();
    match given.as_slice() {
        [("commands", list)] => one_or_more(list, prefix, problems),
        [(key, value)] => {
            let what = format!("`{key}`");
            let command = if *key == "shell" {
                text(value, &what, Reader::Shell, problems).map(Command::Shell)
            } else {
                text(value, &what, Reader::Plain, problems).map(Command::Claude)
            };
            let Some(command) = command else { return Vec::new() };
            let is_claude = matches!(command, Command::Claude(_));
            let mut step = bare(value, &format!("{prefix}1"), command);
            step.retry = is_claude.then(Retry::of_claude);
            step.canonical = super::canonical::of(&step);
            vec![step]
        }
        _ => {
            let message = format!("{} has one of `shell`, `claude` and `commands`", map.what);
            problems.add(node.place, message, "write one of them");
            Vec::new()
        }
    }
}

fn when(node: &Node, problems: &mut Problems<'_>) -> Option<Condition> {
    if let Kind::Bool(value) = node.kind {
        return Some(Condition::Value(Operand::Literal(Value::Bool(value))));
    }
    let text = text_of(node, "`when`", problems)?;
    match Condition::parse(&text.text) {
        Ok(condition) => Some(condition),
        Err(message) => {
            problems.add(text.place, format!("`when`: {message}"), "correct the expression");
            None
        }
    }
}

fn title(command: &Command) -> String {
    let text = match command {
        Command::Shell(text) | Command::Claude(text) => text.to_string(),
        Command::WriteFile(file) => format!("write {}", file.path),
        Command::Foreach(Foreach { items: Items::List(items), .. }) => format!("for each of {} items", items.len()),
        Command::Foreach(Foreach { items: Items::Command(command), .. }) => format!("for each of `{command}`"),
        Command::Validate(validate) => {
            let first = validate.steps.first().map_or_else(String::new, |step| format!(": {}", step.title));
            format!("validate{first}")
        }
    };
    clean_line(&text, 80)
}
