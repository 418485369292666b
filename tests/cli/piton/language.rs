//! The language of workflow files, as `piton run` carries it out: inputs, order, groups, conditions, loops, and the files of Prodigy.

use serde_json::json;

use super::support::{Stage, session_of};

#[track_caller]
fn runs(workflow: &str, arguments: &[&str], code: i32, executions: &[&str]) -> String {
    let stage = Stage::new(workflow);
    stage.program("claude", "for last in \"$@\"; do :; done\necho \"claude $last\" >> LOG\necho '{\"type\":\"result\",\"result\":\"said\"}'");
    let (output, _) = stage.run(arguments);
    assert_eq!(
        (output.code, stage.executions()),
        (code, executions.iter().map(|line| (*line).to_owned()).collect()),
        "{workflow}\n{output}"
    );
    output.to_string()
}

#[test]
fn inputs_are_given_checked_and_kept_for_the_resume() {
    let flow = "inputs:\n  version: {pattern: '^[0-9.]+$', description: what is released}\n  count: {type: number, default: 3}\nsteps:\n- shell: echo ${version} ${count} >> LOG; [ -e fixed ]\n- shell: echo again ${version} >> LOG\n";
    let stage = Stage::in_place(flow);
    for (arguments, message) in [
        (&[][..], "the input `version` (what is released) is needed"),
        (&["--input", "version=x"], "the input `version` does not match"),
        (&["--input", "verison=1"], "the workflow has no input `verison`"),
        (&["--input", "version=1", "--input", "count=many"], "the input `count` is `many`, not a number"),
    ] {
        for more in [&[][..], &["--dry-run"]] {
            let output = stage.piton(["run", "w.yml"].into_iter().chain(arguments.iter().chain(more).copied())).run();
            assert!(output.code == 2 && output.stderr.contains(message), "{output}");
        }
    }
    assert!(!stage.state().exists(), "nothing is begun");
    let (failed, id) = stage.run(&["--input", "version=1.2"]);
    failed.expect_code(7);
    stage.sandbox.file("fixed", "");
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["1.2 3", "1.2 3", "again 1.2"]);
}

#[test]
fn steps_run_after_what_they_depend_on() {
    runs(
        "steps:\n- {id: c, shell: echo c >> LOG, depends_on: [a, b]}\n- {id: a, shell: echo a >> LOG, depends_on: []}\n- {id: b, shell: echo b >> LOG}\n- {id: g, depends_on: c, steps: [{shell: echo g1 >> LOG}, {shell: echo g2 >> LOG}]}\n- {shell: echo end >> LOG}\n",
        &[],
        0,
        &["a", "b", "c", "g1", "g2", "end"],
    );
}

#[test]
fn what_depends_on_a_skipped_step_is_skipped_unless_it_says_otherwise() {
    let flow = "steps:\n- {id: a, shell: echo a >> LOG, when: false}\n- {id: b, shell: echo b >> LOG}\n- {id: c, shell: echo c >> LOG, if_skipped: run}\n- {id: d, shell: echo d >> LOG, depends_on: []}\n";
    let said = runs(flow, &[], 0, &["c", "d"]);
    assert!(said.contains("a step that it depends on was skipped"), "{said}");
    // The files of Prodigy have no such rule.
    runs("- {shell: echo a >> LOG, when: false}\n- {shell: echo b >> LOG}\n", &[], 0, &["b"]);
}

#[test]
fn a_group_whose_condition_does_not_hold_is_skipped_as_a_whole() {
    let flow = |given: &str| {
        format!(
            "inputs: {{go: {{default: '{given}'}}}}
steps:
- id: g
  when: '${{go}} == 1 || ${{go}} == 2'
  steps:
  - {{id: a, when: '${{go}} == 1', shell: echo a >> LOG}}
  - {{id: b, if_skipped: run, shell: echo b >> LOG}}
  - {{id: c, depends_on: [], shell: echo c >> LOG}}
- {{id: d, shell: echo d >> LOG}}
- {{id: e, depends_on: g, if_skipped: run, when: 'skipped(a)', shell: echo e >> LOG}}
"
        )
    };
    runs(&flow("1"), &[], 0, &["a", "b", "c", "d"]);
    runs(&flow("2"), &[], 0, &["b", "c", "d", "e"]);
    let said = runs(&flow("0"), &[], 0, &["e"]);
    assert_eq!(said.matches("its `when` does not hold").count(), 3, "{said}");
}

