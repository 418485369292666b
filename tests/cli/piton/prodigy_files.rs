//! The workflow files of Prodigy by their shapes: each runs to its end, or is refused for the reason that is said. The shapes are those of
//! the files in its own repository, with texts written here; docs/workflows.md has a row for each. A documentation workflow is killed in every step.

use serde_json::Value;

use super::{
    kills::sessions,
    support::{Stage, kill, session_of, until},
};
use crate::support;

/// What becomes of a file.
enum End {
    /// It runs to its end, and its steps log these lines.
    Runs(&'static [&'static str]),
    /// These remarks are made about what has no effect, and it runs.
    Remarks(&'static [&'static str], &'static [&'static str]),
    /// It is refused with these lines, each with its position.
    Refused(&'static [&'static str]),
}
use End::{Refused, Remarks, Runs};

/// The row of the table in docs/workflows.md, a file of that shape, and what becomes of it.
type Shape = (&'static str, &'static str, End);

const STEPS: &str = "`commands`, a list of steps, `mode: standard`";
const KINDS: &str = "`claude`, `shell`, `test`, `foreach`, `write_file`, `{name, args}`, a bare text";
const NAMES: &str = "`$NAME` in a prompt, `${shell.output}`, `${shell.NAME}`";
const HANDLERS: &str = "`on_failure`, `on_success`";
const MEASURES: &str = "`validate` beside a command, with `commands` or a `result_file`";
const CAPTURES: &str = "`capture_output`, `capture`, `when`, `timeout`";
const OUTPUTS: &str = "`outputs` with `file_pattern`";
const LABELS: &str = "`description`, and `name` beside a command";
const HEAD: &str = "`env`, `secrets`, `merge`";
const MAPS: &str = "`setup`, `map`, `reduce`, `error_policy`";
const NOTHING: &str = "`analysis`, `options`, `metadata`, `context`, `args`, `profiles`, `checkpoint`, `config`";
const AGENT_RETRY: &str = "`retry_on_failure`";
const GONE: &str = "`analyze`, `goal_seek`";
const IGNORED: &str = "any other key, such as `on_exit_code`, `allow_failure`, `clear_env`";
const UNKNOWN: &str = "`$NAME` in a prompt that nothing sets, `${NAME|default:x}`";
const COMPUTED: &str = "a mapping in `env`";
const FUNCTIONS: &str = "`filter` with `in`, `matches` or a function";
const SYNTAX: &str = "an empty list, a text that is not YAML";

