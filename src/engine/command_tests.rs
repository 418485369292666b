use super::{
    after_part, agent_contract, context, end, end_reported, failed, finish, next_of_part, on_run, on_step, option,
    override_hold, quoted, redo, report,
};
use crate::model::{AgentStatus, Part, PartKind, ReviewVerdict, RunId, Status, Step, StepId, StepKind, Uid};

/// Splits a line into words as a POSIX shell does, for the quoting that `quoted` uses. Anything else that a shell would read
/// as more than itself is an error.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' => words.extend(word.take()),
            // As bash and zsh read `$'`, for the two escapes that `quoted` writes.
            '$' if chars.as_str().starts_with('\'') => {
                chars.next();
                let mut bytes = Vec::new();
                loop {
                    match chars.next().ok_or("an open quote")? {
                        '\'' => break,
                        '\\' if chars.as_str().starts_with(|c: char| c.is_ascii_digit()) => {
                            let code: String = chars.by_ref().take(3).collect();
                            bytes.push(u8::from_str_radix(&code, 8).map_err(|error| error.to_string())?);
                        }
                        '\\' => bytes.extend(chars.next().ok_or("a lonely backslash")?.to_string().bytes()),
                        c => bytes.extend(c.to_string().bytes()),
                    }
                }
                let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
                word.get_or_insert_default().push_str(&text);
            }
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some('\'') => break,
                        Some(c) => word.push(c),
                        None => return Err("an open quote".to_owned()),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next().ok_or("a lonely backslash")?),
            c if c.is_ascii_alphanumeric() || "-_./:@+,=".contains(c) => word.get_or_insert_default().push(c),
            c => return Err(format!("{c:?} outside of quotes")),
        }
    }
    words.extend(word);
    Ok(words)
}

const HOSTILE: [&str; 18] = [
    "IMPL-1.2",
    "1:2.5",
    "",
    " ",
    "a b",
    "'",
    "''",
    "a'b'c",
    "$(rm -rf ~)",
    "`id`",
    "x; rm y",
    "a\nb'\\c\u{202e}",
    "\\",
    "~root",
    "*?[a]",
    "a&b|c>d<e",
    "!history #comment",
    "日本 $IFS",
];

