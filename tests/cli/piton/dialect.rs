//! Workflow files, as `validate` and the published schema see them.

use serde_json::Value;

use crate::support::{self, Sandbox};

/// Files of Prodigy that are accepted and capture nothing, so that they have a current form.
const GOOD: &[&str] = &[
    "- shell: make",
    "- /review",
    "- {name: review, args: [a, b]}",
    "commands: [{shell: a}]",
    "{name: x, env: {A: 1, B: true, C: }, secrets: {T: TOKEN, U: {provider: file, key: k}}, env_files: [.env], commands: [{shell: a}]}",
    "{timeout: 1m30s, retry: 3, merge: [{shell: m}], commands: [{shell: a}]}",
    "{merge: {commands: [{claude: /m}], timeout: 60}, commands: [{shell: a}]}",
    "- {shell: a, id: build, when: '${ARG} == 1', timeout: 5, retry: {attempts: 3, backoff: fibonacci, initial_delay: 2s, max_delay: 1m, jitter: true, retry_on: [network, 7]}}",
    "- {shell: a, retry: {max_attempts: 3, initial_delay_secs: 1, max_delay_secs: 9, jitter_factor: 0.2, exit_codes: [1, 2]}}",
    "- {shell: a, env: {X: y}, working_dir: sub, commit_required: true, idempotent: false, probe: 'true'}",
    "- {shell: a, irreversible: true, on_failure: fix it, on_success: [{shell: b}]}",
    "- {shell: a, on_failure: {claude: /fix, max_attempts: 0, fail_workflow: false, commit_required: true}}",
    "- {shell: a, on_failure: {commands: [{shell: x}, {claude: /y}]}}",
    "- test: {command: t, on_failure: {claude: /fix}}",
    "- test: cargo test",
    "- foreach: {foreach: [a, 1], do: [{shell: x}], parallel: 4, continue_on_error: true, max_items: 9}",
    "- foreach: {input: ls, do: {shell: x}}",
    "- write_file: {path: a/b, content: x, format: json, mode: \"0600\", create_dirs: true}",
    "- validate: {shell: v, threshold: 90, timeout: 30, result_file: r.json, expected_schema: {type: object}, on_incomplete: {claude: /gap, max_attempts: 2}}",
    "- validate: [{shell: v}]",
    "- {claude: /note, commit_required: true, validate: {claude: /check, result_file: c.json, on_incomplete: {claude: /mend}}}",
    "- {shell: a, validate: {shell: v}, on_success: [{shell: b}]}",
];

/// Files of Prodigy that are refused.
const BAD: &[&str] = &[
    "commands: []",
    "- {shell: a, tiemout: 3}",
    "- {shell: a, claude: b}",
    "- {shell: a, claude: b, validate: {shell: v}}",
    "- {write_file: {path: a, content: b}, validate: {shell: v}}",
    "{mode: mapreduce, map: {input: a}, reduce: []}",
    "- {id: x}",
    "- {shell: ''}",
    "- {shell: a, retry: 0}",
    "- {shell: a, retry: {backoff: sometimes}}",
    "- {shell: a, timeout: soon}",
    "- {shell: a, capture: 'a b'}",
    "- {shell: a, capture: v, capture_format: xml}",
    "- {shell: a, id: -x}",
    "- {shell: a, env: {1A: b}}",
    "- {shell: a, env: {PITON_X: b}}",
    "- {shell: a, on_failure: {max_attempts: 3}}",
    "- foreach: {do: [{shell: x}]}",
    "- foreach: {foreach: [a]}",
    "- write_file: {path: a}",
    "- validate: {threshold: 50}",
    "- validate: {shell: v, threshold: 101}",
    "{comands: [{shell: a}], commands: [{shell: a}]}",
    "{secrets: {T: {provider: vault, key: k}}, commands: [{shell: a}]}",
];

