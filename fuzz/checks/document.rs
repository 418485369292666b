//! Edits of one value in JSON and YAML, JSON Schema validation, and the journal of a session.

use serde_json::Value;

use crate::{
    dialect::{
        Setting,
        piton::{
            record::{self, Journal, Remainder},
            snapshot::{self, Snapshot},
            state::State,
        },
        with_setting,
    },
    document::{Editor, Node, Syntax, parse, parse_json},
    schema::{self, Subject},
};

/// The edit of a text, given by its first line: `s POINTER VALUE`, `p POINTER VALUE` or `d POINTER`.
struct Job<'a> {
    kind: Kind,
    pointer: &'a str,
    value: Value,
    text: &'a [u8],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Set,
    Push,
    Remove,
}

impl<'a> Job<'a> {
    fn parse(data: &'a [u8]) -> Option<Self> {
        let end = data.iter().position(|byte| *byte == b'\n')?;
        let mut words = std::str::from_utf8(&data[..end]).ok()?.splitn(3, ' ');
        let kind = match words.next()? {
            "s" => Kind::Set,
            "p" => Kind::Push,
            "d" => Kind::Remove,
            _ => return None,
        };
        let pointer = words.next().filter(|pointer| pointer.is_empty() || pointer.starts_with('/'))?;
        let value = words.next().and_then(|value| serde_json::from_str(value).ok()).unwrap_or(Value::Null);
        Some(Self { kind, pointer, value, text: &data[end + 1..] })
    }

    /// Applies the edit with this value to a parsed text; `None` if the pointer does not exist.
    fn applied(&self, root: &Value, value: &Value) -> Option<Value> {
        let mut root = root.clone();
        let (parent, key) = self.pointer.rsplit_once('/')?;
        let key = key.replace("~1", "/").replace("~0", "~");
        match self.kind {
            Kind::Set if root.pointer(self.pointer).is_some() => *root.pointer_mut(self.pointer)? = value.clone(),
            Kind::Set => {
                root.pointer_mut(parent)?.as_object_mut()?.insert(key, value.clone());
            }
            Kind::Push => root.pointer_mut(self.pointer)?.as_array_mut()?.push(value.clone()),
            Kind::Remove => match root.pointer_mut(parent)? {
                Value::Object(fields) => {
                    fields.shift_remove(&key)?;
                }
                Value::Array(items) => {
                    let at = key.parse().ok().filter(|at| *at < items.len())?;
                    items.remove(at);
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
            },
        }
        Some(root)
    }
}

/// Parses JSON like `serde_json`, and changes exactly one value.
pub(super) fn json_edit(data: &[u8]) {
    let Some(job) = Job::parse(data) else { return };
    let bytes = job.text;
    let known: Result<Value, _> = serde_json::from_slice(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes));
    for setting in
        [Setting::Allow(vec!["Bash(piton plan:*)".to_owned()]), Setting::StatusLine("piton statusline".to_owned())]
    {
        if let Ok(after) = with_setting(bytes, &setting) {
            assert_eq!(with_setting(&after, &setting).ok(), Some(after), "a setting is made twice");
        }
    }
    let known = known.ok();
    assert_eq!(
        known.as_ref(),
        parse_json(bytes).ok().map(|root| root.to_json()).as_ref(),
        "it is read as something else"
    );
    edit(&job, Syntax::Json);
}

/// Changes exactly one value of a YAML text.
pub(super) fn yaml_edit(data: &[u8]) {
    let Some(job) = Job::parse(data) else { return };
    edit(&job, Syntax::Yaml);
}

