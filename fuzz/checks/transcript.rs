//! Transcripts of the client, and what is made of them.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    dialect::claude::{self, Digest, TranscriptReader, Workflow},
    model::{
        Action, Candidate, Claim, Clock, Config, Content, DialectId, Evidence, FileEntry, FileSet, Options, RelPath,
        RunFolder, Status, Timestamp,
    },
    ops::{OpenedRun, assemble_native, evaluate},
    store::Trusted,
};

/// Reads any bytes as the transcript of a session and of an agent, as a journal and as the small files, and plans what was read.
pub(super) fn transcript(data: &[u8]) {
    let read = |is_agent: bool| {
        let mut reader = TranscriptReader::new(is_agent);
        data.split(|byte| *byte == b'\n').for_each(|line| reader.line(line));
        reader.finish(data.len() as u64, true)
    };
    let mut agent = claude::agent("agent-a.jsonl", Some(data));
    agent.transcript = Some(read(true));
    let mut workflow = Workflow { id: "wf_1".to_owned(), ..Workflow::default() };
    (1..).zip(data.split(|byte| *byte == b'\n')).for_each(|(number, line)| workflow.line(number, line));
    let _ = claude::client_process(data);
    let digest = Digest {
        session: "5e551011-0000".to_owned(),
        main: read(false),
        agents: [("a".to_owned(), agent)].into_iter().collect(),
        workflows: vec![workflow],
        task_files: vec![claude::task_file("1", "tasks/x/1.json", data)],
        root: "/project".to_owned(),
        ..Digest::default()
    };
    let bytes = serde_json::to_vec(&digest).expect("a digest can be written");
    let opened = OpenedRun::new(candidate(), files(&bytes), &Trusted::nothing());
    let run = opened.loaded.run.as_ref().expect("a digest is a run");
    let options = Options::at(opened.files.clock.now);
    let planned = evaluate(&opened, run, &Evidence::default(), &options);
    for next in &planned.plan.next {
        let step = run.step(&next.step).expect("a step of the run");
        let runs = matches!(next.action, Action::Run | Action::Retry | Action::Return);
        assert!(step.idempotent || !runs, "{} of unknown outcome is run again", step.id);
        assert!(step.status != Status::Completed || !runs, "{} is done and run again", step.id);
        assemble_native(&opened, run, &planned, next, 4_096);
    }
}

fn candidate() -> Candidate {
    Candidate {
        dialect: DialectId::Claude,
        name: "claude-5e551011".to_owned(),
        state: path("projects/p/5e551011-0000.jsonl"),
        reads: Vec::new(),
        rank: None,
        claim: Claim::default(),
        may_be_replaced: false,
        is_named: true,
        findings: Vec::new(),
    }
}

fn files(digest: &[u8]) -> FileSet {
    let candidate = candidate();
    let now = Timestamp::parse("2026-01-31T12:00:00Z", 0).expect("a point in time");
    FileSet {
        root: "/project".into(),
        name: candidate.name,
        files: BTreeMap::from([(candidate.state.clone(), FileEntry::new(Content::Bytes(digest.into()), None))]),
        state: candidate.state,
        own: RunFolder { home: "/project/.piton".into(), path: path("runs/own") },
        journal: None,
        local: crate::model::Local::default(),
        lost: None,
        worktrees: Vec::new(),
        main_root: None,
        clock: Clock { now, utc_offset_seconds: 0 },
        config: Arc::new(Config::default()),
    }
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).expect("a constant is a path")
}