/// Files in the current form that program and schema accept.
const CURRENT: &[&str] = &[
    "steps: [{id: a, agent: writer, instructions: Write., outputs: [a.md, {path: b.json, schema: {type: object}}], parts: [x, {name: second, kind: analysis}]}]",
    "steps: [{id: a}, {id: b, reviews: a}, {id: c, gate: Ann, instructions: Ask.}, {id: d, gate: true, depends_on: [a, b]}]",
    "{x-anchors: 1, name: flow, description: d, inputs: {v: {pattern: '^a', description: t}, amount: {type: number, default: 3}, c: {choices: [a, b], default: a}, e: }, steps: [{shell: 'echo ${v}'}]}",
    "{env: {A: b}, secrets: {T: TOKEN}, env_files: [.env], timeout: 1m, retry: 2, merge: {steps: [{shell: m}], timeout: 60}, steps: [{shell: a}]}",
    "steps: [{claude: /x, model: sonnet, permission_mode: plan, allowed_tools: [Read], disallowed_tools: Bash, max_turns: 3, max_budget_usd: 1.5}]",
    "steps: [{id: g, title: G, depends_on: [], steps: [{shell: a}, {id: b}]}, {id: h, depends_on: g}]",
    "steps: [{id: l, foreach: {items: {file: a.json, at: '$.b[*]'}, parallel: 2, max_failures: 1}, shell: 'echo ${item}', retry: {attempts: 2, backoff: fixed}}]",
    "steps: [{foreach: ls, steps: [{shell: a}, {write_file: {path: b, content: c}}]}]",
    "{steps: [{shell: a, when: true, on_failure: {steps: [{shell: b}]}}, {shell: c}], limits: {wait: 2h}}",
    "steps: [{claude: /a, validate: {result_file: r.json, on_incomplete: {claude: /b}}}, {shell: b, validate: {steps: [{shell: v}]}}]",
];

/// Files that both refuse.
const NOT_CURRENT: &[&str] = &[
    "steps: []",
    "name: x",
    "{steps: [{shell: a}], limit: 3}",
    "steps: [{title: A}]",
    "steps: [{agent: a}]",
    "steps: [{shell: a, capture_output: v}]",
    "steps: [{shell: a, irreversible: true}]",
    "steps: [{shell: a, retry: {max_attempts: 2}}]",
    "steps: [{shell: a, capture: v}]",
    "steps: [{shell: a, output_file: v}]",
    "steps: [{shell: a, finds: {v: x}}]",
    "steps: [{shell: a, on_failure: {commands: [{shell: b}]}}]",
    "steps: [{foreach: {input: [a]}, shell: b}]",
    "steps: [{shell: a, on_failure: [{agent: b}]}]",
    "steps: [{shell: a, on_failure: [{shell: b, depends_on: c}]}]",
    "steps: [{shell: a, on_success: {shell: b}}]",
    "steps: [{validate: {shell: v}}]",
    "steps: [{shell: a, if_skipped: run}]",
    "{inputs: {a: {type: date}}, steps: [{shell: b}]}",
];

#[test]
fn the_schema_of_workflows_agrees_with_the_program() {
    let schema = support::read(&support::repository().join("schemas/workflow.schema.json"));
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let sandbox = Sandbox::new();
    let mut wrong = Vec::new();
    for (texts, is_good, is_current) in
        [(GOOD, true, false), (BAD, false, false), (CURRENT, true, true), (NOT_CURRENT, false, true)]
    {
        for text in texts {
            let value: Value = serde_saphyr::from_str(text).unwrap();
            sandbox.file("w.yaml", text);
            let by_program = sandbox.piton(["--format", "json", "validate", "w.yaml"]).run();
            let by_schema = match (is_current, is_good) {
                (true, _) => validator.is_valid(&value),
                // What `validate` prints is a current file.
                (false, true) => validator.is_valid(&by_program.at("/data/files/0/rewritten")),
                (false, false) => false,
            };
            let found = (by_schema, by_program.code == 0);
            if found != (is_good, is_good) {
                let error = validator.iter_errors(&value).next().map(|error| error.to_string());
                wrong.push(format!("{text}: schema {} {error:?}, program {}\n{by_program}", found.0, found.1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let example = support::read(&support::repository().join("examples/piton/release.yaml"));
    assert!(validator.is_valid(&serde_saphyr::from_str::<Value>(&example).unwrap()));
}

#[test]
fn the_schema_is_published() {
    let sandbox = Sandbox::new();
    let printed = sandbox.piton(["schema", "workflow"]).run().expect_code(0);
    assert_eq!(printed.stdout, support::read(&support::repository().join("schemas/workflow.schema.json")));
}
