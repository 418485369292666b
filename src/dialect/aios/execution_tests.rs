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
    assert_eq!(plan.waves[0].depends_on, Some(vec![]));
    assert_eq!(plan.waves[1].depends_on, Some(vec!["1".to_owned()]));
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
    assert_eq!(plan.waves[0].depends_on, None);
    assert_eq!(plan.waves[1].depends_on, Some(vec!["1".to_owned()]));
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