const SHAPES: &[Shape] = &[
    (
        STEPS,
        "# A comment\n- shell: echo \"one\" >> LOG\n- shell: |\n    if [ -e none ]; then\n      echo yes >> LOG\n    else\n      echo \"no\" >> LOG\n    fi\n- shell: '[ -e none ] 2>&1 || echo \"went on\" >> LOG'\n",
        Runs(&["one", "no", "went on"]),
    ),
    (
        STEPS,
        "name: n\nmode: standard\ncommands:\n  - shell: echo one >> LOG\n  - claude: \"/tidy\"  # at the end\n",
        Runs(&["one", "claude /tidy"]),
    ),
    (
        KINDS,
        "- claude: /a\n- test: {command: check, on_failure: {claude: '/repair ${shell.output}'}}\n- {name: b, args: [c]}\n- d e\n- foreach: {foreach: [x, y], do: [{shell: 'echo ${item} >> LOG'}]}\n- write_file: {path: a.json, content: '{}', format: json}\n- shell: cat a.json >> LOG\n",
        Runs(&["claude /a", "check", "claude /repair broken", "check", "claude /b c", "claude /d e", "x", "y", "{}"]),
    ),
    (
        NAMES,
        "commands:\n  - claude: \"/implement $ARG\"\n    commit_required: true\n  - shell: \"echo $ARG ${ARG} ${ITERATION} >> LOG; echo 7\"\n    capture_output: number\n  - claude: \"/check ${shell.number} ${shell.output} $$HOME ${CAPTURED_OUTPUT}\"\n  - shell: \"echo 'spec ${shell.number}' $number >> LOG\"\n",
        Runs(&["claude /implement seven", "seven seven 1", "claude /check 7 7 $HOME 7", "spec 7 7"]),
    ),
    (
        HANDLERS,
        "- shell: \"check\"\n  on_failure:\n    claude: \"/repair --output-of ${shell.output}\"\n    max_attempts: 3\n    fail_workflow: true  # no further\n    commit_required: true\n- claude: \"/tidy\"\n",
        Runs(&["check", "claude /repair --output-of broken", "check", "claude /tidy"]),
    ),
    (
        HANDLERS,
        "- shell: \"check && check\"\n  capture_output: \"said\"\n  on_failure:\n    claude: \"/look '${said}'\"\n    max_attempts: 1\n    fail_workflow: false\n- shell: echo \"after ${said}\" >> LOG\n",
        Runs(&["check", "claude /look 'broken'", "check", "after broken"]),
    ),
    (
        HANDLERS,
        "- shell: echo a >> LOG\n  on_success:\n    shell: echo b >> LOG\n    on_success:\n      shell: check\n      on_failure:\n        - shell: echo handled >> LOG\n        - claude: \"/repair\"\n  timeout: 600  # seconds\n- shell: 'false'\n  on_failure:\n    shell: \"echo skipped >> LOG\"\n    fail_workflow: false\n    max_attempts: 1\n",
        Runs(&["a", "b", "check", "handled", "claude /repair", "check", "skipped"]),
    ),
    (
        MEASURES,
        "commands:\n  - claude: \"/implement $ARG\"\n    commit_required: true\n    validate:\n      claude: \"/measure $ARG --output result.json\"\n      result_file: \"result.json\"  # where it is\n      threshold: 100\n      on_incomplete:\n        claude: \"/complete $ARG --gaps ${validation.gaps} ${validation.missing}\"\n        max_attempts: 5\n        fail_workflow: false\n        commit_required: true\n",
        Runs(&[
            "claude /implement seven",
            "claude /measure seven --output result.json",
            "claude /complete seven --gaps {\"t\":1} ",
            "claude /measure seven --output result.json",
        ]),
    ),
    (
        MEASURES,
        "- claude: \"/plan --before b.json\"\n  capture_output: true\n  validate:\n    commands:\n      - shell: echo analysed >> LOG\n      - claude: \"/measure --output plan.json\"\n    result_file: \"plan.json\"\n    threshold: 75\n    on_incomplete:\n      commands:\n        - claude: \"/complete ${validation.attempt_number}\"\n          commit_required: true\n        - shell: echo again >> LOG\n      max_attempts: 3\n      fail_workflow: true\n",
        Runs(&[
            "claude /plan --before b.json",
            "analysed",
            "claude /measure --output plan.json",
            "claude /complete 1",
            "again",
            "analysed",
            "claude /measure --output plan.json",
        ]),
    ),
    (
        MEASURES,
        "- claude: \"/go\"\n  validate:\n    # Both, in this order\n    shell: \"echo analysed >> LOG\"\n    claude: \"/measure --output r.json\"\n    result_file: r.json\n    threshold: 40\n- claude: \"/check --output own.json\"\n  validate:\n    result_file: own.json\n    threshold: 40\n",
        Runs(&["claude /go", "analysed", "claude /measure --output r.json", "claude /check --output own.json"]),
    ),
    (
        CAPTURES,
        "name: flow\nmode: standard\ncommands:\n  - shell: \"cat none 2>/dev/null || echo '{\\\"name\\\":\\\"t\\\",\\\"version\\\":\\\"1.0\\\"}'\"\n    capture: \"info\"\n    capture_format: json\n  - shell: \"echo 'Package ${info.name} v${info.version}'\"\n    capture: \"summary\"\n  - shell: \"echo true\"\n    capture: passed\n    capture_format: boolean\n  - shell: echo passed >> LOG\n    when: \"${passed}\"\n  - shell: echo not passed >> LOG\n    when: \"!${passed}\"\n  - shell: |\n      if [ \"${passed}\" = \"true\" ]; then echo 11; fi\n    capture: count\n    capture_format: number\n    capture_streams: {stdout: true, stderr: true, exit_code: true, success: true}\n  - shell: |\n      cat << EOF >> LOG\n      ${summary}: ${count} ${count.exit_code} ${count.success:-none}\n      EOF\n",
        Runs(&["passed", "Package t v1.0: 11 0 true"]),
    ),
    (
        OUTPUTS,
        "- claude: \"/add\"\n  id: coverage\n  commit_required: true\n  outputs:\n    spec:\n      file_pattern: \"*-notes.md\"\n- claude: \"/implement ${coverage.spec}\"\n",
        Runs(&["claude /add", "claude /implement 7-notes.md"]),
    ),
    (
        LABELS,
        "- shell: |\n    total=$(echo 4)\n    for part in a b; do total=$((total + 1)); done\n    percentage=$((total * 10))\n    echo \"${percentage}% of ${total:-0} ${unset_here:-none}\" >> LOG\n  description: \"A label\"\n- name: \"Another\"\n  shell: echo two >> LOG\n",
        Runs(&["60% of 6 none", "two"]),
    ),
    (
        HEAD,
        "env:\n  STAGE: production\n  N: 3\nsecrets:\n  TOKEN: {provider: env, key: MY_TOKEN}\ncommands:\n  - claude: \"/deploy $STAGE ${N}\"\n    env: {GOAL: \"${STAGE}\"}\n  - shell: '[ -n \"$TOKEN\" ] && echo \"$STAGE\" >> LOG'\nmerge:\n  # Into the branch\n  - shell: \"echo merging ${merge.target_branch} >> LOG\"\n  - claude: \"/merge ${merge.source_branch}\"\n",
        Runs(&["claude /deploy production 3", "production", "merging main", "claude /merge piton/ID"]),
    ),
    (
        MAPS,
        "name: pages\nmode: mapreduce\nenv:\n  PROJECT: \"Example\"\n  DIR: \"work\"\n  MAX_PARALLEL: \"1\"\nsetup:\n  - shell: \"echo setup $PROJECT >> LOG\"\n  - claude: \"/detect --project $PROJECT\"\n  - write_file: {path: work/items.json, create_dirs: true, content: '[{\"id\":\"a\"},{\"id\":\"b\"}]'}\nmap:\n  input: \"${DIR}/items.json\"\n  json_path: \"$[*]\"\n  agent_template:\n    - claude: \"/fix --project $PROJECT --json '${item}'\"\n      commit_required: true\n      validate:\n        claude: \"/measure ${item.id} --output r.json\"\n        result_file: \"r.json\"\n        threshold: 100\n        on_incomplete:\n          claude: \"/complete --gaps ${validation.gaps}\"\n          max_attempts: 3\n          fail_workflow: false\n          commit_required: true\n  max_parallel: ${MAX_PARALLEL}\nreduce:\n  - shell: \"check\"\n    on_failure:\n      claude: \"/repair --project $PROJECT\"\n      commit_required: true\n  - shell: \"echo ${map.successful}/${map.total} >> LOG\"\nerror_policy:\n  on_item_failure: dlq\n  continue_on_failure: true\n  max_failures: 2\n  error_collection: aggregate\nmerge:\n  commands:\n    - claude: \"/merge ${merge.source_branch}\"\n",
        Remarks(
            &["37:3 `error_collection` has no effect here: each item that fails is recorded"],
            &[
                "setup Example",
                "claude /detect --project Example",
                "claude /fix --project Example --json '{\"id\":\"a\"}'",
                "claude /measure a --output r.json",
                "claude /complete --gaps {\"t\":1}",
                "claude /measure a --output r.json",
                "claude /fix --project Example --json '{\"id\":\"b\"}'",
                "claude /measure b --output r.json",
                "check",
                "claude /repair --project Example",
                "check",
                "2/2",
                "claude /merge piton/ID",
            ],
        ),
    ),
    (
        MAPS,
        "name: debt\nmode: mapreduce\nsetup:\n  timeout: 900  # for all\n  commands:\n    - shell: \"echo '{\\\"items\\\": [{\\\"Fn\\\": {\\\"score\\\": 12}}, {\\\"File\\\": {\\\"score\\\": 50}}, {\\\"Fn\\\": {\\\"score\\\": 5}}]}' > items.json\"\nmap:\n  input: items.json\n  json_path: \"$.items[*]\"\n  agent_template:\n    commands:\n      - claude: \"/plan --plan plan-${item_id}.md\"\n        timeout: 300\n  max_parallel: 1\n  timeout_per_agent: 600s\n  filter: \"File.score >= 10 OR Fn.score >= 10\"\n  sort_by: \"File.score DESC NULLS LAST, Fn.score DESC\"\n  max_items: 10\nreduce:\n  - write_file: {path: out/results.json, content: \"${map.results}\", format: json, create_dirs: true}\n  - claude: |\n      /compare --successful ${map.successful} --failed ${map.failed} --total ${map.total}\n    commit_required: true\n",
        Remarks(
            &["4:3 the `timeout` of `setup` counts for each of its steps"],
            &[
                "claude /plan --plan plan-item_0.md",
                "claude /plan --plan plan-item_1.md",
                "claude /compare --successful 2 --failed 0 --total 2",
                "",
            ],
        ),
    ),
    (
        MAPS,
        "name: lines\nmode: mapreduce\nsetup:\n  - shell: \"echo start >> LOG; echo said\"\n    capture: \"shell.output\"\n  - shell: echo \"${shell.output}\" >> LOG\nmap:\n  # Each line\n  input: \"echo one; echo two\"\n  agent_template:\n    commands:\n      - shell: echo \"Looking at ${item}\" >> LOG\n      - shell: 'false'\n        on_failure:\n          - shell: \"[ ${item} = one ]\"\n  max_parallel: 1\n  timeout_per_agent: 30\nreduce:\n  commands:\n    - shell: echo \"done ${map.failed}\" >> LOG\n",
        Runs(&["start", "said", "Looking at one", "Looking at two", "done 2"]),
    ),
    (
        MAPS,
        "name: far\nmode: mapreduce\nsetup:\n  - shell: |\n      cat > LOG.json << 'EOF'\n      [{\"name\": \"a\", \"n\": 2}, {\"name\": \"b\", \"n\": 1}, {\"name\": \"c\", \"n\": 0}]\n      EOF\nmap:\n  input: LOG.json\n  json_path: $[*]\n  max_parallel: 1\n  agent_timeout_secs: 300\n  filter: \"name == 'a' || name == 'b'\"\n  sort_by: \"n\"\n  agent_template:\n    - shell: |\n        echo \"Item: ${item.name}\" > output-${item.name}.txt\n        git add output-${item.name}.txt\n    - shell: git commit -qm \"Process ${item.name} (n=${item.n})\"\n      commit_required: true\nreduce:\n  - shell: |\n      count=0\n      for f in output-*.txt; do\n        count=$((count + 1))\n        cat \"$f\" >> LOG\n      done\n      [ \"$count\" -eq 2 ]\n",
        Runs(&["Item: a", "Item: b"]),
    ),
    (
        NOTHING,
        "- claude: \"/enhance --max 8\"\n  options:\n    max: 8\n- claude: \"/go\"\n  args: [x]\n  analysis: {max_cache_age: 300}\n  context: {file: a}\n  metadata:\n    continue_on_error: true\n",
        Remarks(
            &[
                "2:3 `options` has no effect here",
                "5:3 `args` has no effect here",
                "6:3 `analysis` has no effect here",
                "7:3 `context` has no effect here",
                "8:3 `metadata` has no effect here",
            ],
            &["claude /enhance --max 8", "claude /go"],
        ),
    ),
    (
        NOTHING,
        "profiles: {dev: {A: b}}\ncheckpoint: {enabled: true}\nconfig: {max_iterations: 3}\ncommands: [{shell: echo one >> LOG}]\n",
        Remarks(
            &[
                "1:1 `profiles` has no effect here",
                "2:1 `checkpoint` has no effect here",
                "3:1 `config` has no effect here",
            ],
            &["one"],
        ),
    ),
    (
        AGENT_RETRY,
        "mode: mapreduce\nmap:\n  input: echo a\n  retry_on_failure: 2\n  agent_template: [{shell: 'echo ${item} >> LOG'}]\nreduce: [{shell: echo b >> LOG}]\n",
        Remarks(&["4:3 `retry_on_failure` has no effect here"], &["a", "b"]),
    ),
    (
        GONE,
        "- claude: /a\n- analyze:\n    max_cache_age: 300\n    save: true\n- goal_seek: {goal: x}\n",
        Refused(&[
            "2:3 the step has no command; Prodigy does not run `analyze` either",
            "5:3 the step has no command; Prodigy does not run `goal_seek` either",
        ]),
    ),
    (
        IGNORED,
        "- shell: a\n  on_exit_code:\n    0: {shell: b}\n- shell: c\n  allow_failure: true\n- shell: d\n  fail_workflow: false\n- shell: e\n  output: \"f.txt\"\n- shell: g\n  temporary: true\n  clear_env: true\n",
        Refused(&[
            "2:3 a step has no key `on_exit_code`, which Prodigy ignores; write `on_failure: {fail_workflow: false}` with what to do",
            "5:3 a step has no key `allow_failure`, which Prodigy ignores; write `on_failure: {fail_workflow: false}` with what to do",
            "7:3 a step has no key `fail_workflow`, which Prodigy ignores; write `on_failure: {fail_workflow: false}` with what to do",
            "9:3 a step has no key `output`; did you mean `outputs`?",
            "11:3 a step has no key `temporary`, which Prodigy ignores; remove it: `env` of a step is only for that step",
            "12:3 a step has no key `clear_env`, which Prodigy ignores; write `env -i NAME=VALUE` in front of the command",
        ]),
    ),
    (
        IGNORED,
        "name: t\nsteps:\n  - name: First\n    shell: echo a\n",
        Refused(&["3:5 a step has no key `name`; did you mean `title`?"]),
    ),
    (
        UNKNOWN,
        "- claude: \"/implement $SPEC_ID\"\n- claude: |\n    S=$(cat f)\n    if [ \"$S\" = x ] || [ \"$S\" = y ]; then /go; fi\n",
        Refused(&["1:11 `$SPEC_ID` is not a variable of the workflow", "3:5 `$S` is not a variable of the workflow"]),
    ),
    (
        UNKNOWN,
        "commands:\n  - shell: echo a\n    capture: v\n  - shell: \"echo '${v|length:100}'\"\n  - shell: echo ${v|default:none}\n",
        Refused(&[
            "4:12 `${v|length:100}` is not a variable; write `${name}`, `${a.b}` or `${name:-default}`, or `$${v|length:100}` for the text itself",
            "5:12 `${v|default:none}` is not a variable; write `${name}`, `${a.b}` or `${name:-default}`, or `$${v|default:none}` for the text itself",
        ]),
    ),
    (
        COMPUTED,
        "env:\n  WORKERS:\n    command: nproc\n    cache: true\nsecrets:\n  KEY: \"${env:SECRET}\"\ncommands: [{shell: a}]\n",
        Refused(&["3:5 `WORKERS` of `env` is text, not a mapping", "6:8 `${env:SECRET}` is not a valid variable name"]),
    ),
    (
        FUNCTIONS,
        "mode: mapreduce\nmap:\n  input: a.json\n  filter: \"path matches '\\\\.rs$' && is_open == true\"\n  agent_template: [{shell: b}]\nreduce: [{shell: c}]\n",
        Refused(&["4:3 `filter` of `map` is not translated: `matches` is not known here"]),
    ),
    (SYNTAX, "name: t\ncommands: []\n", Refused(&["2:11 `commands` is an empty list"])),
    (
        SYNTAX,
        "- shell: a\nconfig:\n  max_iterations: 3\n",
        Refused(&["2:1 while parsing a block collection, did not find expected '-' indicator"]),
    ),
    (
        SYNTAX,
        "name: t\nmode: mapreduce\nreduce:\n  - shell: |\n    cat << EOF\n    EOF\n  capture: x\n",
        Refused(&["5:5 simple key expected ':'"]),
    ),
    (
        SYNTAX,
        "commands:\n  - shell: echo \"Successful: 1, failed: 2\"\n",
        Refused(&["2:28 mapping values are not allowed in this context"]),
    ),
];

