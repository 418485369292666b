use super::judge;
use crate::dialect::aios::story::StoryStatus as Story;
use crate::model::Severity;
use crate::model::Status;

#[test]
fn the_table_of_the_format_decides() {
    for (epic, story, expected) in [
        (Status::InProgress, Story::InProgress, None),
        (Status::InProgress, Story::InReview, None),
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
        assert_eq!(judge(epic, story).map(|(severity, _)| severity), expected, "{epic} {story:?}");
    }
    for epic in Status::ALL {
        assert_eq!(judge(epic, Story::Unknown).map(|(severity, _)| severity), Some(Severity::Warning), "{epic}");
    }
}
