//! The briefs of whole runs, as their agents get them: one snapshot file for each system. Each run has rework, a rejection, an
//! acceptance, a gate with a note where the system has gates, and interruptions. Read the diff of a snapshot as its agents would.

use crate::support::Sandbox;

/// A run as a list of calls. A line that begins with `+` writes a file, `@` sets the session, `!N` expects the exit code N.
fn briefs(sandbox: &Sandbox, script: &str) -> String {
    let mut session = "first".to_owned();
    let mut minute = 0;
    let mut seen = String::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        minute += 1;
        if let Some(file) = line.strip_prefix('+') {
            let (path, text) = file.trim().split_once(' ').expect("a path and a text");
            sandbox.file(path, &format!("{text}\n"));
            continue;
        }
        if let Some(name) = line.strip_prefix('@') {
            name.trim().clone_into(&mut session);
            continue;
        }
        let (code, line) = match line.strip_prefix('!') {
            Some(rest) => {
                rest.split_once(' ').map(|(code, line)| (code.parse().expect("a code"), line)).expect("a call")
            }
            None => (0, line),
        };
        let words = words(line);
        let now = format!("2026-01-31T{:02}:{:02}:00Z", 12 + minute / 60, minute % 60);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let program = sandbox.piton(words).now(&now).session(&session);
        let output = program.env("PITON_FORMAT", "text").run().expect_code(code);
        if line.starts_with("begin") {
            seen.push_str(&format!("$ piton {line}\n{}\n", output.stdout));
        } else {
            seen.push_str(&format!("$ piton {line}\n"));
        }
    }
    seen
}

/// Splits a line into words; those in double quotes stay together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            c => words.last_mut().expect("one word at least").push(c),
        }
    }
    words
}

fn check(name: &str, seen: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    // The mark of the fence depends on the text in it.
    settings.add_filter(r"state files \([0-9a-f]{12}\)", "state files (…)");
    settings.bind(|| insta::assert_snapshot!(name, seen));
}

#[test]
fn nine_step() {
    let sandbox = Sandbox::with_git();
    sandbox.worktree(".worktree/pay", "feature/pay");
    let seen = briefs(
        &sandbox,
        r#"
        start nine-step --feature pay --phases 1 --description "Take card payments"
        begin
        + .plan/pay_plan.md # Plan
        finish 1 --summary "Model, interface, form: three commits" --output .plan/pay_plan.md
        begin
        finish 2 --verdict NEEDS_REVISION --finding "no way back if a payment fails" --summary "One gap"
        begin
        + .plan/pay_plan.md # Plan with a way back
        finish 1 --summary "A refund closes the gap"
        begin
        finish 2 --verdict APPROVED --summary "Sound now"
        approve 2.5 --by Ana --note "only the EU region"
        begin
        begin 3 --again
        + src/pay.rs pub fn pay() {}
        finish 3 --summary "Payments and refunds, no retries yet" --output src/pay.rs
        begin
        finish 4 --verdict REJECTED --finding "amounts are floats" --summary "Wrong type"
        !9 begin
        redo 4 --by Bia --note "use whole cents"
        begin
        + src/pay.rs pub fn pay(cents: u64) {}
        finish 3 --summary "Amounts are whole cents" --output src/pay.rs
        begin
        finish 4 --verdict REJECTED --finding "no retries"
        accept 4 --by Bia --note "retries come with #12"
        begin
        pause --reason "end of the day"
        begin
        finish 5 --summary "One page"
        @ second
        begin
        finish 6 --verdict APPROVED_WITH_CONDITIONS --condition "name the currencies"
        !9 begin
        accept 6 --by Ana --note "with the next release"
        begin
        finish 7 --status failed --error "2 tests fail"
        begin
        "#,
    );
    check("nine_step", &seen);
}

