//! State files in the forms in which other people's projects have them. Each project is planned shortly after its last change.

use serde_json::{Value, json};

use crate::support::{Output, Sandbox};

/// The commits of a sandbox are some minutes older.
const NOW: &str = "2026-01-31T12:00:00Z";

fn piton(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    sandbox.piton(arguments.iter().copied()).now(NOW).run()
}

fn project(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::with_git();
    for (path, text) in files {
        sandbox.file(path, text);
    }
    sandbox.commit("as it was left");
    sandbox
}

/// Returns two members of each object of a list.
fn pairs(list: &Value, first: &str, between: &str, second: &str) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pair = |item: &Value| format!("{}{between}{}", text(&item[first]), text(&item[second]));
    list.as_array().into_iter().flatten().map(pair).collect()
}

/// Returns `id: action step` of each run of a list, sorted.
fn listed(sandbox: &Sandbox) -> Vec<String> {
    let rows = pairs(&piton(sandbox, &["list"]).at("/data/runs"), "id", ": ", "position");
    rows.into_iter().collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

/// Returns the actions with their steps.
fn nexts(plan: &Output) -> Vec<String> {
    pairs(&plan.at("/data/next"), "action", " ", "step")
}

fn messages(output: &Output) -> String {
    pairs(&output.at("/findings"), "message", "\n", "").concat()
}

const ROLLOUT: &str = "docs/stories/epics/epic-kite-survey/rollout-plan.yaml";
const WAVES: &str = "epicId: EPIC-KITE-SURVEY\nname: Survey of kites\ncreatedBy: '@pm'\nstatus: planned\n\
                     agents: {product: {id: '@pm'}}\n";
const LISTED_WAVES: &str = "waves:\n  - {id: wave-0, name: Ground, status: planned, stories: [KITE-1, KITE-2]}\n  \
                            - {id: wave-1, name: Air, status: planned, dependsOn: [wave-0], stories: [KITE-3]}\n";
const NAMED_WAVES: &str = "waves:\n  wave-0: {name: Ground, status: planned, stories: [KITE-1]}\n";

/// T-D3: a plan with waves is no run: it is not listed, not told to an agent, and stays where it is.
#[test]
fn a_plan_with_waves_is_no_state() {
    for (path, waves) in [
        (ROLLOUT, LISTED_WAVES),
        (ROLLOUT, NAMED_WAVES),
        ("docs/stories/epics/epic-kite-survey/EPIC-KITE-SURVEY-EXECUTION.yaml", LISTED_WAVES),
        (".aios/rollout.yaml", LISTED_WAVES),
    ] {
        let text = format!("{WAVES}{waves}");
        let sandbox = project(&[(path, text.as_str())]);
        piton(&sandbox, &["list"]).expect_code(3);
        piton(&sandbox, &["plan", path]).expect_code(3);
        let start =
            json!({"session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": sandbox.root()});
        let told = sandbox.piton(["hook", "session-start"]).now(NOW).stdin(start.to_string()).run();
        assert!(!told.stdout.contains("KITE"), "{path}: {told}");
        for run in ["epic-EPIC-KITE-SURVEY", path] {
            piton(&sandbox, &["archive", run, "--yes"]).expect_code(3);
        }
        assert_eq!(sandbox.read(path), text);
    }
}

/// T-D3: where the waves of a state cannot be read, no gate is made up for them.
#[test]
fn waves_that_cannot_be_read_have_no_gate() {
    let path = ".aios/epic-KITE-state.yaml";
    let text =
        "epic_state:\n  epicId: KITE\n  status: active\n  updated_at: '2026-01-31T11:30:00Z'\n  waves: [one, two]\n";
    let sandbox = project(&[(path, text), ("docs/stories/kite-1.md", "# Story KITE-1: One\n\n**Status:** Draft\n")]);
    let plan = piton(&sandbox, &["plan"]).expect_code(9);
    assert_eq!((plan.at("/data/verdict"), nexts(&plan)), ("blocked".into(), Vec::new()), "{plan}");
    assert!(!plan.stdout.contains("final-gate"), "{plan}");
}

fn reviewed(results: &str, log: &str) -> Sandbox {
    let text = format!(
        "---\nepic: 4\nstory: 2\ntitle: \"Harbour map\"\nstatus: ReadyForReview\n---\n# Story 4.2: Harbour map\n\
         ## Tasks / Subtasks\n- [x] Draw the coast\n{log}## QA Results\n{results}"
    );
    project(&[("docs/stories/4.2.harbour-map.story.md", text.as_str())])
}

const FORMS: [&str; 14] = [
    "### Gate Decision\n\nWORD\n",
    "### Gate Decision\n**WORD** - see below\n",
    "**Verdict:** WORD\n",
    "**Gate Decision:** WORD\n",
    "- **Decision:** WORD\n",
    "### QA Gate Decision: WORD ✅\n",
    "### Gate Status\n\nGate: WORD → docs/qa/gates/4.2-harbour-map.yml\n",
    "Gate: WORD\n",
    "```yaml\nstory: 4.2\nverdict: WORD\nchecks:\n    - name: lint\n      verdict: WAIVED\n```\n",
    "```json\n{\n  \"gateDecision\": \"WORD\",\n}\n```\n",
    "| Field | Value |\n| --- | --- |\n| **QA Verdict** | WORD |\n",
    "**Final Verdict**\n\n✅ WORD (score 92)\n",
    "### Review (2026-01-30) by @qa\n#### Decision - WORD\n",
    "**Verdict:** The gate is **WORD**, after a second look.\n",
];

/// T-D4: a verdict in the story is a witness like a gate file, in each spelling; the last one wins.
#[test]
fn a_verdict_in_the_story_is_read_in_each_form() {
    let checks = "`npm test`: PASS\nCriterion 3: PASS\n- [x] lint PASS\n**Result:** FAIL\n";
    for form in FORMS {
        let with = |word: &str| format!("{checks}{}", form.replace("WORD", word));
        for (results, expected) in [
            (with("PASS"), "verify 4_qa"),
            (with("CONCERNS"), "verify 4_qa"),
            (with("APPROVED"), "verify 4_qa"),
            (with("FAIL"), "return 3_implement"),
            (format!("{}\n### Second review\n{}", with("FAIL"), with("PASS")), "verify 4_qa"),
            (format!("{}\n### Second review\n{}", with("PASS"), with("FAIL")), "return 3_implement"),
        ] {
            let sandbox = reviewed(&results, "");
            let plan = piton(&sandbox, &["plan"]);
            assert_eq!(nexts(&plan), [expected], "{results}\n{plan}");
        }
    }
    for none in [
        checks,
        "",
        "### Gate Decision\n\nPENDING\n",
        "**Verdict:** PASS | CONCERNS | FAIL\n",
        "**Gate:** {PASS|FAIL}\n",
    ] {
        assert_eq!(nexts(&piton(&reviewed(none, ""), &["plan"])), ["run 4_qa"], "{none}");
    }
}

/// T-D4: a FAIL that the developer answered is reviewed again.
#[test]
fn a_failed_review_that_was_answered_is_reviewed_again() {
    let failed = "### Review Date: 2026-01-20\n**Verdict:** FAIL\n";
    let table = "## Change Log\n| Date | Version | Description | Author |\n| --- | --- | --- | --- |\n";
    for (log, expected) in [
        ("| 2026-01-19 | 1.0 | implemented | Dex (@dev) |\n", "return 3_implement"),
        ("| 2026-01-21 | 1.1 | QA fixes | Dex (@dev) |\n", "run 4_qa"),
        ("| 2026-01-21 | 1.1 | wording | @pm |\n", "return 3_implement"),
        ("| 2026-01-20 | 1.1 | FAIL | @qa |\n| 2026-01-20 | 1.2 | fixes | @dev |\n", "run 4_qa"),
        ("| 2026-01-20 | 1.2 | done | @dev |\n| 2026-01-20 | 1.1 | FAIL | @qa |\n", "return 3_implement"),
    ] {
        let plan = piton(&reviewed(failed, &format!("{table}{log}")), &["plan"]);
        assert_eq!(nexts(&plan), [expected], "{log}\n{plan}");
    }
    let items = "## Change Log\n- 2026-01-22 (@dev): fixed what the review found\n";
    let plan = piton(&reviewed(failed, items), &["plan"]);
    assert_eq!(nexts(&plan), ["run 4_qa"], "{plan}");
    assert!(messages(&plan).contains("the developer changed the story after it"), "{plan}");
}

const STORY_42: &str = "docs/stories/epic-4-search/story-4.2";

/// T-D7: a story ends the pipeline that it was derived from, wherever it lies; what is in an archive is over.
#[test]
fn a_story_ends_its_spec_pipeline() {
    let done = |id: &str| format!("# Story {id}: Harbour map\n## Status\n- **Status**: Done\n");
    let requirements = "{\"storyId\": \"4.2\"}";
    let spec = format!("{STORY_42}/spec/requirements.json");
    for (story, archived) in [
        ("docs/stories/epic-4-search/story-4.2.md", false),
        ("docs/stories/4.2.harbour-map.story.md", false),
        ("docs/stories/ARCHIVE/story-4.2.md", false),
        ("docs/stories/4.20.story.md", true),
    ] {
        let id = if archived { "4.20" } else { "4.2" };
        let sandbox = project(&[(story, done(id).as_str()), (spec.as_str(), requirements)]);
        let expected = if archived { vec!["spec-story-4.2: run 2_assess (Assess)".to_owned()] } else { Vec::new() };
        assert_eq!(listed(&sandbox), expected, "{story}");
    }
    for folder in ["ARCHIVE", "Archived", "_archive_2025", "archive-2025", "_arquivo_antigo"] {
        let path = format!("docs/stories/{folder}/story-3.1/spec/requirements.json");
        assert_eq!(listed(&project(&[(path.as_str(), requirements)])), [""; 0], "{folder}");
    }
    let feature = "docs/stories/archive-service/story-3.1/spec/requirements.json";
    assert_eq!(listed(&project(&[(feature, requirements)])).len(), 1);
    // A file that does not parse is no reason to begin again what is done.
    let torn = project(&[("docs/stories/story-4.2.md", done("4.2").as_str()), (spec.as_str(), "{\"a\":,\"}")]);
    assert_eq!(listed(&torn), [""; 0]);
}

const HARBOUR: &str = ".aiox/harbour-cycle-20260131T095502-0300-state.yaml";
const WRAPPED: &str = "workflow_state:\n  instance_id: \"harbour-cycle\"\n  workflow_id: \"harbour-cycle\"\n  status: \"active\"\n  \
                       current_step_index: 2\n  current_step_id: \"close\"\n  steps:\n    \
                       - {index: 0, id: \"draft\",  step: \"draft_chart\",  agent: \"sm\",  action: \"Draft the chart\",  status: \"completed\", next: \"survey\"}\n    \
                       - {index: 1, id: \"survey\", step: \"survey_coast\", agent: \"dev\", action: \"Survey the coast\", status: \"completed\", requires: \"draft\"}\n    \
                       - {index: 2, id: \"close\",  step: \"workflow_end\", agent: null,  action: \"chart_closed\",     status: \"pending\"}\n";

/// T-D8: a guided state below one key is that state, and is written below it.
#[test]
fn a_guided_state_below_a_key_is_read_and_written() {
    for key in ["workflow_state", "run"] {
        let text = WRAPPED.replace("workflow_state", key);
        let sandbox = project(&[(HARBOUR, text.as_str())]);
        assert_eq!(listed(&sandbox), ["workflow-harbour-cycle: run close (chart_closed)"]);
        piton(&sandbox, &["begin", "close"]).expect_code(0);
        piton(&sandbox, &["finish", "close"]).expect_code(0);
        let written =
            text.replace("status: \"pending\"", "status: \"completed\"").replace("\"active\"", "\"completed\"");
        assert_eq!(sandbox.read(HARBOUR), written);
        assert_eq!(piton(&sandbox, &["plan", "workflow-harbour-cycle"]).at("/data/verdict"), "complete");
    }
}

const VOYAGE: &str = "instance_id: voyage\nworkflow_id: voyage\nstatus: active\ncurrent_step_index: 6\ncurrent_step_id: again\nsteps:\n  \
                      - {index: 1, id: mate-plot-course,  agent: mate,  action: plot_course, status: completed}\n  \
                      - {index: 2, id: owner-read-course, agent: owner, action: read_course, optional: true, condition: owner_wants_to_read, status: pending}\n  \
                      - {index: 3, id: crew-sail,         agent: crew,  action: sail,        status: completed}\n  \
                      - {index: 4, id: mate-review-leg,   agent: mate,  action: review_leg,  optional: true, status: completed}\n  \
                      - {index: 5, id: crew-mend,         agent: crew,  action: mend,        condition: review_left_open_items, status: pending}\n  \
                      - {index: 6, id: again,             type: repeat, condition: legs_remaining, status: pending}\n  \
                      - {index: 7, id: end,               type: end,    status: pending}\n";

/// T-D10: optional and conditional steps that the work went past are skipped with a note; ids are those of the file.
#[test]
fn steps_that_the_work_went_past_are_skipped() {
    let path = ".aiox/voyage-20260131091500-state.yaml";
    for text in [
        VOYAGE.to_owned(),
        VOYAGE.replace("current_step_id: again\n", ""),
        VOYAGE.replace("current_step_index: 6\n", ""),
    ] {
        let sandbox = project(&[(path, text.as_str())]);
        let plan = piton(&sandbox, &["plan", "--steps"]).expect_code(0);
        assert_eq!(nexts(&plan), ["run again"], "{plan}");
        assert_eq!(plan.at("/data/steps/skipped"), json!(["owner-read-course", "crew-mend"]), "{plan}");
        assert_eq!(plan.at("/data/steps/completed"), json!(["mate-plot-course", "crew-sail", "mate-review-leg"]));
        assert!(!plan.stdout.contains("step-") && !plan.findings().contains(&"state-corrupt".to_owned()), "{plan}");
        assert!(messages(&plan).contains("crew-mend is pending and the work went past it"), "{plan}");
    }
    let sandbox = project(&[(path, VOYAGE)]);
    piton(&sandbox, &["begin", "again"]).expect_code(0);
    piton(&sandbox, &["finish", "again"]).expect_code(0);
    let text = sandbox.read(path);
    assert!(text.contains("current_step_index: 7\ncurrent_step_id: end\n"), "{text}");
    // Nor does one at the end keep a completed run open.
    let ended = VOYAGE
        .replace("status: active", "status: completed")
        .replace("condition: legs_remaining, status: pending", "status: completed");
    let ended = ended.replace("type: end,    status: pending", "optional: true, status: pending");
    let plan = piton(&project(&[(path, ended.as_str())]), &["plan", "workflow-voyage"]);
    assert_eq!(plan.at("/data/verdict"), "complete", "{plan}");
    // A step that has to be done is not passed over.
    let due = VOYAGE.replace("optional: true, condition: owner_wants_to_read, ", "");
    let plan = piton(&project(&[(path, due.as_str())]), &["plan"]);
    assert_eq!(nexts(&plan), ["run owner-read-course"], "{plan}");
}

/// T-D12 (a): a story whose statuses disagree is listed, with all of them.
#[test]
fn a_story_with_conflicting_statuses_is_listed() {
    let path = "docs/stories/light/done/STORY-BULB-01.md";
    let text = "---\nid: \"story-lighthouse-bulb\"\nstatus: backlog\n---\n# Story: Change the bulb\n## Status\n**Status:** In Progress\n\
                ## Acceptance Criteria\n- [x] the bulb is new\n- [x] the light turns\n";
    let sandbox = project(&[(path, text)]);
    assert_eq!(listed(&sandbox), ["sdc-STORY-BULB-01: run 4_qa (QA)"]);
    let plan = piton(&sandbox, &["plan", path]).expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "confirm");
    let told = messages(&plan);
    assert!(told.contains("`backlog` in line 3 and `In Progress` in line 7"), "{told}");
    assert!(told.contains("the folder `done`"), "{told}");
    // One status that is out of date hides nothing; a story that only lies in the wrong folder is told apart.
    for (statuses, folder, code) in [
        ("**Status:** Done\n## Status\nIn Progress\n", "docs/stories", 9),
        ("**Status:** In Progress\n", "docs/stories/completed", 9),
        ("**Status:** In Progress\n", "docs/stories/active", 0),
        ("**Status:** Done\n## Status\nDone\n", "docs/stories", 3),
    ] {
        let text = format!("# Story 1.1: A\n{statuses}## Tasks\n- [ ] a\n");
        let path = format!("{folder}/1.1.story.md");
        piton(&project(&[(path.as_str(), text.as_str())]), &["plan"]).expect_code(code);
    }
}

