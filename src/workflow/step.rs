//! The steps of a workflow: their kinds and the keys that every kind takes. Pure.

use std::time::Duration;

use super::{
    AgentWork, Claude, Command, Gate, Group, OnFailure, OnIncomplete, Step, Validate, artifacts,
    bare::{bare, complete},
    canonical, gate,
    include::Includes,
    keys::{
        self, CLAUDE_KEYS, GATE_KEYS, GROUP_KEYS, Level, STEP_KEYS, TOP_KEYS, is_given, only_at_the_top, reference,
        references, working_folder,
    },
    kinds,
    order::{Listed, conditioned},
    policy::{self, Inherited},
    template::Reader,
    values::{env, secrets, template, template_of},
};
use crate::document::{
    Kind, Node,
    definition::{Fields, Problems, identifier, items},
};

const VALIDATE_KEYS: [&str; 8] =
    ["shell", "claude", "steps", "threshold", "timeout", "result_file", "expected_schema", "on_incomplete"];
const HANDLER_KEYS: [&str; 6] = ["shell", "claude", "steps", "attempts", "fail_workflow", "commit_required"];

/// Reads the steps of the workflow, with those of its groups.
pub(super) fn listed(
    node: &Node,
    inherited: &Inherited,
    includes: &mut Includes<'_>,
    problems: &mut Problems<'_>,
) -> Vec<Listed> {
    let mut all = Vec::new();
    for (node, number) in items(node, "`steps`", problems).iter().zip(1..) {
        if is_given(node, "include") {
            all.extend(includes.steps(node, problems));
        } else if is_group(node) {
            all.extend(group(node, number, inherited, problems));
        } else if let Some(step) = step(node, &number.to_string(), inherited, Level::Top, problems) {
            all.push(Listed { step, is_ordered: is_given(node, "depends_on"), is_entry: false, group_needs: None });
        }
    }
    all
}

fn is_group(node: &Node) -> bool {
    is_given(node, "steps") && !is_given(node, "foreach")
}

/// Reads a group: its steps are steps of the workflow.
fn group(node: &Node, number: usize, inherited: &Inherited, problems: &mut Problems<'_>) -> Vec<Listed> {
    let Some(mut map) = Fields::of(node, "a group of steps", &GROUP_KEYS, problems) else { return Vec::new() };
    let id = map.take("id").and_then(|node| identifier(node, "the `id` of a group", problems));
    let title = map.text("title", problems).map(|title| title.text);
    let is_ordered = is_given(node, "depends_on");
    let needs = map.take("depends_on").map(|node| references(node, problems)).unwrap_or_default();
    let when = map.take("when").and_then(|node| kinds::condition(node, "`when`", problems));
    let Some(id) = id else {
        problems.add(node.place, "a group of steps needs an `id`", "add `id:`");
        return Vec::new();
    };
    let group = Group { id: id.text, title, place: id.place };
    let mut all = Vec::new();
    let Some(list) = map.take("steps") else {
        problems.add(node.place, "a group needs steps", "add a list of steps");
        return all;
    };
    for (node, at) in items(list, "`steps`", problems).iter().zip(1..) {
        if is_group(node) {
            problems.add(node.place, "a group is in a group", "make its steps steps of the outer one");
            continue;
        }
        let Some(step) = step(node, &format!("{number}.{at}"), inherited, Level::Top, problems) else { continue };
        let step = Step { group: Some(group.clone()), ..step };
        let group_needs = is_ordered.then(|| needs.clone());
        all.push(Listed { step, is_ordered: is_given(node, "depends_on"), is_entry: false, group_needs });
    }
    conditioned(&mut all, when.as_ref());
    all
}

/// Reads steps inside another one, or one of them. `prefix` begins the ids of steps without an `id`.
pub(super) fn nested(
    node: &Node,
    prefix: &str,
    what: &str,
    inherited: &Inherited,
    problems: &mut Problems<'_>,
) -> Vec<Step> {
    inside(node, (prefix, what, Level::Nested), inherited, problems)
}

