//! Any bytes may come in: truncated files, lost lines, long lines and long texts. Nothing is written.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{
    actions, plan, standings,
    trace::{RUN, SESSION, Trace, client, process, put, task},
};
use crate::support::{Sandbox, Tree, takes_all};

/// A session with a task done, one in progress, an agent done and one cut off.
fn story(sandbox: &Sandbox) -> Trace {
    let main = Trace::new(sandbox)
        .prompt("Build it")
        .creates_task("1", "One")
        .creates_task("2", "Two")
        .sets_task("1", "pending", "in_progress")
        .writes("w1", "made.txt")
        .sets_task("1", "in_progress", "completed")
        .sets_task("2", "pending", "in_progress")
        .launches("call-aaaaaaaa", "aaaaaaaa", "first")
        .launches("call-bbbbbbbb", "bbbbbbbb", "second");
    main.write(sandbox);
    main.agent("aaaaaaaa").prompt("a").writes("w", "a.txt").ends("done").write(sandbox);
    main.agent("bbbbbbbb").prompt("b").writes("w", "b.txt").write(sandbox);
    task(sandbox, SESSION, "1", "One", "completed", &[]);
    task(sandbox, SESSION, "2", "Two", "in_progress", &["1"]);
    sandbox.file("made.txt", "x").file("a.txt", "x").file("b.txt", "x");
    main
}

/// What must hold when something of the files is lost: nothing of unknown outcome is run again, nothing that ended is opened.
fn check(sandbox: &Sandbox, what: &str) {
    let plan = plan(sandbox);
    assert!([0, 3, 4, 6, 9].contains(&plan.code), "{what}\n{plan}");
    let actions = actions(&plan);
    for forbidden in ["retry A-bbbbbb", "run A-bbbbbb", "retry T1", "run T1", "retry A-aaaaaa", "run A-aaaaaa"] {
        assert!(!actions.contains(&forbidden.to_owned()), "{what}: {forbidden}\n{plan}");
    }
    assert!(!standings(&plan).contains(&"A-bbbbbb done".to_owned()), "{what}");
    assert_ne!(plan.at("/data/verdict"), "complete", "{what}");
}

#[test]
fn a_transcript_cut_anywhere_is_read_up_to_there() {
    let sandbox = Sandbox::new();
    let main = story(&sandbox);
    let (text, path) = (main.text(), main.path(&sandbox));
    let step = if takes_all() { 1 } else { 97 };
    for end in (0..text.len()).step_by(step).filter(|end| text.is_char_boundary(*end)) {
        put(&sandbox, &path, &text[..end]);
        check(&sandbox, &format!("cut at {end}"));
    }
}

#[test]
fn each_lost_line_leaves_the_rest() {
    let sandbox = Sandbox::new();
    let main = story(&sandbox);
    for lost in 0..main.lines.len() {
        let kept = main.lines.iter().enumerate().filter(|(at, _)| *at != lost);
        let text = kept.fold(String::new(), |mut text, (_, line)| {
            let _ = writeln!(text, "{line}");
            text
        });
        put(&sandbox, &main.path(&sandbox), &text);
        check(&sandbox, &format!("without line {lost}"));
    }
    main.write(&sandbox);
    let agent = main.agent("bbbbbbbb").prompt("b").writes("w", "b.txt");
    for lost in 1..agent.lines.len() {
        let kept: Vec<&str> =
            agent.lines.iter().enumerate().filter(|(at, _)| *at != lost).map(|(_, line)| line.as_str()).collect();
        put(&sandbox, &agent.path(&sandbox), &kept.join("\n"));
        check(&sandbox, &format!("agent without line {lost}"));
    }
}

#[test]
fn a_line_of_twelve_megabytes_is_not_read() {
    let sandbox = Sandbox::new();
    let image = "x".repeat(12 << 20);
    let main = Trace::new(&sandbox).prompt("go").creates_task("1", "One").sets_task("1", "pending", "in_progress");
    main.clone().user(&image, Value::Null).at(200).prompt("next").write(&sandbox);
    let read = plan(&sandbox);
    assert_eq!(standings(&read), ["T1 interrupted", "turn interrupted"]);
    assert!(read.findings().contains(&"file-unclassified".to_owned()), "{read}");
    // At the end it hides the last message: a list does not know more than a plan.
    main.user(&image, Value::Null).write(&sandbox);
    let list = sandbox.piton(["--format", "json", "list"]).run().expect_code(0);
    assert_eq!(list.at("/data/runs/0/verdict"), "confirm", "{list}");
}

