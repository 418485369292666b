//! Sessions in the forms of real projects, planned at the time of their data (the ids are those of the review of real trees).

use serde_json::json;

use super::session::{Session, next, texts, told};

/// T-D1: a session that says completed over open tasks is a witness like a tick: nothing is run, on autopilot too.
#[test]
fn a_completed_session_over_open_tasks_is_looked_at_first() {
    let completed = json!({"status": "completed", "completed_at": "2026-01-31"});
    let phases = json!({"status": "active", "phases": [
        {"id": "p1", "status": "completed", "tasks": ["IMPL-1", "IMPL-2"]}, {"id": "p2", "status": "pending", "tasks": ["IMPL-3"]}
    ]});
    for (fields, expected) in [
        (completed, vec!["verify IMPL-1", "verify IMPL-2", "verify IMPL-3"]),
        (phases, vec!["verify IMPL-1", "verify IMPL-2", "run IMPL-3"]),
    ] {
        let session = Session::new();
        session.tasks(&[("IMPL-1", "pending", &[]), ("IMPL-2", "pending", &[]), ("IMPL-3", "pending", &[])]);
        session.todo(&[("IMPL-1", ' '), ("IMPL-2", ' '), ("IMPL-3", ' ')]);
        let mut file = session.json("workflow-session.json");
        for (key, value) in fields.as_object().unwrap() {
            file[key] = value.clone();
        }
        session.file("workflow-session.json", &file.to_string());
        let plan = session.plan("--mode autopilot").expect_code(9);
        assert_eq!(plan.at("/data/verdict"), "confirm");
        assert_eq!(next(&plan), expected);
        let said = "IMPL-1: IMPL-1 is pending according to its state, but done according to workflow-session.json: a person has to check";
        assert_eq!(told(&plan, "status-conflict")[0], said);
        let list = session.call("list").run();
        assert_eq!(list.at("/data/runs/0/verdict"), "confirm");
    }
    // Work that is begun again makes the session an active one.
    let session = Session::new();
    session.tasks(&[("IMPL-1", "pending", &[])]);
    session.file("workflow-session.json", &json!({"session_id": "WFS-x", "status": "completed"}).to_string());
    session.ok("redo IMPL-1 --by Ana --note wrong");
    session.ok("begin IMPL-1");
    assert_eq!(session.json("workflow-session.json")["status"], "active");
    assert_eq!(next(&session.plan("")), ["run IMPL-1"]);
}

/// A session in which the rows of the checklist are the parts of the tasks.
fn rows(with_subtasks: bool) -> Session {
    let session = Session::new();
    let part = |id: &str, status: &str| json!({"id": id, "title": format!("title of {id}"), "status": status});
    for (id, status, depends_on, parts) in [
        ("IMPL-001", "completed", json!([]), vec![part("IMPL-001.1", "completed")]),
        (
            "IMPL-002",
            "pending",
            json!(["IMPL-001"]),
            vec![part("IMPL-002.1", "pending"), part("IMPL-002.2", "pending")],
        ),
        ("IMPL-003", "pending", json!(["IMPL-002"]), vec![part("IMPL-003.1", "pending")]),
    ] {
        let subtasks = if with_subtasks { json!(parts) } else { json!(null) };
        let criteria = json!(["tables match the almanac"]);
        let fields = json!({"status": status, "dependencies": depends_on, "subtasks": subtasks,
            "goal": "tides for every harbour", "acceptanceCriteria": criteria});
        session.task(id, &fields);
    }
    session.summaries(&["IMPL-001"]);
    session.file(
        "TODO_LIST.md",
        "### IMPL-001: Read [P1]\n- [x] IMPL-001.1: parse rows\n### IMPL-002: Interpolate [P1]\n- [ ] IMPL-002.1: write curve()\n\
         - [ ] IMPL-002.2: write slope()\n### IMPL-003: Draw [P1]\n- [ ] IMPL-003.1: axes\n",
    );
    session
}

