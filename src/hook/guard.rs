//! `TaskCompleted`: refuses a task whose declared outputs are missing. Only a person's `setup --guard` makes the client call this.

use super::{Answer, input::Input};
use crate::ops::{self, CompletedTask, Request, TaskVerdict};

const EVENT: &str = "TaskCompleted";

pub(super) fn completes(input: &Input, request: &Request) -> Option<Answer> {
    let task = CompletedTask {
        session: input.session_id.clone(),
        id: input.task_id.clone(),
        subject: input.task_subject.clone(),
        cwd: input.cwd.clone(),
        transcript: input.transcript_path.clone(),
    };
    let answer = Answer { event: EVENT, ..Answer::default() };
    Some(match ops::judge_task(&task, request)? {
        TaskVerdict::Refused(reason) => Answer { refusal: Some(reason), ..answer },
        TaskVerdict::LetThrough(message) => Answer { person: Some(message), ..answer },
    })
}
