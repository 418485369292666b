//! Lenient reading of the fields of a state: a value of an unusable type is reported and ignored, never fatal.

use std::cell::RefCell;

use super::identity;
use super::kind;
use super::kind::Kind;
use super::time_stamp::parse_time;
use crate::dialect::Loaded;
use crate::dialect::yaml::Kind as Value;
use crate::dialect::yaml::Member;
use crate::dialect::yaml::Node;
use crate::model::DialectId;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Run;
use crate::model::Status;
use crate::model::StepId;
use crate::model::Timestamp;
use crate::model::clean_line;
use crate::model::human_age;

/// Maximum length of an id in a message.
const ID_CHARS: usize = 100;

/// The parsed state of one file, with the findings so far.
pub(super) struct Tree<'a> {
    files: &'a FileSet,
    node: Node,
    findings: RefCell<Vec<Finding>>,
}

/// A location in the state, which may be empty.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    tree: &'a Tree<'a>,
    name: &'a str,
    node: Option<&'a Node>,
    required: bool,
}

impl<'a> Tree<'a> {
    /// Reads the state of a file set, YAML or JSON.
    ///
    /// # Errors
    ///
    /// With the findings, if it does not parse.
    pub(super) fn read(files: &'a FileSet) -> Result<Self, Box<Loaded>> {
        let unreadable =
            |finding: Finding| Box::new(Loaded { findings: vec![finding.at(&files.state)], ..Loaded::default() });
        let Some(bytes) = files.bytes(&files.state) else {
            let problem = files.problem(&files.state).map_or_else(String::new, |problem| problem.to_string());
            return Err(unreadable(Finding::new(FindingCode::StateUnreadable, problem)));
        };
        let node = kind::parse(bytes).map_err(|failure| {
            let (place, message) = failure.describe();
            unreadable(Finding::new(FindingCode::StateUnreadable, message).line(place.line, Some(place.column)))
        })?;
        Ok(Self { files, node, findings: RefCell::default() })
    }

    pub(super) fn root(&'a self) -> Field<'a> {
        Field { tree: self, name: "state", node: Some(&self.node), required: false }
    }

    /// Returns the value of a key at the top.
    pub(super) fn get(&'a self, key: &'a str) -> Field<'a> {
        self.root().get(key)
    }

    pub(super) const fn files(&self) -> &'a FileSet {
        self.files
    }

    /// Adds a finding about the state.
    pub(super) fn report(&self, finding: Finding) {
        self.findings.borrow_mut().push(finding.at(&self.files.state));
    }

    /// Reports a runner that should be active but has written nothing for `limit` seconds, the system's own timeout.
    pub(super) fn report_abandoned(&self, last: Option<Timestamp>, limit: i64) {
        let Some(age) = last.map(|last| self.files.clock.now.seconds_since(last)) else { return };
        if age > limit {
            let message = format!("nothing was written for {}; the runner is considered gone", human_age(age));
            self.report(Finding::new(FindingCode::OwnerGone, message));
        }
    }

    /// Returns the subject of the run for display: an epic, a story or a workflow instance.
    pub(super) fn subject(&self, kind: Kind) -> String {
        clean_line(&identity::subject(kind, &self.node, &self.files.state), ID_CHARS)
    }

    /// Returns a run of the workflow without steps.
    pub(super) fn run(&self, kind: Kind, workflow: &str, title: String) -> Run {
        let files = vec![self.files.state.clone()];
        let run = Run::new(kind.run_id(&self.subject(kind)), DialectId::Aios, title, workflow, files);
        Run { writable: !self.is_newer(kind), ..run }
    }

    /// Returns whether a newer version of its system wrote the state, and reports it.
    fn is_newer(&self, kind: Kind) -> bool {
        let Some((path, known)) = kind.version() else { return false };
        let field = path.iter().fold(self.root(), |field, key| field.get(key));
        let Some(version) = field.id() else { return false };
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        let is_newer = major.is_some_and(|major| major > known);
        if is_newer {
            let message =
                format!("the state has version {}; this piton writes version {known}", clean_line(&version, ID_CHARS));
            field.report(Finding::new(FindingCode::FormatNewer, message).fix("update piton"));
        }
        is_newer
    }

    /// Returns the run with all findings.
    pub(super) fn loaded(self, run: Run) -> Loaded {
        Loaded { run: Some(run), findings: self.findings.into_inner(), ..Loaded::default() }
    }
}

impl<'a> Field<'a> {
    /// Returns the value of a key; an empty field if the key is missing or this is not a mapping.
    pub(super) fn get(self, key: &'a str) -> Self {
        Self { tree: self.tree, name: key, node: self.node.and_then(|node| kind::get(node, key)), required: false }
    }

