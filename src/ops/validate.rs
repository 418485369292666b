//! `validate`: checks every state file against its schema and reports the findings of loading it.

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Exit, OpError,
    client_sessions::SessionFilter,
    opened_run::OpenedRun,
    project_context::{ProjectContext, Request},
    report::{Body, Report},
    select, workflow_file,
};
use crate::{
    dialect,
    document::parse_json,
    engine::{self, Refusal, RefusalKind},
    model::{Content, Finding, FindingClass, FindingCode, No, Options, RelPath, Severity, Suggested, Verb},
    schema, store,
    workflow::looks_like_workflow,
};

/// The result of validating files (`validate/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ValidateReport {
    pub(crate) valid: bool,
    pub(crate) files: Vec<ValidatedFile>,
}

/// A checked file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ValidatedFile {
    pub(crate) file: String,
    pub(crate) schema: Option<String>,
    pub(crate) problems: usize,
    /// A workflow file of another form, as a current one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rewritten: Option<serde_json::Value>,
}

impl Body for ValidateReport {
    const SCHEMA: &'static str = "validate/1";
}

/// Validates the given targets, else every run of the project.
pub(crate) fn validate(request: &Request, targets: &[String]) -> Result<Report<ValidateReport>, OpError> {
    let mut files = Vec::new();
    let mut findings = Vec::new();
    if targets.is_empty() {
        let ctx = ProjectContext::open(request)?;
        let (mut locations, found) = ctx.locations();
        locations.extend(ctx.client_locations(SessionFilter::Offered));
        if locations.is_empty() {
            return Err(OpError::NoRun { searched: ctx.project.root.into_string(), findings: found });
        }
        findings.extend(found);
        for location in &locations {
            // A session that is named is read as a whole.
            let opened = if location.is_of_client() { ctx.glance_at(location).0 } else { ctx.read(location)? };
            check_run(&ctx, &opened, &mut files, &mut findings);
        }
    }
    for target in targets {
        let ctx = ProjectContext::open(&Request { run: Some(target.clone()), ..request.clone() })?;
        // Only a word that a file has as its name may mean the file instead of a run.
        if !workflow_file::is_path(target)
            && let Some(path) = workflow_file::path_of(&ctx.project, target)
            && let Ok(location) = select::location(&ctx)
            && location.own_run().is_some()
            && !select::is_run(&ctx, &location, target)
        {
            check_file(&ctx, &path, &mut files, &mut findings)?;
            continue;
        }
        match select::select(&ctx) {
            Ok(opened) => check_run(&ctx, &opened, &mut files, &mut findings),
            Err(error @ (OpError::NoRun { .. } | OpError::UnknownRun { .. })) => match &ctx.run_path {
                Some(path) => check_file(&ctx, path, &mut files, &mut findings)?,
                None if is_file_name(target) => {
                    return Err(OpError::Refused(Refusal {
                        kind: RefusalKind::NotFound,
                        message: format!("there is no file {target}"),
                        hints: vec![Suggested::new(Verb::Validate).into()],
                    }));
                }
                None => match workflow_file::path_of(&ctx.project, target) {
                    Some(path) => check_file(&ctx, &path, &mut files, &mut findings)?,
                    None => return Err(error),
                },
            },
            Err(error) => return Err(error),
        }
    }
    let unreadable = findings.iter().any(|finding| finding.code == FindingCode::StateUnreadable);
    let invalid =
        |finding: &Finding| finding.severity == Severity::Blocking || finding.code.is_of(FindingClass::Invalid);
    let valid = !findings.iter().any(invalid);
    findings.sort_by_key(|finding| finding.severity);
    let exit = match (valid, unreadable) {
        (true, _) => Exit::Ok,
        (false, true) => Exit::Unreadable,
        (false, false) => Exit::No(No::Invalid),
    };
    Ok(Report { exit, body: ValidateReport { valid, files }, findings })
}

/// Tells whether a target is meant as a file.
fn is_file_name(target: &str) -> bool {
    target.contains('/') || [".yaml", ".yml", ".json", ".md"].iter().any(|end| target.ends_with(end))
}