#[test]
fn workflow_file() {
    let sandbox = Sandbox::with_git();
    sandbox.file(
        "move.yaml",
        "name: move\nsteps:\n  \
         - {id: copy, title: Copy the tables, agent: dba, outputs: out/c.json, parts: [north, south], instructions: Copy every table}\n  \
         - {id: verify, title: Compare both sides, agent: qa, returns_to: copy, instructions: Count the rows}\n  \
         - {id: go, title: Switch over, gate: owner}\n  \
         - {id: switch, title: Change the address, agent: dba, idempotent: false, instructions: Point the name at the new side}\n",
    );
    let seen = briefs(
        &sandbox,
        r#"
        start move.yaml --feature tables
        begin
        begin copy --part north
        finish copy --part north
        begin copy --part south
        finish copy --part south
        + out/c.json 1
        finish copy --summary "12 tables, 3 hours"
        begin
        finish verify --verdict NEEDS_REVISION --finding "table t4 has no rows"
        begin
        @ second
        begin copy --take-over
        + out/c.json 2
        finish copy --summary "t4 was locked; copied again"
        begin
        finish verify --verdict REJECTED --finding "row counts differ by one" --summary "t9 grew meanwhile"
        !9 begin
        accept verify --by Bia --note "the row is a test"
        !9 begin
        approve go --by Ana --note "on Sunday only"
        begin
        @ third
        !9 begin
        redo switch --by Ana --note "the old address still answers"
        begin
        finish switch --summary "switched"
        "#,
    );
    check("workflow_file", &seen);
}

#[test]
fn ccw() {
    let sandbox = super::projects::example("ccw");
    let seen = briefs(
        &sandbox,
        r#"
        begin
        begin IMPL-002 --part analyze_patterns
        finish IMPL-002 --part analyze_patterns --set patterns="one table"
        finish IMPL-002 --status failed --error "the key is read from the wrong place"
        begin
        @ second
        begin IMPL-002 --take-over
        + src/keys.rs pub fn key() {}
        finish IMPL-002 --summary "Tokens are issued and checked; keys come from the vault" --output src/keys.rs
        begin
        finish IMPL-003 --status failed --error "tsc error 1"
        begin
        finish IMPL-003 --status failed --error "tsc error 2"
        begin
        finish IMPL-003 --status failed --error "tsc error 3"
        !9 begin
        redo IMPL-003 --by Bia --note "the compiler was updated"
        begin
        finish IMPL-003 --summary "Routes ask for a token"
        "#,
    );
    check("ccw", &seen);
}

#[test]
fn dotagent() {
    let sandbox = Sandbox::with_git();
    let seen = briefs(
        &sandbox,
        r#"
        start dotagent --feature cart
        begin
        + memory/reports/demand.json {"title":"A cart"}
        finish REQUIREMENTS --summary "Guests may buy too"
        approve REQUIREMENTS --by Ana --note "no accounts in the first version"
        begin
        + memory/reports/designs/a.json {"title":"one table"}
        + memory/reports/designs/b.json {"title":"two tables"}
        finish ARCHITECTURE:designs --summary "Two designs"
        approve ARCHITECTURE --by Ana --note "take design b"
        begin
        + memory/reports/final_design.json {"title":"two tables"}
        finish ARCHITECTURE:final --summary "b, with an index"
        "#,
    );
    let seen = seen + &briefs(&super::projects::example("dotagent"), DOTAGENT_TASKS);
    check("dotagent", &seen);
}

/// Tasks of a run in its implementation.
const DOTAGENT_TASKS: &str = r#"
    begin task-001:verify
    + memory/tasks/task-001/verification.json {"verdict":"fail","issues":["one salt for all"]}
    finish task-001:verify --verdict NEEDS_REVISION --finding "one salt for all"
    begin task-001
    + memory/tasks/task-001/output.json {"files":["src/hash.rs","src/salt.rs"]}
    finish task-001 --summary "A salt for each user"
    begin task-001:verify
    @ second
    begin task-001:verify --take-over
    + memory/tasks/task-001/verification.json {"verdict":"fail","issues":["too slow"]}
    finish task-001:verify --verdict REJECTED --finding "too slow"
    accept task-001:verify --by Bia --note "fast enough for now"
    begin task-002
    + memory/tasks/task-002/output.json {"files":["src/token.rs"]}
    finish task-002 --summary "Tokens live for an hour"
    begin task-002:verify
"#;

#[test]
fn aios() {
    let sandbox = super::projects::example("aios");
    let seen = briefs(
        &sandbox,
        r#"
        begin
        finish 7.2 --summary "Pays with a card; PayPal is not there"
        begin
        finish gate-1 --verdict REJECTED --summary "no retry"
        !9 begin
        redo gate-1 --by Bia --note "retry twice"
        begin
        finish 7.1 --summary "Prices are frozen while paying"
        begin
        @ second
        begin 7.2 --take-over
        finish 7.2 --summary "Retries twice"
        begin
        finish gate-1 --verdict REJECTED --summary "no tests"
        accept gate-1 --by Ana --note "tests are in wave 2"
        begin
        finish merge-1
        begin
        "#,
    );
    check("aios", &seen);
}
