//! Every key of a workflow file works: the result of each workflow would differ without it.

use super::support::{Stage, until};
use crate::support::run_tool;

/// Runs a workflow to its end; steps count with `echo WORD >> LOG`.
fn left_by(workflow: &str) -> (i32, Vec<String>, String) {
    let stage = Stage::in_place(workflow);
    stage.sandbox.file("own.env", "FROM_FILE=file\n").file("sub/here", "");
    stage.program("claude", "echo \"claude $#:$2\" >> LOG\necho '{\"type\":\"result\",\"result\":\"said\"}'");
    let output = stage.piton(["run", "w.yml", "--args", "a", "--args", "b"]).env("OUTER", "outer").run();
    (output.code, stage.executions(), output.to_string())
}

#[track_caller]
fn check(rows: &[(&str, i32, &[&str])]) {
    let mut wrong = Vec::new();
    for (workflow, code, executions) in rows {
        let (found_code, found, shown) = left_by(workflow);
        if (found_code, found.iter().map(String::as_str).collect::<Vec<_>>()) != (*code, executions.to_vec()) {
            wrong.push(format!("{workflow}\nexpected {code} {executions:?}, found {found_code} {found:?}\n{shown}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn of_a_workflow() {
    check(&[
        ("{name: release, commands: [{shell: 'echo ${workflow.name} >> LOG'}]}", 0, &["release"]),
        ("{env: {A: one}, commands: [{shell: 'echo ${A} $A >> LOG'}]}", 0, &["one one"]),
        ("{env_files: [own.env], commands: [{shell: 'echo $FROM_FILE >> LOG'}]}", 0, &["file"]),
        ("{env_files: [none.env], commands: [{shell: 'echo x >> LOG'}]}", 1, &[]),
        ("{secrets: {S: OUTER}, commands: [{shell: 'echo $S >> LOG'}]}", 0, &["outer"]),
        ("{secrets: {S: NOT_SET}, commands: [{shell: 'echo x >> LOG'}]}", 1, &[]),
        ("{timeout: 200ms, commands: [{shell: 'echo 1 >> LOG; sleep 30; echo 2 >> LOG'}]}", 7, &["1"]),
        (
            "{retry: {attempts: 3, initial_delay: 1ms}, commands: [{shell: 'echo try >> LOG; false'}]}",
            7,
            &["try", "try", "try"],
        ),
        ("[{shell: 'echo ${ARG} >> LOG'}]", 0, &["a b"]),
    ]);
}

#[test]
fn of_a_step() {
    check(&[
        ("[{id: x, shell: 'echo out'}, {shell: 'echo ${step.x.output} >> LOG'}]", 0, &["out"]),
        (
            "[{shell: 'printf 3', capture: n, capture_format: number}, {when: '${n} > 2', shell: 'echo yes >> LOG'}, {when: '${n} > 3', shell: 'echo no >> LOG'}]",
            0,
            &["yes"],
        ),
        ("[{shell: 'echo 1 >> LOG; sleep 30', timeout: 200ms}, {shell: 'echo 2 >> LOG'}]", 7, &["1"]),
        (
            "[{shell: 'echo try >> LOG; exit 7', retry: {attempts: 2, exit_codes: [7], initial_delay: 1ms}}]",
            7,
            &["try", "try"],
        ),
        (
            "[{shell: 'echo try >> LOG; exit 8', retry: {attempts: 2, exit_codes: [7], initial_delay: 1ms}}]",
            7,
            &["try"],
        ),
        (
            "[{shell: 'echo try >> LOG; echo connection refused >&2; exit 8', retry: {attempts: 2, retry_on: [network], initial_delay: 1ms}}]",
            7,
            &["try", "try"],
        ),
        (
            "[{shell: \"printf '{\\\"a\\\":{\\\"b\\\":[7,8]}}'\", capture: v, capture_format: json}, {shell: 'echo ${v.a.b.1} >> LOG'}]",
            0,
            &["8"],
        ),
        (
            "[{shell: \"printf 'a\\\\nb\\\\n'\", capture: v, capture_format: lines}, {shell: 'echo ${v.1} >> LOG'}]",
            0,
            &["b"],
        ),
        ("[{shell: 'echo yes', capture: v, capture_format: number}, {shell: 'echo x >> LOG'}]", 7, &[]),
        ("[{shell: 'echo true', capture: v, capture_format: boolean}, {shell: 'echo ${v} >> LOG'}]", 0, &["true"]),
        (
            "[{shell: 'echo out; echo err >&2', capture: v, capture_streams: both}, {shell: 'echo ${v}:${v.stderr} >> LOG'}]",
            0,
            &["out:err"],
        ),
        (
            "[{shell: 'true', capture: v, capture_streams: {exit_code: true, success: true}}, {shell: 'echo ${v.exit_code} ${v.success} >> LOG'}]",
            0,
            &["0 true"],
        ),
        ("[{shell: 'echo kept', output_file: o}, {shell: 'cat o >> LOG'}]", 0, &["kept"]),
        ("[{shell: 'echo $A >> LOG', env: {A: '${ARG}!'}}]", 0, &["a b!"]),
        ("[{shell: 'echo here* >> LOG', working_dir: sub}]", 0, &["here"]),
        ("[{shell: 'echo here* >> LOG', working_dir: ../sub}]", 1, &[]),
        ("[{shell: 'echo 1 >> LOG', on_success: {shell: 'echo 2 >> LOG'}}]", 0, &["1", "2"]),
        (
            "[{shell: 'echo 1 >> LOG', on_success: [{when: 'false', shell: 'echo 2 >> LOG'}, {when: 'true', shell: 'echo 3 >> LOG'}]}]",
            0,
            &["1", "3"],
        ),
        (
            "[{shell: 'echo 1 >> LOG', on_success: {shell: 'echo try >> LOG; false', retry: {attempts: 2, initial_delay: 1ms}}}]",
            7,
            &["1", "try", "try"],
        ),
        ("[{shell: 'echo 1 >> LOG; false', on_success: {shell: 'echo 2 >> LOG'}}]", 7, &["1"]),
    ]);
}

#[test]
fn of_a_failure() {
    check(&[
        ("[{shell: 'echo 1 >> LOG; [ -e f ]', on_failure: 'echo fix >> LOG; echo > f'}]", 0, &["1", "fix", "1"]),
        (
            "[{shell: 'echo 1 >> LOG; [ -e f ]', on_failure: [{shell: 'echo fix >> LOG'}, {shell: 'echo > f'}]}]",
            0,
            &["1", "fix", "1"],
        ),
        (
            "[{shell: 'echo 1 >> LOG; false', on_failure: {shell: 'echo fix >> LOG', max_attempts: 2}}]",
            7,
            &["1", "fix", "1", "fix", "1"],
        ),
        (
            "[{shell: 'false', on_failure: {shell: 'echo fix >> LOG', max_attempts: 0}}, {shell: 'echo 2 >> LOG'}]",
            7,
            &["fix"],
        ),
        (
            "[{shell: 'false', on_failure: {shell: 'echo fix >> LOG', max_attempts: 0, fail_workflow: false}}, {shell: 'echo 2 >> LOG'}]",
            0,
            &["fix", "2"],
        ),
        ("[{test: {command: '[ -e f ]', on_failure: {shell: 'echo fix >> LOG; echo > f'}}}]", 0, &["fix"]),
        (
            "[{shell: '[ -e f ]', on_failure: {claude: '/fix', max_attempts: 0, fail_workflow: false}}]",
            0,
            &["claude 5:--output-format"],
        ),
    ]);
}

#[test]
fn of_the_other_kinds_of_step() {
    check(&[
        ("[{claude: /go, capture: v}, {shell: 'echo ${v} >> LOG'}]", 0, &["claude 5:--output-format", "said"]),
        ("[/go]", 0, &["claude 5:--output-format"]),
        (
            "[{write_file: {path: d/f, content: 'x ${ARG}', create_dirs: true}}, {shell: 'cat d/f >> LOG'}]",
            0,
            &["x a b"],
        ),
        ("[{write_file: {path: d/f, content: x}}, {shell: 'echo 2 >> LOG'}]", 7, &[]),
        ("[{write_file: {path: f, content: '{', format: json}}, {shell: 'echo 2 >> LOG'}]", 7, &[]),
        ("[{write_file: {path: f, content: x, mode: '0755'}}, {shell: '[ -x f ] && echo x >> LOG'}]", 0, &["x"]),
        (
            "[{foreach: {foreach: [a, b, c], do: [{shell: 'echo ${index} ${item} ${total} >> LOG'}], max_items: 2}}]",
            0,
            &["0 a 2", "1 b 2"],
        ),
        ("[{foreach: {foreach: [a, b], do: [{when: \"${item} == 'b'\", shell: 'echo ${item} >> LOG'}]}}]", 0, &["b"]),
        (
            "[{foreach: {foreach: [a], do: [{shell: 'echo try >> LOG; false', retry: {attempts: 3, initial_delay: 1ms}}]}}]",
            7,
            &["try", "try", "try"],
        ),
        (
            "[{foreach: {input: \"printf '[1,2]'\", do: [{shell: 'echo ${item} >> LOG; [ ${item} != 1 ]'}], continue_on_error: true}}]",
            7,
            &["1", "2"],
        ),
        (
            "[{validate: {shell: 'echo measure >> LOG; echo \"{\\\"completion_percentage\\\": 40}\"', threshold: 40}}, {shell: 'echo 2 >> LOG'}]",
            0,
            &["measure", "2"],
        ),
        (
            "[{validate: {shell: 'echo measure >> LOG; echo \"{\\\"completion_percentage\\\": 40}\"', on_incomplete: {shell: 'echo gap ${validation.completion} >> LOG', max_attempts: 1}}}]",
            7,
            &["measure", "gap 40.0", "measure"],
        ),
    ]);
}

#[test]
fn a_usage_limit_is_waited_for_and_survives_a_kill() {
    let stage = Stage::in_place("- claude: /go\n");
    let said = r#"{"type":"result","is_error":true,"result":"Claude AI usage limit reached|4102444800"}"#;
    stage.program("claude", &format!("echo claude >> LOG\necho '{said}'; exit 1"));
    let mut child = stage.piton(["run", "w.yml"]).spawn();
    let journal = || {
        let homes = stage.state().read_dir_utf8().ok()?;
        let sessions = homes.filter_map(|home| home.ok()?.path().join("runs").read_dir_utf8().ok()).flatten();
        sessions.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("journal.jsonl")).ok()).next()
    };
    until("the first try fails", || journal().is_some_and(|text| text.contains("\"next_at\":\"2100-01-01T00:0")));
    run_tool("/bin/sh".as_ref(), &["-c", &format!("kill -KILL {}", child.id())], &[]);
    child.wait().unwrap();
    let limit = std::time::Duration::from_millis(1500);
    assert!(stage.piton(["resume"]).run_within(limit).is_none(), "the limit holds until it ends");
    assert_eq!(stage.executions(), ["claude"]);
    for verb in ["plan", "status"] {
        let said = stage.piton(["--format", "text", verb]).run();
        let waits = "waits for a usage limit until 00:0";
        assert!(said.stdout.contains(waits), "{verb}: {said}");
        let said = stage.piton(["--format", "json", verb]).run();
        let until = said.at("/data/limit_wait/until");
        assert!(until.as_str().is_some_and(|until| until.starts_with("2100-01-01T00:0")), "{verb}: {said}");
    }
    // R-9: the wait is no try, and a resume knows what it waits for.
    assert!(journal().is_some_and(|text| text.contains(r#""retry":{"attempts":0,"next_at":"2100-01-01"#)));
}

/// T-D5: `validate` beside a command runs after it, closes its gaps, and belongs to its record.
#[test]
fn a_validation_beside_a_command_belongs_to_its_step() {
    let stage = Stage::new(
        "- shell: echo work >> LOG\n  validate:\n    shell: 'if [ -e more ]; then echo ''{\"completion_percentage\": 100}''; else echo \
         ''{\"completion_percentage\": 40}''; fi'\n    on_incomplete: {shell: 'echo closing >> LOG; echo > more'}\n  on_success: \
         [{shell: echo after >> LOG}]\n- shell: echo next >> LOG\n",
    );
    stage.run(&[]).0.expect_code(0);
    assert_eq!(stage.executions(), ["work", "closing", "after", "next"]);

    let stage = Stage::new(
        "- shell: echo work >> LOG\n  validate: {shell: 'echo ''{\"completion_percentage\": 40}'''}\n- shell: echo next >> LOG\n",
    );
    let (failed, id) = stage.run(&[]);
    failed.expect_code(7);
    assert_eq!(stage.executions(), ["work"]);
    stage.resume(&id).expect_code(7);
    assert_eq!(stage.executions(), ["work", "work"]);
}
