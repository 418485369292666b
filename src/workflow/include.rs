//! Steps of other files: each file is read and checked for itself, with the mistakes at their place in it, and its steps become a group of
//! the workflow. Pure: the caller has the files.

use std::collections::BTreeMap;

use super::{
    Group, Input, Workflow,
    keys::{WORKFLOW_KEYS, references},
    kinds::condition,
    names,
    order::{Listed, conditioned},
    rename::Renamed,
};
use crate::{
    document::{
        Kind, Node,
        definition::{Fields, Problems, Text, identifier, text_of},
        parse_definition,
    },
    model::{Finding, RelPath, clean_line, nearest, sha256_hex},
};

const INCLUDE_KEYS: [&str; 6] = ["include", "id", "title", "depends_on", "when", "inputs"];
/// The keys of a file that is included. What holds for a whole run is in the file that includes.
const INCLUDED_KEYS: [&str; 4] = ["name", "description", "inputs", "steps"];
/// How deep files include each other.
const DEPTH: usize = 8;
/// How many files one workflow includes.
const FILES: usize = 64;

/// A reader of the files that a workflow includes: the content of a file, by its path in the project, or why it cannot be read, as it is
/// said after the name of the file.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&RelPath) -> Result<Vec<u8>, String>;

/// The parser of a file, by its tree and its name.
type Parse = fn(&Node, &str, &mut Includes<'_>, &mut Problems<'_>) -> Workflow;

/// The files that a workflow includes, as far as they were read.
pub(super) struct Includes<'a> {
    read_file: ReadFile<'a>,
    parse: Parse,
    /// The files that are being read, the outermost first.
    open: Vec<RelPath>,
    /// The files that were read, with their digests.
    pub(super) read: Vec<(RelPath, String)>,
    /// What they need, under the names that the steps of the workflow know.
    pub(super) inputs: Vec<Input>,
    /// The mistakes in them.
    pub(super) findings: Vec<Finding>,
}

impl<'a> Includes<'a> {
    pub(super) fn of(file: &RelPath, read_file: ReadFile<'a>, parse: Parse) -> Self {
        Self { read_file, parse, open: vec![file.clone()], read: Vec::new(), inputs: Vec::new(), findings: Vec::new() }
    }

    /// Returns the digest of a file with all that it includes.
    pub(super) fn digest(&self, bytes: &[u8]) -> String {
        let own = sha256_hex(bytes);
        if self.read.is_empty() {
            return own;
        }
        let all = self.read.iter().map(|(path, digest)| format!("{path} {digest}\n"));
        sha256_hex(std::iter::once(format!("{own}\n")).chain(all).collect::<String>().as_bytes())
    }

    /// Reads the steps of the file that an item of `steps` names.
    pub(super) fn steps(&mut self, node: &Node, problems: &mut Problems<'_>) -> Vec<Listed> {
        let Some(mut map) = Fields::of(node, "an `include`", &INCLUDE_KEYS, problems) else { return Vec::new() };
        let path = map.text("include", problems);
        let id = map.take("id").and_then(|node| identifier(node, "the `id` of an `include`", problems));
        let title = map.text("title", problems).map(|title| title.text);
        let needs = map.take("depends_on").map(|node| references(node, problems));
        let when = map.take("when").and_then(|node| condition(node, "`when`", problems));
        let given = map.take("inputs");
        let Some((path, id)) = path.zip(id) else {
            problems.add(node.place, "an `include` needs the path of a file and an `id`", "add `id:`");
            return Vec::new();
        };
        let Some(file) = self.file(&path, problems) else { return Vec::new() };
        let Some(included) = self.workflow(&file, &path, problems) else { return Vec::new() };
        let mut renamed = Renamed::of(&included, &id.text, path.place);
        self.hand_over(&included, (&file, &id.text), (given, node), &mut renamed, problems);
        let group = Group { id: id.text, title, place: id.place };
        let listed = included.steps.into_iter().map(|mut step| {
            let is_entry = step.depends_on.is_empty();
            renamed.step(&mut step);
            step.needs.extend(needs.clone().unwrap_or_default());
            step.group = Some(group.clone());
            Listed { step, is_ordered: !is_entry, is_entry, group_needs: needs.clone() }
        });
        let mut listed: Vec<Listed> = listed.collect();
        conditioned(&mut listed, when.as_ref());
        listed
    }

    /// Returns the path in the project of a file that is named from the one that includes it.
    fn file(&self, text: &Text, problems: &mut Problems<'_>) -> Option<RelPath> {
        let from = self.open.last().and_then(RelPath::parent);
        let mut parts: Vec<&str> = from.as_ref().map(|folder| folder.as_str().split('/').collect()).unwrap_or_default();
        let mut leaves = text.text.starts_with('/');
        for part in text.text.split('/') {
            match part {
                "." => {}
                ".." => leaves |= parts.pop().is_none(),
                part => parts.push(part),
            }
        }
        match RelPath::parse(&parts.join("/")) {
            Ok(path) if !leaves => Some(path),
            Ok(_) => {
                let message = format!("the include `{}` leads out of the project", clean_line(&text.text, 100));
                problems.add(text.place, message, "name a file of the project, from the folder of this one");
                None
            }
            Err(error) => {
                problems.add(text.place, format!("the include cannot be used: {error}"), "name a file of the project");
                None
            }
        }
    }