#[test]
fn nonsense_in_every_file_is_survived() {
    let sandbox = Sandbox::new();
    let main = story(&sandbox);
    let all = Tree::of(&client(&sandbox));
    let paths: Vec<String> = ["", ".jsonl"].iter().map(|_| main.path(&sandbox)).collect();
    let folder = main.path(&sandbox).replace(".jsonl", "");
    let journal = format!("{folder}/subagents/workflows/wf_x/journal.jsonl");
    let files = [
        paths[0].clone(),
        format!("{folder}/subagents/agent-bbbbbbbb.jsonl"),
        format!("{folder}/subagents/agent-bbbbbbbb.meta.json"),
        format!("tasks/{SESSION}/2.json"),
        "sessions/1.json".to_owned(),
        journal,
    ];
    let nonsense = [
        "",
        "\n\n",
        "null\n",
        "[]\n{}\n",
        "{\"type\":7}\n",
        "{\"type\":\"user\",\"message\":[],\"timestamp\":{}}\n",
        "\u{0}\u{1}",
        "{{{{",
    ];
    for file in &files {
        for text in nonsense {
            put(&sandbox, file, text);
            let plan = plan(&sandbox);
            assert!([0, 3, 4, 9].contains(&plan.code), "{file}: {text:?}\n{plan}");
            sandbox.piton(["list", "--all"]).run();
        }
        std::fs::remove_dir_all(client(&sandbox)).unwrap();
        all.write_to(&client(&sandbox));
    }
}

#[test]
fn nothing_is_written_anywhere() {
    let sandbox = Sandbox::with_git();
    story(&sandbox);
    process(&sandbox, 4_194_303, "5", json!({}));
    let before = sandbox.everything();
    let stamps = || -> Vec<_> {
        let files = crate::support::files_below(&client(&sandbox), "jsonl").into_iter();
        files.map(|path| path.symlink_metadata().unwrap().modified().unwrap()).collect()
    };
    let stamped = stamps();
    for arguments in [
        &["list"][..],
        &["list", "--all"],
        &["plan", RUN],
        &["context", RUN],
        &["status", RUN],
        &["validate"],
        &["validate", RUN],
        &["history", RUN],
        &["doctor"],
        &["resume", RUN],
    ] {
        sandbox.piton(arguments.iter().copied()).run();
    }
    assert_eq!(before.changes(&sandbox.everything()), [] as [&str; 0]);
    assert_eq!(stamps(), stamped);
}

#[test]
fn a_brief_stays_within_its_budget() {
    let sandbox = Sandbox::with_git();
    let long = "word ".repeat(3_000);
    let approved = json!({"plan": long, "filePath": "/x/plans/p.md"});
    let mut main = Trace::new(&sandbox).prompt(&long).call("p", "ExitPlanMode", json!({}));
    main = main.result("p", "User has approved your plan.", approved);
    for number in 1..60 {
        main = main.creates_task(&number.to_string(), "A task with a rather long subject, as they often have them");
    }
    main.sets_task("1", "pending", "in_progress").write(&sandbox);
    for budget in ["1500", "4096", "20000"] {
        let context = sandbox.piton(["--format", "json", "context", RUN, "--budget", budget]).run().expect_code(0);
        let size = context.at("/data").to_string().len();
        assert!(size <= budget.parse::<usize>().unwrap(), "{budget}: {size}\n{context}");
        assert!(
            !context.stdout.contains("only reads"),
            "the transcript of an ended session takes no report: {context}"
        );
    }
    let own = sandbox.piton(["--format", "json", "context"]).session(SESSION).run().expect_code(0);
    assert!(own.at("/data").to_string().len() <= 4_096, "{own}");
    let short = Sandbox::with_git();
    Trace::new(&short).prompt("Build the parser").creates_task("1", "One").write(&short);
    let resumed = short.piton(["--format", "json", "resume", RUN]).run().expect_code(0);
    assert!(resumed.json().to_string().len() < 16_384, "{resumed}");
}

#[test]
fn after_a_compaction_the_brief_of_a_long_session_stays_within_its_bounds() {
    let sandbox = Sandbox::with_git();
    let many = Trace::new(&sandbox).prompt(&"long words ".repeat(5_000));
    let many = (1..200)
        .fold(many, |trace, at| trace.creates_task(&at.to_string(), &format!("A task with a long subject {at}")));
    many.write(&sandbox);
    let event = json!({"session_id": SESSION, "cwd": sandbox.root(), "source": "compact"}).to_string();
    let output = sandbox.piton(["hook", "session-start"]).session(SESSION).stdin(event).run().expect_code(0);
    let said = output.at("/hookSpecificOutput/additionalContext");
    let bytes = said.as_str().expect("a text").len();
    assert!((1..=6_000).contains(&bytes), "{bytes} bytes");
}