const KITE: [(&str, &str); 5] = [
    (
        ".aios/epic-KITE-state.yaml",
        "epic_state:\n  epicId: KITE\n  execution_plan: docs/stories/epics/epic-kite/EPIC-KITE-EXECUTION.yaml\n  mode: interactive\n  \
         started_at: '2026-01-31T09:00:00Z'\n  updated_at: '2026-01-31T11:30:00Z'\n  status: active\n  current_wave: 2\n  total_waves: 2\n  \
         waves:\n    1: {name: Ground, status: completed, stories: {KITE-1: {status: completed}}}\n    \
         2: {name: Air, status: in_progress, stories: {KITE-2: {status: in_progress}, KITE-3: {status: in_progress}}}\n  \
         gate_verdicts: {1: {status: approved, agent: architect, at: '2026-01-31T10:00:00Z'}}\n  bug_verification: {}\n",
    ),
    (
        "docs/stories/epics/epic-kite/EPIC-KITE-EXECUTION.yaml",
        "execution:\n  epicId: KITE\n  storyBasePath: docs/stories/epics/epic-kite\n  stories:\n    \
         KITE-1: {file: story-kite-1.md, title: One, executor: dev}\n    KITE-2: {file: story-kite-2.md, title: Two, executor: dev}\n    \
         KITE-3: {file: story-kite-3.md, title: Three, executor: dev}\n  waves:\n    \
         - {wave: 1, name: Ground, parallel: false, stories: [KITE-1], gate: {agent: architect}}\n    \
         - {wave: 2, name: Air, parallel: true, stories: [KITE-2, KITE-3], dependencies: [wave-1], gate: {agent: architect}}\n",
    ),
    ("docs/stories/epics/epic-kite/story-kite-1.md", "# Story KITE-1: One\n## Status\nDone\n## Tasks\n- [x] a\n"),
    (
        "docs/stories/epics/epic-kite/story-kite-2.md",
        "# Story KITE-2: Two\n## Status\nReady for Review\n## Tasks\n- [x] a\n",
    ),
    (
        "docs/stories/epics/epic-kite/story-kite-3.md",
        "# Story KITE-3: Three\n## Status\nImplemented\n## Tasks\n- [x] a\n",
    ),
];

