//! Makes every query of a run, and plans it, with evidence from the input.

use serde_json::Value;

use super::{
    bundle::{Bundle, clock},
    guest_evidence,
};
use crate::{
    dialect::by_id,
    engine::Planned,
    model::{Action, Candidate, CommitFact, Evidence, FileFact, Options, RelPath, Run, clean, mask_secrets},
    ops::{self, OpenedRun},
    store::Trusted,
};

const CONTEXT_BYTES: usize = 6_000;

/// Makes every read-only query of a run.
pub(super) fn look(opened: &OpenedRun, bundle: &Bundle) {
    let files = &opened.files;
    let evidence = evidence(opened, bundle);
    opened.dialect.journal().journal_checkpoints(files);
    opened.dialect.journal().truncated_tail(files);
    let _ = opened.dialect.archives().archive(files, opened.loaded.run.as_ref(), clock().now);
    let _ = opened.dialect.rebuild().reconstruct(files, clock().now);
    let Some(run) = &opened.loaded.run else {
        assert!(!opened.loaded.findings.is_empty(), "there is no run, and nothing says why");
        return;
    };
    let planned = plan(opened, run, &evidence);
    let again = OpenedRun::new(opened.candidate.clone(), files.clone(), &Trusted::nothing());
    let run_again = again.loaded.run.as_ref().expect("the same bytes tell a run again");
    assert_eq!(shown(&planned), shown(&plan(&again, run_again, &evidence)), "the same bytes have two plans");
    opened.dialect.wording().notices(&opened.files, run, &planned.plan, &planned.findings);
    opened.dialect.wording().list_row(run, &planned.plan);
    opened.dialect.wording().log(run, &planned.plan, &planned.findings, clock().now);
    opened.dialect.comparison().suggest(files, run, &planned.plan.steps.completed);
    for next in &planned.plan.next {
        let is_of_run = matches!(next.action, Action::Merge | Action::Archive);
        assert!(is_of_run || run.step(&next.step).is_some(), "{} is next and no step of the run", next.step);
        let context = ops::assemble_native(opened, run, &planned, next, CONTEXT_BYTES);
        let context = serde_json::to_value(&context).expect("a context is plain data");
        each_text(&context, &mut |text| {
            assert_eq!(clean(text), text, "a context has control characters in it");
            assert_eq!(mask_secrets(text), text, "a context has a secret in it");
        });
    }
}

/// Plans a run as `piton plan` does.
pub(super) fn plan(opened: &OpenedRun, run: &Run, evidence: &Evidence) -> Planned {
    ops::evaluate(opened, run, evidence, &Options::at(clock().now))
}

fn shown(planned: &Planned) -> (String, String) {
    (format!("{:?}", planned.plan), serde_json::to_string(&planned.findings).expect("findings are plain data"))
}

/// Finds the files that a run wants checked.
pub(super) fn evidence(opened: &OpenedRun, bundle: &Bundle) -> Evidence {
    let wanted = &opened.loaded.wanted;
    let outputs = wanted.outputs.iter().map(|output| &output.path);
    let files = outputs.chain(&wanted.documents).map(|path| (path.clone(), fact(path, bundle)));
    Evidence {
        files: files.collect(),
        commits: wanted.commits.iter().map(|commit| (commit.clone(), CommitFact::Reachable)).collect(),
        guest: wanted.guest.as_ref().map(|request| guest_evidence::evidence(request, bundle)).unwrap_or_default(),
        ..Evidence::default()
    }
}

fn fact(path: &RelPath, bundle: &Bundle) -> FileFact {
    let Some(bytes) = bundle.files.get(path) else { return FileFact::Missing };
    let is_json = path.name().ends_with(".json");
    FileFact::Present {
        bytes: bytes.len() as u64,
        modified: Some(clock().now),
        sha256: None,
        parses: is_json.then(|| serde_json::from_slice::<Value>(bytes).is_ok()),
        violation: None,
    }
}

/// Finds the run after a change, which may have moved its state.
pub(super) fn again(before: &Candidate, bundle: &Bundle, written: &[RelPath]) -> Option<OpenedRun> {
    let dialect = by_id(before.dialect);
    let probed = dialect.probe(&bundle.listing(dialect));
    let found: Vec<Candidate> = probed.candidates.into_iter().chain(probed.ended).collect();
    let same = found.iter().find(|candidate| candidate.state == before.state);
    let candidate = same.or_else(|| found.iter().find(|candidate| written.contains(&candidate.state)))?;
    Some(OpenedRun::new(candidate.clone(), bundle.read(candidate), &Trusted::nothing()))
}

fn each_text(value: &Value, check: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => check(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, check)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            check(name);
            each_text(value, check);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
