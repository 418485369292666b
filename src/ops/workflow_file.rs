//! Workflow files: finds them by path or name, checks them, and validates outputs against the schemas they declare.

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use super::{OpError, opened_run::OpenedRun};
use crate::{
    dialect::piton::record::Source,
    document::json_value,
    engine::{Refusal, RefusalKind, quoted},
    model::{
        Content, DialectId, Evidence, FileFact, Finding, FindingCode, Fix, Listing, No, Outcome, OutputSchema,
        RESULT_LIMIT, ReadProblem, RelPath, Run, StatementKind, Status, Suggested, Verb, clean_line, nearest,
    },
    schema,
    store::{self, Project, Scope},
    workflow::{self, BUILT_IN, Command, Parsed, Step, Workflow, template::Template},
};

/// The folders of a project's workflows, in the order in which a name is looked up.
const FOLDERS: [&str; 2] = [".claude/piton", "piton"];
/// The number of steps that a finding names.
const NAMED_STEPS: usize = 8;
const SUFFIXES: [&str; 3] = [".yaml", ".yml", ".json"];

/// A valid workflow file.
#[derive(Debug)]
pub(crate) struct LoadedWorkflow {
    pub(crate) workflow: Workflow,
    pub(crate) source: Source,
    /// The digest of the file and of those that it includes.
    pub(crate) sha256: String,
    /// The files that it includes.
    pub(crate) included: Vec<RelPath>,
}

/// The text of a workflow file.
struct Text {
    folder: Utf8PathBuf,
    name: RelPath,
    bytes: Vec<u8>,
}

/// Finds a workflow file for agents by path or name, as [`load`] does.
///
/// # Errors
///
/// As [`load`], and if only `piton run` can carry it out.
pub(crate) fn find(project: &Project, workflow: &str, in_worktree: bool) -> Result<Option<LoadedWorkflow>, OpError> {
    let Some(loaded) = load(project, workflow)? else { return Ok(None) };
    if !in_worktree && loaded.workflow.merge.is_some() {
        let message = format!("{}: `merge` is about the worktree of a run", loaded.source.file);
        let again = Suggested::of(Verb::Start, workflow).option("feature", "NAME").flag("worktree").into();
        return Err(OpError::Usage { message, hints: vec![again, Suggested::of(Verb::Run, workflow).into()] });
    }
    if let Some(why) = not_for_agents(&loaded.workflow) {
        let message = format!("{}: {why}", loaded.source.file);
        let hints = vec![
            Suggested::of(Verb::Run, workflow).into(),
            "or leave it out: an agent that drives its steps waits, repeats and decides by itself".into(),
        ];
        return Err(OpError::Usage { message, hints });
    }
    Ok(Some(loaded))
}

/// Finds a workflow file by path or name; `None` if the project has no workflow of that name.
///
/// # Errors
///
/// If the path does not exist, the file cannot be read, or it has mistakes: all of them, each with line and column.
pub(super) fn load(project: &Project, workflow: &str) -> Result<Option<LoadedWorkflow>, OpError> {
    let Some(text) = locate(project, workflow)? else { return Ok(None) };
    let checked = check(&text.folder, &text.name, &text.bytes);
    let Some(definition) = checked.workflow else {
        return Err(OpError::DefinitionInvalid { file: text.name.as_str().to_owned(), findings: checked.findings });
    };
    let source = Source { root: text.folder, file: text.name };
    let Parsed { sha256, included, .. } = checked;
    Ok(Some(LoadedWorkflow { workflow: definition, source, sha256, included }))
}

/// Returns the path of the workflow file of a name, for a verb that takes files; `None` if the project has no such file.
pub(crate) fn path_of(project: &Project, name: &str) -> Option<Utf8PathBuf> {
    locate(project, name).ok().flatten().map(|text| text.name.under(&text.folder))
}

