//! Lenient reading of a state: a value of an unusable type is reported and counts as missing. It never fails on content.

use std::cell::RefCell;

use super::{
    ParseError, Syntax, parse,
    tree::{Kind, Member, Node},
};
use crate::model::{FileSet, Finding, FindingCode, ReadProblem, RelPath, StepId, Timestamp, clean_line};

/// Maximum length of an id in a message.
const ID_CHARS: usize = 100;

/// The parsed content of one file, with the findings about it so far.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    files: &'a FileSet,
    file: RelPath,
    root: Node,
    findings: RefCell<Vec<Finding>>,
}

/// A location in the file, which may be empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    reader: &'a Reader<'a>,
    name: &'a str,
    node: Option<&'a Node>,
    is_required: bool,
}

/// Why a file of a state could not be read.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// The bytes are not there.
    Unread(ReadProblem),
    /// The content does not parse.
    Broken(ParseError),
}

impl<'a> Reader<'a> {
    /// Reads a parsed file.
    pub(crate) fn new(files: &'a FileSet, file: &RelPath, root: Node) -> Self {
        Self { files, file: file.clone(), root, findings: RefCell::new(Vec::new()) }
    }

    /// Opens and parses a file.
    ///
    /// # Errors
    ///
    /// If it is missing, could not be read, or does not parse.
    pub(crate) fn open(files: &'a FileSet, file: &RelPath, syntax: Syntax) -> Result<Self, OpenError> {
        let Some(bytes) = files.bytes(file) else {
            return Err(OpenError::Unread(files.problem(file).unwrap_or(ReadProblem::Missing)));
        };
        let root = parse(bytes, syntax).map_err(OpenError::Broken)?;
        Ok(Self::new(files, file, root))
    }

    pub(crate) const fn files(&self) -> &'a FileSet {
        self.files
    }

    pub(crate) const fn file(&self) -> &RelPath {
        &self.file
    }

    /// Returns the whole content.
    pub(crate) const fn node(&self) -> &Node {
        &self.root
    }

    pub(crate) fn root(&'a self) -> Field<'a> {
        Field { reader: self, name: "state", node: Some(&self.root), is_required: false }
    }

    /// Returns the value of a key at the top.
    pub(crate) fn get(&'a self, key: &'a str) -> Field<'a> {
        self.root().get(key)
    }

    /// Returns the value at a JSON pointer without escapes.
    pub(crate) fn at(&'a self, pointer: &'a str) -> Field<'a> {
        pointer.split('/').skip(1).fold(self.root(), Field::get)
    }

    /// Creates a finding about the value at a JSON pointer, with the position of the nearest value that exists.
    pub(crate) fn finding(&self, code: FindingCode, pointer: &str, message: impl Into<String>) -> Finding {
        let place = self.root.nearest(pointer).place;
        Finding::new(code, message).at(&self.file).pointer(pointer).line(place.line, Some(place.column))
    }

    /// Adds a finding about the file.
    pub(crate) fn report(&self, finding: Finding) {
        self.findings.borrow_mut().push(finding.at(&self.file));
    }

    /// Returns the findings in the order in which they were added.
    pub(crate) fn into_findings(self) -> Vec<Finding> {
        self.findings.into_inner()
    }

    /// Removes and returns the findings so far.
    pub(crate) fn take_findings(&self) -> Vec<Finding> {
        self.findings.take()
    }
}

impl<'a> Field<'a> {
    /// Returns the value of a key; an empty field if the key is missing or this is not a mapping.
    pub(crate) fn get(self, key: &'a str) -> Self {
        Self { name: key, node: self.node.and_then(|node| node.get(key)), is_required: false, ..self }
    }

    /// Returns the first of two keys that has a value; the spelling differs between programs and documentation.
    pub(crate) fn either(self, keys: [&'a str; 2]) -> Self {
        let [first, second] = keys.map(|key| self.get(key));
        if first.is_there() || !second.is_there() { first } else { second }
    }

    /// Marks the field as required: if it is missing or has the wrong type, the finding blocks.
    pub(crate) const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// Returns whether there is a value other than `null`.
    pub(crate) fn is_there(self) -> bool {
        self.node.is_some_and(|node| !node.is_null())
    }

    /// Returns whether the value is written as a number.
    pub(crate) fn is_number(self) -> bool {
        self.node.is_some_and(|node| matches!(node.kind, Kind::Number(_)))
    }

    /// Returns the value; `None` for `null`.
    pub(crate) fn node(self) -> Option<&'a Node> {
        self.node.filter(|node| !node.is_null())
    }