/// T-D12 (b): the session ended after it changed the stories and before it changed the epic: the stories are witnesses.
#[test]
fn a_story_is_a_witness_of_its_step_in_the_epic() {
    let sandbox = project(&KITE);
    let plan = piton(&sandbox, &["plan"]).expect_code(9);
    assert_eq!(
        (plan.at("/data/verdict"), nexts(&plan)),
        ("confirm".into(), vec!["verify KITE-2".into(), "verify KITE-3".into()])
    );
    // With open boxes the work is not done.
    sandbox.file(
        "docs/stories/epics/epic-kite/story-kite-3.md",
        "# Story KITE-3: Three\n## Status\nInProgress\n## Tasks\n- [ ] a\n",
    );
    assert_eq!(nexts(&piton(&sandbox, &["plan"])), ["verify KITE-2", "retry KITE-3"]);
}

/// T-D13: where files share an id, their names are the ids, and each printed command finds one run.
#[test]
fn runs_that_share_an_id_are_told_apart_by_their_files() {
    let story = |head: &str| format!("{head}\n\n**Status:** InProgress\n\n## Tasks\n- [ ] a\n");
    let forms = [
        ["docs/stories/v2-part-10-harbour-map.md", "docs/stories/v2-part-11-tide-clock.md"],
        ["docs/stories/story-QR-CORE-20260105-harbour-map.md", "docs/stories/story-QR-CORE-20260105-tide-clock.md"],
        ["docs/stories/a/4.2/story.md", "docs/stories/b/4.2/story.md"],
        ["one/docs/stories/4.2.story.md", "two/docs/stories/4.2.story.md"],
    ];
    for heads in [
        ["# Story: Harbour map", "# Story: Tide clock"],
        ["# Story LAB-20260102 - Harbour map", "# Story LAB-20260102 - Tide clock"],
    ] {
        for paths in forms {
            let texts = heads.map(story);
            let sandbox = project(&[(paths[0], texts[0].as_str()), (paths[1], texts[1].as_str())]);
            let list = piton(&sandbox, &["list"]).expect_code(0);
            let ids = [list.at("/data/runs/0/id"), list.at("/data/runs/1/id")];
            assert_ne!(ids[0], ids[1], "{list}");
            for (at, id) in ids.iter().enumerate() {
                let plan = piton(&sandbox, &["plan", id.as_str().unwrap()]);
                assert_eq!(plan.at("/data/run/id"), *id, "{plan}");
                assert_eq!(plan.at("/data/run/state_files/0"), list.at(&format!("/data/runs/{at}/state")));
                check_commands(&sandbox, &plan, id.as_str().unwrap());
            }
        }
    }
    // A run that shares its id with nothing keeps it.
    let sandbox = project(&[(forms[0][0], story("# Story: Harbour map").as_str())]);
    assert_eq!(listed(&sandbox), ["sdc-v2: retry 3_implement (Implement)"]);
}