#[test]
fn a_group_can_run_behind_a_skipped_step() {
    let flow = |more: &str| {
        format!(
            "steps:
- {{id: a, when: false, shell: echo a >> LOG}}
- id: g{more}
  steps:
  - {{id: b, shell: echo b >> LOG}}
  - {{id: c, when: false, shell: echo c >> LOG}}
  - {{id: d, shell: echo d >> LOG}}
  - {{id: e, depends_on: [a], shell: echo e >> LOG}}
"
        )
    };
    runs(&flow(""), &[], 0, &[]);
    runs(&flow("\n  if_skipped: run"), &[], 0, &["b", "e"]);
}

#[test]
fn a_mistake_in_the_condition_of_a_group_is_named_once_where_it_is() {
    let stage = Stage::in_place(
        "steps:\n- id: g\n  when: '${no} == 1'\n  steps:\n  - {shell: a}\n  - {shell: b, when: '${nor} == 2'}\n",
    );
    let refused = stage.piton(["--format", "json", "validate", "w.yml"]).run().expect_code(1);
    let found = refused.at("/findings").as_array().cloned().unwrap_or_default();
    let places: Vec<_> = found.iter().map(|found| (&found["line"], &found["column"])).collect();
    assert_eq!(places, [(&json!(3), &json!(9)), (&json!(6), &json!(22))], "{refused}");
}

#[test]
fn a_condition_asks_how_a_step_before_it_ended() {
    let flow = "steps:
- {id: a, shell: exit 1, on_failure: {shell: 'true', max_attempts: 0, fail_workflow: false}}
- {id: b, shell: 'true', when: 'succeeded(a)'}
- {id: c, if_skipped: run, shell: 'echo c ${step.a.status} >> LOG', when: 'failed(a) && skipped(b)'}
- {id: d, shell: echo d >> LOG, when: 'succeeded(c) && !failed(c)'}
- {id: e, shell: echo e >> LOG, when: 'failed(c)'}
";
    runs(flow, &[], 0, &["c failed", "d"]);
    for (condition, message) in [
        ("succeeded(z)", "the condition asks how step `z` ended, and there is no such step"),
        ("failed(b)", "how step b ended is not known here"),
        ("skipped()", "`skipped` takes the id of a step"),
    ] {
        let stage = Stage::in_place(&format!(
            "steps: [{{id: a, shell: 'true', when: '{condition}'}}, {{id: b, shell: 'true'}}]"
        ));
        let refused = stage.piton(["validate", "w.yml"]).run().expect_code(1);
        assert!(refused.to_string().contains(message), "{refused}");
    }
}

#[test]
fn a_name_that_nothing_sets_is_found_before_anything_runs() {
    let flow = "- {shell: echo 1 >> LOG, capture: version}\n- shell: echo ${verison} >> LOG\n";
    for arguments in [&["validate", "w.yml"][..], &["run", "w.yml", "--dry-run"], &["run", "w.yml"]] {
        let stage = Stage::new(flow);
        let output = stage.piton(arguments.iter().copied()).run().expect_code(1);
        assert!(
            output.to_string().contains("the variable `${verison}` is not set by anything; did you mean `${version}`?"),
            "{output}"
        );
        assert!(stage.executions().is_empty() && !stage.state().exists(), "{output}");
    }
}

#[test]
fn a_step_that_does_not_leave_its_outputs_fails() {
    let flow = |write: &str| {
        format!(
            "steps:\n- shell: \"{write}\"\n  outputs: {{path: out.json, schema: {{type: object, required: [ok]}}}}\n- shell: echo next >> LOG\n"
        )
    };
    for (write, code, message) in [
        ("echo '{\\\"ok\\\": 1}' > out.json", 0, ""),
        ("true", 7, "it did not write its output out.json"),
        (": > out.json", 7, "its output out.json is empty"),
        ("echo '{}' > out.json", 7, "its output out.json does not fit its schema"),
    ] {
        let said = runs(&flow(write), &[], code, if code == 0 { &["next"] } else { &[] });
        assert!(said.contains(message), "{said}");
    }
}

