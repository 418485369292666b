//! The client as the agent of a step that `piton run` carries out: its prompt is the brief, so it hears of nothing else, and nothing is recorded
//! about its session. After a compaction it is given the brief again.

use camino::Utf8Path;

use super::{Answer, input::Input};
use crate::store;

pub(super) fn answer(event: &str, input: &Input, brief: &Utf8Path) -> Option<Answer> {
    match event {
        "session-start" if input.source == "compact" => {
            let brief = store::briefs::text(brief)?;
            let what = "The conversation was compacted. This is the brief of the step that this session carries out:";
            Some(Answer { event: "SessionStart", facts: vec![what.to_owned(), brief], ..Answer::default() })
        }
        _ => None,
    }
}