    /// Reads and checks a file for itself; `None` where it has mistakes, which are kept.
    fn workflow(&mut self, file: &RelPath, path: &Text, problems: &mut Problems<'_>) -> Option<Workflow> {
        if self.open.contains(file) {
            let circle: Vec<&str> = self.open.iter().chain([file]).map(RelPath::as_str).collect();
            let message = format!("files include each other in a cycle: {}", circle.join(" -> "));
            problems.add(path.place, message, "remove one of these includes");
            return None;
        }
        if self.open.len() > DEPTH || self.read.len() >= FILES {
            let message = format!("includes go {DEPTH} files deep, and one workflow includes {FILES} files at most");
            problems.add(path.place, message, "include fewer files");
            return None;
        }
        let bytes = match (self.read_file)(file) {
            Ok(bytes) => bytes,
            Err(why) => {
                problems.add(
                    path.place,
                    format!("the included file {file} {why}"),
                    "correct the path, or add the file",
                );
                return None;
            }
        };
        self.read.push((file.clone(), sha256_hex(&bytes)));
        self.open.push(file.clone());
        let mut own = Problems::of(file);
        let outer = std::mem::take(&mut self.inputs);
        let workflow = self.parsed(&bytes, file, &mut own);
        self.inputs = outer;
        self.open.pop();
        let is_sound = own.is_empty() && workflow.is_some();
        self.findings.extend(own.in_order());
        if !is_sound {
            problems.add(path.place, format!("the included file {file} has mistakes"), format!("correct {file}"));
        }
        workflow.filter(|_| is_sound)
    }

    fn parsed(&mut self, bytes: &[u8], file: &RelPath, problems: &mut Problems<'_>) -> Option<Workflow> {
        let root = match parse_definition(bytes) {
            Ok(root) => root,
            Err(error) => {
                problems.add(error.place, error.message, "correct the syntax");
                return None;
            }
        };
        if let Kind::Map(members) = &root.kind {
            let is_other = |key: &str| WORKFLOW_KEYS.contains(&key) && !INCLUDED_KEYS.contains(&key);
            for member in members.iter().filter(|member| is_other(&member.key)) {
                let message = format!("`{}` is not for a file that is included", member.key);
                problems.add(member.place, message, "write it in the file that includes this one");
            }
        }
        let mut workflow = (self.parse)(&root, file.name(), self, problems);
        workflow.inputs.append(&mut self.inputs);
        if problems.is_empty() {
            names::check(&workflow, problems);
        }
        Some(workflow)
    }

    /// Gives an included file its inputs: a value, or an input of the file that includes it.
    fn hand_over(
        &mut self,
        included: &Workflow,
        (file, id): (&RelPath, &str),
        (given, node): (Option<&Node>, &Node),
        renamed: &mut Renamed,
        problems: &mut Problems<'_>,
    ) {
        let mut values: BTreeMap<&str, Text> = BTreeMap::new();
        if let Some(Node { kind: Kind::Map(members), .. }) = given {
            let names = || included.inputs.iter().map(|input| input.name.as_str());
            for member in members {
                if !names().any(|name| name == member.key) || member.key.contains('.') {
                    let key = clean_line(&member.key, 60);
                    let near = nearest(&member.key, names()).map(|near| format!("; did you mean `{near}`?"));
                    let message = format!("{file} has no input `{key}`{}", near.unwrap_or_default());
                    problems.add(member.place, message, "name one of its inputs");
                    continue;
                }
                let value = match &member.value.kind {
                    Kind::Bool(value) => Some(Text { text: value.to_string(), place: member.value.place }),
                    Kind::Null | Kind::Number(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => {
                        text_of(&member.value, "an input of an `include`", problems)
                    }
                };
                values.extend(value.map(|value| (member.key.as_str(), value)));
            }
        } else if let Some(given) = given {
            problems.add(given.place, "`inputs` is a mapping of names to values", "write `NAME: value` below it");
        }
        for input in &included.inputs {
            let name = format!("{id}.{}", input.name);
            let fixed = |default| Input { name: name.clone(), default: Some(default), ..input.clone() };
            match (values.get(input.name.as_str()), &input.default) {
                (Some(Text { text, .. }), _) if is_reference(text) => {
                    renamed.alias(&input.name, &text[2..text.len() - 1]);
                }
                (Some(text), _) => match input.kind.value(&text.text) {
                    Ok(value) => self.inputs.push(fixed(value)),
                    Err(why) => {
                        problems.add(
                            text.place,
                            format!("the input `{}` {why}", input.name),
                            "write a value of its type",
                        );
                    }
                },
                (None, Some(default)) => self.inputs.push(fixed(default.clone())),
                (None, None) => {
                    let message = format!("{file} needs the input `{}`", input.name);
                    problems.add(node.place, message, format!("add `inputs: {{{}: VALUE}}`", input.name));
                }
            }
        }
    }
}

/// Tells whether a value is one variable and nothing else.
fn is_reference(text: &str) -> bool {
    let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'))
    })
}