/// Returns why a workflow cannot be begun for agents: a step or setting of it that only `piton run` carries out.
pub(super) fn not_for_agents(workflow: &Workflow) -> Option<String> {
    workflow.steps.iter().find_map(|step| {
        let id = &step.id;
        let instructions = match &step.command {
            Command::Agent(work) => work.instructions.as_ref(),
            Command::Gate(gate) => gate.instructions.as_ref(),
            Command::Shell(_)
            | Command::Claude(_)
            | Command::Foreach(_)
            | Command::WriteFile(_)
            | Command::Validate(_) => return None,
        };
        let told = instructions.map(|told| told.template.references()).unwrap_or_default();
        let around = step.env.values().chain(&step.working_dir).flat_map(Template::references);
        if let Some(reference) = around.into_iter().find(|reference| !workflow.is_for_briefs(&reference.path)) {
            let name = &reference.path;
            let why = "which no brief shows: it is a secret, of the environment, or from git";
            return Some(format!("`env` or `working_dir` of step {id} has `${{{name}}}`, {why}"));
        }
        if let Some(reference) = told.into_iter().find(|reference| !workflow.is_for_briefs(&reference.path)) {
            let name = &reference.path;
            let why = "it is a secret, of the environment, or from git";
            return Some(format!("the instructions of step {id} have `${{{name}}}`, which no brief shows: {why}"));
        }
        let asked = step.when.iter().flat_map(|when| when.condition.references());
        let asked = asked.map(|reference| &reference.path);
        if let Some(name) = asked.into_iter().find(|name| !workflow.is_for_briefs(name)) {
            let why = "its value is a secret, of the environment, or from git";
            let run = Suggested::new(Verb::Run);
            return Some(format!("`when` of step {id} asks for `${{{name}}}`, which only `{run}` knows: {why}"));
        }
        None
    })
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
    let own = own_of(project);
    let near = nearest(workflow, known.iter().copied().chain(own.iter().map(|(name, _)| name.as_str())));
    let mut hints: Vec<Fix> = near.map(did_you_mean).into_iter().collect();
    hints.push(format!("known workflows: {}", known.join(", ")).into());
    hints.extend(in_folders(&own));
    if own.is_empty() {
        let start = Suggested::of(Verb::Start, "FILE").option("feature", "NAME");
        hints.push(format!("a custom one: {}/NAME.yaml, or `{start}`", FOLDERS[0]).into());
    }
    hints.push(template());
    OpError::Usage { message: format!("there is no workflow `{workflow}`"), hints }
}

/// Returns hints for a workflow file that does not exist, or for a name that no file has: the nearest one, and those that are there.
pub(crate) fn hints_for_missing(project: &Project, workflow: &str) -> Vec<Fix> {
    if !is_path(workflow) {
        let own = own_of(project);
        let near = nearest(workflow, own.iter().map(|(name, _)| name.as_str())).map(did_you_mean);
        return near.into_iter().chain(in_folders(&own)).collect();
    }
    let (folder, name) = workflow.rsplit_once('/').map_or(("", workflow), |(folder, name)| (folder, name));
    let place = project.cwd.join(folder);
    let files: Vec<String> = SUFFIXES.iter().flat_map(|suffix| store::names_with(&place, suffix)).collect();
    let near = nearest(name, files.iter().map(String::as_str));
    let near =
        near.map(|near| did_you_mean(if folder.is_empty() { near.to_owned() } else { format!("{folder}/{near}") }));
    vec![near.unwrap_or_else(|| "paths are relative to the current folder".into())]
}

fn did_you_mean(name: impl AsRef<str>) -> Fix {
    format!("did you mean `{}`?", clean_line(name.as_ref(), 200)).into()
}

fn own_of(project: &Project) -> Vec<(String, RelPath)> {
    store::listings(project, Scope::Whole, &|_| false).first().map(own_files).unwrap_or_default()
}

/// Returns a line for each folder of workflow files, with their names.
fn in_folders(own: &[(String, RelPath)]) -> impl Iterator<Item = Fix> {
    FOLDERS.into_iter().filter_map(|folder| {
        let here = own.iter().filter(|(_, path)| path.parent().is_some_and(|parent| parent.as_str() == folder));
        let names: Vec<&str> = here.map(|(name, _)| name.as_str()).collect();
        (!names.is_empty()).then(|| format!("in {folder}: {}", names.join(", ")).into())
    })
}

/// Returns the workflow files in the folders for them, each with its name, in the order in which a name is looked up.
pub(super) fn own_files(listing: &Listing) -> Vec<(String, RelPath)> {
    let ranked = |path: &RelPath| {
        let parent = path.parent()?;
        let folder = FOLDERS.iter().position(|folder| parent.as_str() == *folder)?;
        let (suffix, stem) =
            SUFFIXES.iter().enumerate().find_map(|(at, suffix)| Some((at, path.name().strip_suffix(suffix)?)))?;
        Some((folder, stem.to_owned(), suffix, path.clone()))
    };
    let files = listing.entries.iter().filter(|entry| !entry.is_dir);
    let mut found: Vec<_> = files.filter_map(|entry| ranked(&entry.path)).collect();
    found.sort();
    found.into_iter().map(|(_, name, _, path)| (name, path)).collect()
}

