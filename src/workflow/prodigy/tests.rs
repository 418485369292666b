use std::time::Duration;

use super::{
    super::{
        Backoff, CaptureFormat, Captured, Command, FileFormat, Items, Retry, RetryOn, Secret, Step, Workflow, parse,
    },
    translate,
};
use crate::{
    document::{definition::Problems, parse_definition},
    model::RelPath,
};

fn file() -> RelPath {
    RelPath::parse("ci/release.yml").unwrap()
}

fn workflow(text: &str) -> Workflow {
    let parsed = parse(&file(), text.as_bytes());
    parsed.workflow.unwrap_or_else(|| panic!("{text}: {:#?}", parsed.findings))
}

fn only(text: &str) -> Step {
    let mut steps = workflow(text).steps;
    assert_eq!(steps.len(), 1, "{text}");
    steps.remove(0)
}

/// Returns the places and messages of what is wrong.
fn wrong(text: &str) -> Vec<String> {
    let parsed = parse(&file(), text.as_bytes());
    assert_eq!(parsed.workflow.is_none(), !parsed.findings.is_empty());
    let place = |line: Option<u32>| line.unwrap_or_default();
    parsed
        .findings
        .iter()
        .map(|found| format!("{}:{} {}", place(found.line), place(found.column), found.message))
        .collect()
}

#[test]
fn a_list_a_mapping_and_json_say_the_same() {
    let list = workflow("- shell: echo a\n- claude: /review ${ARG}\n");
    assert_eq!(list.name, "release");
    let ids: Vec<&str> = list.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["1", "2"]);
    assert_eq!(list.steps[1].title, "/review ${ARG}");
    let mapping = workflow("name: nightly\ncommands:\n  - shell: echo a\n  - claude: /review ${ARG}\n");
    assert_eq!(mapping.name, "nightly");
    let json = workflow(r#"{"name": "nightly", "commands": [{"shell": "echo a"}, "review ${ARG}"]}"#);
    for other in [mapping, json] {
        let digests = |workflow: &Workflow| workflow.steps.iter().map(Step::digest).collect::<Vec<_>>();
        assert_eq!(digests(&other), digests(&list));
    }
}

#[test]
fn both_spellings_of_the_original_documents_are_the_same_step() {
    for (one, other) in [
        ("- {shell: a, capture: v}", "- {shell: a, capture_output: v}"),
        ("- {shell: a, capture: CAPTURED_OUTPUT}", "- {shell: a, capture_output: true}"),
        ("- foreach: {foreach: [a], do: [{shell: b}]}", "- foreach: {input: [a], do: {shell: b}}"),
        ("- {shell: a, on_failure: {claude: /fix}}", "- test: {command: a, on_failure: {claude: /fix}}"),
        ("- {shell: a, on_failure: {claude: /fix}}", "- {shell: a, on_failure: /fix}"),
        ("- {shell: a, on_failure: {shell: fix}}", "- {shell: a, on_failure: fix}"),
        ("- {shell: a, on_failure: {shell: fix}}", "- {shell: a, on_failure: {commands: [{shell: fix}]}}"),
        ("- claude: /fix it", "- fix it"),
        ("- claude: /fix it", "- {name: fix, args: [it]}"),
        ("- {shell: a, idempotent: false}", "- {shell: a, irreversible: true}"),
    ] {
        assert_eq!(only(one).canonical, only(other).canonical, "{one} and {other}");
    }
}

#[test]
fn a_digest_is_of_what_a_step_does_and_of_nothing_else() {
    let digest = |text: &str| only(text).digest();
    let plain = digest("- shell: make");
    for same in ["- {shell: make, timeout: 5}", "- {shell: make, retry: 9}", "- {shell: make, id: build}"] {
        assert_eq!(digest(same), plain, "{same}");
    }
    for other in [
        "- shell: make all",
        "- claude: make",
        "- {shell: make, env: {A: b}}",
        "- {shell: make, when: '${ARG}'}",
        "- {shell: make, capture: v}",
        "- {shell: make, on_failure: fix}",
        "- {shell: make, commit_required: true}",
        "- {shell: make, working_dir: sub}",
    ] {
        assert_ne!(digest(other), plain, "{other}");
    }
}