/// Runs each reading command that a plan prints; it has to be about this run.
fn check_commands(sandbox: &Sandbox, plan: &Output, id: &str) {
    let text = piton(sandbox, &["plan", id, "--format", "text"]).stdout;
    let commands = text
        .lines()
        .filter_map(|line| line.strip_prefix("→ piton "))
        .map(|line| line.split("   #").next().unwrap_or(line));
    let mut checked = 0;
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        assert!(words.contains(&id), "{command}\n{plan}");
        let output = sandbox.piton(words.iter().copied()).now(NOW).run();
        assert!(![2, 3, 8].contains(&output.code), "{command}: {output}");
        checked += 1;
    }
    assert!(checked > 0, "{text}");
}

/// T-D15: a completed epic that a framework ships has nothing left to do, and blocks nothing.
#[test]
fn a_completed_epic_without_documents_is_a_leftover() {
    let (path, text) = KITE[0];
    let text = text.replace("  status: active", "  status: completed").replace("in_progress", "completed");
    let sandbox = project(&[(path, text.as_str())]);
    let list = piton(&sandbox, &["list"]).expect_code(3);
    assert!(messages(&list).contains("leftover"), "{list}");
    let plan = piton(&sandbox, &["plan", path]).expect_code(0);
    assert_eq!(
        (plan.at("/data/verdict"), plan.findings()),
        ("complete".into(), vec!["state-leftover".to_owned()]),
        "{plan}"
    );
    let said = piton(&sandbox, &["plan", path, "--format", "text"]).stdout;
    assert!(!said.contains("Cannot Resume") && !said.contains("--from"), "{said}");
}

