use super::projects::{self, document};
use crate::support::Sandbox;

/// Every way out of a text that a page could have, and what could take over a terminal.
const HOSTILE: &str = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)> javascript:alert(1) \u{202e}evil\u{2066} \u{1b}[31mred\u{7} `x` [a](javascript:alert(1)) @everyone </title></style>";

fn html(sandbox: &Sandbox) -> String {
    sandbox.piton(["show", "--html", "-"]).run().expect_code(0).stdout
}

fn with_task(title: &str) -> Sandbox {
    let sandbox = projects::ccw();
    let path = format!("{}/.task/IMPL-002.json", projects::SESSION);
    let mut task = sandbox.read_json(&path);
    task["title"] = title.into();
    sandbox.file(&path, &task.to_string());
    sandbox
}

#[test]
fn no_line_is_longer_than_a_terminal() {
    for name in ["nine-step", "ccw", "dotagent", "aios", "own-workflow"] {
        let output = projects::example(name).piton(["show", "--format", "text", "-q"]).run().expect_code(0);
        for line in output.stdout.lines() {
            assert!(line.chars().count() <= 80 || line.contains(" [") || line.contains("→"), "{name}: {line}");
        }
    }
}

#[test]
fn a_page_is_written_where_it_is_asked_for_and_nothing_else_changes() {
    let sandbox = projects::nine_step();
    let before = sandbox.tree();
    let output = sandbox.piton(["show", "--html", "run.html", "--format", "json"]).run().expect_code(0);
    let written = document(&output);
    assert_eq!(written["schema"], "page/1");
    assert_eq!(written["data"]["path"], "$ROOT/run.html");
    assert_eq!(before.changes(&sandbox.tree()), ["+ run.html"]);
    assert_eq!(sandbox.read("run.html").replace(sandbox.root().as_str(), "$ROOT"), html(&sandbox));
    // It takes the place of an earlier page, and of nothing else.
    sandbox.piton(["show", "--html", "run.html"]).run().expect_code(0);
    sandbox.file("notes.html", "<p>mine</p>").dir("folder");
    for taken in ["notes.html", "folder", "piton.toml", "missing/run.html"] {
        let before = sandbox.tree();
        let output = sandbox.piton(["show", "--html", taken]).run();
        assert_ne!(output.code, 0, "{taken}");
        assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0], "{taken}");
    }
}

#[test]
fn hostile_text_is_text() {
    let sandbox = with_task(HOSTILE);
    let page = html(&sandbox);
    assert_eq!(page.matches("<script>").count(), 1);
    assert_eq!(page.matches("<style>").count(), 1);
    assert!(!page.contains("<img") && page.contains("&lt;img src=x onerror=alert(1)&gt;"));
    assert!(!page.contains(['\u{202e}', '\u{2066}', '\u{1b}', '\u{7}']));
    let links: Vec<&str> = page.split("href=\"").skip(1).collect();
    assert!(links.iter().all(|link| link.starts_with('#') || link.starts_with("data:,\"")), "{links:?}");
    for words in [["show", "--format", "text"], ["show", "--format", "markdown"]] {
        let shown = sandbox.piton(words).run().expect_code(0).stdout;
        assert!(!shown.contains(['\u{202e}', '\u{2066}', '\u{1b}', '\u{7}']), "{shown}");
    }
    let markdown = sandbox.piton(["show", "--format", "markdown"]).run().stdout;
    assert!(
        !markdown.contains("<script>") && !markdown.contains("[a](") && !markdown.contains("@everyone"),
        "{markdown}"
    );
}

#[test]
fn a_page_names_its_style_and_its_script_and_allows_nothing_else() {
    let page = html(&projects::ccw());
    let policy = page.split("http-equiv=\"Content-Security-Policy\" content=\"").nth(1).expect("a policy");
    let policy = policy.split('"').next().expect("its end");
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    // In the page itself there is no style or script besides these.
    let body = page.split("<body>").nth(1).expect("a body");
    assert!(!body.contains(" style=") && !body.contains(" onclick"));
}

#[test]
fn markdown_has_a_graph_of_at_most_fifty_nodes() {
    let markdown = many(300).piton(["show", "--format", "markdown"]).run().expect_code(0).stdout;
    let graph = markdown.split("```mermaid\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a graph");
    assert!(graph.starts_with("flowchart LR\n"), "{graph}");
    let nodes = graph.lines().filter(|line| line.contains(":::")).count();
    assert!((2..=50).contains(&nodes), "{nodes}");
}

#[test]
fn a_page_of_a_thousand_steps_stays_small_and_has_all_of_them() {
    let page = html(&many(1_000));
    assert!(page.len() <= 300_000, "{} bytes", page.len());
    assert!(page.contains("IMPL-1000"));
    assert_eq!(page.matches(" data-m=\"").count(), 1_000);
}

#[test]
fn the_page_is_opened_on_request() {
    if cfg!(target_os = "macos") {
        return;
    }
    let sandbox = projects::nine_step();
    let path = format!("{}:/usr/bin:/bin", sandbox.top().join("bin"));
    // The program does not wait for the viewer; the reader of the pipe does.
    let viewer = "printf '#!/bin/sh\\nprintf %%s \"$1\" > \"$HOME/opened\"\\n' > xdg-open && chmod +x xdg-open && mkfifo \"$HOME/opened\"";
    let folder = sandbox.top().join("bin");
    sandbox.tool("/bin/sh", ["-c", viewer]).folder(&folder).env("PATH", &path).run().expect_code(0);
    sandbox.piton(["show", "--html", "run.html", "--open"]).env("PATH", &path).run().expect_code(0);
    let opened = sandbox.tool("/bin/sh", ["-c", "cat \"$HOME/opened\""]).env("PATH", &path).run();
    assert_eq!(opened.stdout, "$ROOT/run.html");
    sandbox.piton(["show", "--open"]).run().expect_code(2);
    sandbox.piton(["show", "--html", "-", "--open"]).run().expect_code(2);
}

/// A session with many tasks, a chain of seven after another; 60 % are done.
fn many(count: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    let session = ".workflow/active/WFS-big";
    let head = serde_json::json!({"session_id": "WFS-big", "project": "Big work", "status": "active", "created_at": "2026-01-30T08:00:00Z"});
    sandbox.file(&format!("{session}/workflow-session.json"), &head.to_string());
    for at in 1..=count {
        let status = if at * 10 <= count * 6 { "completed" } else { "pending" };
        let before = if at > 1 && at % 7 > 0 { vec![format!("IMPL-{}", at - 1)] } else { Vec::new() };
        let task = serde_json::json!({
            "id": format!("IMPL-{at}"),
            "title": format!("Task number {at} with a title of usual length"),
            "status": status,
            "meta": {"type": "feature", "agent": "@code-developer"},
            "context": {"depends_on": before},
        });
        sandbox.file(&format!("{session}/.task/IMPL-{at}.json"), &task.to_string());
    }
    sandbox
}