fn inside(
    node: &Node,
    (prefix, what, level): (&str, &str, Level),
    inherited: &Inherited,
    problems: &mut Problems<'_>,
) -> Vec<Step> {
    if matches!(node.kind, Kind::Map(_)) {
        return step(node, &format!("{prefix}1"), inherited, level, problems).into_iter().collect();
    }
    let list = items(node, what, problems).iter().zip(1..);
    list.filter_map(|(node, number)| step(node, &format!("{prefix}{number}"), inherited, level, problems)).collect()
}

/// Reads the steps that run when a run ends.
pub(super) fn at_end(node: &Node, inherited: &Inherited, problems: &mut Problems<'_>) -> Vec<Step> {
    let mut found = Vec::new();
    for (node, number) in items(node, "`at_end`", problems).iter().zip(1..) {
        for key in TOP_KEYS.iter().filter(|key| **key != "outputs" && is_given(node, key)) {
            let message = format!("`{key}` is not for a step of `at_end`, which begins when all others are done");
            problems.add(node.place, message, "remove it");
        }
        let Some(step) = step(node, &format!("at_end.{number}"), inherited, Level::Top, problems) else { continue };
        if !matches!(step.command, Command::Shell(_) | Command::Claude(_) | Command::WriteFile(_)) {
            let message =
                format!("a step of `at_end` is `shell`, `claude` or `write_file`, not `{}`", step.kind_name());
            problems.add(step.place, message, "make it one of these");
        }
        let step = Step { is_final: true, ..step };
        found.push(Step { canonical: canonical::of(&step), ..step });
    }
    found
}

fn step(node: &Node, id: &str, inherited: &Inherited, level: Level, problems: &mut Problems<'_>) -> Option<Step> {
    let mut map = Fields::of(node, "a step", &[&STEP_KEYS[..], &CLAUDE_KEYS].concat(), problems)?;
    let given = map.take("id");
    let has_id = given.is_some();
    let given = given.and_then(|node| identifier(node, "the `id` of a step", problems));
    let id_place = given.as_ref().map_or(node.place, |id| id.place);
    let id = given.map_or_else(|| id.to_owned(), |id| id.text);
    let kind = keys::kind(node, &map, (level, has_id), problems)?;
    if level != Level::Top {
        only_at_the_top(&map, level, problems);
    }
    let given_title = map.text("title", problems);
    let each = map.take("foreach");
    if let (Some(inner), Level::Item) = (each, level) {
        let message = "a `foreach` is inside of no other: its items would be run again with the item around them";
        problems.add(inner.place, message, "list the combinations as items of one `foreach`");
    }
    let inner_id = if each.is_some() && kind != "steps" { format!("{id}.1") } else { id.clone() };
    let timeout = map.take("timeout").and_then(|node| policy::duration(node, "`timeout`", problems));
    let command = match (kind, each) {
        ("steps", Some(each)) => {
            let list = map.take("steps");
            let (prefix, none) = (format!("{id}."), Inherited::default());
            let steps = list.map(|list| inside(list, (&prefix, "`steps`", Level::Item), &none, problems));
            kinds::foreach(each, steps.unwrap_or_default(), problems).map(Command::Foreach)
        }
        (_, _) => command(kind, node, &mut map, problems),
    };
    let read = common(node, map, (&inner_id, timeout, command), problems)?;
    let mut step = match each.filter(|_| kind != "steps") {
        Some(each) => each_item(each, read, &id, inherited, problems)?,
        None => complete(read, inherited),
    };
    step.id_place = id_place;
    if let Some(title) = given_title {
        step.title = title.text;
    }
    Some(step)
}