/// T-D16: the states of another tool below the runtime folder are one line for each folder, also where they cannot be read.
#[test]
fn states_of_another_tool_are_named_once() {
    let job = "jobId: crew-night\npipeline: night\nstatus: failed\ncurrent_phase: 2\n";
    let sandbox = project(&[
        (".aios/crew-jobs/crew-night-2026-01-30T11-00-00/state.yaml", job),
        (".aios/crew-jobs/crew-night-2026-01-31T11-00-00/state.yaml", "jobId: [\n"),
        (".aios/crew-jobs/crew-night-2026-01-31T11-00-00/log.yaml", job),
        (".aiox/other/x-state.json", "{}"),
        (".aios/dashboard/bob-state.json", "{}"),
        ("plan/self-drive-state.json", "{\"a\": 1, \"b\""),
    ]);
    let list = piton(&sandbox, &["list"]).expect_code(3);
    let findings = list.at("/findings");
    let told = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|found| (found["code"].as_str().unwrap(), found["file"].as_str().unwrap()));
    let told: Vec<_> = told.collect();
    let expected = [
        ("look-alike", ".aios/crew-jobs"),
        ("look-alike", ".aiox/other"),
        ("look-alike", "plan/self-drive-state.json"),
    ];
    assert_eq!(told, expected, "{list}");
    assert_eq!(messages(&list).matches("another tool's state").count(), 3, "{list}");
}