/// Prints JSON where the prompt has `--output`, commits, repairs what `check` looks at, and merges.
const CLAUDE: &str = r#"for prompt; do :; done
echo "claude $prompt" >> LOG
case "$prompt" in
*--output\ *)
    file=${prompt##*--output }
    percent=100; [ -e TMP/halfway ] && percent=40
    echo "{\"completion_percentage\": $percent, \"gaps\": {\"t\": 1}}" > "${file%% *}" ;;
/add*) echo text > 7-notes.md ;;
/repair*) : > TMP/repaired ;;
/complete*) rm -f TMP/halfway ;;
/merge*) git -C TMP/../project merge -q "${prompt##* }" ;;
esac
case "$prompt" in
/measure* | /merge*) ;;
*) echo "$prompt" > "made-$$.txt"; git add -A; git commit -qm "$prompt" ;;
esac
echo '{"type":"result","subtype":"success","is_error":false,"result":"said"}'"#;
const CHECK: &str = "echo check >> LOG; echo broken; [ -e TMP/repaired ]";

fn stage(file: &str) -> Stage {
    let stage = Stage::new(file);
    stage.outside("halfway", "");
    stage.program("claude", CLAUDE).program("check", CHECK);
    stage
}

/// Returns the findings of a file, each with its position.
fn findings(stage: &Stage, code: i32) -> Vec<String> {
    let output = stage.piton(["--format", "json", "validate", "w.yml"]).run().expect_code(code);
    let findings = output.json()["findings"].as_array().cloned().unwrap_or_default();
    let line = |found: &Value| {
        let message = found["message"].as_str().unwrap_or_default();
        format!("{}:{} {message}", found["line"], found["column"])
    };
    findings.iter().map(line).collect()
}

