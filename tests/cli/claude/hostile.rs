//! Any bytes may come in: truncated files, lost lines, long lines, secrets, escapes. Nothing is written.

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
    let step = if takes_all("PITON_TRACES") { 1 } else { 97 };
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
fn batches_out_of_order_say_the_same() {
    let sandbox = Sandbox::new();
    let main = story(&sandbox);
    let expected = standings(&plan(&sandbox));
    let mut lines = main.lines.clone();
    for at in (0..lines.len() - 1).step_by(2) {
        lines.swap(at, at + 1);
    }
    put(&sandbox, &main.path(&sandbox), &lines.join("\n"));
    assert_eq!(standings(&plan(&sandbox)), expected);
}

#[test]
fn a_fork_is_read_by_its_newest_leaf() {
    let sandbox = Sandbox::new();
    let abandoned = Trace::new(&sandbox).prompt("go").call("b", "Bash", json!({"command": "x"}));
    abandoned.at(100).prompt("another way").ends("done").write(&sandbox);
    assert_eq!(standings(&plan(&sandbox)), ["turn done"]);
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
fn secrets_and_escapes_are_in_no_answer() {
    let sandbox = Sandbox::new();
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let said = format!("Use {secret} \u{1b}[2J please");
    let main = Trace::new(&sandbox).prompt(&said).creates_task("1", &said).sets_task("1", "pending", "in_progress");
    let approved = json!({"plan": said, "filePath": "/x/plans/p.md"});
    let main = main.call("p", "ExitPlanMode", json!({})).result("p", "User has approved your plan.", approved);
    let main = main.call("b", "Bash", json!({"command": said})).result(
        "b",
        "tool output of a command",
        json!({"stdout": said}),
    );
    let main = main.launches("call-bbbbbbbb", "bbbbbbbb", &said);
    main.write(&sandbox);
    main.agent("bbbbbbbb").prompt(&said).call("b", "Bash", json!({"command": said})).write(&sandbox);
    task(&sandbox, SESSION, "1", &said, "in_progress", &[]);
    for arguments in [
        &["plan", RUN, "--native", "--steps"][..],
        &["list"],
        &["status", RUN],
        &["context", RUN],
        &["context", RUN, "--native"],
        &["resume", RUN],
        &["validate", RUN],
        &["doctor"],
    ] {
        for format in ["json", "text"] {
            let output = sandbox.piton(["--format", format].iter().chain(arguments).copied()).run();
            let all = format!("{}{}", output.stdout, output.stderr);
            assert!(!all.contains(secret) && !all.contains('\u{1b}'), "{arguments:?}\n{output}");
            assert!(!all.contains("tool output of a command"), "{arguments:?}\n{output}");
            assert!(!all.contains("$HOME"), "{arguments:?}\n{output}");
        }
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
