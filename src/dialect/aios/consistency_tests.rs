use super::{Expected, epic_drift, workflow_drift};
use crate::{
    dialect::story::StoryStatus as Story,
    model::{Severity, Status},
};

#[test]
fn the_table_of_the_format_decides() {
    for (epic, story, expected) in [
        (Status::InProgress, Story::InProgress, None),
        (Status::InProgress, Story::InReview, Some(Severity::Warning)),
        (Status::InProgress, Story::Done, Some(Severity::Blocking)),
        (Status::InProgress, Story::Draft, Some(Severity::Blocking)),
        (Status::Pending, Story::Draft, None),
        (Status::Pending, Story::Ready, Some(Severity::Info)),
        (Status::Pending, Story::InProgress, Some(Severity::Warning)),
        (Status::Pending, Story::Done, Some(Severity::Blocking)),
        (Status::Completed, Story::Done, None),
        (Status::Completed, Story::Ready, Some(Severity::Warning)),
        (Status::Completed, Story::InProgress, Some(Severity::Warning)),
        (Status::Completed, Story::InReview, Some(Severity::Warning)),
        (Status::Completed, Story::Draft, Some(Severity::Blocking)),
        (Status::Blocked, Story::Blocked, None),
        (Status::Failed, Story::Blocked, None),
        (Status::Skipped, Story::TerminalOther, None),
        (Status::Skipped, Story::Draft, None),
    ] {
        assert_eq!(epic_drift(epic, story).map(|(severity, _)| severity), expected, "{epic} {story:?}");
    }
    for epic in Status::ALL {
        assert_eq!(epic_drift(epic, Story::Unknown).map(|(severity, _)| severity), Some(Severity::Warning), "{epic}");
    }
}

#[test]
fn a_run_of_one_story_is_held_against_what_comes_next_in_it() {
    let (blocking, warning, info) = (Some(Severity::Blocking), Some(Severity::Warning), Some(Severity::Info));
    // In the order Draft, Ready, InProgress, InReview, Done, TerminalOther, Blocked, Unknown.
    for (expected, severities) in [
        (Expected::Validation, [None, info, warning, warning, blocking, blocking, warning, warning]),
        (Expected::Development, [blocking, None, None, None, blocking, blocking, warning, warning]),
        (Expected::AfterDevelopment, [blocking, warning, None, None, None, blocking, warning, warning]),
        (Expected::Review, [blocking, warning, warning, None, blocking, blocking, warning, warning]),
        (Expected::Approved, [blocking, warning, warning, None, None, blocking, warning, warning]),
        (Expected::Underway, [None, None, None, None, blocking, blocking, warning, warning]),
        (Expected::Fix, [blocking, warning, None, None, blocking, blocking, warning, warning]),
    ] {
        let stories = [
            Story::Draft,
            Story::Ready,
            Story::InProgress,
            Story::InReview,
            Story::Done,
            Story::TerminalOther,
            Story::Blocked,
            Story::Unknown,
        ];
        for (story, severity) in stories.into_iter().zip(severities) {
            assert_eq!(
                workflow_drift(expected, story).map(|(severity, _)| severity),
                severity,
                "{expected:?} {story:?}"
            );
        }
    }
}
