//! The canonical form of a step, so that equivalent definitions have the same digest. Pure.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value, json};

use super::{
    Capture, Captured, ClaudeOptions, Command, Conversation, Foreach, Items, OnFailure, Output, PartDefinition, Secret,
    Step, Validate, Workflow, WriteFile, selection::SortKey, template::Template,
};
use crate::model::{GateEffect, GateOption, OutputSchema, PartKind};

/// Returns everything that decides what a step does. Its retries, timeout, id, title, position and dependencies are not part of it.
pub(super) fn of(step: &Step) -> Value {
    let mut canonical = Map::new();
    for (key, value) in command(&step.command) {
        canonical.insert(key.to_owned(), value);
    }
    let mut add = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            canonical.insert(key.to_owned(), value);
        }
    };
    let is_gate = matches!(step.command, Command::Gate(_));
    // A gate is not run: its timeout decides what an answer does.
    let answer_within = step.timeout.filter(|_| is_gate).map(|within| json!(millis(within)));
    add("answer_within_ms", answer_within);
    add("reviews", step.reviews.as_ref().map(|of| json!(of.id)));
    add("uses", (!step.uses.is_empty()).then(|| json!(step.uses)));
    add("outputs", (!step.outputs.is_empty()).then(|| step.outputs.iter().map(output).collect()));
    add("parts", (!step.parts.is_empty()).then(|| step.parts.iter().map(part).collect()));
    add("when", step.when.as_ref().map(|when| json!(when.condition.to_string())));
    add("result", step.result.as_ref().map(|(schema, _)| self::schema(schema)));
    add("captures", (!step.captures.is_empty()).then(|| step.captures.iter().map(capture).collect()));
    add(
        "env",
        (!step.env.is_empty()).then(|| step.env.iter().map(|(name, value)| (name.clone(), text(value))).collect()),
    );
    add("secrets", (!step.secrets.is_empty()).then(|| secrets(&step.secrets)));
    add("working_dir", step.working_dir.as_ref().map(text));
    add("on_failure", step.on_failure.as_ref().map(on_failure));
    add("validate", step.validate.as_ref().map(|validate| validate.canonical["validate"].clone()));
    add("commit_required", step.commit_required.then_some(Value::Bool(true)));
    add("idempotent", (!step.idempotent).then_some(Value::Bool(false)));
    add("probe", step.probe.as_ref().map(text));
    add("at_end", step.is_final.then_some(Value::Bool(true)));
    Value::Object(canonical)
}

/// Returns everything outside the steps that affects all of them.
pub(super) fn head(workflow: &Workflow) -> Value {
    let env: Map<String, Value> = workflow.env.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    let files: Vec<Value> = workflow.env_files.iter().map(text).collect();
    json!({"env": env, "secrets": secrets(&workflow.secrets), "env_files": files})
}