/// Runs a file to its end; nothing is executed by the dry run before.
fn runs(file: &str, log: &[&str], remarks: &[&str]) {
    let stage = stage(file);
    assert_eq!(findings(&stage, 0), remarks, "{file}");
    let run = |more: &str| {
        let arguments = ["run", "w.yml", more, "--args", "seven"];
        stage.piton(arguments).env("MY_TOKEN", "tok-12345").run().expect_code(0)
    };
    run("--dry-run");
    assert_eq!(stage.executions(), [] as [&str; 0], "{file}");
    let output = run("--yes");
    let id = session_of(&output.stderr);
    let executed: Vec<String> = stage.executions().iter().map(|line| line.replace(&id, "ID")).collect();
    assert_eq!(executed, log, "{file}\n{output}");
}

fn is_refused(file: &str, lines: &[&str]) {
    let stage = stage(file);
    assert_eq!(findings(&stage, 1), lines, "{file}");
    stage.piton(["run", "w.yml", "--yes"]).run().expect_code(1);
    assert_eq!(stage.executions(), [] as [&str; 0], "{file}");
}

#[test]
fn every_shape_of_a_file_of_prodigy_runs_to_its_end_or_is_refused_for_the_reason_that_is_said() {
    let wrong = SHAPES.iter().filter(|(_, file, end)| {
        let tried = std::panic::catch_unwind(|| match end {
            Runs(log) => runs(file, log, &[]),
            Remarks(remarks, log) => runs(file, log, remarks),
            Refused(lines) => is_refused(file, lines),
        });
        tried.is_err()
    });
    let wrong: Vec<&str> = wrong.map(|(row, _, _)| *row).collect();
    assert_eq!(wrong, [] as [&str; 0]);
}