fn edit(job: &Job<'_>, syntax: Syntax) {
    let Ok(mut editor) = Editor::parse(job.text, syntax) else { return };
    let before = editor.root().to_json();
    let unchanged = Editor::parse(job.text, syntax).map(Editor::into_bytes);
    assert_eq!(unchanged.ok().as_deref(), Some(job.text), "reading changes it");
    let done = match job.kind {
        Kind::Set => editor.set(job.pointer, &job.value),
        Kind::Push => editor.push(job.pointer, &job.value),
        Kind::Remove => editor.remove(job.pointer),
    };
    let after_value = editor.root().to_json();
    let after = editor.into_bytes();
    if done.is_err() {
        assert_eq!(after, job.text, "a change that was refused leaves a trace");
        return;
    }
    let read = parse(&after, syntax).unwrap_or_else(|error| panic!("it does not parse any more: {error}")).to_json();
    assert_eq!(read, after_value, "the tree is not kept up to date");
    // The text may spell the value differently, for example a number with many digits.
    let value = Node::of(&job.value).to_json();
    if let Some(expected) = job.applied(&before, &value) {
        assert_eq!(read, expected, "more or less than one value is changed");
    }
}

/// Validates any document against every published schema, and against an untrusted schema on the first line, if there is one.
pub(super) fn schema(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let declared: Option<Value> = serde_json::from_slice(&data[..end]).ok();
    let rest = data.get(end + 1..).unwrap_or_default();
    let value: Value = serde_json::from_slice(rest).unwrap_or_default();
    for subject in Subject::ALL {
        let objections = schema::validate(subject, &value);
        assert_eq!(schema::is_valid(subject, &value), objections.is_empty(), "{subject:?}");
        assert!(
            schema::validate_edit(subject, &value, &value).is_empty(),
            "{subject:?}: what was there is objected to"
        );
    }
    if let Some(declared) = declared {
        let problem = schema::schema_error(&declared);
        assert_eq!(schema::violation(&declared, &value).is_err(), problem.is_some());
    }
}

/// Reads the journal of a session: everything after the first line, the header.
pub(super) fn journal(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (header, lines) = (&data[..end], data.get(end + 1..).unwrap_or_default());
    for bytes in [lines.to_vec(), record::chain(header, lines)] {
        let read = record::read(header, &bytes);
        let length = usize::try_from(read.journal_end.length).expect("it is shorter than memory");
        assert_eq!(read.journal_end.seq, read.records.len() as u64);
        assert_eq!(matches!(read.remainder, Remainder::Nothing), length == bytes.len());
        // The valid part is a journal by itself, with the same content.
        let sound = record::read(header, &bytes[..length]);
        assert_eq!((sound.journal_end, sound.remainder), (read.journal_end.clone(), Remainder::Nothing));
        let state = State::from_records(&read.records);
        let snapshot = snapshot::write("s", &state, &read.journal_end);
        let loaded = Snapshot::read("s", &snapshot).unwrap_or_else(|error| panic!("a snapshot is not read: {error}"));
        assert_eq!(snapshot::write("s", &loaded.state, &read.journal_end), snapshot, "a snapshot says something else");
        assert_eq!(loaded.covers(&bytes), read.journal_end.seq > 0);
        assert_eq!(State::newest(state, Some(loaded.state)).seq, read.journal_end.seq);
        goes_on(header, &bytes, &read, &snapshot);
    }
}

/// Checks that a snapshot of a journal's prefix and the records after it give the same state as the whole journal.
fn goes_on(header: &[u8], bytes: &[u8], whole: &Journal, expected: &[u8]) {
    for count in 0..whole.records.len() {
        let ends = bytes.split_inclusive(|byte| *byte == b'\n').take(count).map(<[u8]>::len).sum();
        let seen = record::read(header, &bytes[..ends]);
        let snapshot = snapshot::write("s", &State::from_records(&seen.records), &seen.journal_end);
        let Snapshot { mut state, .. } = Snapshot::read("s", &snapshot).expect("it was written just now");
        let (journal_end, remainder) =
            record::replay(header, bytes, seen.journal_end.seq, |record| state.apply(&record));
        assert_eq!((&journal_end, &remainder), (&whole.journal_end, &whole.remainder));
        assert_eq!(snapshot::write("s", &state, &journal_end), expected, "records are left out after {count}");
    }
}
