//! Input from people and programs: workflows, settings, changes as JSON, events of the client.

use serde_json::Value;

use super::bundle::clock;
use crate::{
    dialect::{
        by_id,
        piton::{
            self,
            facts::Outline,
            record::{Header, Source},
        },
    },
    hook,
    model::{About, Change, ChangeKind, Config, DialectId, RelPath, StartSpec},
    ops::ChangeRequest,
    store,
    workflow::{
        self, Command, Step, Workflow,
        condition::Condition,
        looks_like_workflow,
        template::{Piece, Reader, Template},
        variables::{self, Scope},
    },
};

const VERBS: [&str; 4] = ["begin", "finish", "approve", "skip"];

fn path(text: &str) -> RelPath {
    RelPath::parse(text).expect("it is a path")
}

/// Parses a change from standard input; an accepted one survives a round trip.
pub(super) fn change(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for verb in VERBS {
        let Ok(kind) = ChangeRequest::from_json(text, verb) else { continue };
        assert_eq!(kind.as_str(), verb);
        let written = serde_json::to_string(&Change { at: clock().now, kind }).expect("a change is plain data");
        let read: Change = serde_json::from_str(&written).expect("a change is read again");
        assert_eq!(serde_json::to_string(&read).ok(), Some(written));
    }
}

/// Parses the event of a hook.
pub(super) fn hook(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some((session, folder)) = hook::session_and_folder(text) {
        assert!(!session.is_empty() && !folder.is_empty());
    }
}

/// Parses `piton.toml`; an accepted one is also a valid configuration for the schema.
pub(super) fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match store::parse_config(text) {
        Ok(config) => {
            let value = serde_json::to_value(&config).expect("a configuration is plain data");
            assert_eq!(serde_json::from_value::<Config>(value).ok(), Some(config));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Parses a workflow file: it is valid, or every mistake has a position. One in another form is the same in the current one.
pub(super) fn workflow(data: &[u8]) {
    let file = path("w.yaml");
    looks_like_workflow(&file, data);
    looks_like_workflow(&path("w.json"), data);
    let parsed = workflow::parse(&file, data);
    assert_eq!(parsed.workflow.is_none(), !parsed.findings.is_empty());
    for finding in parsed.findings.iter().chain(&parsed.notes) {
        assert!(finding.line.is_some() && finding.column.is_some(), "{} has no place", finding.message);
    }
    let Some(workflow) = parsed.workflow else { return };
    let digests = |workflow: &Workflow| workflow.steps.iter().map(Step::digest).collect::<Vec<_>>();
    let again = workflow::parse(&file, data).workflow.expect("it was one before");
    assert_eq!(digests(&workflow), digests(&again));
    if let Some(rewritten) = parsed.rewritten {
        let again = workflow::parse(&file, rewritten.to_string().as_bytes());
        assert!(again.rewritten.is_none(), "it has the current form");
        let again = again.workflow.unwrap_or_else(|| panic!("{rewritten}: {:?}", again.findings));
        assert_eq!(digests(&workflow), digests(&again), "{rewritten}");
    }
    assert_eq!(Outline::of(&workflow, String::new()).steps.len(), workflow.steps.len());
    workflow.expected_schemas();
}

/// Text that a shell must never see as program code.
const HOSTILE: &str = "a'b\"c`d`$(e)\\;f|g&h\n#i ${PATH} *";

struct Hostile;

impl Scope for Hostile {
    fn get(&self, name: &str) -> Result<Option<Value>, String> {
        Ok((!name.starts_with("unset")).then(|| Value::from(HOSTILE)))
    }

    fn names(&self) -> Vec<String> {
        vec!["a".to_owned()]
    }
}

/// Renders shell code: values go into the environment, and only their names into the code.
pub(super) fn shell(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(condition) = Condition::parse(text) {
        let _ = variables::holds(&condition, &Hostile);
    }
    if let Ok(template) = Template::parse(text, Reader::Plain)
        && let Ok(rendered) = variables::render(&template, &Hostile)
    {
        let has_variables = template.pieces.iter().any(|piece| matches!(piece, Piece::Variable(_)));
        assert!(has_variables || rendered.len() <= text.len(), "a text grows without a value");
    }
    let Ok(template) = Template::parse(text, Reader::Shell) else { return };
    let Ok(shell) = variables::render_shell(&template, &Hostile) else { return };
    let references = template.pieces.iter().filter(|piece| matches!(piece, Piece::Variable(_))).count();
    assert_eq!(shell.env.len(), references);
    let mut rest = shell.text.as_str();
    let mut number = 0;
    for piece in &template.pieces {
        match piece {
            Piece::Literal(literal) => {
                rest = rest.strip_prefix(literal.as_str()).expect("what the file says is kept");
            }
            Piece::Variable(_) => {
                number += 1;
                let reference = format!("${{PITON_VAR_{number}}}");
                let forms = [format!("'\"{reference}\"'"), format!("\"{reference}\""), reference];
                rest = forms.iter().find_map(|form| rest.strip_prefix(form.as_str())).expect("a name takes its place");
            }
        }
    }
    assert_eq!(rest, "");
}

/// Parses a custom workflow: a valid one can be started, and its run is read back unchanged.
pub(super) fn definition(data: &[u8]) {
    let file = path("w.yaml");
    let Some(read) = workflow::parse(&file, data).workflow else { return };
    if !read.steps.iter().all(|step| matches!(step.command, Command::Agent(_) | Command::Gate(_))) {
        return;
    }
    let header = Header {
        is_attended: true,
        ..Header::new(
            ("/home".into(), "/home/worktrees".into()),
            "feature",
            "/project".into(),
            Source { root: "/project".into(), file },
            clock().now,
        )
    };
    let change = Change { at: clock().now, kind: ChangeKind::Start(Box::new(StartSpec::new("w", "feature"))) };
    let edits = piton::start(&header, (About::default(), change), Outline::of(&read, "0".repeat(64)), None);
    let mut bundle = super::bundle::Bundle::parse(b"");
    bundle.commit(&edits.expect("a plain name"));
    let listing = bundle.listing(by_id(DialectId::Piton));
    let candidates = by_id(DialectId::Piton).probe(&listing).candidates;
    let [candidate] = candidates.as_slice() else { panic!("a started run is not found") };
    let run = by_id(DialectId::Piton).load(&bundle.read(candidate)).run.expect("a started run is read");
    assert!(!run.degraded && run.steps.len() == read.steps.len());
}