    /// Returns the first of two keys that has a value; the spelling differs between programs and documentation.
    pub(super) fn either(self, keys: [&'a str; 2]) -> Self {
        let [first, second] = keys.map(|key| self.get(key));
        if first.is_there() || !second.is_there() { first } else { second }
    }

    /// Marks the field as required: if it is missing or has the wrong type, the finding blocks.
    pub(super) const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Returns whether there is a value other than `null`.
    pub(super) fn is_there(self) -> bool {
        self.node.is_some_and(|node| !matches!(node.kind, Value::Null))
    }

    /// Returns whether the value is written as a number.
    pub(super) fn is_number(self) -> bool {
        self.node.is_some_and(|node| matches!(node.kind, Value::Number(_)))
    }

    /// Adds a finding at this location in the state.
    pub(super) fn report(self, finding: Finding) {
        self.tree.report(match self.node {
            Some(node) => finding.line(node.place.line, Some(node.place.column)),
            None => finding,
        });
    }

    fn value(self) -> Option<&'a Node> {
        let node = self.node.filter(|_| self.is_there());
        if node.is_none() && self.required {
            let message = format!("`{}` is missing", self.name.escape_debug());
            self.tree.report(Finding::new(FindingCode::StateMissingField, message));
        }
        node
    }

    fn report_type(self, node: &Node, wanted: &str) {
        let (code, tail) = if self.required {
            (FindingCode::StateWrongType, "")
        } else {
            (FindingCode::FieldIgnored, " and was ignored")
        };
        let message = format!("`{}` is {}, not {wanted}{tail}", clean_line(self.name, ID_CHARS), node.what());
        self.report(Finding::new(code, message));
    }

    /// Returns a scalar as written.
    pub(super) fn text(self) -> Option<&'a str> {
        let node = self.value()?;
        let text = kind::text(node);
        if text.is_none() {
            self.report_type(node, "text");
        }
        text
    }

    /// Returns a non-empty text, cleaned for use as an id.
    pub(super) fn id(self) -> Option<String> {
        self.text().map(|text| clean_line(text, ID_CHARS)).filter(|text| !text.is_empty())
    }

    /// Returns the name of an agent without its `@`.
    pub(super) fn agent(self) -> Option<String> {
        self.id().map(|agent| agent.trim_start_matches('@').to_owned())
    }

    /// Returns a count.
    pub(super) fn number(self) -> Option<u32> {
        let node = self.value()?;
        let number = kind::text(node).and_then(|text| text.trim().parse().ok());
        if number.is_none() {
            self.report_type(node, "a count");
        }
        number
    }

    /// Returns a timestamp, see [`parse_time`].
    pub(super) fn time(self) -> Option<Timestamp> {
        let node = self.value()?;
        let offset = self.tree.files.clock.utc_offset_seconds;
        let time = kind::text(node).and_then(|text| parse_time(text, offset));
        if time.is_none() {
            self.report_type(node, "a point in time");
        }
        time
    }

    /// Returns the keys of a mapping with their values, in the order of the file.
    pub(super) fn members(self) -> Vec<(&'a str, Self)> {
        let Some(node) = self.value() else { return Vec::new() };
        let Value::Map(members) = &node.kind else {
            self.report_type(node, "a mapping");
            return Vec::new();
        };
        let field = |member: &'a Member| {
            (member.key.as_str(), Self { name: &member.key, node: Some(&member.value), required: false, ..self })
        };
        members.iter().map(field).collect()
    }

    /// Returns the elements of a list.
    pub(super) fn items(self) -> Vec<Self> {
        let Some(node) = self.value() else { return Vec::new() };
        let Value::List(items) = &node.kind else {
            self.report_type(node, "a list");
            return Vec::new();
        };
        items.iter().map(|item| Self { node: Some(item), required: false, ..self }).collect()
    }

    /// Reports a word that is not in the system's vocabulary.
    pub(super) fn report_unknown(self, code: FindingCode, word: &str, step: Option<&StepId>) {
        let message = match step {
            Some(step) => format!("`{}` of {step} is `{}`", self.name, clean_line(word, ID_CHARS)),
            None => format!("`{}` is `{}`", self.name, clean_line(word, ID_CHARS)),
        };
        let finding = Finding::new(code, format!("{message}, which is unknown"));
        self.report(match step {
            Some(step) => finding.on(step),
            None => finding,
        });
    }

    /// Reads the status of a step.
    pub(super) fn status(self, step: &StepId) -> Status {
        let Some(word) = self.text() else { return Status::Pending };
        match word.trim().to_lowercase().as_str() {
            "pending" => Status::Pending,
            "in_progress" => Status::InProgress,
            "completed" | "complete" => Status::Completed,
            "failed" => Status::Failed,
            "skipped" => Status::Skipped,
            _ => {
                self.report_unknown(FindingCode::StatusUnknown, word, Some(step));
                Status::Pending
            }
        }
    }
}
