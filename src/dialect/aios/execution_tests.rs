use super::read;

#[test]
fn waves_by_name_with_bare_agents() {
    let plan = read(
        b"metadata: {}\nexecution:\n  storyBasePath: docs/stories/epics/x\n  stories:\n    ACT-1: { file: a.md, title: First, \
          executor: dev }\n    ACT-2: { file: b.md, executor: dev }\n  waves:\n    - wave: 1\n      name: Base\n      \
          parallel: true\n      stories: [ACT-1]\n      dependencies: []\n      gate: { agent: architect }\n    - wave: 2\n      \
          stories: [ACT-2]\n      dependencies: [wave-1]\n  final_gate: { agent: po }\n",
    )
    .unwrap();
    assert_eq!(plan.folder.as_deref(), Some("docs/stories/epics/x"));
    assert_eq!(plan.stories[0].title.as_deref(), Some("First"));
    assert_eq!(plan.stories[1].file.as_deref(), Some("b.md"));
    assert!(plan.waves[0].is_parallel && !plan.waves[1].is_parallel);
    assert_eq!(plan.waves[0].gate_agent.as_deref(), Some("architect"));
    assert!(plan.waves[0].depends_on.is_empty());
    assert_eq!(plan.waves[1].depends_on, ["wave-1"]);
    assert_eq!(plan.final_agent.as_deref(), Some("po"));
}

#[test]
fn waves_by_number_keep_the_spelling_of_ids_that_look_like_numbers() {
    let plan = read(
        b"execution:\n  stories:\n    13.1: { executor: \"@dev\" }\n    13.10: { executor: \"@data-engineer\" }\n  waves:\n    \
          - number: 1\n      stories: [13.10, 13.1]\n    - number: 2\n      dependencies: [1]\n",
    )
    .unwrap();
    let ids: Vec<&str> = plan.stories.iter().map(|story| story.id.as_str()).collect();
    assert_eq!(ids, ["13.1", "13.10"]);
    assert_eq!(plan.stories[1].executor.as_deref(), Some("data-engineer"));
    assert_eq!(plan.waves[0].stories, ["13.10", "13.1"]);
    assert!(plan.waves[0].depends_on.is_empty());
    assert_eq!(plan.waves[1].depends_on, ["1"]);
}

#[test]
fn a_wave_is_named_by_its_number_or_its_name() {
    let plan = read(b"execution:\n  waves:\n    - { wave: 1, name: The Core }\n    - { wave: 11 }\n").unwrap();
    for (written, is_first, is_second) in [
        ("1", true, false),
        ("wave-1", true, false),
        ("wave_1", true, false),
        ("Wave 1", true, false),
        ("wave1", true, false),
        ("the core", true, false),
        ("wave-11", false, true),
        ("wave-7", false, false),
        ("Core", false, false),
        ("", false, false),
    ] {
        let found = [&plan.waves[0], &plan.waves[1]].map(|wave| wave.is_meant_by(written));
        assert_eq!(found, [is_first, is_second], "{written}");
    }
}

#[test]
fn phases_of_stories_that_name_each_other() {
    let plan = read(
        b"metadata: {}\nphases:\n  phase_1:\n    stories:\n      - { story_id: \"1.1\", file: docs/stories/1.1.md, executor: \
          \"@dev\" }\n  phase_2:\n    stories:\n      - { story_id: \"1.10\", dependencies: [\"1.1\"] }\n",
    )
    .unwrap();
    assert_eq!(plan.stories[0].file.as_deref(), Some("docs/stories/1.1.md"));
    assert_eq!(plan.stories[1].id, "1.10");
    assert_eq!(plan.stories[1].depends_on, ["1.1"]);
    assert!(plan.waves.is_empty());
}

#[test]
fn what_is_no_plan_says_nothing() {
    for text in ["", "a: [", "waves: []\n", "- 1\n", "execution"] {
        assert!(read(text.as_bytes()).is_none(), "{text}");
    }
    assert!(read(b"execution: 5\n").unwrap().stories.is_empty());
}