/// T-D2: rows below a task are its parts, whether the task file lists them or not; what depends on the task waits for them.
#[test]
fn rows_below_a_task_are_its_parts() {
    for with_subtasks in [true, false] {
        let session = rows(with_subtasks);
        let plan = session.plan("").expect_code(0);
        assert_eq!(next(&plan), ["run IMPL-002"], "{plan}");
        assert_eq!((plan.at("/data/progress/done"), plan.at("/data/progress/total")), (json!(1), json!(3)));
        assert_eq!(told(&plan, "todo-mismatch"), [""; 0]);
        session.call("begin IMPL-003").run().expect_code(1);
        let refused = session.call("begin IMPL-003.1").run().expect_code(2);
        assert_eq!(refused.at("/error/message"), "IMPL-003.1 is a part of IMPL-003; parts are named with --part");
        session.call("context WFS-x --step IMPL-003").run().expect_code(0);

        let brief = session.ok("context");
        assert_eq!(brief.at("/data/required_reading/0/path"), session.path(".task/IMPL-002.json"));
        assert_eq!(texts(&brief, "/data/acceptance"), ["tables match the almanac"]);
        assert_eq!(texts(&brief, "/data/requirements"), ["tides for every harbour"]);

        session.ok("begin IMPL-002");
        session.ok("finish IMPL-002 --part IMPL-002.1");
        assert!(session.read("TODO_LIST.md").contains("- [x] IMPL-002.1: write curve()\n- [ ] IMPL-002.2"));
        if with_subtasks {
            let statuses = session.json(".task/IMPL-002.json")["subtasks"].clone();
            assert_eq!((&statuses[0]["status"], &statuses[1]["status"]), (&json!("completed"), &json!("pending")));
        }
        let parts = session.plan("").at("/data/next/0/parts");
        let open: Vec<&str> = parts
            .as_array()
            .unwrap()
            .iter()
            .filter(|part| part["action"] == "run")
            .map(|part| part["name"].as_str().unwrap())
            .collect();
        assert_eq!(open, ["IMPL-002.2"], "{parts}");
        session.ok("finish IMPL-002 --summary done");
        assert!(!session.read("TODO_LIST.md").contains("- [ ] IMPL-002"));
        assert_eq!(next(&session.plan("").expect_code(0)), ["run IMPL-003"]);
    }
}

/// T-D9: an unreadable task file whose other witnesses say done is looked at; it is neither run nor closed.
#[test]
fn an_unreadable_task_file_does_not_block_what_everything_else_calls_done() {
    for broken in [
        "{\"id\":\"IMPL-2\",\"title\":\"Trim\",\"status\":\"completed\"}\n  },\n  \"files\": []\n}\n",
        "{\"id\":\"IMPL-2\",\"title\":\"Trim \\d\",\"status\":\"completed\"}",
        "<<<<<<< HEAD\n{\"id\":\"IMPL-2\"}\n=======\n{}\n>>>>>>> x\n",
    ] {
        let session = Session::new();
        session.tasks(&[("IMPL-1", "completed", &[])]).file(".task/IMPL-2.json", broken);
        session.summaries(&["IMPL-1", "IMPL-2"]).todo(&[("IMPL-1", 'x'), ("IMPL-2", 'x')]);
        let plan = session.plan("").expect_code(9);
        assert_eq!(
            (plan.at("/data/verdict"), next(&plan)),
            (json!("confirm"), vec!["verify IMPL-2".to_owned()]),
            "{broken}"
        );
        assert!(plan.at("/data/next/0/reason").as_str().unwrap().starts_with("its file cannot be read; "), "{plan}");
        assert_eq!(plan.at("/data/commands/begin"), json!(null), "{plan}");
        assert_eq!(plan.at("/data/progress/total"), 2);
        session.todo(&[("IMPL-1", 'x'), ("IMPL-2", ' ')]);
        assert!(!next(&session.plan("")).contains(&"run IMPL-2".to_owned()));
    }
}