#[test]
fn a_loop_takes_its_items_from_a_json_file_and_says_what_became_of_them() {
    let flow = |most: &str| {
        format!(
            "steps:\n- shell: echo '{{\"items\":[{{\"n\":\"a\"}},{{\"n\":\"b\"}},{{\"n\":\"c\"}}]}}' > l.json\n- id: l\n  foreach: {{items: {{file: l.json, at: '$.items[*]'}}{most}}}\n  shell: echo ${{item.n}} >> LOG; [ ${{item.n}} != b ]\n- shell: echo ${{l.successful}} of ${{l.total}}, ${{l.failed}} failed >> LOG\n"
        )
    };
    runs(&flow(", max_failures: 1"), &[], 0, &["a", "b", "c", "2 of 3, 1 failed"]);
    runs(&flow(", max_failures: 0"), &[], 7, &["a", "b", "c"]);
    runs(&flow(""), &[], 7, &["a", "b"]);
}

#[test]
fn what_the_last_command_printed_reaches_the_handler_and_later_steps() {
    runs(
        "- shell: 'echo TESTFAIL; [ -e fixed ]'\n  on_failure: {claude: '/fix ${shell.output}', max_attempts: 1, fail_workflow: false}\n- shell: echo done\n- claude: /sum ${shell.output}\n- shell: echo ${claude.output} >> LOG\n",
        &[],
        0,
        &["claude /fix TESTFAIL", "claude /sum done", "said"],
    );
}

/// R-4: nothing that looks like a variable of Prodigy is sent on as it stands.
#[test]
fn variables_in_the_notation_of_prodigy_are_filled_in_or_refused() {
    runs(
        "- claude: /implement $ARG and $$HOME\n- shell: echo $ARG ${ITERATION} >> LOG\n- {shell: echo 7, capture_output: number}\n- claude: /spec ${shell.number}\n",
        &["--args", "spec-1"],
        0,
        &["claude /implement spec-1 and $HOME", "spec-1 1", "claude /spec 7"],
    );
    let stage = Stage::new("- claude: /implement $SPEC_ID\n");
    let output = stage.piton(["validate", "w.yml"]).run().expect_code(1);
    assert!(output.to_string().contains("`$SPEC_ID` is not a variable of the workflow"), "{output}");
}

/// R-6, R-7: files that a step added, by pattern.
#[test]
fn files_that_a_step_added_are_found_by_pattern() {
    runs(
        "- {claude: /x, description: label, analysis: {max_cache_age: 3}}\n- id: coverage\n  shell: echo > 1-coverage.md; echo > other.md\n  outputs: {spec: {file_pattern: '*-coverage.md'}}\n- shell: 'echo ${coverage.spec} ${workflow.files_added:*-cov*.md} ${workflow.files_added:csv} >> LOG'\n",
        &[],
        0,
        &["claude /x", "1-coverage.md 1-coverage.md 1-coverage.md,other.md"],
    );
}

#[test]
fn a_mapreduce_file_of_prodigy_runs_as_a_loop() {
    let flow = "name: m\nmode: mapreduce\nsetup:\n  - shell: echo '[{\"n\":\"a\"},{\"n\":\"b\"}]' > items.json\nmap:\n  input: items.json\n  json_path: $[*]\n  max_parallel: 1\n  agent_template:\n    - claude: /fix ${item.n}\n    - shell: '[ ${item.n} = a ]'\nreduce:\n  - shell: echo ${map.successful}/${map.total} >> LOG\n";
    runs(flow, &[], 0, &["claude /fix a", "claude /fix b", "1/2"]);
}