#[test]
fn lengths_of_time_have_many_spellings() {
    for (text, millis) in [
        ("90", 90_000),
        ("0.5", 500),
        ("500ms", 500),
        ("2s", 2_000),
        ("1m30s", 90_000),
        ("2h", 7_200_000),
        ("1d", 86_400_000),
    ] {
        let step = only(&format!("- {{shell: a, timeout: {text}}}"));
        assert_eq!(step.timeout, Some(Duration::from_millis(millis)), "{text}");
    }
    for text in ["0", "soon", "5x", "-1", "''", "1e99", "s"] {
        assert_eq!(wrong(&format!("- {{shell: a, timeout: {text}}}")).len(), 1, "{text}");
    }
}

#[test]
fn retries_are_read_and_inherited() {
    assert_eq!(only("- {shell: a, retry: 4}").retry, Some(Retry { attempts: 4, ..Retry::usual() }));
    let full = "attempts: 5, backoff: fixed, initial_delay: 2s, max_delay: 10, jitter: true, retry_on: [network, 75, 'lock held']";
    let expected = Retry {
        attempts: 5,
        backoff: Backoff::Fixed,
        initial_delay: Duration::from_secs(2),
        max_delay: Duration::from_secs(10),
        jitter: 0.3,
        retry_on: vec![RetryOn::Network, RetryOn::ExitCode(75), RetryOn::Contains("lock held".to_owned())],
    };
    assert_eq!(only(&format!("- {{shell: a, retry: {{{full}}}}}")).retry, Some(expected));
    let seconds =
        only("- {shell: a, retry: {max_attempts: 2, initial_delay_secs: 7, max_delay_secs: 3}}").retry.unwrap();
    assert_eq!(
        (seconds.attempts, seconds.initial_delay, seconds.max_delay),
        (2, Duration::from_secs(7), Duration::from_secs(7))
    );
    assert_eq!(only("- shell: a").retry, None);
    assert_eq!(only("- claude: a").retry, Some(Retry::of_claude()));
    let all = workflow("retry: 2\ntimeout: 9\ncommands: [{shell: a}, {claude: b, retry: 3, timeout: 1}]");
    let attempts: Vec<u32> = all.steps.iter().map(|step| step.retry.as_ref().unwrap().attempts).collect();
    assert_eq!(attempts, [2, 3]);
    assert_eq!(all.steps[0].timeout, Some(Duration::from_secs(9)));
    assert_eq!(all.steps[1].timeout, Some(Duration::from_secs(1)));
}

#[test]
fn captures_say_what_and_how() {
    let of = |text: &str| {
        only(text).captures.into_iter().map(|capture| (capture.name, capture.of)).collect::<Vec<(String, Captured)>>()
    };
    let v = |of| vec![("v".to_owned(), of)];
    let json = v(Captured::Output(CaptureFormat::Json));
    assert_eq!(of("- {shell: a, capture: v, capture_format: json, capture_streams: both}"), json);
    assert_eq!(of("- {shell: a, capture: v, capture_streams: {stdout: false, duration: false}}"), v(Captured::Errors));
    assert_eq!(of("- {shell: a, capture_output: v}"), v(Captured::Output(CaptureFormat::String)));
    assert_eq!(of("- {shell: a, capture_output: false}"), []);
    let found = vec![("c.spec".to_owned(), Captured::Files("*.md".to_owned()))];
    assert_eq!(of("- {claude: /c, id: c, outputs: {spec: {file_pattern: '*.md'}}}"), found);
    // Inside another step too, which changes what that one does.
    let outer = |capture: &str| only(&format!("- foreach: {{foreach: [x], do: [{{shell: a{capture}}}]}}"));
    let Command::Foreach(foreach) = outer(", capture: v").command else { panic!("a loop") };
    assert_eq!(foreach.steps[0].captures.len(), 1);
    assert_ne!(outer(", capture: v").digest(), outer("").digest());
}

