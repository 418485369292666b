use super::cause;
use crate::model::{CauseKind, Evidence, Owner, SessionEvent, SessionLine, Timestamp};

fn at(minute: usize) -> Timestamp {
    Timestamp::parse(&format!("2026-01-31T12:{minute:02}:00Z"), 0).unwrap()
}

/// Returns the events one minute after the other, from 12:01 on.
fn events(events: &[SessionEvent]) -> Vec<SessionLine> {
    events.iter().cloned().enumerate().map(|(minute, event)| SessionLine { at: at(minute + 1), event }).collect()
}

fn start(source: &str) -> SessionEvent {
    SessionEvent::Start { source: source.to_owned(), pid: 7, process_start: Some(1) }
}

fn agent(id: &str, agent: &str) -> SessionEvent {
    SessionEvent::AgentStart { id: id.to_owned(), agent: agent.to_owned(), brief: None }
}

fn back(id: &str) -> SessionEvent {
    SessionEvent::AgentStop { id: id.to_owned() }
}

fn failure(error: &str) -> SessionEvent {
    SessionEvent::Failure { error: error.to_owned() }
}

fn end(reason: &str) -> SessionEvent {
    SessionEvent::End { reason: reason.to_owned() }
}

fn dead() -> Owner {
    Owner::Dead { since: Some(at(50)), session: None }
}

/// Events and the expected cause with its minute.
type Case<'a> = (&'a str, &'a Owner, &'a [SessionEvent], Option<(CauseKind, usize)>);

#[test]
fn each_story_has_one_cause() {
    use CauseKind::{AgentLost, ContextLost, Failure, Limit, SessionEnded};
    use SessionEvent::Prompt;
    let (gone, ours) = (dead(), Owner::Ours);
    let cases: &[Case<'_>] = &[
        ("nothing is known but that the process is gone", &gone, &[], Some((SessionEnded, 50))),
        ("nothing happened", &ours, &[Prompt], None),
        ("killed between two steps", &gone, &[Prompt, agent("a", "coder"), back("a")], Some((SessionEnded, 50))),
        ("killed with an agent away", &gone, &[agent("a", "coder")], Some((AgentLost, 1))),
        ("one of two came back", &gone, &[agent("a", "x"), agent("b", "y"), back("a")], Some((AgentLost, 2))),
        ("an agent at work is not lost", &ours, &[Prompt, agent("a", "coder")], None),
        ("an agent that outlived a turn is", &ours, &[agent("a", "coder"), Prompt], Some((AgentLost, 1))),
        ("unless the client only told of another one", &ours, &[agent("a", "x"), SessionEvent::Notification], None),
        ("unless it comes back later", &ours, &[agent("a", "coder"), Prompt, back("a")], None),
        ("a limit", &ours, &[Prompt, failure("rate_limit")], Some((Limit, 2))),
        (
            "and the question about it",
            &ours,
            &[failure("rate_limit"), end("other"), start("resume"), Prompt],
            Some((Limit, 1)),
        ),
        ("work went on after it", &ours, &[failure("rate_limit"), Prompt, agent("a", "x"), back("a")], None),
        ("they talked on after it", &ours, &[failure("overloaded"), Prompt, Prompt], None),
        ("an error of the service", &gone, &[agent("a", "coder"), failure("server_error")], Some((Failure, 2))),
        ("compacted", &ours, &[start("compact"), Prompt], Some((ContextLost, 1))),
        ("cleared", &gone, &[end("clear")], Some((ContextLost, 1))),
        ("left by its person", &gone, &[end("prompt_input_exit")], Some((SessionEnded, 1))),
        ("compacted, then killed", &gone, &[start("compact")], Some((SessionEnded, 50))),
        ("taken up again under the same name", &ours, &[start("resume"), Prompt], Some((SessionEnded, 1))),
    ];
    for (name, owner, told, expected) in cases {
        let evidence = Evidence { owner: (*owner).clone(), session: events(told), ..Evidence::default() };
        let found = cause(&evidence).map(|cause| (cause.kind, cause.at));
        assert_eq!(found, expected.map(|(kind, minute)| (kind, Some(at(minute)))), "{name}");
    }
}

#[test]
fn a_driven_run_has_no_cause() {
    let session = events(&[failure("rate_limit")]);
    for owner in [Owner::None, Owner::Live { description: "process 7".to_owned() }] {
        let evidence = Evidence { owner, session: session.clone(), ..Evidence::default() };
        assert_eq!(cause(&evidence), None);
    }
}

#[test]
fn words_of_the_client_are_cleaned() {
    let session = events(&[agent("a", "x\u{1b}[31m\ny")]);
    let evidence = Evidence { owner: dead(), session, ..Evidence::default() };
    assert_eq!(cause(&evidence).unwrap().detail, "the session ended while the agent x[31m y was working");
}

#[test]
fn only_the_agents_that_a_turn_waited_for_are_missed() {
    let lost = |story: &[SessionEvent]| {
        let evidence = Evidence { owner: Owner::Ours, session: events(story), ..Evidence::default() };
        cause(&evidence).map(|cause| cause.detail)
    };
    let before = [agent("a", "one"), agent("b", "two"), SessionEvent::Prompt, agent("c", "three")];
    for (back_again, agent) in [("a", "two"), ("b", "one"), ("c", "two"), ("unknown", "two")] {
        let story: Vec<SessionEvent> = before.iter().cloned().chain([back(back_again)]).collect();
        let expected = format!("the agent {agent} was started and never returned");
        assert_eq!(lost(&story), Some(expected), "{back_again} came back");
    }
}

#[test]
fn a_limit_is_not_called_a_failure_of_the_service() {
    for (error, detail) in [
        ("rate_limit", "a usage limit was reached: rate_limit"),
        ("billing_error", "a usage limit was reached: billing_error"),
        ("server_error", "the service failed: server_error"),
    ] {
        let evidence = Evidence { owner: Owner::Ours, session: events(&[failure(error)]), ..Evidence::default() };
        assert_eq!(cause(&evidence).map(|cause| cause.detail).as_deref(), Some(detail));
    }
}
