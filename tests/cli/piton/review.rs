//! What a review of the runner found, and holds now.

use serde_json::Value;

use super::support::{Stage, session_of};
use crate::support::{Output, run_tool};

/// Three steps, of which the second fails.
const FAILS: &str = "
name: three
steps:
- shell: echo one >> LOG
- shell: test -e LOG.fixed
- shell: echo three >> LOG
";
/// Two steps for an agent, of which the second is a command that fails.
const AGENTS: &str = "
name: agents
steps:
- id: write
  instructions: Write it
- id: check
  shell: test -e LOG.fixed
";

fn json_of(stage: &Stage, arguments: &[&str]) -> Output {
    stage.piton(["--format", "json"].into_iter().chain(arguments.iter().copied())).run()
}

fn text_of(stage: &Stage, arguments: &[&str]) -> Output {
    stage.piton(["--format", "text"].into_iter().chain(arguments.iter().copied())).run()
}

fn failed() -> (Stage, String) {
    let stage = Stage::new(FAILS);
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    (stage, id)
}

/// R-20, of a run that agents drive.
#[test]
fn a_run_of_agents_that_lost_records_continues_after_a_yes() {
    let stage = Stage::new(AGENTS);
    json_of(&stage, &["start", "w.yml", "--feature", "f"]).expect_code(0);
    json_of(&stage, &["begin", "write"]).expect_code(0);
    json_of(&stage, &["finish", "write"]).expect_code(0);
    stage.piton(["exec", "check"]).run().expect_code(7);
    let journal = stage.folder("f").join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).expect("a journal");
    let first: String = text.split_inclusive('\n').take(1).collect();
    std::fs::write(&journal, first).expect("the sandbox is ours");
    let plan = json_of(&stage, &["plan"]).expect_code(9);
    assert_eq!(plan.at("/data/progress/done"), 1, "the checkpoint counts");
    assert!(plan.findings().contains(&"journal-missing".to_owned()), "{plan}");
    let refused = json_of(&stage, &["skip", "check", "--reason", "x"]).expect_code(4);
    assert!(refused.stdout.contains("piton resume f --yes"), "{refused}");
    json_of(&stage, &["resume", "f", "--yes"]).expect_code(0);
    json_of(&stage, &["skip", "check", "--reason", "x"]).expect_code(0);
    assert_eq!(json_of(&stage, &["plan"]).expect_code(0).at("/data/progress/done"), 2);
}

/// R-21.
#[test]
fn a_workflow_names_its_only_open_session_and_several_are_listed_by_name() {
    let (stage, first) = failed();
    let resumed = stage.resume("three").expect_code(7);
    assert!(resumed.stderr.contains(&first), "{resumed}");
    let (_, second) = stage.run(&[]);
    for name in [&["resume"][..], &["resume", "three"]] {
        let refused = text_of(&stage, name).expect_code(8);
        for id in [&first, &second] {
            assert!(refused.stderr.contains(&format!("→ piton resume {id}   # ")), "{refused}");
        }
        assert!(refused.stderr.contains(". three, retry 2 (test -e"), "{refused}");
    }
}

/// R-24.
#[test]
fn a_merge_that_was_cut_off_continues_at_the_step_that_did_not_finish() {
    let stage = Stage::new(
        "
name: merges
steps:
- shell: echo a > a.txt; git add -A; git commit -qm a
merge:
  steps:
  - shell: echo m1 >> LOG; printf word
    capture: v
  - shell: \"echo m2 ${v} >> LOG; [ -e LOG.fixed ] || kill -KILL $PPID\"
  - shell: echo m3 >> LOG; git -C ${PROJECT_ROOT} merge -q ${merge.source_branch}
",
    );
    let (output, id) = stage.run(&["--yes"]);
    assert_ne!(output.code, 0, "{output}");
    assert_eq!(stage.executions(), ["m1", "m2 word"]);
    let row = json_of(&stage, &["sessions"]).at("/data/sessions/0");
    assert_eq!((&row["status"], &row["resume"]), (&"merging".into(), &format!("piton resume {id}").into()), "{row}");
    std::fs::write(format!("{}.fixed", stage.log()), "").expect("the sandbox is ours");
    let resumed = stage.resume(&id).expect_code(0);
    assert!(resumed.stderr.contains("merged"), "the yes was given before\n{resumed}");
    assert_eq!(stage.executions(), ["m1", "m2 word", "m2 word", "m3"], "no finished step of the merge is repeated");
    assert!(stage.sandbox.root().join("a.txt").exists());
    assert_eq!(json_of(&stage, &["sessions"]).at("/data/sessions/0/status"), "merged");
}