#[test]
fn a_quoted_text_is_one_word_and_itself() {
    for text in HOSTILE.into_iter().chain(["-x", "--force"]) {
        assert_eq!(words(&quoted(text)).as_deref(), Ok([text.to_owned()].as_slice()), "{text:?}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "bash itself says how it reads a word")]
fn bash_reads_a_quoted_text_as_itself_in_every_locale() {
    let line: String = HOSTILE.iter().map(|text| format!(" {}", quoted(text))).collect();
    for locale in ["C", "C.UTF-8"] {
        let mut bash = std::process::Command::new("bash");
        let read = bash.env("LC_ALL", locale).args(["-c", &format!("printf '%s\\0'{line}")]).output().unwrap();
        let expected: String = HOSTILE.iter().map(|text| format!("{text}\0")).collect();
        assert_eq!(String::from_utf8_lossy(&read.stdout), expected, "{locale}");
    }
}

#[test]
fn plain_ids_stay_readable() {
    for (text, shown) in [("IMPL-1", "IMPL-1"), ("2:2.5", "2:2.5"), ("a/b_c@d+e,f", "a/b_c@d+e,f"), ("a b", "'a b'")] {
        assert_eq!(quoted(text), shown);
    }
}

#[test]
fn no_id_becomes_another_word_or_an_option() {
    for id in HOSTILE {
        let line = on_step("begin", &StepId::new(id), &RunId::new(id), " --force");
        assert_eq!(words(&line).unwrap(), ["piton", "begin", id, "--run", id, "--force"], "{id:?}");
    }
    for id in ["-x", "--force", "--", "-"] {
        let line = on_step("begin", &StepId::new(id), &RunId::new("r"), " --force");
        assert_eq!(words(&line).unwrap(), ["piton", "begin", "--run", "r", "--force", "--", id], "{id:?}");
        let run = id.trim_start_matches('-');
        assert_eq!(words(&on_run("plan", &RunId::new(id), "")).unwrap(), ["piton", "plan", run]);
        assert_eq!(words(&option("agent", id)).unwrap(), [format!("--agent={id}")]);
    }
}

#[test]
fn a_step_is_finished_by_what_closes_it() {
    for (kind, line) in [
        (StepKind::Work, "piton finish S --run R --status completed"),
        (StepKind::Review, "piton finish S --run R --verdict VERDICT"),
        (StepKind::Container, "piton finish S --run R --status completed"),
    ] {
        let mut step = Step::new(StepId::new("S"), "");
        step.kind = kind;
        assert_eq!(finish(&step, &RunId::new("R")), line);
    }
}

#[test]
fn a_report_lists_the_ends_that_a_step_accepts() {
    let mut step = Step::new(StepId::new("S"), "");
    let work = "`piton finish S --run R --summary TEXT` with what the next agent has to know, and `--output FILE` for each file";
    let failed = "; if it failed, with `--status failed --error TEXT`";
    assert_eq!(report(&step, &RunId::new("R"), None), format!("{work}{failed}"));
    step.kind = StepKind::Review;
    for (verdicts, words) in [
        (
            ReviewVerdict::ALL.as_slice(),
            "APPROVED, APPROVED_WITH_CONDITIONS (and `--condition TEXT`), NEEDS_REVISION or REJECTED",
        ),
        (&[ReviewVerdict::Approved, ReviewVerdict::Rejected], "APPROVED or REJECTED"),
    ] {
        step.ends.verdicts = verdicts;
        let finish = "`piton finish S --run R --verdict VERDICT --summary TEXT`";
        let line = format!("{finish} with {words}, and `--finding TEXT` for each thing to address");
        assert_eq!(report(&step, &RunId::new("R"), None), line);
    }
}

#[test]
fn a_review_whose_format_knows_few_verdicts_names_them_beside_its_command() {
    let mut step = Step::new(StepId::new("S"), "");
    step.kind = StepKind::Review;
    step.ends.verdicts = &[ReviewVerdict::Approved, ReviewVerdict::Rejected];
    let line = "piton finish S --run R --verdict VERDICT   # APPROVED or REJECTED";
    assert_eq!(finish(&step, &RunId::new("R")), line);
    step.kind = StepKind::Work;
    assert_eq!(finish(&step, &RunId::new("R")), "piton finish S --run R --status completed");
}

#[test]
fn a_persons_decision_is_one_command_with_words_to_fill_in() {
    let (step, run) = (StepId::new("S"), RunId::new("R"));
    assert_eq!(redo(&step, &run), "piton decide S redo --run R --by NAME --note WHY");
    let hold = "once it can go on: `piton decide S override --run R --by NAME --note WHY`";
    assert_eq!(override_hold(&step, &run), hold);
}

#[test]
fn an_open_part_is_begun_and_one_in_progress_is_finished() {
    let step = Step::new(StepId::new("S"), "");
    for (status, line) in [
        (Status::Pending, "piton begin S --run R --part draft"),
        (Status::Failed, "piton begin S --run R --part draft"),
        (Status::InProgress, "piton finish S --run R --part draft"),
    ] {
        let part = Part {
            name: "draft".to_owned(),
            title: String::new(),
            kind: PartKind::Work,
            status,
            output: None,
            commands: Vec::new(),
        };
        assert_eq!(next_of_part(&step, &part, &RunId::new("R")), line, "{status}");
    }
}

fn step_of(kind: StepKind) -> Step {
    Step { kind, ..Step::new(StepId::new("S"), "") }
}

#[test]
fn the_end_of_a_step_asks_for_the_words_that_are_missing() {
    let run = RunId::new("R");
    let (work, review) = (step_of(StepKind::Work), step_of(StepKind::Review));
    let begun = Some(Uid::new([0x1a; 16]));
    assert_eq!(end(&work, None, &run, begun), "piton finish S --run R --summary TEXT --begun 1a1a1a1a");
    assert_eq!(end(&work, None, &run, None), "piton finish S --run R --summary TEXT");
    assert_eq!(end(&review, None, &run, None), "piton finish S --run R --verdict VERDICT --summary TEXT");
    assert_eq!(end(&review, Some("p"), &run, None), "piton finish S --run R --part p");
    assert_eq!(failed(&work, &run), "piton finish S --run R --status failed --error TEXT");
    assert_eq!(context(&work.id, &run), "piton context R --step S");
    // What the agent said is not asked for again.
    for (step, reported, expected) in [
        (&work, None, end(&work, None, &run, None)),
        (&review, None, end(&review, None, &run, None)),
        (&review, Some(AgentStatus::Done), "piton finish S --run R --verdict VERDICT".to_owned()),
        (&review, Some(AgentStatus::Blocked), "piton finish S --run R --verdict VERDICT".to_owned()),
        (&work, Some(AgentStatus::Done), "piton finish S --run R".to_owned()),
        (&work, Some(AgentStatus::Blocked), failed(&work, &run)),
        (&work, Some(AgentStatus::NeedsContext), failed(&work, &run)),
    ] {
        assert_eq!(end_reported(step, &run, reported, None), expected, "{reported:?}");
    }
}

#[test]
fn an_agent_is_told_which_lines_its_message_ends_with() {
    for (kind, own, other) in [(StepKind::Work, "FILES: ", "VERDICT: "), (StepKind::Review, "VERDICT: ", "FILES: ")] {
        let contract = agent_contract(&step_of(kind));
        for line in ["STEP: S", "STATUS: DONE, BLOCKED or NEEDS_CONTEXT", "SUMMARY: "] {
            assert!(contract.lines().any(|found| found.starts_with(line)), "{contract}");
        }
        assert!(contract.contains(own) && !contract.contains(other), "{contract}");
    }
}

#[test]
fn after_a_part_comes_the_next_one_that_is_open_or_the_end() {
    let run = RunId::new("R");
    for (parts, expected) in [
        (
            &[(PartKind::Analysis, Status::Completed), (PartKind::Work, Status::Pending)][..],
            "piton begin S --run R --part p1",
        ),
        (
            &[(PartKind::Analysis, Status::Completed), (PartKind::Work, Status::InProgress)][..],
            "piton finish S --run R --part p1",
        ),
        (
            &[(PartKind::Analysis, Status::Completed), (PartKind::Work, Status::Completed)][..],
            "piton finish S --run R --summary TEXT",
        ),
        (&[(PartKind::Analysis, Status::Completed)][..], "piton context R --step S"),
    ] {
        let mut step = step_of(StepKind::Work);
        step.detail.parts = parts
            .iter()
            .enumerate()
            .map(|(at, (kind, status))| Part {
                name: format!("p{at}"),
                title: String::new(),
                kind: *kind,
                status: *status,
                output: None,
                commands: Vec::new(),
            })
            .collect();
        assert_eq!(after_part(&step, &run), expected);
    }
}