#[test]
fn a_file_of_another_form_is_printed_in_the_current_one() {
    let stage = Stage::in_place(
        "commands:\n  - {shell: a, capture_output: v}\n  - foreach: {input: [x], do: {shell: 'echo ${item} ${v}'}}\n",
    );
    let output = stage.piton(["--format", "json", "validate", "w.yml"]).run().expect_code(0);
    let rewritten = output.at("/data/files/0/rewritten");
    assert_eq!(
        rewritten.to_string(),
        r#"{"steps":[{"shell":"a","capture":"v"},{"foreach":{"items":["x"]},"steps":[{"shell":"echo ${item} ${v}"}]}]}"#
    );
    let text = stage.piton(["--format", "text", "validate", "w.yml"]).run().expect_code(0).stdout;
    let (_, file) = text.split_once("(`workflow/2`):").expect("the current form follows");
    stage.workflow(file.trim_start().trim_end_matches(|c| c != '\n').trim_end_matches("Valid.\n"));
    let again = stage.piton(["--format", "json", "validate", "w.yml"]).run().expect_code(0);
    assert_eq!(again.at("/data/files/0/rewritten"), serde_json::Value::Null, "{again}");
}

#[test]
fn how_run_calls_its_agent_stops_no_start() {
    let stage = Stage::new("");
    stage.workflow(
        "timeout: 3\nsteps: [{id: b, agent: writer, timeout: 3, retry: 2, model: opus, permission_mode: acceptEdits}]\n",
    );
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
}

#[test]
fn options_of_a_claude_step_are_passed_on() {
    let stage = Stage::in_place(
        "steps:\n- {claude: /go, model: sonnet, permission_mode: plan, allowed_tools: [Read, 'Bash(git:*)'], max_turns: 3}\n",
    );
    stage.program("claude", "echo \"$*\" >> LOG\necho '{\"type\":\"result\",\"result\":\"said\"}'");
    stage.run(&[]).0.expect_code(0);
    let flags = "--model=sonnet --permission-mode=plan --allowedTools=Read,Bash(git:*) --max-turns=3 /go";
    assert_eq!(stage.executions(), [format!("-p --output-format stream-json --verbose {flags}")]);
}

/// R-13: handlers nest, and the outer error is back when the inner one ends.
#[test]
fn the_error_of_the_outer_handler_is_back_after_a_nested_one() {
    runs(
        "- shell: test -e x\n  on_failure:\n    commands:\n      - shell: test -e nested\n        on_failure: {shell: echo > nested}\n      - shell: echo \"e=${error}\" >> LOG; echo > x\n",
        &[],
        0,
        &["e=exit code 1"],
    );
}

/// R-34, R-36, R-44.
#[test]
fn messages_name_what_is_wrong() {
    for (flow, code, message) in [
        ("- shell: 'true'\n  working_dir: nope/none\n", 7, "working_dir nope/none does not exist in "),
        ("- shell: sleep 5\n  timeout: 1s\n", 7, "timed out after 1 s"),
        ("- shell: sleep 5\n  timeout: 100ms\n", 7, "timed out after 100 ms"),
        ("- {shell: a, allow_failure: true}\n", 1, "on_failure: {fail_workflow: false}"),
        ("- {shell: a, working_dir: /etc}\n", 1, "`working_dir` must be a relative path inside the project"),
    ] {
        let stage = Stage::in_place(flow);
        let output = stage.piton(["run", "w.yml"]).run().expect_code(code);
        assert!(output.to_string().contains(message), "{flow}\n{output}");
    }
}

/// R-15, R-29: what a person may not expect of a worktree is said.
#[test]
fn changes_that_the_worktree_does_not_have_and_a_detached_head_are_named() {
    let stage = Stage::new("- shell: cat w.yml; git add -A; echo a > a.txt; git add a.txt; git commit -qm a\n");
    stage.sandbox.file("seed.txt", "one\n");
    stage.sandbox.git(["add", "-A"]);
    stage.sandbox.git(["commit", "-qm", "seed"]);
    let (output, _) = stage.run(&[]);
    assert!(!output.stderr.contains("not in the worktree"), "{output}");
    stage.sandbox.file("seed.txt", "edited\n");
    let (output, _) = stage.run(&[]);
    assert!(output.stderr.contains("1 uncommitted change is not in the worktree: the steps see commit "), "{output}");
    stage.sandbox.git(["checkout", "-q", "--detach"]);
    let (output, id) = stage.run(&["--yes"]);
    assert!(output.code == 0 && output.stderr.contains("HEAD is detached: the work will be on piton/"), "{output}");
    assert!(output.stderr.contains(&format!("Not merged: HEAD was detached; the work is on piton/{id}")), "{output}");
}