/// R-28.
#[test]
fn outside_of_git_a_run_needs_a_word_to_work_in_the_folder_itself() {
    let sandbox = crate::support::Sandbox::new();
    sandbox.file("w.yml", "steps: [{shell: echo > made}]\n");
    for more in [&[][..], &["--dry-run"], &["--yes"]] {
        let refused = sandbox.piton([&["run", "w.yml"], more].concat()).run().expect_code(1);
        assert!(refused.to_string().contains("a worktree needs git, and $ROOT is in no repository"), "{refused}");
        assert!(refused.to_string().contains("`piton run w.yml --no-worktree`"), "{refused}");
        assert!(!sandbox.exists("made"));
    }
    sandbox.piton(["list"]).run().expect_code(3);
    sandbox.piton(["run", "w.yml", "--no-worktree"]).run().expect_code(0);
    assert!(sandbox.exists("made"));
}

/// R-38.
#[test]
fn commits_on_another_branch_of_the_worktree_are_named_at_the_end_and_nothing_is_merged() {
    let stage = Stage::new(
        "name: strays\nsteps:\n- shell: echo a > a.txt; git add -A; git commit -qm a\n- shell: test -e LOG.fixed\n",
    );
    let (output, id) = stage.run(&["--yes"]);
    output.expect_code(7);
    let worktree = stage.worktree(&id);
    let stray = format!(
        "cd {worktree} && git checkout -q -b other && echo o > o.txt && git add -A && git -c user.name=a -c user.email=a@b commit -qm o"
    );
    run_tool("/bin/sh".as_ref(), &["-c", &stray], &[]);
    std::fs::write(format!("{}.fixed", stage.log()), "").expect("the sandbox is ours");
    let output = stage.piton(["resume", &id, "--yes"]).run().expect_code(0);
    assert!(output.stderr.contains("Not merged: the worktree is on other, with 1 commit that"), "{output}");
    assert!(!stage.sandbox.root().join("a.txt").exists(), "nothing was merged");
    let sessions = text_of(&stage, &["sessions"]);
    assert!(sessions.stdout.contains("completed, not merged"), "{sessions}");
    stage.sandbox.git(["-C", worktree.as_str(), "switch", "--quiet", &format!("piton/{id}")]);
    stage.sandbox.git(["-C", worktree.as_str(), "merge", "--quiet", "other"]);
    stage.piton(["merge", &id, "--yes"]).run().expect_code(0);
    assert!(stage.sandbox.root().join("o.txt").exists());
}

/// R-41.
#[test]
fn the_history_of_a_session_says_what_each_record_says() {
    let (stage, id) = failed();
    let history = json_of(&stage, &["history", &id]).expect_code(0);
    let what = |item: &Value| {
        format!("{} {}", item["replaced_by"].as_str().expect("a word"), item["what"].as_str().unwrap_or_default())
    };
    let all: Vec<String> = history.at("/data/checkpoints").as_array().into_iter().flatten().map(what).collect();
    assert!(all[0].starts_with("finish failed, exit code 1"), "{all:?}");
    assert_eq!(all[1], "begin attempt 1");
    assert!(all[2].starts_with("finish completed, ") && all[2].ends_with(" ms"), "{all:?}");
    let text = text_of(&stage, &["history", &id]).expect_code(0);
    assert!(text.stdout.contains("  failed, exit code 1"), "{text}");
    assert!(!text.stdout.contains("1 file, "), "{text}");
}

/// R-41.
#[test]
fn the_history_of_a_session_says_why_it_went_on_and_how_it_ended() {
    let (stage, id) = failed();
    stage.piton(["resume", &id, "--skip", "2"]).run().expect_code(0);
    let text = text_of(&stage, &["history", &id]).expect_code(0);
    for (record, what) in [("before resume,", "at 3"), ("before skip 2,", "skipped on resume")] {
        let line = text.stdout.lines().find(|line| line.contains(record)).unwrap_or_else(|| panic!("{record}: {text}"));
        assert!(line.ends_with(what), "{line}");
    }
    assert!(!text.stdout.contains(" bytes"), "{text}");
}

/// R-43.
#[test]
fn giving_up_takes_the_flag_of_consent() {
    let (stage, id) = failed();
    let given_up = stage.piton(["abort", &id, "--yes"]).run().expect_code(0);
    assert!(given_up.stdout.contains("aborted"), "{given_up}");
    assert!(given_up.stdout.contains(&format!("piton drop {id}")), "R-17: {given_up}");
}