#[test]
fn the_table_of_what_is_taken_from_prodigy_has_a_row_for_each_shape() {
    let page = support::read(&support::repository().join("docs/workflows.md"));
    let (_, section) = page.split_once("## Coming from Prodigy").expect("the section");
    let rows =
        section.lines().skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with('|'));
    let rows: Vec<String> = rows.map(|row| row.trim_matches(['|', ' ']).replace("\\|", "|")).collect();
    let rows: Vec<(&str, &str)> = rows.iter().filter_map(|row| row.split_once(" | ")).collect();
    for (name, here) in &rows {
        let mut shapes = SHAPES.iter().filter(|(row, _, _)| row == name).peekable();
        assert!(shapes.peek().is_some(), "no shape is tried for: {name}");
        for (row, _, end) in shapes {
            let word = match end {
                Runs(_) => "taken",
                // Of these only a part has none.
                Remarks(..) if *row == MAPS => "taken",
                Remarks(..) => "no effect",
                Refused(_) => "refused",
            };
            assert!(here.starts_with(word), "{name} is {word}, and the page says: {here}");
        }
    }
    for (row, _, _) in SHAPES {
        assert!(rows.iter().any(|(name, _)| name == row), "docs/workflows.md has no row for: {row}");
    }
}

/// A documentation workflow: each `claude` step and each command is killed once.
const DOCUMENTATION: &str = r#"# Steps that write, review and publish
- claude: "/outline"
- shell: "check"
  on_failure:
    claude: "/repair ${shell.output}"
    max_attempts: 3
    fail_workflow: true
    commit_required: true