/// Reads the keys that every kind takes.
fn common(
    node: &Node,
    mut map: Fields<'_>,
    (id, timeout, command): (&str, Option<Duration>, Option<Command>),
    problems: &mut Problems<'_>,
) -> Option<Step> {
    let depends_on = map.take("depends_on").map(|node| references(node, problems)).unwrap_or_default();
    let reviews = map.text("reviews", problems).map(reference);
    let outputs = map.take("outputs").map(|node| artifacts::outputs(node, problems)).unwrap_or_default();
    let uses = map.take("uses").map(|node| artifacts::uses(node, problems)).unwrap_or_default();
    let parts = map.take("parts").map(|node| artifacts::parts(node, problems)).unwrap_or_default();
    let result_place = map.place("result");
    let result = map.take("result").and_then(|node| artifacts::schema(node, problems));
    if let (Some(place), Some(command)) = (result_place, &command)
        && !matches!(command, Command::Agent(_) | Command::Shell(_) | Command::Claude(_))
    {
        problems.add(place, "`result` is for an `agent`, `shell` or `claude` step", "remove it");
    }
    let when = map.take("when").and_then(|node| kinds::condition(node, "`when`", problems));
    let retry = map.take("retry").and_then(|node| policy::retry(node, problems));
    let probe_place = map.place("probe");
    let mut text = |key, reader, problems: &mut Problems<'_>| {
        map.text(key, problems).and_then(|text| template(&text, reader, problems))
    };
    let working_dir = text("working_dir", Reader::Plain, problems);
    let probe = text("probe", Reader::Shell, problems);
    working_folder(working_dir.as_ref(), problems);
    let env = map.take("env").map(|node| env(node, problems)).unwrap_or_default();
    let secrets = map.take("secrets").map(|node| secrets(node, problems)).unwrap_or_default();
    let on_failure = on_failure(&mut map, id, problems);
    let is_measured =
        matches!(command, Some(Command::Agent(_) | Command::Shell(_) | Command::Claude(_) | Command::WriteFile(_)));
    let validate = map.take("validate").and_then(|node| match is_measured || command.is_none() {
        true => measured(node, id, problems),
        false => {
            let message = "`validate` measures what an `agent`, `shell`, `claude` or `write_file` step did";
            problems.add(node.place, message, "write it beside one of these");
            None
        }
    });
    let commit_required = map.flag("commit_required", problems).unwrap_or(false);
    let idempotent = map.flag("idempotent", problems).unwrap_or(true);
    let is_run = !matches!(command, Some(Command::Agent(_)));
    if let (true, true, Some(place)) = (idempotent, is_run, probe_place) {
        problems.add(place, "a `probe` is for a step that must not run twice", "add `idempotent: false`, or remove it");
    }
    Some(Step {
        needs: depends_on.clone(),
        depends_on,
        reviews,
        uses,
        outputs,
        result,
        parts,
        when,
        timeout,
        retry,
        env,
        secrets,
        working_dir,
        on_failure,
        validate: validate.map(Box::new),
        commit_required,
        idempotent,
        probe,
        ..bare(node.place, id, command?)
    })
}

fn command(kind: &'static str, node: &Node, map: &mut Fields<'_>, problems: &mut Problems<'_>) -> Option<Command> {
    if kind != "claude" && kind != "agent" {
        for member in map.members.iter().filter(|member| CLAUDE_KEYS.contains(&member.key.as_str())) {
            let message = format!("`{}` is for a `claude` or an `agent` step, and this is a `{kind}` step", member.key);
            problems.add(member.place, message, "remove it");
        }
    }
    if kind != "gate" {
        for member in map.members.iter().filter(|member| GATE_KEYS.contains(&member.key.as_str())) {
            let message = format!("`{}` is for a gate, and this is a `{kind}` step", member.key);
            problems.add(member.place, message, "remove it, or make the step a `gate`");
        }
    }
    if kind == "agent" || kind == "gate" {
        let instructions = map.text("instructions", problems).and_then(|text| kinds::told(text, problems));
        let agent = map.text("agent", problems);
        return match kind {
            "agent" => {
                let options = kinds::claude_options(map, problems);
                Some(Command::Agent(AgentWork { agent: agent.map(|agent| agent.text), instructions, options }))
            }
            _ => {
                let options = map.take("options").map(|node| gate::options(node, problems)).unwrap_or_default();
                let gate = kinds::gate(map.take("gate")?, agent, instructions, problems)?;
                Some(Command::Gate(Gate { options, ..gate }))
            }
        };
    }
    if let Some(member) = map.members.iter().find(|member| member.key == "instructions") {
        let message = format!("`instructions` are for an agent or a person, and this is a `{kind}` step");
        problems.add(member.place, message, "remove them, or give the step an `agent`");
    }
    let Some(value) = map.take(kind) else {
        problems.add(node.place, format!("`{kind}` has no value"), "write what the step does");
        return None;
    };
    match kind {
        "shell" => template_of(value, "`shell`", Reader::Shell, problems).map(Command::Shell),
        "claude" => {
            let prompt = template_of(value, "`claude`", Reader::Plain, problems)?;
            Some(Command::Claude(Claude { prompt, options: kinds::claude_options(map, problems) }))
        }
        _ => kinds::write_file(value, problems).map(Command::WriteFile),
    }
}