/// R-45.
#[test]
fn help_begins_with_an_example_and_groups_flags_by_the_runs_that_they_are_for() {
    let stage = Stage::in_place("- shell: 'true'\n");
    for (verb, about, headings) in [
        ("run", "Run a workflow file unattended", &["New runs:", "Runs that Piton drives:"][..]),
        ("resume", "Resume an interrupted run", &["Runs that an agent drives:", "Runs that Piton drives:"]),
    ] {
        let help = stage.piton([verb, "--help"]).run().expect_code(0).stdout;
        assert!(help.trim_start().starts_with(&format!("piton {verb} ")), "{help}");
        assert!(help.contains(about), "{help}");
        for heading in headings {
            assert_eq!(help.matches(&format!("\n{heading}\n")).count(), 1, "{heading}\n{help}");
        }
        assert!(!help.contains("--prodigy-home"), "the options of every verb are named once\n{help}");
        assert!(help.contains("`piton --help` has the options of every command"), "{help}");
    }
    let all = stage.piton(["--help"]).run().expect_code(0).stdout;
    assert!(all.contains("Global options:") && all.contains("--prodigy-home"), "{all}");
}

/// R-45.
#[test]
fn a_flag_that_means_nothing_for_a_session_is_refused_by_name() {
    let (stage, id) = failed();
    for flags in [&["--to-step", "1"][..], &["--parallel"], &["--native"], &["--steps"], &["--budget", "100"]] {
        let words = ["resume", &id].into_iter().chain(flags.iter().copied());
        let refused = stage.piton(words).run().expect_code(2);
        assert!(refused.stderr.contains(&format!("{} does not apply", flags[0])), "{refused}");
    }
    assert_eq!(stage.executions(), ["one"]);
}

/// R-46.
#[test]
fn the_worktree_is_named_once_and_by_a_short_path() {
    let stage = Stage::new(FAILS);
    let home = stage.sandbox.home().join("state");
    let run = |words: &[&str]| {
        let piton = stage.sandbox.piton(words.iter().copied()).real_clock();
        piton.env("PITON_HOME", home.as_str()).run().expect_code(7)
    };
    let output = run(&["run", "w.yml"]);
    let id = session_of(&output.stderr);
    assert!(output.stderr.contains(" in ~/state/"), "{output}");
    assert_eq!(output.stderr.matches("/worktrees/").count(), 1, "{output}");
    assert!(!output.stderr.contains(home.as_str()), "{output}");
    let resumed = run(&["resume", &id]);
    assert_eq!(resumed.stderr.matches("Its work is kept in ~/state/").count(), 1, "{resumed}");
    let piton = |words: &[&str]| {
        let piton = stage.sandbox.piton(words.iter().copied()).real_clock();
        piton.env("PITON_HOME", home.as_str()).run().expect_code(0)
    };
    stage.workflow("steps: [{shell: echo a > a; git add a; git commit -qm a; echo b > b}]\n");
    let kept = piton(&["run", "w.yml"]);
    let merged = piton(&["merge", &session_of(&kept.stderr), "--yes"]);
    for output in [kept, merged] {
        assert_eq!(output.stderr.matches("/worktrees/").count(), 1, "{output}");
        assert!(output.stderr.contains(" in ~/state/") && !output.stderr.contains(home.as_str()), "{output}");
    }
}

#[test]
fn after_a_step_alone_failed_the_hint_is_that_step() {
    let stage = Stage::new(AGENTS);
    json_of(&stage, &["start", "w.yml", "--feature", "f"]).expect_code(0);
    json_of(&stage, &["skip", "write", "--reason", "x"]).expect_code(0);
    let failed = stage.piton(["--format", "text", "exec", "check"]).run().expect_code(7);
    assert!(failed.stderr.contains("→ piton exec check --run f"), "{failed}");
    std::fs::write(format!("{}.fixed", stage.log()), "").expect("the sandbox is ours");
    stage.piton(["exec", "check", "--run", "f"]).run().expect_code(0);
}