#[test]
fn commands_of_every_kind_are_read() {
    let Command::Foreach(foreach) = only(
        "- foreach: {input: 'ls *.rs', do: [{shell: 'wc ${item}'}, {claude: /x}], parallel: 3, continue_on_error: true, max_items: 7}",
    )
    .command
    else {
        panic!("a foreach")
    };
    assert!(matches!(foreach.items, Items::Command(_)));
    assert_eq!((foreach.parallel, foreach.continue_on_error, foreach.max_items), (3, true, Some(7)));
    assert_eq!(foreach.steps[1].id.as_str(), "1.2");
    let Command::WriteFile(file) =
        only("- write_file: {path: 'a/${ARG}', content: '{}', format: json, mode: 0600, create_dirs: true}").command
    else {
        panic!("a file")
    };
    assert_eq!((file.format, file.mode, file.create_dirs), (FileFormat::Json, 0o600, true));
    let step = only(
        "- validate: {shell: check, threshold: 90, timeout: 5, result_file: r.json, expected_schema: {type: object}, on_incomplete: {claude: /gap, max_attempts: 4, fail_workflow: false}}",
    );
    assert!(matches!(step.command, Command::Shell(_)) && step.timeout.is_none());
    let measurement = *step.validate.unwrap();
    assert_eq!(measurement.timeout, Some(Duration::from_secs(5)));
    let Command::Validate(validate) = measurement.command else { panic!("a validate") };
    let gap = validate.on_incomplete.unwrap();
    assert!((validate.threshold - 90.0).abs() < f64::EPSILON);
    assert_eq!((gap.attempts, gap.fail_workflow, gap.steps[0].id.as_str()), (4, false, "1.validate.on_incomplete.1"));
}

#[test]
fn the_head_of_a_workflow_is_read() {
    let read = workflow(
        "env: {A: b, N: 1.10, E: , T: true}\nsecrets: {TOKEN: GH_TOKEN, KEY: {provider: file, key: /run/key}}\nenv_files: [.env]\nmerge: {commands: [{shell: git push}], timeout: 60}\ncommands: [{shell: a}]\n",
    );
    let env: Vec<String> = read.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["A=b", "E=", "N=1.10", "T=true"]);
    assert_eq!(read.secrets["TOKEN"], Secret::Env("GH_TOKEN".to_owned()));
    assert_eq!(read.secrets["KEY"], Secret::File("/run/key".to_owned()));
    let merge = read.merge.as_ref().unwrap();
    assert_eq!((merge.steps[0].id.as_str(), merge.timeout), ("merge.1", Some(Duration::from_secs(60))));
    assert!(!read.steps.iter().any(Step::needs_claude));
    assert!(workflow("- {shell: a, on_failure: /fix}").steps[0].needs_claude());
}

#[test]
fn every_mistake_is_found_at_once_with_its_place_and_the_nearest_key() {
    let text = "nam: x\ncommands:\n  - shell: a\n    tiemout: 3\n  - {}\n  - {shell: a, claude: b}\n  - shell: 'echo ${'\n  - {shell: a, when: b == 1}\n  - {shell: a, id: one}\n  - {shell: b, id: one}\n";
    assert_eq!(
        wrong(text),
        [
            "1:1 a workflow has no key `nam`; did you mean `name`?",
            "4:5 a step has no key `tiemout`; did you mean `timeout`?",
            "5:5 the step has no command",
            "6:5 a step has one command, and this one has shell and claude",
            "7:12 `${` begins a variable that does not end; close it with `}`, or write `$${` for a plain `${`",
            "8:22 `when`: `b` is neither quoted nor a variable; write 'b' or ${b}",
            "10:20 the id `one` is already used by the step on line 9",
        ]
    );
}