/// Tells whether a workflow is named by the path of its file, and not by a name.
pub(crate) fn is_path(workflow: &str) -> bool {
    workflow.contains('/') || SUFFIXES.iter().any(|suffix| workflow.ends_with(suffix))
}

fn locate(project: &Project, workflow: &str) -> Result<Option<Text>, OpError> {
    let root = &project.root;
    if is_path(workflow) {
        let given = if workflow.starts_with('/') { workflow.to_owned() } else { format!("./{workflow}") };
        let path = store::existing_path(&project.cwd, &given).ok_or_else(|| OpError::Usage {
            message: format!("there is no workflow file {workflow}"),
            hints: hints_for_missing(project, workflow),
        })?;
        if !SUFFIXES.iter().any(|suffix| workflow.ends_with(suffix)) {
            return Err(no_workflow_file(workflow));
        }
        let below = RelPath::below(&path, root);
        let (folder, name) = match below {
            Some(name) => (root.clone(), name),
            None => {
                let folder = path.parent().map_or_else(|| Utf8PathBuf::from("/"), Utf8Path::to_owned);
                (folder, RelPath::parse(path.file_name().unwrap_or_default())?)
            }
        };
        return read(folder, name).map(Some);
    }
    for (folder, suffix) in FOLDERS.iter().flat_map(|folder| SUFFIXES.map(|suffix| (folder, suffix))) {
        let Ok(name) = RelPath::parse(&format!("{folder}/{workflow}{suffix}")) else { return Ok(None) };
        if store::read_file(root, &name) != Content::Problem(ReadProblem::Missing) {
            return read(root.clone(), name).map(Some);
        }
    }
    match store::existing_path(&project.cwd, &format!("./{workflow}")) {
        Some(_) if !BUILT_IN.iter().any(|one| one.name == workflow) => Err(no_workflow_file(workflow)),
        Some(_) | None => Ok(None),
    }
}

fn template() -> Fix {
    format!("a template: `{}`", Suggested::new(Verb::Start).option("print", "nine-step")).into()
}