    /// Adds a finding at this location.
    pub(crate) fn report(self, finding: Finding) {
        let Some(node) = self.node else { return self.reader.report(finding) };
        let finding = match self.reader.root.pointer_to(node) {
            Some(pointer) => finding.pointer(&pointer),
            None => finding,
        };
        self.reader.report(finding.line(node.place.line, Some(node.place.column)));
    }

    fn value(self) -> Option<&'a Node> {
        let node = self.node();
        if node.is_none() && self.is_required {
            let message = format!("`{}` is missing", self.name.escape_debug());
            self.reader.report(Finding::new(FindingCode::StateMissingField, message));
        }
        node
    }

    /// Reports a value of an unusable type.
    pub(crate) fn report_type(self, wanted: &str) {
        let Some(node) = self.node else { return };
        let (code, tail) = if self.is_required {
            (FindingCode::StateWrongType, "")
        } else {
            (FindingCode::FieldIgnored, " and was ignored")
        };
        let message = format!("`{}` is {}, not {wanted}{tail}", clean_line(self.name, ID_CHARS), node.what());
        self.report(Finding::new(code, message));
    }

    /// Reads the value with a function; reports it if that returns `None`.
    pub(crate) fn read<T>(self, wanted: &str, read: impl FnOnce(&'a Node) -> Option<T>) -> Option<T> {
        let value = read(self.value()?);
        if value.is_none() {
            self.report_type(wanted);
        }
        value
    }

    /// Returns a scalar as written.
    pub(crate) fn text(self) -> Option<&'a str> {
        self.read("text", Node::scalar)
    }

    /// Returns a non-empty text, cleaned for use as an id.
    pub(crate) fn id(self) -> Option<String> {
        self.text().map(|text| clean_line(text, ID_CHARS)).filter(|text| !text.is_empty())
    }

    /// Returns a count.
    pub(crate) fn number(self) -> Option<u32> {
        self.read("a count", |node| node.scalar()?.trim().parse().ok())
    }

    /// Returns a point in time: a date, or seconds or milliseconds since 1970.
    pub(crate) fn time(self) -> Option<Timestamp> {
        self.read("a point in time", |node| self.reader.files.time(node.scalar()?))
    }

    /// Returns the keys of a mapping with their values, in the order of the file.
    pub(crate) fn members(self) -> Vec<(&'a str, Self)> {
        let field = |member: &'a Member| {
            (member.key.as_str(), Self { name: &member.key, node: Some(&member.value), is_required: false, ..self })
        };
        let members = self.read("a mapping", |node| node.is_map().then(|| node.members()));
        members.unwrap_or_default().iter().map(field).collect()
    }

    /// Returns the elements of a list.
    pub(crate) fn items(self) -> Vec<Self> {
        let items = self.read("a list", |node| node.is_list().then(|| node.items()));
        items.unwrap_or_default().iter().map(|item| Self { node: Some(item), is_required: false, ..self }).collect()
    }

    /// Returns the version of the format, as written, if it is newer than the known one, and reports it: such a state is never
    /// written. Versions are numbers, texts such as `2.1`, `v2` and `nine-step/2`, or mappings with a `major` number.
    pub(crate) fn newer_version(self, known: u64) -> Option<String> {
        let node = self.node()?;
        let version = clean_line(node.get("major").unwrap_or(node).scalar()?, ID_CHARS);
        let number = version.rsplit('/').next()?.trim().trim_start_matches(['v', 'V']);
        let major: u64 = number.split('.').next()?.parse().ok()?;
        if major <= known {
            return None;
        }
        let message = format!("the state has version {version}; this piton writes version {known}");
        self.report(Finding::new(FindingCode::FormatNewer, message).fix("update piton"));
        Some(version)
    }

    /// Reports a word that is not in the system's vocabulary.
    pub(crate) fn report_unknown(self, code: FindingCode, word: &str, step: Option<&StepId>) {
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
}