fn check_run(ctx: &ProjectContext, opened: &OpenedRun, files: &mut Vec<ValidatedFile>, findings: &mut Vec<Finding>) {
    let prefix = match opened.files.root == ctx.project.root {
        true => String::new(),
        false => format!("{}/", opened.files.root),
    };
    findings.extend(opened.loaded.findings.iter().cloned());
    findings.extend(contradictions(ctx, opened));
    for (path, entry) in &opened.files.files {
        let (Some(name), Content::Bytes(bytes)) = (opened.dialect.schema_of(path), &entry.content) else { continue };
        let problems = against_schema(name, path, bytes);
        let own = opened.loaded.findings.iter().filter(|finding| finding.file.as_ref() == Some(path)).count();
        files.push(ValidatedFile {
            file: format!("{prefix}{path}"),
            schema: Some(name.to_owned()),
            problems: problems.len() + own,
            rewritten: None,
        });
        findings.extend(problems);
    }
}

/// Returns where the steps of a run contradict each other or their witnesses, which only planning shows.
fn contradictions(ctx: &ProjectContext, opened: &OpenedRun) -> Vec<Finding> {
    let Some(run) = &opened.loaded.run else { return Vec::new() };
    let known = &opened.loaded.findings;
    let evidence = ctx.evidence(opened, false);
    let header = opened.header(run, String::new());
    let planned = engine::plan(run, header, &evidence, known.clone(), &Options::at(ctx.clock.now));
    let is_new = |finding: &Finding| finding.code.is_of(FindingClass::StepConflict) && !known.contains(finding);
    planned.findings.into_iter().filter(is_new).collect()
}

fn against_schema(name: &str, path: &RelPath, bytes: &[u8]) -> Vec<Finding> {
    let Some(subject) = schema::Subject::named(name) else { return Vec::new() };
    let Ok(root) = parse_json(bytes) else { return Vec::new() };
    let problems = schema::validate(subject, &root.to_json());
    let placed = problems.into_iter().map(|finding| {
        let node = finding.pointer.as_deref().and_then(|pointer| root.at(pointer));
        let finding = finding.at(path);
        match node.map(|node| node.place) {
            Some(place) => finding.line(place.line, Some(place.column)),
            None => finding,
        }
    });
    placed.collect()
}

/// Checks a file that belongs to no run, by the schema of the dialect that would own it.
fn check_file(
    ctx: &ProjectContext,
    path: &Utf8Path,
    files: &mut Vec<ValidatedFile>,
    findings: &mut Vec<Finding>,
) -> Result<(), OpError> {
    // Paths in a workflow file are relative to its project.
    let below = RelPath::below(path, &ctx.project.root);
    let parent = path.parent().map_or_else(|| Utf8PathBuf::from("/"), Utf8Path::to_owned);
    let name = RelPath::parse(path.file_name().unwrap_or_default())?;
    let root = if below.is_some() { &ctx.project.root } else { &parent };
    let file = below.as_ref().map_or(path.as_str(), RelPath::as_str).to_owned();
    let shown = below.unwrap_or_else(|| name.clone());
    let content = store::read_file(&parent, &name);
    let mut rewritten = None;
    let mut schema_name = dialect::DIALECTS.iter().find_map(|dialect| dialect.schema_of(&name));
    let before = findings.len();
    match content {
        Content::Bytes(bytes) if schema_name.is_none() && looks_like_workflow(&name, &bytes) => {
            schema_name = Some("workflow");
            let checked = workflow_file::check(root, &shown, &bytes);
            findings.extend(checked.findings);
            findings.extend(checked.notes);
            findings.extend(checked.workflow.and_then(|read| workflow_file::without_instructions(&shown, &read)));
            rewritten = checked.rewritten;
        }
        Content::Bytes(bytes) => match parse_json(&bytes) {
            Ok(_) => {
                findings.extend(schema_name.map(|schema| against_schema(schema, &name, &bytes)).unwrap_or_default())
            }
            Err(error) => findings.push(
                Finding::new(FindingCode::StateUnreadable, format!("{name}: {}", error.message))
                    .at(&name)
                    .line(error.place.line, Some(error.place.column)),
            ),
        },
        Content::Problem(problem) => {
            findings.push(Finding::new(FindingCode::StateUnreadable, format!("{name}: {problem}")).at(&name));
        }
        Content::NameOnly => {}
    }
    let problems = findings.len() - before;
    let schema = schema_name.map(str::to_owned);
    files.push(ValidatedFile { file, schema, problems, rewritten });
    Ok(())
}
