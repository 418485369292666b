use super::{Step, parse};
use crate::model::{Finding, RelPath};

fn mistakes(text: &str) -> Vec<String> {
    let checked = parse(&RelPath::parse("flow.yaml").unwrap(), text.as_bytes());
    let place = |finding: &Finding| (finding.line.unwrap(), finding.column.unwrap());
    checked
        .findings
        .iter()
        .map(|finding| format!("{}:{} {}", place(finding).0, place(finding).1, finding.message))
        .collect()
}

#[test]
fn every_mistake_is_told_with_line_and_column() {
    for (text, expected) in [
        ("steps:\n- id: a\n  agnet: x\n", "3:3 a step has no key `agnet`; did you mean `agent`?"),
        ("steps:\n- id: a\n  dependson: x\n", "3:3 a step has no key `dependson`; did you mean `depends_on`?"),
        ("steps:\n- id: a\nstep: x\n", "3:1 a workflow has no key `step`; did you mean `steps`?"),
        (
            "steps:\n- id: a\nversion: 2\n",
            "3:1 a workflow has no key `version`; its keys are name, description, inputs, env, secrets, env_files, timeout, retry, limits, worktree, merge, steps, at_end, on_stop",
        ),
        ("steps:\n- id: a\n- id: a\n", "3:7 the id `a` is already used by the step on line 2"),
        ("steps:\n- title: A\n", "2:3 a step needs an `id`"),
        (
            "steps:\n- id: ../x\n",
            "2:7 `../x` is not an id: letters, digits, `-`, `_`, `.` and `:`, not beginning with `-` or `.`, at most 100 bytes",
        ),
        ("steps:\n- id: a\n  depends_on: [b]\n", "3:16 `a` depends on `b`, which is not a step"),
        ("steps:\n- id: a\n  returns_to: b\n", "3:15 `a` reviews `b`, which is not a step"),
        (
            "steps:\n- id: a\n  depends_on: c\n- id: b\n  depends_on: a\n- id: c\n  depends_on: [b]\n",
            "5:15 steps depend on each other in a cycle: a -> c -> b -> a",
        ),
        ("steps:\n- id: a\n  depends_on: a\n", "3:15 steps depend on each other in a cycle: a -> a"),
        ("steps:\n- id: a\n  reviews: a\n", "3:12 `a` reviews `a`, which it does not depend on"),
        (
            "steps:\n- id: a\n- id: g\n  gate: true\n  agent: pm\n",
            "5:10 the gate `g` must be approved by a person, and `pm` is an agent",
        ),
        (
            "steps:\n- id: a\n  agent: pm\n- id: g\n  gate: pm\n",
            "5:9 the gate `g` must be approved by a person, and `pm` is the agent of `a`",
        ),
        ("steps:\n- id: g\n  gate: ''\n", "3:9 this gate does not say who approves it"),
        ("steps:\n- id: g\n  gate: yes\n  depends_on: g\n", "4:15 steps depend on each other in a cycle: g -> g"),
        ("steps:\n- id: a\n  outputs: ../x\n", "3:12 the output cannot be used: `../x` leaves its folder with `..`"),
        (
            "steps:\n- id: a\n  outputs: [ok.txt, /etc/passwd]\n",
            "3:21 the output cannot be used: `/etc/passwd` is absolute; a path below the project is needed",
        ),
        (
            "steps:\n- id: a\n  outputs: memory/state/phase.json\n",
            "3:12 the output `memory/state/phase.json` is in a state folder",
        ),
        (
            "steps:\n- id: a\n  outputs:\n  - path: a.md\n    schema: {type: object}\n",
            "5:13 a schema is checked against JSON, and `a.md` does not end in .json",
        ),
        (
            "steps:\n- id: a\n  outputs: x\n- id: b\n  depends_on: []\n  outputs: x\n",
            "6:12 `x` is already the output of `a`",
        ),
        ("steps:\n- id: a\n  idempotent: no\n", "3:15 `idempotent` of a step is true or false, not text"),
        ("steps:\n- id: a\n  parts: [x, x]\n", "3:14 the part `x` already exists"),
        ("steps: []\n", "1:8 `steps` is an empty list"),
        ("name: x\n", "1:1 a workflow needs steps"),
        ("steps:\n- id: a\nphases:\n- id: p\n", "3:1 a workflow has `steps` or `phases`, not both"),
        (
            "phases:\n- id: p\n  steps: [{id: a}]\n- id: p\n  steps: [{id: b}]\n",
            "4:7 the id `p` is taken by another step or group",
        ),
        ("steps:\n- id: a\n  id: b\n", "3:3 duplicate mapping key: id"),
        (
            "a\n",
            "1:1 a workflow is a mapping with the keys name, description, inputs, env, secrets, env_files, timeout, retry, limits, worktree, merge, steps, at_end, on_stop, not text",
        ),
    ] {
        assert_eq!(mistakes(text), [expected], "{text}");
    }
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once_in_order() {
    let text = "name: x\nsteps:\n- id: a\n  agnet: x\n  depends_on: zz\n- id: a\n  outputs: ../y\n- {}\n";
    let lines: Vec<String> = mistakes(text).iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(lines, ["4:3", "5:15", "6:7", "7:12", "8:3"]);
}

#[test]
fn json_is_a_workflow_too() {
    let text = "{\n  \"steps\": [\n    {\"id\": \"a\", \"titel\": \"A\"},\n    {\"id\": 1.10}\n  ]\n}\n";
    assert_eq!(mistakes(text), ["3:17 a step has no key `titel`; did you mean `title`?"]);
}

#[test]
fn without_any_depends_on_the_order_of_the_file_counts() {
    for (text, expected) in [
        ("steps: [{id: 1.9}, {id: 1.10}, {id: c}]", vec![("1.9", vec![]), ("1.10", vec!["1.9"]), ("c", vec!["1.10"])]),
        ("steps: [{id: a}, {id: b, depends_on: []}, {id: c}]", vec![("a", vec![]), ("b", vec![]), ("c", vec!["b"])]),
        ("phases: [{id: p, steps: [{id: a}]}, {id: q, steps: [{id: b}]}]", vec![("a", vec![]), ("b", vec!["a"])]),
    ] {
        let parsed = parse(&RelPath::parse("flow.yaml").unwrap(), text.as_bytes());
        assert_eq!(parsed.findings, Vec::new(), "{text}");
        let read = parsed.workflow.unwrap();
        let needs = |step: &'_ Step| step.depends_on.iter().map(|need| need.id.to_string()).collect::<Vec<_>>();
        let order: Vec<(&str, Vec<String>)> = read.steps.iter().map(|step| (step.id.as_str(), needs(step))).collect();
        let order: Vec<(&str, Vec<&str>)> =
            order.iter().map(|(id, needs)| (*id, needs.iter().map(String::as_str).collect())).collect();
        assert_eq!(order, expected, "{text}");
    }
}

fn read(text: &str) -> super::Workflow {
    let parsed = parse(&RelPath::parse("flow.yaml").unwrap(), text.as_bytes());
    parsed.workflow.unwrap_or_else(|| panic!("{text}: {:#?}", parsed.findings))
}

fn needs(text: &str) -> Vec<String> {
    let shown = |step: &Step| {
        let needs: Vec<&str> = step.depends_on.iter().map(|need| need.id.as_str()).collect();
        format!("{} <- {}", step.id, needs.join(" "))
    };
    read(text).steps.iter().map(shown).collect()
}

#[test]
fn groups_and_reviews_are_resolved() {
    for (text, expected) in [
        (
            "steps: [{id: a}, {id: g, steps: [{id: b}, {id: c, depends_on: a}, {id: d, depends_on: [b, c]}]}, {id: e}]",
            &["a <- ", "b <- a", "c <- a", "d <- b c", "e <- d"][..],
        ),
        (
            "steps: [{id: g, steps: [{id: b}, {id: c, depends_on: []}]}, {id: d}, {id: e, depends_on: g}]",
            &["b <- ", "c <- ", "d <- b c", "e <- b c"],
        ),
        (
            "steps: [{id: a}, {id: b}, {id: g, depends_on: a, steps: [{id: c}, {id: d}]}]",
            &["a <- ", "b <- a", "c <- a", "d <- c"],
        ),
        ("steps: [{id: a}, {id: b}, {id: c, reviews: a}]", &["a <- ", "b <- a", "c <- b"]),
        ("steps: [{id: a}, {id: b, depends_on: []}, {id: c, reviews: a}]", &["a <- ", "b <- ", "c <- b a"]),
        ("steps: [{id: a}, {shell: x}, {id: c, depends_on: ['2', a, a]}]", &["a <- ", "2 <- a", "c <- 2 a"]),
    ] {
        assert_eq!(needs(text), expected, "{text}");
    }
    let group = read("steps: [{id: g, title: G, steps: [{id: a}, {shell: b}]}]").steps;
    assert_eq!(group.iter().map(|step| step.id.as_str()).collect::<Vec<_>>(), ["a", "1.2"]);
    assert!(group.iter().all(|step| step.group.as_ref().is_some_and(|group| group.title.as_deref() == Some("G"))));
}

#[test]
fn a_step_has_one_kind_and_its_keys_fit_it() {
    let kinds: Vec<&str> = read(
        "steps: [{id: a, agent: x}, {id: b, gate: Ann}, {shell: c}, {claude: d, model: sonnet}, {write_file: {path: e, content: f}}, {foreach: [1], shell: g}, {foreach: {items: {file: x.json, at: '$.a[*]'}}, steps: [{shell: h}]}, {id: j}]",
    )
    .steps
    .iter()
    .map(Step::kind_name)
    .collect();
    assert_eq!(kinds, ["agent", "gate", "shell", "claude", "write_file", "foreach", "foreach", "agent"]);
    for (text, expected) in [
        ("steps:\n- {id: a, shell: x, agent: y}\n", "2:3 a step has one command, and this one has agent and shell"),
        (
            "steps:\n- {shell: x, model: y}\n",
            "2:14 `model` is for a `claude` or an `agent` step, and this is a `shell` step",
        ),
        (
            "steps:\n- {shell: x, instructions: y}\n",
            "2:14 `instructions` are for an agent or a person, and this is a `shell` step",
        ),
        ("steps:\n- {validate: {shell: x}}\n", "2:3 a step needs an `id`"),
        (
            "steps:\n- {id: a, gate: x, validate: {shell: x}}\n",
            "2:30 `validate` measures what an `agent`, `shell`, `claude` or `write_file` step did",
        ),
        ("steps:\n- {foreach: [a], id: b, gate: x}\n", "2:13 `foreach` does not go around `gate`"),
        ("steps:\n- {shell: x, parts: [y]}\n", "2:3 parts are for an agent, and this is a `shell` step"),
        ("steps:\n- {id: a}\n- {shell: x, reviews: a}\n", "3:23 `2` reviews `a`, and a `shell` step gives no verdict"),
        (
            "steps:\n- {shell: x, on_failure: [{agent: y}]}\n",
            "2:27 `agent` is for a step of the workflow, and this one is inside another",
        ),
        (
            "steps:\n- {shell: x, on_failure: [{shell: y, depends_on: a}]}\n",
            "2:38 `depends_on` is for a step of the workflow, and this one is inside another",
        ),
        ("steps:\n- {id: g, steps: [{id: h, steps: [{shell: x}]}]}\n", "2:19 a group is in a group"),
        ("steps:\n- {steps: [{shell: x}]}\n", "2:3 a group of steps needs an `id`"),
        (
            "steps:\n- {id: a, shell: x, outputs: 'dist/${item}.gz'}\n",
            "2:30 the variable `${item}` is not set by anything",
        ),
        (
            "steps:\n- {id: a, shell: x}\n- {shell: x, outputs: 'dist/${a.output}.gz'}\n",
            "3:23 the output `dist/${a.output}.gz` has `${a.output}`, which is not known to a plan",
        ),
        (
            "inputs: {v: {default: x}}\nsteps:\n- {shell: x, outputs: '../${v}'}\n",
            "3:23 the output cannot be used: `../x` leaves its folder with `..`",
        ),
        (
            "inputs: {v: {default: x}}\nsteps:\n- {shell: x, outputs: '${v}/*.gz'}\n",
            "3:23 the output `x/*.gz` is a pattern, and this names one file",
        ),
        (
            "steps:\n- {id: a, foreach: [1], steps: [{foreach: [2], shell: x}]}\n",
            "2:43 a `foreach` is inside of no other: its items would be run again with the item around them",
        ),
        ("steps:\n- {shell: x, working_dir: /etc}\n", "2:27 `working_dir` must be a relative path inside the project"),
        (
            "steps:\n- {foreach: {items: {file: a, at: items}}, shell: x}\n",
            "2:35 `items` is not a path of keys, `[0]` and `[*]`",
        ),
        ("inputs: {a-b: }\nsteps: [{shell: x}]\n", "1:10 `a-b` is not a valid variable name"),
        ("inputs: {a: {type: date}}\nsteps: [{shell: x}]\n", "1:20 `date` is not a type of input"),
        (
            "inputs: {a: {type: number, default: x}}\nsteps: [{shell: x}]\n",
            "1:37 the `default` of `a` is `x`, not a number",
        ),
        (
            "inputs: {a: {choices: [b], default: c}}\nsteps: [{shell: x}]\n",
            "1:37 the `default` of `a` is `c`, not one of b",
        ),
        ("commands:\n- {shell: a, commands: b}\n", "2:14 a step has no key `commands`; did you mean `command`?"),
    ] {
        if text.starts_with("commands") {
            assert_eq!(mistakes(text).len(), 1, "{text}");
        } else {
            assert_eq!(mistakes(text), [expected], "{text}");
        }
    }
}

#[test]
fn every_name_is_set_by_the_file_or_by_a_step_before() {
    for text in [
        "inputs: {version: }\nsteps: [{shell: 'echo ${version}'}]",
        "env: {A: b}\nsteps: [{shell: 'echo ${A}'}]",
        "steps: [{id: v, shell: a, result: {}}, {shell: 'echo ${v.output} ${v.stderr} ${v.exit_code} ${v.result.a.0}'}]",
        "steps: [{id: a, shell: b}, {shell: 'echo ${a.output} ${step.a.output}'}]",
        "steps: [{foreach: [1], shell: 'echo ${item} ${index} ${total}'}]",
        "steps: [{id: m, foreach: [1], shell: x}, {shell: 'echo ${m.failed} ${m.results}'}]",
        "steps: [{shell: a, on_failure: {shell: 'echo ${error}'}}]",
        "steps: [{shell: b, validate: {shell: a, on_incomplete: {shell: 'echo ${validation.gaps}'}}}]",
        "steps: [{shell: a}]\nmerge: [{shell: 'echo ${merge.source_branch}'}]",
        "steps: [{shell: 'echo ${x:-y} $${z} ${workflow.files_added:*.md}'}]",
        "env_files: [.env]\nsteps: [{shell: 'echo ${FROM_FILE}'}]",
        "steps: [{id: v, shell: a}, {when: \"${v.output} == 'x'\", shell: b, on_failure: [{shell: 'echo ${v.output}'}]}]",
    ] {
        assert_eq!(mistakes(text), [] as [&str; 0], "{text}");
    }
    for (text, expected) in [
        (
            "inputs: {version: }\nsteps:\n- {shell: 'echo ${verison}'}\n",
            "3:11 the variable `${verison}` is not set by anything; did you mean `${version}`?",
        ),
        (
            "steps:\n- {shell: 'echo ${v.output}'}\n- {id: v, shell: a}\n",
            "2:11 the variable `${v.output}` is set by step v, which does not come before this one",
        ),
        (
            "steps:\n- {id: a, shell: x}\n- {id: b, shell: x, depends_on: []}\n- {depends_on: a, shell: 'echo ${b.output}'}\n",
            "4:26 the variable `${b.output}` is set by step b, which does not come before this one",
        ),
        ("steps:\n- {shell: 'echo ${item}'}\n", "2:11 the variable `${item}` is not set by anything"),
        ("steps:\n- {shell: 'echo ${error}'}\n", "2:11 the variable `${error}` is not set by anything"),
        ("steps:\n- {shell: a}\n- {when: '${w}', shell: b}\n", "3:10 the variable `${w}` is not set by anything"),
        (
            "steps:\n- {shell: 'echo ${merge.worktree}'}\n",
            "2:11 the variable `${merge.worktree}` is not set by anything",
        ),
        ("steps:\n- {id: a, agent: b, instructions: 'Do ${x}'}\n", "2:35 the variable `${x}` is not set by anything"),
    ] {
        let found = mistakes(text);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{text}: {found:?}");
    }
    let parsed = parse(
        &RelPath::parse("flow.yaml").unwrap(),
        b"steps:\n- {when: false, id: v, shell: a}\n- {shell: 'echo ${v.output}'}\n",
    );
    assert!(parsed.findings.is_empty());
    assert_eq!(parsed.notes[0].message, "`${v.output}` is set only by a step that may be skipped");
}

#[test]
fn an_earlier_file_is_the_same_workflow_in_the_current_form() {
    let earlier = "phases:\n- id: p\n  steps: [{id: a, agent: x}, {id: b, returns_to: a, depends_on: a}]\n- id: q\n  steps: [{id: c}]\n";
    let parsed = parse(&RelPath::parse("flow.yaml").unwrap(), earlier.as_bytes());
    let current = serde_json::json!({"steps": [
        {"id": "p", "steps": [{"id": "a", "agent": "x", "depends_on": []}, {"id": "b", "reviews": "a", "depends_on": "a"}]},
        {"id": "q", "steps": [{"id": "c", "depends_on": []}]},
    ]});
    assert_eq!(parsed.rewritten, Some(current.clone()));
    let shown = |text: &str| needs(text);
    assert_eq!(shown(&current.to_string()), shown(earlier));
}