/// T-D17: a story that is named and is no run says why.
#[test]
fn a_story_that_is_no_run_says_why() {
    for (status, told) in [
        ("Done", "story 4.2 is Done: nothing is left to resume"),
        ("Ready", "story 4.2 is Ready: it was not started"),
        ("Rascunho", "story 4.2 is Rascunho: it was not started"),
        ("Blocked", "story 4.2 is Blocked: a person lets it go on"),
        ("Hmm", "story 4.2 is Hmm: that is not a known status, so nothing is resumed from it"),
    ] {
        let path = "docs/stories/4.2.story.md";
        let text = format!("# Story 4.2: Map\n\n**Status:** {status}\n\n## Tasks\n- [ ] a\n");
        let sandbox = project(&[
            (path, text.as_str()),
            ("docs/stories/4.9.story.md", "# Story 4.9: A\n\n**Status:** InProgress\n"),
        ]);
        let plan = piton(&sandbox, &["plan", path]).expect_code(3);
        assert_eq!(plan.at("/error/message"), told);
        assert!(plan.at("/error/hints/0").as_str().unwrap().ends_with(path), "{plan}");
    }
}

/// T-D18: dozens of stories that wait for a review are one line; the work under way is listed.
#[test]
fn many_stories_in_review_are_one_line() {
    let sandbox = Sandbox::with_git();
    for at in 1..=22 {
        let text = format!("# Story 1.{at}: A\n\n**Status:** Ready for Review\n\n## Tasks\n- [x] a\n");
        sandbox.file(&format!("docs/stories/1.{at}.story.md"), &text);
    }
    let list = piton(&sandbox, &["list"]).expect_code(0);
    assert_eq!((list.at("/data/runs"), list.at("/data/in_review")), (json!([]), json!(22)));
    sandbox.file("docs/stories/2.1.story.md", "# Story 2.1: B\n\n**Status:** InProgress\n\n## Tasks\n- [ ] a\n");
    assert_eq!(listed(&sandbox), ["sdc-2.1: retry 3_implement (Implement)"]);
    let text = piton(&sandbox, &["list", "--format", "text"]).stdout;
    assert!(
        text.starts_with("22 stories wait for a review: `piton list --all`\n") && text.lines().count() < 6,
        "{text}"
    );
    // The number that is shown is the one that other verbs take.
    let number = piton(&sandbox, &["list"]).at("/data/runs/0/number").to_string();
    assert_eq!(piton(&sandbox, &["plan", &number]).at("/data/run/id"), "sdc-2.1");
    let all = piton(&sandbox, &["list", "--all"]).expect_code(0);
    assert_eq!((all.at("/data/runs").as_array().unwrap().len(), all.at("/data/in_review")), (23, json!(0)));
    let doctor = piton(&sandbox, &["doctor", "--format", "text"]).stdout;
    assert!(doctor.contains("23 of them have no saved state") && !doctor.contains("run sdc-"), "{doctor}");
    // A few are listed as they are.
    for at in 1..=18 {
        sandbox.remove(&format!("docs/stories/1.{at}.story.md"));
    }
    assert_eq!(listed(&sandbox).len(), 5);
}