#[test]
fn no_mistake_passes() {
    for (text, expected) in [
        ("", "a workflow is a mapping with the keys"),
        ("[]", "a workflow is an empty list"),
        ("mode: standard", "the workflow has no `commands`"),
        ("commands: []", "`commands` is an empty list"),
        ("- {shell: a, retry: 0}", "`retry` is a whole number from 1 to 1000"),
        ("- {shell: a, retry: {backoff: cubic}}", "`cubic` is not a backoff"),
        (
            "- {shell: a, retry: {attempts: 1, max_attempts: 2}}",
            "`attempts` and `max_attempts` of `retry` say the same",
        ),
        ("- {shell: a, capture_format: json}", "nothing is captured here"),
        ("- {shell: a, capture: v, capture_format: xml}", "`xml` is not a capture format"),
        ("- {shell: a, capture: a-b}", "`a-b` is not a valid variable name"),
        ("- {shell: a, capture: v, capture_streams: all}", "`all` is not a stream"),
        ("- {shell: a, env: {'A-B': c}}", "`A-B` is not a valid variable name"),
        ("- {shell: a, env: {PITON_VAR_1: c}}", "`PITON_VAR_1` begins with PITON_, which is reserved"),
        ("- {shell: a, probe: b}", "a `probe` is for a step that must not run twice"),
        ("- {shell: a, probe: b, irreversible: false}", "a `probe` is for a step that must not run twice"),
        ("- {shell: a, idempotent: true, irreversible: true}", "`idempotent` and `irreversible` contradict each other"),
        ("- {shell: 'echo `cat ${v}`'}", "`${v}` stands between backquotes"),
        ("- {claude: '${x%y}'}", "`${x%y}` is not a variable"),
        ("- {shell: a, on_failure: {max_attempts: 1}}", "`on_failure` has one of `shell`, `claude` and `steps`"),
        ("- foreach: {do: [{shell: a}]}", "`foreach` needs items and what to do"),
        ("- write_file: {path: a}", "`write_file` needs a `path` and a `content`"),
        ("- write_file: {path: a, content: b, mode: '999'}", "`mode` is an octal number"),
        ("- {validate: {shell: a, threshold: 101}}", "`threshold` is a number from 0 to 100"),
        ("secrets: {A: {provider: vault, key: b}}\ncommands: [{shell: a}]", "`vault` is not a provider of secrets"),
        ("- {shell: a, shell: b}", "duplicate"),
        ("- {shell: [a]}", "`shell` is text, not a list"),
    ] {
        let found = wrong(text);
        assert!(found.len() == 1 && found[0].contains(expected), "{text}: {found:?}");
    }
}

