//! The earlier states in the journal of a run, read without the program: what it says it can bring back has to be there.

use std::collections::BTreeMap;

use camino::Utf8Path;
use serde_json::Value;

/// A state that a change replaced.
pub(crate) struct Earlier {
    /// When it was replaced.
    pub(crate) at: String,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

/// Returns the states that the changes of a journal replaced, by number. Each content has the digest that its record says. A line that was
/// cut off is no record.
pub(crate) fn versions(journal: &Utf8Path) -> BTreeMap<usize, Earlier> {
    let text = std::fs::read_to_string(journal).unwrap_or_default();
    let mut now: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut earlier = BTreeMap::new();
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let record: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let entry = &record["entry"];
        let mut replaced = BTreeMap::new();
        for file in entry["files"].as_array().into_iter().flatten() {
            let path = file["path"].as_str().expect("a path").to_owned();
            let before = match &file["found"] {
                Value::Null => now.get(&path).cloned().unwrap_or_default(),
                found => applied(&[], found),
            };
            check(&before, &file["before"], line);
            if file["before"].is_string() {
                replaced.insert(path.clone(), before.clone());
            }
            if file["after"].is_string() {
                let after = applied(&before, &file["written"]);
                check(&after, &file["after"], line);
                now.insert(path, after);
            } else {
                now.remove(&path);
            }
        }
        if !replaced.is_empty() {
            let number = record["seq"].as_u64().and_then(|seq| usize::try_from(seq).ok()).expect("a number");
            let at = entry["at"].as_str().expect("a time").to_owned();
            earlier.insert(number, Earlier { at, files: replaced });
        }
    }
    earlier
}

fn applied(before: &[u8], delta: &Value) -> Vec<u8> {
    let number = |value: &Value| usize::try_from(value.as_u64().expect("a number")).expect("a place");
    let (mut after, mut done) = (Vec::new(), 0);
    for splice in delta.as_array().expect("a delta") {
        let (at, cut) = (number(&splice["at"]), number(&splice["cut"]));
        after.extend_from_slice(&before[done..at]);
        after.extend_from_slice(splice["put"].as_str().expect("text").as_bytes());
        done = at + cut;
    }
    after.extend_from_slice(&before[done..]);
    after
}

fn check(content: &[u8], digest: &Value, line: &str) {
    use sha2::Digest as _;
    let found: String = sha2::Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(digest.is_null() || digest == &found, "{line}");
}
