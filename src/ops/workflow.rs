//! Workflow files: finds them by path or name, checks them, and validates outputs against the schemas they declare.

use camino::Utf8Path;
use camino::Utf8PathBuf;
use serde_json::Value;

use super::OpError;
use super::opened_run::OpenedRun;
use crate::dialect;
use crate::dialect::BUILT_IN;
use crate::dialect::script::spec;
use crate::document::json_value;
use crate::engine::quoted;
use crate::model::Content;
use crate::model::Evidence;
use crate::model::FileFact;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Listing;
use crate::model::OutputSchema;
use crate::model::ReadProblem;
use crate::model::RelPath;
use crate::model::sha256_hex;
use crate::schema;
use crate::store;
use crate::store::Project;
use crate::store::Scope;

/// The folder of a project's workflows, searched by `start NAME`.
const FOLDER: &str = ".claude/piton";
/// The number of steps that a finding names.
const NAMED_STEPS: usize = 8;
const SUFFIXES: [&str; 3] = [".yaml", ".yml", ".json"];

/// A valid workflow file.
#[derive(Debug)]
pub(crate) struct LoadedWorkflow {
    pub(crate) definition: Value,
    /// The file, when it lies below the project's root.
    pub(crate) source: Option<RelPath>,
    pub(crate) sha256: String,
}

/// The text of a workflow file.
struct Text {
    folder: Utf8PathBuf,
    name: RelPath,
    bytes: Vec<u8>,
}

/// Finds a workflow file by path or name; `None` if the project has no workflow of that name.
///
/// # Errors
///
/// If the path does not exist, the file cannot be read, or it has mistakes: all of them, each with line and column.
pub(crate) fn find(project: &Project, workflow: &str) -> Result<Option<LoadedWorkflow>, OpError> {
    let Some(text) = locate(project, workflow)? else { return Ok(None) };
    let (definition, findings) = check(&text.folder, &text.name, &text.bytes);
    match definition {
        Some(definition) => {
            let source = (text.folder == project.root).then_some(text.name);
            Ok(Some(LoadedWorkflow { definition, source, sha256: sha256_hex(&text.bytes) }))
        }
        None if spec::looks_like_script(&text.name, &text.bytes) => {
            let message = format!("{} has commands, which `piton run` runs; `start` takes steps for agents", text.name);
            Err(OpError::Usage { message, hints: vec![format!("piton run {}", quoted(workflow))] })
        }
        None => Err(OpError::DefinitionInvalid { file: text.name.as_str().to_owned(), findings }),
    }
}

/// Returns the text of a workflow: a built-in one, else one of the project.
pub(crate) fn print(project: &Project, workflow: &str) -> Result<String, OpError> {
    let built_in = BUILT_IN.iter().find(|one| one.name == workflow).map(|one| one.text.to_owned());
    let text = match built_in {
        Some(text) => Some(text),
        None => locate(project, workflow)?.map(|text| String::from_utf8_lossy(&text.bytes).into_owned()),
    };
    text.ok_or_else(|| unknown(project, workflow, BUILT_IN.iter().map(|one| one.name)))
}

/// Returns the error for an unknown workflow, with the known ones.
pub(crate) fn unknown<'a>(project: &Project, workflow: &str, known: impl Iterator<Item = &'a str>) -> OpError {
    let known: Vec<&str> = known.collect();
    let mut hints = vec![format!("known workflows: {}", known.join(", "))];
    let listings = store::listings(project, Scope::Whole, &|_| false);
    let own: Vec<String> = listings.first().map(own_names).unwrap_or_default();
    match own.as_slice() {
        [] => hints.push(format!("a custom one: {FOLDER}/NAME.yaml, or `piton start FILE --feature NAME`")),
        own => hints.push(format!("in {FOLDER}: {}", own.join(", "))),
    }
    hints.push("a template: `piton start --print nine-step`".to_owned());
    OpError::Usage { message: format!("there is no workflow `{workflow}`"), hints }
}

/// Returns the names of the workflows in the folder for them.
pub(super) fn own_names(listing: &Listing) -> Vec<String> {
    let name = |path: &str| {
        let name = path.strip_prefix(FOLDER)?.strip_prefix('/')?;
        let stem = SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix))?;
        (!stem.contains('/')).then(|| stem.to_owned())
    };
    listing.entries.iter().filter_map(|entry| name(entry.path.as_str())).collect()
}

fn locate(project: &Project, workflow: &str) -> Result<Option<Text>, OpError> {
    let root = &project.root;
    let is_file_name = SUFFIXES.iter().any(|suffix| workflow.ends_with(suffix));
    if workflow.contains('/') || is_file_name {
        let given = if workflow.starts_with('/') { workflow.to_owned() } else { format!("./{workflow}") };
        let path = store::existing_path(&project.cwd, &given).ok_or_else(|| OpError::Usage {
            message: format!("there is no workflow file {workflow}"),
            hints: vec!["paths are relative to the current folder".to_owned()],
        })?;
        if !is_file_name {
            return Err(no_workflow_file(workflow));
        }
        let below = path.strip_prefix(root).ok().and_then(|path| RelPath::parse(path.as_str()).ok());
        let (folder, name) = match below {
            Some(name) => (root.clone(), name),
            None => {
                let folder = path.parent().map_or_else(|| Utf8PathBuf::from("/"), Utf8Path::to_owned);
                (folder, RelPath::parse(path.file_name().unwrap_or_default())?)
            }
        };
        return read(folder, name).map(Some);
    }
    for suffix in SUFFIXES {
        let Ok(name) = RelPath::parse(&format!("{FOLDER}/{workflow}{suffix}")) else { return Ok(None) };
        if store::read_file(root, &name) != Content::Problem(ReadProblem::Missing) {
            return read(root.clone(), name).map(Some);
        }
    }
    match store::existing_path(&project.cwd, &format!("./{workflow}")) {
        Some(_) if !BUILT_IN.iter().any(|one| one.name == workflow) => Err(no_workflow_file(workflow)),
        Some(_) | None => Ok(None),
    }
}