#[test]
fn notations_of_prodigy_become_those_of_a_current_file() {
    for (file, current) in [
        (
            "- claude: '/implement $ARG and $$HOME, ${ARG}'",
            r#"{"steps":[{"claude":"/implement ${ARG} and $HOME, ${ARG}"}]}"#,
        ),
        ("- shell: 'echo $ARG'", r#"{"steps":[{"shell":"echo $ARG"}]}"#),
        (
            "- {shell: a, capture: v}\n- shell: 'echo $v $vv $$v \\$v \"$v\"'\n- shell: 'v=1; echo $v'",
            r#"{"steps":[{"shell":"a"},{"shell":"echo ${v} $vv $$v \\$v \"${v}\""},{"shell":"v=1; echo $v"}]}"#,
        ),
        (
            "- {shell: a, capture_output: number}\n- claude: '/spec ${shell.number}'",
            r#"{"steps":[{"shell":"a"},{"claude":"/spec ${number}"}]}"#,
        ),
        (
            "mode: standard\nname: n\ncommands: [{shell: a, description: label}]",
            r#"{"name":"n","steps":[{"shell":"a","title":"label"}]}"#,
        ),
        (
            "- {claude: /c, id: c, outputs: {spec: {file_pattern: '*.md'}}, analysis: {a: 1}, options: {b: 2}, metadata: {d: 3}}",
            r#"{"steps":[{"claude":"/c","id":"c"}]}"#,
        ),
        (
            "- claude: /a\n  validate: {shell: b, claude: /c, result_file: r.json, on_incomplete: {claude: '/d ${validation.gaps}'}}",
            r#"{"steps":[{"claude":"/a","validate":{"steps":[{"shell":"b"},{"claude":"/c"}],"result_file":"r.json","on_incomplete":{"claude":"/d ${validation.gaps:-}"}}}]}"#,
        ),
        ("- {shell: a, when: 'true'}\n- {shell: b}", r#"{"steps":[{"shell":"a","when":"true"},{"shell":"b"}]}"#),
        (
            "- {shell: a, on_success: [{shell: b, on_success: /c}]}\n- {shell: d}",
            r#"{"steps":[{"shell":"a"},{"shell":"b"},{"claude":"/c"},{"shell":"d"}]}"#,
        ),
        (
            "- {shell: a, when: 'true', on_success: {shell: b, when: \"${ARG} == 'x'\"}}",
            r#"{"steps":[{"shell":"a","when":"true","id":"step-1-3"},{"shell":"b","when":"succeeded(step-1-3) && (${ARG} == 'x')"}]}"#,
        ),
        (
            "- {shell: a, id: t, on_failure: {fail_workflow: false}, on_success: [{shell: b}]}",
            r#"{"steps":[{"shell":"a","id":"t","on_failure":{"fail_workflow":false}},{"shell":"b","when":"succeeded(t)"}]}"#,
        ),
        (
            "- foreach: {foreach: [x], do: [{shell: a, when: 'true'}, {shell: b}]}",
            r#"{"steps":[{"foreach":{"items":["x"]},"steps":[{"shell":"a","when":"true"},{"shell":"b"}]}]}"#,
        ),
        (
            "- {shell: b, capture: v}\n- shell: 'n=$(a); for f in x; do echo ${n}% ${n:-0} ${f} ${v} $${HOME}; done'\n  env: {A: '${shell.v}'}\n- {shell: c, capture: shell.output}",
            r#"{"steps":[{"shell":"b"},{"shell":"n=$(a); for f in x; do echo $${n}% $${n:-0} $${f} ${v} $${HOME}; done","env":{"A":"${v}"}},{"shell":"c"}]}"#,
        ),
        (
            "- {shell: a, retry: {max_attempts: 2, initial_delay_secs: 1, jitter_factor: 0.5, jitter: true, retry_on: network, exit_codes: [7]}}",
            r#"{"steps":[{"shell":"a","retry":{"attempts":2,"initial_delay":1,"jitter":0.5,"retry_on":["network",7]}}]}"#,
        ),
    ] {
        let parsed = parse(&self::file(), file.as_bytes());
        assert!(parsed.findings.is_empty(), "{file}: {:?}", parsed.findings);
        let root = parse_definition(file.as_bytes()).unwrap();
        let mut captures = Vec::new();
        let translated = translate(&root, &mut captures, &mut Problems::of(&self::file())).unwrap().to_json();
        assert_eq!(translated.to_string(), current, "{file}");
        assert_eq!(parsed.rewritten, captures.is_empty().then_some(translated), "{file}");
    }
    let parsed = parse(&file(), b"- {claude: /c, analysis: {a: 1}, options: {b: 2}, retry: {backoff: linear}}\n");
    let notes: Vec<&str> = parsed.notes.iter().map(|note| note.message.as_str()).collect();
    let linear = "`backoff: linear` is not known here: the delays grow exponentially";
    assert_eq!(notes, ["`analysis` has no effect here", "`options` has no effect here", linear]);
    assert_eq!(parsed.rewritten.unwrap().to_string(), r#"{"steps":[{"claude":"/c","retry":{}}]}"#);
}

#[test]
fn what_cannot_be_translated_is_refused_for_what_it_is() {
    for (file, expected) in [
        ("- claude: /x $SPEC_ID", "1:11 `$SPEC_ID` is not a variable of the workflow"),
        ("- goal_seek: {goal: x}", "1:3 the step has no command; Prodigy does not run `goal_seek` either"),
        ("- analyze: {a: b}", "1:3 the step has no command; Prodigy does not run `analyze` either"),
        ("- {shell: a, clear_env: true}", "1:14 a step has no key `clear_env`, which Prodigy ignores; write `env -i"),
        (
            "- {shell: a, fail_workflow: false}",
            "1:14 a step has no key `fail_workflow`, which Prodigy ignores; write `on_fai",
        ),
        ("- {shell: a, nothing_near_it: b}", "1:14 a step has no key `nothing_near_it`"),
        ("env: {A: {command: b}}\ncommands: [{shell: c}]", "1:10 `A` of `env` is text, not a mapping"),
        ("secrets: {A: '${env:B}'}\ncommands: [{shell: c}]", "1:14 `${env:B}` is not a valid variable name"),
        (
            "mode: mapreduce\nmap: {input: a.json, agent_template: [{shell: b}], max_parallel: '${N}'}\nreduce: [{shell: c}]",
            "2:66 `${N}` is not a variable of `env`",
        ),
        (
            "mode: mapreduce\nmap: {input: a.json, agent_template: [{shell: b}], filter: \"x matches 'y'\"}\nreduce: [{shell: c}]",
            "2:52 `filter` of `map` is not translated: `matches` is not known here",
        ),
        ("- {shell: a, on_incomplete: {shell: b}}", "1:14 a step has no key `on_incomplete`"),
        ("- shell: a\n  on_exit_code: {1: b}", "2:3 a step has no key `on_exit_code`"),
        ("- {shell: 'echo ${x|length:100}', capture: x}", "1:11 `${x|length:100}` is not a variable"),
        ("- shell: echo ${workflow.files_added:spec}", "1:10 `${workflow.files_added:spec}` ends in `:json`"),
        (
            "- {shell: a, on_success: {shell: 'echo ${step.files_added}'}}",
            "1:26 this `on_success` cannot become a step of its own",
        ),
        (
            "- {shell: a, on_failure: [{shell: b, when: 'true', on_success: {shell: c}}]}",
            "1:64 this `on_success` cannot become a step of its own",
        ),
        ("mode: parallel\ncommands: [{shell: a}]", "1:7 `mode` is standard or mapreduce"),
        (
            "mode: mapreduce\nmap: {input: a.json, agent_template: [{shell: b}], filter: 'len(x) > 1'}\nreduce: [{shell: c}]",
            "2:52 `filter` of `map` is not translated: `len` is not known here",
        ),
        ("map: {input: a.json}\nreduce: [{shell: c}]", "1:6 `map` needs an `agent_template` with steps"),
        ("mode: mapreduce\nreduce: [{shell: c}]", "1:1 a MapReduce workflow needs `map`"),
    ] {
        let found = wrong(file);
        assert!(found.first().is_some_and(|found| found.starts_with(expected)), "{file}: {found:?}");
    }
}

#[test]
fn a_mapreduce_file_is_a_loop_between_steps() {
    let text = "name: m\nmode: mapreduce\nsetup:\n  - shell: make items\nmap:\n  input: items.json\n  json_path: $.items[*]\n  max_parallel: 3\n  max_items: 5\n  filter: item.score >= 5 && kind == 'bug'\n  sort_by: item.score DESC\n  timeout_per_agent: 10m\n  agent_template:\n    commands:\n      - claude: '/fix ${item.name}'\n        commit_required: true\nreduce:\n  - shell: 'echo ${map.successful}/${map.total}'\n  - claude: '/sum ${map.results}'\nerror_policy: {on_item_failure: dlq, continue_on_failure: true, max_failures: 2}\nmerge: [{shell: git merge}]\n";
    let parsed = parse(&file(), text.as_bytes());
    assert!(parsed.findings.is_empty(), "{:?}", parsed.findings);
    let notes: Vec<&str> = parsed.notes.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(notes, [] as [&str; 0]);
    let steps = parsed.workflow.unwrap().steps;
    let ids: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["1", "map", "3", "4"]);
    let Command::Foreach(foreach) = &steps[1].command else { panic!("a loop") };
    assert!(matches!(foreach.items, Items::File { .. }));
    assert_eq!((foreach.parallel, foreach.max_failures, foreach.max_items), (3, Some(2), Some(5)));
    assert!(foreach.in_worktrees && foreach.item_timeout == Some(Duration::from_secs(600)));
    assert!(foreach.sort_by[0].path == "score" && foreach.sort_by[0].is_descending);
    let expected =
        crate::workflow::condition::Condition::parse("${item.score:-} >= 5 && ${item.kind:-} == 'bug'").unwrap();
    assert_eq!(foreach.only.as_ref().map(|only| &only.condition), Some(&expected));
    assert!(foreach.continue_on_error && foreach.steps[0].commit_required);
}

#[test]
fn a_mapreduce_file_goes_on_behind_a_skipped_step() {
    let text = "name: m\nmode: mapreduce\nsetup: [{shell: a, when: 'true'}]\nmap:\n  input: items.json\n  agent_template: [{shell: b, when: 'true'}, {shell: c}]\nreduce: [{shell: d}]\n";
    let steps = parse(&file(), text.as_bytes()).workflow.unwrap().steps;
    assert!(steps.iter().all(|step| step.needs.is_empty()));
    let Command::Foreach(foreach) = &steps[1].command else { panic!("a loop") };
    assert!(foreach.steps.iter().all(|step| step.needs.is_empty()));
}

#[test]
fn what_a_mapreduce_file_takes_from_its_env_and_in_its_own_notation_is_filled_in() {
    let text = "name: m\nmode: mapreduce\nenv: {MAX: '3', DIR: out, LIMIT: 10m}\nsetup:\n  timeout: 900\n  commands: [{shell: a}, {shell: b, timeout: 5}]\nmap:\n  input: '${DIR}/items.json'\n  json_path: $[*]\n  max_parallel: ${MAX}\n  agent_timeout_secs: $LIMIT\n  filter: File.score >= 10 OR kind == bug AND tag == new\n  sort_by: File.score DESC NULLS LAST, name\n  agent_template:\n    - claude: '/plan --output p-${item_id}.md $item_id'\n      validate: {result_file: 'v-${item_id}.json'}\nreduce: [{shell: c}]\n";
    let parsed = parse(&file(), text.as_bytes());
    assert!(parsed.findings.is_empty(), "{:?}", parsed.findings);
    let notes: Vec<&str> = parsed.notes.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(notes, ["the `timeout` of `setup` counts for each of its steps"]);
    let steps = parsed.workflow.unwrap().steps;
    let seconds: Vec<_> = steps.iter().map(|step| step.timeout.map(|timeout| timeout.as_secs())).collect();
    assert_eq!(seconds, [Some(900), Some(5), None, None]);
    let Command::Foreach(foreach) = &steps[2].command else { panic!("a loop") };
    assert_eq!((foreach.parallel, foreach.item_timeout), (3, Some(Duration::from_secs(600))));
    let expected = "${item.File.score:-} >= 10 || ${item.kind:-} == 'bug' && ${item.tag:-} == 'new'";
    let expected = crate::workflow::condition::Condition::parse(expected).unwrap();
    assert_eq!(foreach.only.as_ref().map(|only| &only.condition), Some(&expected));
    let keys: Vec<_> = foreach.sort_by.iter().map(|key| (key.path.as_str(), key.is_descending)).collect();
    assert_eq!(keys, [("File.score", true), ("name", false)]);
    let rewritten = parsed.rewritten.unwrap().to_string();
    assert!(rewritten.contains("/plan --output p-item_${index}.md item_${index}"), "{rewritten}");
    assert!(rewritten.contains("v-item_${index}.json"), "{rewritten}");
}