const CYCLE: &str = "workflowId: development-cycle\ncurrentPhase: 2_development\ncurrentStory: /Users/ana/lab/docs/stories/active/m2.story.md\n\
                     executor: '@dev'\nqualityGate: '@architect'\nattemptCount: 0\nstartedAt: 2026-01-31T11:00:00.000Z\n\
                     lastUpdated: 2026-01-31T11:30:00.000Z\nphaseResults:\n  1_validation:\n    status: completed\n";

/// T-D24: the story that a cycle names by a path from another machine is missed, also beside another problem.
#[test]
fn a_story_that_a_cycle_names_is_missed() {
    let path = ".aios/workflow-state/m2-state.yaml";
    let lap = format!(
        "{CYCLE}  4_quality_gate:\n    status: completed\n  6_checkpoint:\n    status: completed\n    decision: GO\n"
    );
    for text in [CYCLE, &lap] {
        let plan = piton(&project(&[(path, text)]), &["plan"]).expect_code(9);
        assert!(messages(&plan).contains("the state names the story m2.story.md, and no such file is here"), "{plan}");
        assert!(!plan.stdout.contains("/Users/ana"), "{plan}");
    }
    let there =
        project(&[(path, CYCLE), ("docs/stories/active/m2.story.md", "# Story M2: A\n\n**Status:** InProgress\n")]);
    assert!(!piton(&there, &["plan"]).findings().contains(&"story-missing".to_owned()));
}

/// T-D25: without a list of tasks the ticked criteria say that the development is over.
#[test]
fn ticked_criteria_without_tasks_mean_a_review() {
    let story = |boxes: &str| format!("# Story M1: A\n\n**Status:** In Progress\n\n## Acceptance Criteria\n{boxes}\n");
    for (boxes, expected) in [
        ("- [x] AC1: a\n- [x] AC2: b\n", "run 4_qa"),
        ("- [x] AC1: a\n- [ ] AC2: b\n", "retry 3_implement"),
        ("1. a\n2. b\n", "retry 3_implement"),
        ("- [x] AC1: a\n\n## Tasks\n- [ ] b\n", "retry 3_implement"),
    ] {
        let sandbox = project(&[("docs/stories/story-m1.md", story(boxes).as_str())]);
        let plan = piton(&sandbox, &["plan"]);
        assert_eq!(nexts(&plan), [expected], "{boxes}: {plan}");
        let is_told = messages(&plan).contains("all 2 acceptance criteria are ticked");
        assert_eq!(is_told, expected == "run 4_qa", "{plan}");
    }
}