- claude: "/write"
  commit_required: true
- claude: "/review"
  validate:
    claude: "/measure --output result.json"
    result_file: "result.json"
    threshold: 100
    on_incomplete:
      claude: "/complete --gaps ${validation.gaps}"
      max_attempts: 2
      commit_required: true
- shell: "publish"
- claude: "/tidy"
"#;
/// What is killed, in this order.
const KILLED: [&str; 9] = ["outline", "check", "repair", "write", "review", "measure", "complete", "publish", "tidy"];

/// Begins what is executed: the first time it waits to be killed, before or after `effect`.
fn killed_once(is_before: bool, effect: &str) -> String {
    let wait = "[ -e TMP/begun-$word ] || { : > TMP/begun-$word; exec sleep 1000; }";
    let (before, after) = if is_before { (wait, "") } else { ("", wait) };
    format!(
        "echo \"begin $word\" >> LOG; echo \"$PWD\" >> TMP/folders\n{before}\n{effect}\necho \"end $word\" >> LOG\n{after}"
    )
}

/// Runs the documentation workflow, kills it in every step, and returns how often each was begun.
fn killed_in_every_step(is_before: bool) -> Vec<usize> {
    let stage = Stage::new(DOCUMENTATION);
    stage.outside("halfway", "");
    let effect = r#"case $word in
measure) percent=100; [ -e TMP/halfway ] && percent=40
    echo "{\"completion_percentage\": $percent, \"gaps\": {}}" > result.json ;;