/// R-29: the answer says of every work that was not merged why, and with what it is merged.
#[test]
fn the_json_of_a_run_says_why_nothing_was_merged() {
    for (is_detached, step, flags, why, command) in [
        (
            true,
            "git commit -qm a",
            &["--yes"][..],
            "HEAD was detached when the run began",
            "piton merge ID --branch NAME",
        ),
        (false, "git commit -qm a", &[], "it was not confirmed", "piton merge ID"),
        (false, "true", &["--yes"], "files in the worktree are not committed", "git -C FOLDER status"),
    ] {
        let stage = Stage::new(&format!("- shell: echo a > a.txt; git add a.txt; {step}\n"));
        stage.sandbox.commit("seed");
        if is_detached {
            stage.sandbox.git(["checkout", "-q", "--detach"]);
        }
        let arguments = ["run", "w.yml", "--format", "json"].into_iter().chain(flags.iter().copied());
        let output = stage.piton(arguments).run().expect_code(0);
        let (id, folder) = (session_of(&output.stdout), output.at("/data/folder"));
        let command = command.replace("ID", &id).replace("FOLDER", folder.as_str().unwrap_or_default());
        assert_eq!(output.at("/data/not_merged"), json!({"why": why, "command": command}), "{output}");
        assert_eq!(output.at("/data/worktree"), json!("kept"));
        assert_eq!(output.stderr.matches(stage.worktree(&id).as_str()).count(), 0, "{output}");
    }
}

#[test]
fn help_with_a_workflow_shows_its_inputs_and_how_it_begins() {
    let stage =
        Stage::in_place("name: r\ninputs: {version: {description: what is released}}\nsteps: [{id: a, shell: 'true'}]");
    for verb in ["run", "start"] {
        let help = stage.piton([verb, "w.yml", "--help"]).run().expect_code(0);
        for expected in [
            "Usage: ",
            "--input version=VALUE  string, required, what is released",
            "piton run w.yml --input version=VALUE",
        ] {
            assert!(help.stdout.contains(expected), "{verb} {expected}: {help}");
        }
    }
    let without = stage.piton(["run", "--help"]).run().expect_code(0);
    assert!(!without.stdout.contains("--input version=VALUE"), "{without}");
}

#[test]
fn a_workflow_that_does_not_exist_is_answered_with_the_nearest() {
    let stage = Stage::in_place("steps: [{id: a, shell: 'true'}]");
    stage.sandbox.file("piton/release.yaml", "steps: [{id: a, shell: 'true'}]");
    for (arguments, expected) in [
        (&["run", "v.yml"][..], "did you mean `w.yml`?"),
        (&["run", "piton/relase.yaml"], "did you mean `piton/release.yaml`?"),
        (&["run", "relase"], "did you mean `release`?"),
        (&["start", "relase", "--feature", "x"], "did you mean `release`?"),
        (&["start", "v.yml", "--feature", "x"], "did you mean `w.yml`?"),
        (&["start", "nine-stp", "--feature", "x"], "did you mean `nine-step`?"),
        (&["run", "nothing-like-it.yml"], "paths are relative to the current folder"),
    ] {
        let refused = stage.piton(arguments.iter().copied()).run();
        assert!(refused.code != 0 && refused.to_string().contains(expected), "{arguments:?}: {refused}");
    }
}