fn secrets(secrets: &BTreeMap<String, Secret>) -> Value {
    let sources = secrets.iter().map(|(name, secret)| {
        let from = match secret {
            Secret::Env(variable) => json!({"env": variable}),
            Secret::File(path) => json!({"file": path}),
        };
        (name.clone(), from)
    });
    Value::Object(sources.collect())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn steps(steps: &[Step]) -> Value {
    steps.iter().map(|step| step.canonical.clone()).collect()
}

fn text(template: &Template) -> Value {
    Value::String(template.to_string())
}

fn command(command: &Command) -> Vec<(&'static str, Value)> {
    match command {
        Command::Agent(work) => {
            let told = work.instructions.as_ref().map(|told| json!(told.text));
            let own = [("agent", json!(work.agent)), ("instructions", told.unwrap_or_default())];
            own.into_iter().chain(options(&work.options).map(|all| ("options", all))).collect()
        }
        Command::Gate(gate) => {
            let told = gate.instructions.as_ref().map(|told| json!(told.text));
            vec![("gate", gate.text.as_ref().map_or(Value::Bool(true), |text| json!(text)))]
                .into_iter()
                .chain(told.map(|told| ("instructions", told)))
                .chain(
                    (!gate.options.is_empty())
                        .then(|| ("options", gate.options.iter().map(|(option, _)| self::option(option)).collect())),
                )
                .collect()
        }
        Command::Shell(program) => vec![("shell", text(program))],
        Command::Claude(claude) => {
            let options = options(&claude.options);
            std::iter::once(("claude", text(&claude.prompt))).chain(options.map(|all| ("options", all))).collect()
        }
        Command::Foreach(foreach) => vec![("foreach", self::foreach(foreach))],
        Command::WriteFile(file) => vec![("write_file", write_file(file))],
        Command::Validate(validate) => vec![("validate", self::validate(validate))],
    }
}

fn option(option: &GateOption) -> Value {
    let does = match &option.effect {
        GateEffect::Continue => json!("continue"),
        GateEffect::Stop => json!("stop"),
        GateEffect::Wait => json!("wait"),
        GateEffect::Abort => json!("abort"),
        GateEffect::Return(step) => json!({"return": step}),
    };
    json!({"word": option.word, "does": does})
}

fn options(options: &ClaudeOptions) -> Option<Value> {
    (*options != ClaudeOptions::default()).then(|| {
        let mut canonical = json!({
            "model": options.model,
            "permission_mode": options.permission_mode,
            "allowed_tools": options.allowed_tools,
            "disallowed_tools": options.disallowed_tools,
            "max_turns": options.max_turns,
            "max_budget_usd": options.max_budget_usd,
        });
        match &options.conversation {
            Conversation::New => {}
            Conversation::OfTries => canonical["continue"] = json!(true),
            Conversation::Of(step) => canonical["continue"] = json!(step.id),
        }
        if options.fails_on_denied {
            canonical["on_denied"] = json!("fail");
        }
        canonical
    })
}

fn output(output: &Output) -> Value {
    match &output.schema {
        None => text(&output.path),
        Some((schema, _)) => json!({"path": text(&output.path), "schema": self::schema(schema)}),
    }
}

fn schema(schema: &OutputSchema) -> Value {
    match schema {
        OutputSchema::Inline(schema) => schema.clone(),
        OutputSchema::File(file) => json!(file),
    }
}

fn part(part: &PartDefinition) -> Value {
    match (&part.title, part.kind) {
        (None, PartKind::Work) => json!(part.name),
        (title, kind) => json!({"name": part.name, "title": title, "is_analysis": kind == PartKind::Analysis}),
    }
}

fn foreach(foreach: &Foreach) -> Value {
    let items = match &foreach.items {
        Items::List(items) => items.iter().map(text).collect(),
        Items::Command(command) => text(command),
        Items::File { file, path } => json!({"file": text(file), "at": path.to_string()}),
    };
    let mut loop_of = json!({
        "items": items,
        "do": steps(&foreach.steps),
        "continue_on_error": foreach.continue_on_error,
        "max_items": foreach.max_items,
    });
    if let Some(only) = &foreach.only {
        loop_of["where"] = json!(only.condition.to_string());
    }
    if !foreach.sort_by.is_empty() {
        let key = |key: &SortKey| json!([key.path, key.is_descending]);
        loop_of["sort_by"] = foreach.sort_by.iter().map(key).collect();
    }
    if foreach.in_worktrees {
        loop_of["worktree"] = json!("each");
    }
    if let Some(most) = foreach.max_failures {
        loop_of["max_failures"] = json!(most);
    }
    loop_of
}

fn write_file(file: &WriteFile) -> Value {
    json!({
        "path": text(&file.path),
        "content": text(&file.content),
        "format": format!("{:?}", file.format).to_lowercase(),
        "mode": format!("{:04o}", file.mode),
        "create_dirs": file.create_dirs,
    })
}

fn validate(validate: &Validate) -> Value {
    let gap = validate.on_incomplete.as_ref().map(|gap| {
        json!({
            "commands": steps(&gap.steps),
            "attempts": gap.attempts,
            "fail_workflow": gap.fail_workflow,
            "commit_required": gap.commit_required,
        })
    });
    json!({
        "commands": steps(&validate.steps),
        "threshold": validate.threshold,
        "result_file": validate.result_file.as_ref().map(text),
        "expected_schema": validate.expected_schema,
        "on_incomplete": gap,
    })
}

fn on_failure(handler: &OnFailure) -> Value {
    json!({
        "commands": steps(&handler.steps),
        "attempts": handler.attempts,
        "fail_workflow": handler.fail_workflow,
    })
}

fn capture(capture: &Capture) -> Value {
    match &capture.of {
        Captured::Output(format) => json!({"name": capture.name, "format": format!("{format:?}").to_lowercase()}),
        Captured::Errors => json!({"name": capture.name, "of": "stderr"}),
        Captured::Files(pattern) => json!({"name": capture.name, "files": pattern}),
    }
}