#[test]
fn sessions_in_the_earlier_place_are_one_finding() {
    let (stage, id) = failed();
    assert!(!json_of(&stage, &["list"]).findings().contains(&"session-earlier".to_owned()));
    let home = stage.folder(&id).ancestors().nth(2).expect("the home of its records").to_owned();
    for id in ["session-1", "session-2"] {
        std::fs::create_dir_all(home.join("sessions").join(id)).expect("the sandbox is ours");
        std::fs::write(home.join("sessions").join(id).join("session.json"), "{}").expect("the sandbox is ours");
    }
    for verb in ["list", "sessions"] {
        let listed = json_of(&stage, &[verb]).expect_code(0);
        let found = listed.at("/findings");
        let earlier: Vec<&Value> =
            found.as_array().into_iter().flatten().filter(|finding| finding["code"] == "session-earlier").collect();
        assert_eq!(earlier.len(), 1, "{listed}");
        assert!(
            earlier[0]["message"].as_str().is_some_and(|text| text.starts_with("2 sessions of an earlier version"))
        );
        assert!(earlier[0]["fix"].as_str().is_some_and(|text| text.contains("piton run FILE")), "{listed}");
    }
    assert_eq!(json_of(&stage, &["list"]).at("/data/runs").as_array().map(Vec::len), Some(1));
}

#[test]
fn three_refusals_wait_for_a_person_however_the_run_goes_on() {
    let stage = Stage::in_place("steps:\n- {id: d, agent: w}\n- {id: review, agent: r, reviews: d}\n");
    stage.program(
        "claude",
        r#"for prompt; do :; done
echo call >> LOG
report() { printf '{"type":"result","subtype":"success","is_error":false,"total_cost_usd":0.1,"result":"Done.\\n\\nSTEP: %s\\nSTATUS: DONE%s"}\n' "$1" "$2"; }
case "$prompt" in "Do step d"*) report d "" ;; *) report review "\nVERDICT: NEEDS_REVISION" ;; esac"#,
    );
    let (stopped, id) = stage.run(&[]);
    stopped.expect_code(9);
    assert_eq!(stage.executions().len(), 6);
    let shown = stage.piton(["--format", "json", "sessions", "show", &id]).run().expect_code(0);
    assert_eq!(shown.at("/data/claude/calls"), serde_json::json!(6), "what was sent back was paid as well: {shown}");
    let plan = stage.piton(["--format", "json", "plan", &id]).run().expect_code(9);
    assert!(plan.findings().contains(&"attempt-limit".to_owned()), "{plan}");
    let refused = stage.resume(&id).expect_code(9);
    assert!(refused.stderr.contains(&format!("piton redo review --run {id}")), "{refused}");
    assert_eq!(stage.executions().len(), 6, "nothing is paid for without a word");
    stage.piton(["redo", "review", "--run", &id, "--by", "Ann", "--note", "again"]).run().expect_code(0);
    stage.resume(&id).expect_code(9);
    assert!(stage.executions().len() > 6);
}

#[test]
fn a_review_that_stands_further_behind_reads_what_the_work_left() {
    let stage = Stage::new(
        "steps:\n- {id: a, agent: w, instructions: do, outputs: o.txt}\n- {id: t, agent: w}\n- {id: r, agent: v, reviews: a}\n",
    );
    let piton = |arguments: &[&str]| stage.piton(arguments.iter().copied()).run().expect_code(0);
    piton(&["start", "w.yml", "--feature", "x"]);
    piton(&["begin", "a"]);
    stage.sandbox.file("o.txt", "x");
    piton(&["finish", "a"]);
    piton(&["begin", "t"]);
    piton(&["finish", "t"]);
    let context = piton(&["--format", "json", "context", "--step", "r"]);
    let reading = context.at("/data/required_reading").to_string();
    assert!(reading.contains("\"o.txt\""), "{context}");
}

/// Neither an agent that writes over the work nor one that reports without a begin goes past a rejection.
#[test]
fn touched_work_lifts_no_rejection() {
    for is_touched in [false, true] {
        let stage = Stage::in_place(
            "steps:\n- {id: draft, agent: a, outputs: d.md}\n- {id: review, agent: b, reviews: draft}\n- {id: use, shell: echo used >> LOG}\n",
        );
        let call = |words: &[&str]| stage.piton(words.iter().copied()).run();
        call(&["start", "w.yml", "--feature", "x"]).expect_code(0);
        call(&["begin", "draft"]).expect_code(0);
        stage.sandbox.file("d.md", "first\n");
        call(&["finish", "draft"]).expect_code(0);
        call(&["begin", "review"]).expect_code(0);
        call(&["finish", "review", "--verdict", "REJECTED", "--finding", "bad"]).expect_code(0);
        if is_touched {
            stage.sandbox.file("d.md", "second\n");
        }
        let plan = call(&["--format", "json", "plan", "x"]).expect_code(9);
        assert_eq!(plan.at("/data/next/0/action"), "return", "{plan}");
        assert!(plan.findings().contains(&"rejected".to_owned()), "{plan}");
        call(&["begin", "draft"]).expect_code(9);
        if is_touched {
            let refused = call(&["finish", "draft"]).expect_code(9);
            assert!(refused.to_string().contains("piton redo review --run x --by NAME --note WHY"), "{refused}");
        }
        call(&["begin", "review"]).expect_code(9);
        call(&["redo", "review", "--by", "Ann", "--note", "another round"]).expect_code(0);
        call(&["begin", "draft"]).expect_code(0);
    }
}