/// T-D27: a file with several stories is open work of one run.
#[test]
fn a_file_of_several_stories_is_one_run() {
    let text = "# Stories QX-4\n\n**Status:** In Progress\n\n## Story QX-4.1\n\n- [x] a\n- [ ] b\n\n## Story QX-4.2\n\n- [ ] c\n";
    let sandbox = project(&[("docs/stories/2026-01-11-qx-4-billing.md", text)]);
    let plan = piton(&sandbox, &["plan"]).expect_code(0);
    assert_eq!((plan.at("/data/run/id"), nexts(&plan)), ("sdc-QX-4".into(), vec!["retry 3_implement".to_owned()]));
    let parts = plan.at("/data/next/0/parts");
    assert_eq!(parts.as_array().unwrap().len(), 3, "{plan}");
    for (text, id) in [
        (text.replace("# Stories QX-4\n", "# Epic QX-4 stories\n"), "sdc-QX-4"),
        (text.replace("# Stories QX-4\n", "# Stories for billing\n"), "sdc-qx-4"),
        (
            text.replace("# Stories QX-4\n\n**Status:** In Progress\n", "# Stories QX-4\n")
                .replace("- [ ] c", "**Status:** In Progress\n- [ ] c"),
            "sdc-QX-4",
        ),
    ] {
        let plan =
            piton(&project(&[("docs/stories/2026-01-11-qx-4-billing.md", text.as_str())]), &["plan"]).expect_code(0);
        assert_eq!(
            (plan.at("/data/run/id"), nexts(&plan)),
            (id.into(), vec!["retry 3_implement".to_owned()]),
            "{text}"
        );
    }
    let over = text
        .replace("**Status:** In Progress\n", "")
        .replace("## Story QX-4.1\n", "## Story QX-4.1\n**Status:** Done\n");
    assert_eq!(listed(&project(&[("docs/stories/2026-01-11-qx-4-billing.md", over.as_str())])), [""; 0]);
    // An overview of stories has no status of its own.
    let index = project(&[(
        "docs/stories/stories.md",
        "# Stories\n\n| Story | Status |\n| --- | --- |\n| 1.1 | In Progress |\n",
    )]);
    assert_eq!(listed(&index), [""; 0]);
}

/// T-D8: the fields of each kind of state are known below a key too, and written there.
#[test]
fn a_key_around_known_fields_changes_nothing() {
    for (path, text) in super::kinds::states() {
        let wrapped = if text.trim_start().starts_with('{') {
            format!("{{\"version\": 1, \"saved\": {text}}}")
        } else {
            let lines = text.lines().map(|line| format!("  {line}\n"));
            format!("version: 1\nsaved:\n{}", lines.collect::<String>())
        };
        let [plain, below] = [text, &wrapped].map(|text| project(&[(path, text)]));
        let answers = [&plain, &below].map(|sandbox| {
            let plan = piton(sandbox, &["plan"]);
            let first = nexts(&plan).first().map(|next| next.split(' ').next_back().unwrap().to_owned());
            let begun = first.map(|step| piton(sandbox, &["begin", &step]).code);
            (plan.code, plan.at("/data/run/id"), nexts(&plan), begun, nexts(&piton(sandbox, &["plan"])))
        });
        assert_eq!(answers[0], answers[1], "{path}");
        let kept = below.read(path);
        assert!(kept.contains("version") && kept.contains("saved"), "{kept}");
    }
}

/// T-D4: of a list of all verdicts the ticked one counts, and a label that is also one of a status needs a word of a verdict.
#[test]
fn a_ticked_verdict_counts() {
    for (results, expected) in [
        ("### Gate Decision\n- [ ] PASS\n- [ ] CONCERNS\n- [x] FAIL\n", "return 3_implement"),
        ("### Gate Decision\n- [x] PASS\n- [ ] FAIL\n", "verify 4_qa"),
        ("### Gate Decision\n- [ ] PASS\n- [ ] FAIL\n", "run 4_qa"),
        ("**Decision:** [ ] PASS [x] FAIL\n", "return 3_implement"),
        ("**QA Status:** PASS\n", "verify 4_qa"),
        ("**Verdict:** PASS\n**QA Status:** open\n", "verify 4_qa"),
        ("**Verdict:** NOT APPROVED\n", "return 3_implement"),
        ("**Verdict:** HOLD\n", "run 4_qa"),
    ] {
        assert_eq!(nexts(&piton(&reviewed(results, ""), &["plan"])), [expected], "{results}");
    }
}