/// Returns the error for a file of another kind, such as a check list in Markdown.
fn no_workflow_file(path: &str) -> OpError {
    OpError::Usage {
        message: format!("{path} is not a workflow file; one lists its steps in YAML or JSON"),
        hints: vec![
            "write each step as `- {id: NAME, title: TEXT, agent: NAME}` below `steps:` in a file that ends in .yaml"
                .into(),
            template(),
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
pub(super) fn without_instructions(file: &RelPath, workflow: &Workflow) -> Option<Finding> {
    let is_bare = |step: &&Step| matches!(&step.command, Command::Agent(work) if work.instructions.is_none());
    let bare: Vec<&str> = workflow.steps.iter().filter(is_bare).map(|step| step.id.as_str()).collect();
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

/// Checks a workflow file and the schemas it declares. There is a workflow if and only if there are no findings.
pub(crate) fn check(root: &Utf8Path, file: &RelPath, bytes: &[u8]) -> Parsed {
    let mut parsed = workflow::parse_with(file, bytes, &|path| store::read_bytes(root, path));
    let mut findings = std::mem::take(&mut parsed.findings);
    for declared in &parsed.output_schemas {
        let problem = match schema_value(root, &declared.schema) {
            Ok(value) => schema::schema_error(&value).map(|problem| format!("is not a JSON Schema: {problem}")),
            Err(problem) => Some(problem),
        };
        let Some(problem) = problem else { continue };
        let what = match &declared.schema {
            OutputSchema::Inline(_) => "this schema".to_owned(),
            OutputSchema::File(path) => format!("the schema {path}"),
        };
        let finding = Finding::new(FindingCode::DefinitionInvalid, format!("{what} {problem}"));
        let fix = format!("correct the schema, which is in step {}", quoted(declared.step.as_str()));
        findings.push(finding.at(file).line(declared.place.line, Some(declared.place.column)).fix(fix));
    }
    if let Some(read) = &parsed.workflow {
        let declared = read.expected_schemas().into_iter();
        findings.extend(schema::invalid_schemas(
            file,
            declared.map(|(step, schema)| (&step.id, schema, (step.place.line, step.place.column))),
        ));
        for input in &read.inputs {
            let Some((pattern, place)) = &input.pattern else { continue };
            if let Some(problem) = schema::schema_error(&json!({"pattern": pattern})) {
                let message = format!("the `pattern` of `{}` is not a regular expression: {problem}", input.name);
                let finding = Finding::new(FindingCode::DefinitionInvalid, message).at(file);
                findings.push(finding.line(place.line, Some(place.column)).fix("correct the pattern"));
            }
        }
    }
    findings.sort_by_key(|finding| (finding.line, finding.column));
    parsed.workflow = parsed.workflow.filter(|_| findings.is_empty());
    parsed.findings = findings;
    parsed
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

/// Checks the result that a step ends with against the schema that it declares.
///
/// # Errors
///
/// If it is missing where one is declared, given where none is, too large, or does not fit.
pub(super) fn check_result(opened: &OpenedRun, run: &Run, outcome: &Outcome) -> Result<(), OpError> {
    let Some(step) = run.step(&outcome.step).filter(|_| outcome.part.is_none()) else { return Ok(()) };
    let id = &step.id;
    let refuse = |message: String| {
        let hint = Suggested::on_step(Verb::Finish, id, &run.id).option("result", "JSON");
        Err(OpError::Refused(Refusal { kind: RefusalKind::No(No::Invalid), message, hints: vec![hint.into()] }))
    };
    let declared = step.definition.get("result").filter(|_| run.dialect == DialectId::Piton);
    let (Some(schema), result) = (declared, &outcome.result) else {
        return match outcome.result {
            Some(_) => refuse(format!("{id} declares no `result`, so none can be kept")),
            None => Ok(()),
        };
    };
    if outcome.status != Status::Completed || outcome.amends {
        return Ok(());
    }
    let Some(result) = result else { return refuse(format!("{id} ends with a `result`, and none was given")) };
    if result.to_string().len() > RESULT_LIMIT {
        return refuse(format!("the result of {id} is larger than {RESULT_LIMIT} bytes; let the step write a file"));
    }
    let schema = match schema {
        Value::String(path) => json(opened.base(), &RelPath::parse(path)?).map_err(|why| format!("{path} {why}")),
        schema => Ok(schema.clone()),
    };
    match schema.and_then(|schema| schema::violation(&schema, result)) {
        Ok(None) => Ok(()),
        Ok(Some(why)) => refuse(format!("the result of {id} does not fit its schema: {why}")),
        Err(why) => refuse(format!("the result of {id} cannot be checked: {why}")),
    }
}

/// Tells whether a step asks what git has had since it began.
pub(super) fn needs_head(step: &crate::model::Step) -> bool {
    ["commit_required", "validate", "on_failure"].iter().any(|key| step.definition.get(key).is_some())
}

/// Checks that a step which has to make a commit made one.
///
/// # Errors
///
/// If HEAD is where it was when the step began.
pub(super) fn check_commit(opened: &OpenedRun, run: &Run, outcome: &Outcome) -> Result<(), OpError> {
    let is_done = outcome.part.is_none() && outcome.status == Status::Completed && !outcome.amends;
    let step = run.step(&outcome.step).filter(|_| is_done && run.dialect == DialectId::Piton);
    let Some(step) = step.filter(|step| step.definition.get("commit_required").is_some()) else { return Ok(()) };
    let mut heads = Vec::new();
    for statement in opened.statements(run) {
        match statement.kind {
            StatementKind::Begun(attempt) if attempt.step == step.id => heads.push(attempt.head),
            // What was begun before was recorded as done.
            StatementKind::Report(report) if report.step == step.id => heads.clear(),
            StatementKind::Begun(_) | StatementKind::Report(_) | StatementKind::Decision(_) => {}
        }
    }
    let now = store::git::head(opened.base()).and_then(|head| head.sha);
    let has_commit = match heads.is_empty() {
        // It was not begun: the commit is of the time since the steps before it.
        true => {
            let ends = step.depends_on.iter().filter_map(|need| run.step(need)?.finished_at);
            let since = ends.max().or(run.started_at);
            let last = store::git::head_committed_at(opened.base());
            last.zip(since).is_some_and(|(last, since)| last.unix_seconds() >= since.unix_seconds())
        }
        false => now.is_some() && heads.iter().any(|head| *head != now),
    };
    if has_commit {
        return Ok(());
    }
    let id = &step.id;
    let again = format!("commit the work, then: `{}`", Suggested::on_step(Verb::Finish, id, &run.id));
    let message = format!("{id} has `commit_required`, and no commit was made");
    Err(OpError::Refused(Refusal { kind: RefusalKind::No(No::NotYet), message, hints: vec![again.into()] }))
}

/// Validates existing outputs against the schemas their steps declare.
pub(crate) fn check_outputs(opened: &OpenedRun, evidence: &mut Evidence) {
    let root = opened.base();
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