/// T-D9: a summary whose title is that of another task is no witness.
#[test]
fn a_summary_of_another_task_is_no_witness() {
    for (summary, title, expected) in [
        ("# Task: IMPL-1 Footer and divider styling\n", "Sew", "run IMPL-1"),
        ("# Task: IMPL-1 Sewing the sails\n", "Sew and trim the sail", "verify IMPL-1"),
        ("# Task: IMPL-1\n", "Sew", "verify IMPL-1"),
        ("# What was done\n", "Sew", "verify IMPL-1"),
        ("# Task: IMPL-1 页脚样式\n", "缝制", "run IMPL-1"),
        ("# Task: IMPL-1 缝制完成\n", "缝制", "verify IMPL-1"),
    ] {
        let session = Session::new();
        session.task("IMPL-1", &json!({"status": "pending", "title": title}));
        session.file(".summaries/IMPL-1-summary.md", summary);
        let plan = session.plan("");
        assert_eq!(next(&plan), [expected], "{summary}");
        assert_eq!(told(&plan, "summary-foreign").is_empty(), expected.starts_with("verify"), "{plan}");
    }
}

/// T-D11: a heading gives its id to the boxes below it, and `IMPL-3.*` means the group.
#[test]
fn tasks_that_are_only_headings_are_steps() {
    let session = Session::new();
    session.task("IMPL-1.1", &json!({"status": "completed"}));
    session.task("IMPL-3.1", &json!({"status": "pending", "context": {"depends_on": ["IMPL-2.1", "IMPL-2.2"]}}));
    session.task("IMPL-4.1", &json!({"status": "pending", "depends_on": ["IMPL-2.*", "IMPL-3.*"]}));
    session.summaries(&["IMPL-1.1", "IMPL-3.1"]);
    let list = |plug: char| {
        format!(
            "## PHASE-1: All\n### IMPL-1.1: Shade\n- [x] **Task**: make it → [✅](./.summaries/IMPL-1.1-summary.md)\n\
             ### IMPL-2.1: Wire\n- [x] **Task**: make it → [✅ 2026-01-31]\n- **Depends on**: IMPL-1.1\n\
             ### IMPL-2.2: Plug\n- [x] **Task**: make it\n- [{plug}] **Test**: try it\n\
             ### IMPL-3.1: Test\n- [x] **Task**: test it → [✅](./.summaries/IMPL-3.1-summary.md)\n"
        )
    };
    session.file("TODO_LIST.md", &list('x'));
    let plan = session.plan("--steps").expect_code(9);
    assert_eq!(texts(&plan, "/data/steps/completed"), ["IMPL-1.1", "IMPL-2.1", "IMPL-2.2", "IMPL-3.1"]);
    assert_eq!(next(&plan), ["run IMPL-4.1"], "{plan}");
    assert_eq!(told(&plan, "status-drift").len(), 1, "{plan}");
    assert_eq!(told(&plan, "todo-mismatch")[0], "IMPL-2.1, IMPL-2.2 is in the checklist but has no file in .task");
    session.file("TODO_LIST.md", &list(' '));
    assert_eq!(next(&session.plan("")), ["run IMPL-2.2"]);
    session.ok("begin IMPL-2.2");
    session.ok("finish IMPL-2.2");
    assert!(session.read("TODO_LIST.md").contains("- [x] **Test**: try it"));
}