#[test]
fn an_edit_of_a_step_that_is_not_done_is_taken_and_said() {
    let stage = Stage::in_place("steps: [{id: a, shell: 'true'}, {id: b, shell: 'echo old >> LOG'}]");
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
    stage.piton(["exec", "a", "--run", "x"]).run().expect_code(0);
    stage.workflow("steps: [{id: a, shell: 'true'}, {id: b, shell: 'echo new >> LOG'}]");
    let plan = stage.piton(["--format", "json", "plan", "x"]).run().expect_code(0);
    assert!(plan.stdout.contains("the workflow file changed; changed before they are done: b"), "{plan}");
    stage.piton(["exec", "b", "--run", "x"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["new"]);
}

#[test]
fn a_name_means_the_file_once_its_run_is_over() {
    let stage = Stage::in_place("steps: [{shell: 'true'}]");
    stage.sandbox.file("piton/nm.yaml", "name: nm\nsteps: [{id: a, shell: 'true'}]");
    stage.piton(["run", "nm", "--no-worktree"]).run().expect_code(0);
    stage.sandbox.file("piton/nm.yaml", "name: nm\nsteps: [{idd: a, shel: 'true'}]");
    let checked = stage.piton(["validate", "nm"]).run().expect_code(1);
    assert!(checked.to_string().contains("did you mean `shell`?"), "{checked}");
}

#[test]
fn several_open_runs_of_one_name_are_a_question_and_no_missing_file() {
    let stage = Stage::in_place("name: three\nsteps: [{id: a, shell: 'false'}]");
    for _ in 0..2 {
        stage.run(&[]).0.expect_code(7);
    }
    let asked = stage.piton(["run", "three"]).run().expect_code(8);
    assert!(asked.to_string().contains("session-"), "{asked}");
}

#[test]
fn a_resume_says_what_was_edited() {
    let stage = Stage::in_place("steps: [{id: a, shell: 'true'}, {id: b, shell: 'false'}, {id: c, shell: 'true'}]");
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    stage.workflow("steps: [{id: b, shell: 'true'}, {id: c, shell: 'echo c >> LOG'}, {id: d, shell: 'true'}]");
    let resumed = stage.resume(&id).expect_code(0);
    let said = "the workflow file changed; removed: a; added: d; changed before they are done: b, c";
    assert!(resumed.stderr.contains(said), "{resumed}");
}

#[test]
fn a_step_that_is_skipped_is_not_said_to_be_executed() {
    let said = runs(
        "steps: [{id: a, shell: 'echo a >> LOG', when: '1 == 2'}, {id: b, if_skipped: run, shell: 'echo b >> LOG'}]",
        &[],
        0,
        &["b"],
    );
    assert!(!said.contains("Executing step 1/2") && said.contains("Executing step 2/2"), "{said}");
}

#[test]
fn what_the_last_command_printed_is_known_only_behind_one() {
    let check = |steps: &str| {
        let stage = Stage::new(&format!("name: f\nsteps:\n{steps}"));
        stage.piton(["--format", "json", "validate", "w.yml"]).run()
    };
    for steps in [
        "- {id: a, shell: echo}\n- {id: b, claude: 'fix ${shell.output}'}\n- {id: c, shell: 'echo ${claude.output}'}\n",
        "- {id: a, shell: echo, on_failure: {claude: 'fix ${shell.output}'}}\n",
        "- {id: a, foreach: [x], steps: [{shell: echo}, {shell: 'echo ${shell.output}'}]}\n- {id: b, shell: 'echo ${shell.output}'}\n",
    ] {
        check(steps).expect_code(0);
    }
    for (steps, name) in [
        ("- {id: a, shell: 'true'}\n- {id: b, claude: 'fix ${claude.output}'}\n", "claude.output"),
        ("- {id: a, claude: 'fix ${shell.output}'}\n- {id: b, shell: 'true'}\n", "shell.output"),
        ("- {id: a, shell: 'true'}\n- {id: b, shell: 'echo ${CAPTURED_OUTPUT}'}\n", "CAPTURED_OUTPUT"),
    ] {
        let refused = check(steps).expect_code(1);
        assert!(refused.to_string().contains(name), "{refused}");
    }
}

/// A name without braces reaches Claude as it stands; that is said where it has a value.
#[test]
fn a_name_without_braces_in_a_prompt_is_named() {
    let stage = Stage::new(
        "inputs: {version: {default: a}}\nsteps:\n- claude: 'fix $ARG, $version, $5 and $HOME'\n- {id: b, agent: x, instructions: 'Do $version of ${version}.'}\n- {shell: echo $version}\n",
    );
    let output = stage.piton(["--format", "json", "validate", "w.yml"]).run().expect_code(0);
    let said: Vec<_> =
        output.json()["findings"].as_array().unwrap().iter().map(|finding| finding["message"].clone()).collect();
    let text = |name: &str| serde_json::json!(format!("`${name}` is text here, also where `{name}` has a value"));
    assert_eq!(said, [text("ARG"), text("version"), text("version")], "{output}");
}