/// Returns the error for a file of another kind, such as a check list in Markdown.
fn no_workflow_file(path: &str) -> OpError {
    OpError::Usage {
        message: format!("{path} is not a workflow file; one lists its steps in YAML or JSON"),
        hints: vec![
            "write each step as `- {id: NAME, title: TEXT, agent: NAME}` below `steps:` in a file that ends in .yaml"
                .to_owned(),
            "a template: `piton start --print nine-step`".to_owned(),
        ],
    }
}

fn read(folder: Utf8PathBuf, name: RelPath) -> Result<Text, OpError> {
    let problem = match store::read_file(&folder, &name) {
        Content::Bytes(bytes) => return Ok(Text { folder, name, bytes: bytes.to_vec() }),
        Content::Problem(problem) => problem,
        Content::NameOnly => ReadProblem::Missing,
    };
    let message = format!("the workflow file {name} cannot be read: {problem}");
    Err(OpError::Unreadable { message, findings: Vec::new() })
}

/// Returns a finding that names the steps whose agents are told nothing but a title.
pub(super) fn without_instructions(file: &RelPath, definition: &Value) -> Option<Finding> {
    let phases = definition.get("phases").and_then(Value::as_array).into_iter().flatten();
    let listed = phases.chain([definition]).filter_map(|holder| holder.get("steps")?.as_array());
    let is_bare = |step: &&Value| step.get("instructions").is_none() && step.get("gate").is_none();
    let bare: Vec<&str> = listed.flatten().filter(is_bare).filter_map(|step| step.get("id")?.as_str()).collect();
    let (named, more) = bare.split_at(bare.len().min(NAMED_STEPS));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    (!bare.is_empty()).then(|| {
        let message =
            format!("without `instructions`, an agent is told a title and nothing else: {}{more}", named.join(", "));
        Finding::new(FindingCode::InstructionsMissing, message)
            .at(file)
            .fix("add `instructions:` to each of these steps")
    })
}

/// Checks a workflow file and the schemas it declares. Returns a definition if and only if there are no findings.
pub(crate) fn check(root: &Utf8Path, file: &RelPath, bytes: &[u8]) -> (Option<Value>, Vec<Finding>) {
    let mut checked = dialect::check_definition(file, bytes);
    for declared in &checked.schemas {
        let problem = match schema_value(root, &declared.schema) {
            Ok(value) => schema::schema_error(&value).map(|problem| format!("is not a JSON Schema: {problem}")),
            Err(problem) => Some(problem),
        };
        if let Some(problem) = problem {
            let what = match &declared.schema {
                OutputSchema::Inline(_) => "this schema".to_owned(),
                OutputSchema::File(path) => format!("the schema {path}"),
            };
            let finding = Finding::new(FindingCode::DefinitionInvalid, format!("{what} {problem}"));
            let fix = format!("correct the schema of an output of {}", quoted(declared.step.as_str()));
            checked.findings.push(finding.at(file).line(declared.line, Some(declared.column)).fix(fix));
        }
    }
    checked.findings.sort_by_key(|finding| (finding.line, finding.column));
    (checked.definition.filter(|_| checked.findings.is_empty()), checked.findings)
}

/// Checks a workflow file of the runner and the schemas it declares.
pub(crate) fn check_script(file: &RelPath, bytes: &[u8]) -> Vec<Finding> {
    let parsed = spec::parse(file, bytes);
    let Some(workflow) = &parsed.workflow else { return parsed.findings };
    let declared = workflow.expected_schemas().into_iter();
    schema::invalid_schemas(
        file,
        declared.map(|(step, schema)| (&step.id, schema, (step.place.line, step.place.column))),
    )
}

fn schema_value(root: &Utf8Path, schema: &OutputSchema) -> Result<Value, String> {
    match schema {
        OutputSchema::Inline(value) => Ok(value.clone()),
        OutputSchema::File(path) => json(root, path),
    }
}

fn json(root: &Utf8Path, path: &RelPath) -> Result<Value, String> {
    match store::read_file(root, path) {
        Content::Bytes(bytes) => {
            json_value(&bytes).map_err(|error| format!("is not JSON: line {}: {}", error.place.line, error.message))
        }
        Content::Problem(problem) => Err(format!("cannot be read: {problem}")),
        Content::NameOnly => Err("cannot be read".to_owned()),
    }
}

/// Validates existing outputs against the schemas their steps declare.
pub(crate) fn check_outputs(opened: &OpenedRun, evidence: &mut Evidence) {
    let root = &opened.files.root;
    for wanted in &opened.loaded.wanted.outputs {
        let Some(schema) = &wanted.schema else { continue };
        let Some(FileFact::Present { bytes: 1.., parses, violation, .. }) = evidence.files.get_mut(&wanted.path) else {
            continue;
        };
        if *parses == Some(false) {
            continue;
        }
        let found = schema_value(root, schema).map_err(|problem| format!("the schema {problem}")).and_then(|schema| {
            let value = json(root, &wanted.path).map_err(|problem| format!("it {problem}"))?;
            schema::violation(&schema, &value).map_err(|problem| format!("the schema is invalid: {problem}"))
        });
        *violation = found.unwrap_or_else(Some);
    }
}