/// Puts a `foreach` around a step; what decides whether the step runs at all, and when, belongs to the loop.
fn each_item(
    node: &Node,
    mut inner: Step,
    id: &str,
    inherited: &Inherited,
    problems: &mut Problems<'_>,
) -> Option<Step> {
    if matches!(inner.command, Command::Gate(_)) {
        let message = format!("`foreach` does not go around `{}`", inner.kind_name());
        problems.add(node.place, message, "use it with agent, shell, claude, write_file or steps");
        return None;
    }
    let place = inner.place;
    let mut outer = Step {
        depends_on: std::mem::take(&mut inner.depends_on),
        needs: std::mem::take(&mut inner.needs),
        reviews: inner.reviews.take(),
        uses: std::mem::take(&mut inner.uses),
        outputs: inner.outputs.extract_if(.., |output| !output.is_of_item()).collect(),
        parts: std::mem::take(&mut inner.parts),
        when: inner.when.take(),
        idempotent: std::mem::replace(&mut inner.idempotent, true),
        probe: inner.probe.take(),
        ..bare(place, id, inner.command.clone())
    };
    outer.command = Command::Foreach(kinds::foreach(node, vec![complete(inner, inherited)], problems)?);
    Some(complete(outer, &Inherited::default()))
}

/// Reads `validate`: a step that runs after the command, under its record (docs/formats/prodigy.md#validation).
fn measured(node: &Node, id: &str, problems: &mut Problems<'_>) -> Option<Step> {
    let id = format!("{id}.validate");
    let (validate, timeout) = validation(node, &id, problems)?;
    Some(complete(Step { timeout, ..bare(node.place, &id, Command::Validate(validate)) }, &Inherited::default()))
}

/// Reads a measurement and its timeout. The work before it may have written the result.
fn validation(node: &Node, id: &str, problems: &mut Problems<'_>) -> Option<(Validate, Option<Duration>)> {
    if matches!(node.kind, Kind::List(_)) {
        let steps = nested(node, &format!("{id}."), "`validate`", &Inherited::default(), problems);
        let rest = (100.0, None, None, None);
        let (threshold, result_file, expected_schema, on_incomplete) = rest;
        return Some((Validate { steps, threshold, result_file, expected_schema, on_incomplete }, None));
    }
    let mut map = Fields::of(node, "`validate`", &VALIDATE_KEYS, problems)?;
    let result_file = map.text("result_file", problems).and_then(|text| template(&text, Reader::Plain, problems));
    let has_steps = ["shell", "claude", "steps"].iter().any(|key| node.get(key).is_some());
    let steps = match result_file.is_some() && !has_steps {
        true => Vec::new(),
        false => body(node, &mut map, &format!("{id}."), problems),
    };
    let timeout = map.take("timeout").and_then(|node| policy::duration(node, "`timeout`", problems));
    let threshold = map.take("threshold").and_then(|node| policy::number(node, "`threshold`", 100.0, problems));
    let expected_schema = map.take("expected_schema").map(Node::to_json);
    let on_incomplete = map.take("on_incomplete").and_then(|node| on_incomplete(node, id, problems));
    let threshold = threshold.unwrap_or(100.0);
    Some((Validate { steps, threshold, result_file, expected_schema, on_incomplete }, timeout))
}