/// A no is not replaced by a failure, by a wait for approval or by a milder no.
#[test]
fn no_other_word_lifts_a_rejection() {
    for kind in ["review", "gate"] {
        let stage = Stage::in_place(match kind {
            "review" => {
                "steps:\n- {id: draft, agent: a}\n- {id: no, agent: b, reviews: draft}\n- {id: use, shell: echo used >> LOG}\n"
            }
            _ => "steps:\n- {id: draft, agent: a}\n- {id: no, gate: Ann}\n- {id: use, shell: echo used >> LOG}\n",
        });
        let call = |words: &[&str]| stage.piton(words.iter().copied()).run();
        call(&["start", "w.yml", "--feature", "x"]).expect_code(0);
        call(&["begin", "draft"]).expect_code(0);
        call(&["finish", "draft"]).expect_code(0);
        if kind == "review" {
            call(&["begin", "no"]).expect_code(0);
        }
        call(&["finish", "no", "--verdict", "REJECTED", "--error", "bad"]).expect_code(0);
        for other in [
            &["--status", "failed", "--error", "x"][..],
            &["--status", "waiting_approval"],
            &["--verdict", "NEEDS_REVISION", "--error", "milder"],
        ] {
            let said = call(&[&["finish", "no"], other].concat());
            assert!(said.code == 9 || kind == "gate" && other[1] != "waiting_approval", "{kind} {other:?}: {said}");
        }
        // What is added to the work behind it is no new work.
        call(&["finish", "draft", "--summary", "more"]);
        assert_ne!(call(&["approve", "no", "--by", "Ann"]).code, 0, "{kind}");
        assert_ne!(call(&["exec", "use"]).code, 0, "{kind}");
        assert_eq!(stage.executions(), [""; 0]);
    }
}

/// A rejection stops an unattended run, too.
#[test]
fn a_rejection_stops_the_runner_for_a_person() {
    let stage = Stage::in_place("steps:\n- {id: draft, agent: a}\n- {id: review, agent: b, reviews: draft}\n");
    stage.program("claude", "for prompt; do :; done\ncase \"$prompt\" in *'step review'*) v='\\nVERDICT: REJECTED' ;; *) v= ;; esac\necho called >> LOG\nprintf '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"Done.\\\\n\\\\nSTATUS: DONE%s\"}\\n' \"$v\"");
    let (stopped, id) = stage.run(&[]);
    stopped.expect_code(9);
    assert_eq!(stage.count("called"), 2, "nothing is done again before a person said so");
    stage.piton(["resume", &id]).run().expect_code(9);
    stage.piton(["accept", "review", "--run", &id, "--by", "Ann", "--note", "good enough"]).run().expect_code(0);
    stage.piton(["resume", &id]).run().expect_code(0);
    assert_eq!(stage.count("called"), 2);
}

/// A review that failed has no verdict, so nothing lets the run go on behind it.
#[test]
fn a_failed_review_is_not_tolerated() {
    let stage = Stage::in_place(
        "steps:\n- {id: draft, agent: a}\n- {id: review, agent: b, reviews: draft, continue_on_error: true}\n- {id: use, shell: echo used >> LOG}\n",
    );
    stage.program("claude", "for prompt; do :; done\ncase \"$prompt\" in *'step review'*) s=BLOCKED ;; *) s=DONE ;; esac\nprintf '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"Done.\\\\n\\\\nSTATUS: %s\"}\\n' $s");
    stage.run(&[]).0.expect_code(7);
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
    for (step, more) in [("draft", &[][..]), ("review", &["--status", "failed", "--error", "no"])] {
        stage.piton(["begin", step, "--run", "x"]).run().expect_code(0);
        stage.piton([&["finish", step, "--run", "x"], more].concat()).run().expect_code(0);
    }
    stage.piton(["exec", "review", "--run", "x"]).run().expect_code(7);
    let plan = stage.piton(["--format", "json", "plan", "x"]).run();
    assert_eq!(
        (plan.at("/data/next/0/action"), plan.at("/data/next/0/step")),
        (Value::from("retry"), Value::from("review")),
        "{plan}"
    );
    assert_eq!(stage.executions(), [""; 0]);
}