/// T-D14, T-D22: a bold label that begins like an id is no task, and a title keeps the marks that belong to it.
#[test]
fn bold_labels_are_no_tasks_and_titles_stay_whole() {
    let session = Session::new();
    session.tasks(&[("IMPL-001", "completed", &[]), ("IMPL-002", "pending", &[])]).summaries(&["IMPL-001"]);
    session.file(
        "TODO_LIST.md",
        "#### IMPL-001: Check @code-developer\n- [x] **P0 smoke check**\n  - [x] every chart is there\n- [x] **P1 grid**\n\
         #### IMPL-002: Print\n- [ ] **Q3 paper**\n",
    );
    let plan = session.plan("").expect_code(0);
    assert_eq!((plan.at("/data/progress/total"), next(&plan)), (json!(2), vec!["run IMPL-002".to_owned()]));
    for (row, title) in [
        ("- [ ] **IMPL-9**: Make the folder `specs/`", "Make the folder `specs/`"),
        ("- [ ] **IMPL-9: Keep it [short]**", "Keep it [short]"),
        ("- [ ] `IMPL-9`: do **this**", "do **this**"),
        ("- [ ] ~~IMPL-9: gone~~", "gone"),
    ] {
        let session = Session::new();
        session.file("TODO_LIST.md", &format!("{row}\n"));
        assert_eq!(session.plan("").at("/data/next/0/title"), title);
    }
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "pending", "acceptance": ["- **Given** a", "- - **Given** b", "---"]}));
    assert_eq!(texts(&session.ok("context"), "/data/acceptance"), ["**Given** a", "**Given** b"]);
}

/// T-D20, T-D21, T-D23, T-D26: what is missing is called missing, and each sentence names its subject.
#[test]
fn sentences_about_missing_things_are_true() {
    let session = Session::new();
    session.task("IMPL-1", &json!({})).todo(&[("IMPL-1", 'x')]);
    let plan = session.plan("").expect_code(9);
    let reason = "it has no status; TODO_LIST.md says done; there is no summary: check before anything is run again";
    assert_eq!(plan.at("/data/next/0/reason"), reason);
    let valid = session.call("--format text validate").run().expect_code(0);
    assert!(valid.stdout.contains("\nValid, 1 contradiction.\n"), "{valid}");

    let session = Session::new();
    session.tasks(&[("IMPL-1", "completed", &[])]).summaries(&["IMPL-1"]).todo(&[("IMPL-1", 'x')]);
    let text = session.call("--format text plan").run().expect_code(0);
    assert!(text.stdout.contains("\n  archive WFS-x Review the session, then archive it\n"), "{text}");

    let session = Session::new();
    session.sandbox.git_init().commit("all");
    session.tasks(&[("IMPL-1", "pending", &[])]);
    session.file("workflow-session.json", &json!({"session_id": "WFS-x", "feature_branch": "feature/x"}).to_string());
    let plan = session.plan("").expect_code(9);
    let fix = "`git -C . fetch`, if it is on a remote, else `git -C . switch -c feature/x`, or `piton abort WFS-x`";
    assert_eq!(plan.at("/findings/0/fix"), fix, "{plan}");
    assert_eq!(plan.at("/data/question/options/0/command"), "git -C . switch -c feature/x");
}

/// A plan of fifty rows is folded: what is next and what is wrong come first, the rest on request.
#[test]
fn a_plan_of_fifty_rows_is_folded() {
    let session = Session::new();
    let ids: Vec<String> = (1..=50).map(|number| format!("IMPL-{number}")).collect();
    let tasks: Vec<(&str, &str, &[&str])> = ids.iter().map(|id| (id.as_str(), "pending", [].as_slice())).collect();
    session.tasks(&tasks);
    let ticks: Vec<(&str, char)> =
        ids.iter().enumerate().map(|(at, id)| (id.as_str(), if at < 40 { ' ' } else { 'x' })).collect();
    session.todo(&ticks);
    let short = session.call("plan --format text").run().expect_code(9).stdout;
    assert!(short.contains("  and 42 more, IMPL-9 to IMPL-50; `piton plan -v` shows them"), "{short}");
    assert!(short.contains(", 6 of status-conflict; -v shows them"), "{short}");
    assert!(short.lines().count() <= 45, "{short}");
    let long = session.call("plan -v --format text").run().expect_code(9).stdout;
    assert!(ids.iter().all(|id| long.contains(&format!(" {id} "))), "{long}");
    assert_eq!(long.matches("[status-conflict]").count(), 10, "{long}");
}