fn on_incomplete(node: &Node, id: &str, problems: &mut Problems<'_>) -> Option<OnIncomplete> {
    let mut map = Fields::of(node, "`on_incomplete`", &HANDLER_KEYS, problems)?;
    let steps = body(node, &mut map, &format!("{id}.on_incomplete."), problems);
    let attempts = map.take("attempts").and_then(|node| policy::count(node, "`attempts`", (1, 100), problems));
    Some(OnIncomplete {
        steps,
        attempts: attempts.unwrap_or(2),
        fail_workflow: map.flag("fail_workflow", problems).unwrap_or(true),
        commit_required: map.flag("commit_required", problems).unwrap_or(false),
    })
}

/// Reads what follows a failure: `on_failure`, and `continue_on_error`.
fn on_failure(map: &mut Fields<'_>, id: &str, problems: &mut Problems<'_>) -> Option<OnFailure> {
    let on_failure = map.take("on_failure").and_then(|node| handler(node, id, problems));
    match map.flag("continue_on_error", problems) {
        Some(true) => Some(OnFailure { fail_workflow: false, ..on_failure.unwrap_or_else(OnFailure::without_steps) }),
        Some(false) | None => on_failure,
    }
}

/// Reads `on_failure`: a shell command, a list of steps, or a mapping.
fn handler(node: &Node, id: &str, problems: &mut Problems<'_>) -> Option<OnFailure> {
    let prefix = format!("{id}.on_failure.");
    let usual = |steps| OnFailure { steps, attempts: 3, fail_workflow: true };
    match &node.kind {
        Kind::List(_) => Some(usual(nested(node, &prefix, "`on_failure`", &Inherited::default(), problems))),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {
            let command = template_of(node, "`on_failure`", Reader::Shell, problems)?;
            let step = bare(node.place, &format!("{prefix}1"), Command::Shell(command));
            Some(usual(vec![complete(step, &Inherited::default())]))
        }
        Kind::Map(_) => {
            let mut map = Fields::of(node, "`on_failure`", &HANDLER_KEYS, problems)?;
            let is_tolerance = node.get("fail_workflow").is_some() && map.members.len() == 1;
            if is_tolerance && map.flag("fail_workflow", problems) == Some(false) {
                return Some(OnFailure { fail_workflow: false, ..OnFailure::without_steps() });
            }
            let mut steps = body(node, &mut map, &prefix, problems);
            let attempts = map.take("attempts");
            let attempts = attempts.and_then(|node| policy::count(node, "`attempts`", (0, 100), problems));
            if map.flag("commit_required", problems) == Some(true)
                && let Some(last) = steps.pop()
            {
                steps.push(complete(Step { commit_required: true, ..last }, &Inherited::default()));
            }
            let fail_workflow = map.flag("fail_workflow", problems).unwrap_or(true);
            Some(OnFailure { steps, attempts: attempts.unwrap_or(3), fail_workflow })
        }
    }
}

/// Reads the `shell`, `claude` or `steps` of a mapping.
fn body(node: &Node, map: &mut Fields<'_>, prefix: &str, problems: &mut Problems<'_>) -> Vec<Step> {
    let given: Vec<(&str, &Node)> =
        ["shell", "claude", "steps"].into_iter().filter_map(|key| Some((key, map.take(key)?))).collect();
    match given.as_slice() {
        [("steps", list)] => nested(list, prefix, "`steps`", &Inherited::default(), problems),
        [(key, value)] => {
            let what = format!("`{key}`");
            let command = if *key == "shell" {
                template_of(value, &what, Reader::Shell, problems).map(Command::Shell)
            } else {
                let prompt = template_of(value, &what, Reader::Plain, problems);
                prompt.map(|prompt| Command::Claude(Claude { prompt, ..Claude::default() }))
            };
            let step = command.map(|command| bare(value.place, &format!("{prefix}1"), command));
            step.into_iter().map(|step| complete(step, &Inherited::default())).collect()
        }
        _ => {
            let message = format!("{} has one of `shell`, `claude` and `steps`", map.what);
            problems.add(node.place, message, "write one of them");
            Vec::new()
        }
    }
}