repair) : > TMP/repaired ;;
complete) rm -f TMP/halfway ;;
esac
case $word in repair | write | complete) echo text > $word.md; git add $word.md; git commit -qm "$word" ;; esac"#;
    let said = r#"echo '{"type":"result","subtype":"success","is_error":false,"result":"said"}'"#;
    let claude = format!(
        "for prompt; do :; done\nword=${{prompt%% *}}; word=${{word#/}}\n{}\n{said}",
        killed_once(is_before, effect)
    );
    stage.program("claude", &claude);
    // It fails before its repair, and could not be killed after that.
    stage.program("check", &format!("word=check\n{}", killed_once(true, "[ -e TMP/repaired ] || exit 1")));
    stage.program("publish", &format!("word=publish\n{}", killed_once(is_before, "echo published >> TMP/published")));
    for word in KILLED {
        let list = sessions(&stage);
        let arguments: Vec<&str> = match list.first() {
            Some(id) => vec!["resume", id],
            None => vec!["run", "w.yml"],
        };
        let mut child = stage.piton(arguments).spawn();
        let mark = stage.sandbox.top().join("tmp").join(format!("begun-{word}"));
        until(&format!("{word} has begun"), || mark.exists());
        kill(child.id());
        child.wait().expect("it was killed");
    }
    let list = sessions(&stage);
    assert_eq!(list.len(), 1, "{list:?}");
    let output = stage.piton(["resume", &list[0], "--yes"]).run().expect_code(0);
    let log = stage.executions();
    for word in KILLED {
        assert!(log.contains(&format!("end {word}")), "{word} is lost\n{log:?}\n{output}");
    }
    let folders = support::read(&stage.sandbox.top().join("tmp/folders"));
    let mut folders: Vec<&str> = folders.lines().collect();
    folders.dedup();
    assert_eq!(folders.len(), 1, "all in the same worktree: {folders:?}");
    let commits = stage.sandbox.git(["log", "--format=%s", "--reverse", "main"]);
    let commits: Vec<&str> = commits.lines().filter(|commit| KILLED.contains(commit)).collect();
    assert_eq!(commits, ["repair", "write", "complete"], "each once, and merged");
    KILLED.iter().map(|word| stage.count(&format!("begin {word}"))).collect()
}

#[test]
fn a_documentation_workflow_that_is_killed_in_every_step_repeats_only_what_was_cut_off() {
    // Each is begun once more than it would be; what it had already brought about is not needed again.
    assert_eq!(killed_in_every_step(true), [2, 4, 2, 2, 2, 4, 2, 2, 2], "{KILLED:?}");
    assert_eq!(killed_in_every_step(false), [2, 3, 1, 2, 2, 3, 1, 2, 2], "{KILLED:?}");
}
