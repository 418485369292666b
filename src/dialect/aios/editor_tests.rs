use serde_json::json;

use super::StateEditor;
use crate::{
    dialect::{EditError, aios::state_testing::files},
    model::Timestamp,
};

/// Changes a state at noon of 31 January 2026 and returns its text.
fn changed(path: &str, text: &str, change: impl FnOnce(&mut StateEditor) -> Result<(), EditError>) -> String {
    let files = files(path, text);
    let at = Timestamp::parse("2026-01-31T12:00:00.250Z", 0).unwrap();
    let mut editor = StateEditor::open(&files, at, "/updated").unwrap();
    change(&mut editor).unwrap();
    let edits = editor.into_edits();
    String::from_utf8(edits[0].after().unwrap().to_vec()).unwrap()
}

#[test]
fn stamps_are_written_as_the_state_writes_its_own() {
    for (path, text, expected) in [
        ("a.yaml", "updated: 2026-01-31T11:00:00.000Z\n", "updated: 2026-01-31T12:00:00.250Z\n"),
        ("a.yaml", "updated: \"2026-01-31T11:00:00Z\"\n", "updated: \"2026-01-31T12:00:00Z\"\n"),
        ("a.yaml", "updated: '2026-01-31T11:00:00+02:00'\n", "updated: '2026-01-31T12:00:00Z'\n"),
        ("a.yaml", "updated: 1769850000\n", "updated: 1769860800\n"),
        ("a.json", "{\"updated\":1769850000000}", "{\"updated\":1769860800000}"),
        (
            "a.json",
            "{\"updated\": null, \"at\": \"2026-01-31T11:00:00.000Z\"}",
            "{\"updated\": \"2026-01-31T12:00:00.250Z\", \"at\": \"2026-01-31T11:00:00.000Z\"}",
        ),
        // Stamps never run backwards.
        ("a.yaml", "updated: '2026-02-01T00:00:00Z'\n", "updated: '2026-02-01T00:00:00Z'\n"),
        ("a.yaml", "other: 1\n", "other: 1\n"),
    ] {
        assert_eq!(changed(path, text, |editor| editor.touch("/updated")), expected, "{text}");
    }
}

#[test]
fn yaml_and_json_are_changed_alike() {
    let change = |editor: &mut StateEditor| {
        editor.set_number("/count", 3)?;
        editor.set_number("/text", 3)?;
        editor.set_text("/map/word", "done")?;
        editor.remove("/open/0")?;
        editor.push("/nothing", &json!({ "a": 1 }))
    };
    let yaml = "count: 2\ntext: '2'\nmap: { word: open } # c\nopen:\n  - 2\n  - 3\nnothing: null\n";
    assert_eq!(
        changed("a.yaml", yaml, change),
        "count: 3\ntext: '3'\nmap: { word: done } # c\nopen:\n  - 3\nnothing:\n  - a: 1\n"
    );
    let json = "{\"count\": 2, \"text\": \"2\", \"map\": {\"word\": \"open\"}, \"open\": [2, 3], \"nothing\": null}";
    assert_eq!(
        changed("a.json", json, change),
        "{\"count\": 3, \"text\": \"3\", \"map\": {\"word\": \"done\"}, \"open\": [3], \
         \"nothing\": [{\"a\": 1}]}"
    );
}

#[test]
fn what_cannot_be_written_is_refused_by_name() {
    for (path, text, says) in [
        ("a.yaml", "map: text\n", "a.yaml: line 1: `map.word` cannot be written"),
        ("a.json", "{\"map\": 1}", "a.json: line 1: `map.word` cannot be written"),
    ] {
        let files = files(path, text);
        let mut editor = StateEditor::open(&files, files.clock.now, "/updated").unwrap();
        let refused = editor.set_text("/map/word", "x").unwrap_err().to_string();
        assert!(refused.starts_with(says) && refused.contains("piton plan"), "{refused}");
    }
    for (path, text) in
        [("a.yaml", "a: 1\na: 2\n"), ("a.yaml", "a: 1\n---\nb: 1\n"), ("a.json", "{a: 1}"), ("a.json", "")]
    {
        let files = files(path, text);
        let refused = StateEditor::open(&files, files.clock.now, "/updated").unwrap_err();
        assert!(matches!(refused, EditError::Unreadable { .. }), "{text}: {refused}");
    }
}
