//! The report with which an agent ends its last message, in the form that its brief asks for.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ReviewVerdict, mask_secrets, safe_line, safe_text, words};

/// Maximum length of a summary, in characters.
const SUMMARY_CHARS: usize = 2_000;
/// Maximum length of the other fields, in characters.
const LINE_CHARS: usize = 600;
/// Maximum number of findings.
const FINDINGS_LIMIT: usize = 40;
/// Maximum number of lines from the end of a message that are read.
const LINES_LIMIT: usize = 400;
/// The largest result of a step, in bytes.
pub(crate) const RESULT_LIMIT: usize = 1 << 20;
/// What stands for the rest of a text that is too long.
const CUT_OFF: &str = "… (cut off)";

words! {
    /// How an agent says that its step ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub(crate) enum AgentStatus: serde {
        Done = "DONE",
        Blocked = "BLOCKED",
        NeedsContext = "NEEDS_CONTEXT",
    }
    const ALL;
}

impl AgentStatus {
    /// Parses the exact word.
    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// What an agent reports about its step. Its texts are untrusted, cleaned and limited in size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentReport {
    /// The step that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<String>,
    pub(crate) status: AgentStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tests: Option<String>,
    /// Only if it is exactly one of the four words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<ReviewVerdict>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<String>,
    /// The JSON of the last fenced block of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Value>,
}

/// A line `KEY: value` of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Step,
    Status,
    Summary,
    Files,
    Tests,
    Verdict,
    Findings,
}

impl AgentReport {
    /// Parses the end of an agent's last message. `None` unless a line gives the status in one of its words; of several
    /// reports the last one counts.
    pub(crate) fn parse(message: &str) -> Option<Self> {
        let lines: Vec<&str> = message.lines().collect();
        let lines = &lines[lines.len().saturating_sub(LINES_LIMIT)..];
        let keyed: Vec<Option<(Key, &str)>> = lines.iter().map(|line| keyed(line)).collect();
        let is = |at: usize, wanted: Key| keyed[at].is_some_and(|(key, _)| key == wanted);
        let status_at = (0..keyed.len()).rev().find(|at| is(*at, Key::Status))?;
        let status = AgentStatus::parse(keyed[status_at]?.1)?;
        let begins_at = if status_at > 0 && is(status_at - 1, Key::Step) { status_at - 1 } else { status_at };
        let text_of = |wanted: Key| {
            let at = (begins_at..keyed.len()).find(|at| is(*at, wanted))?;
            let rest = (at + 1..keyed.len()).take_while(|at| keyed[*at].is_none()).map(|at| lines[at]);
            let text = std::iter::once(keyed[at]?.1).chain(rest).collect::<Vec<&str>>().join("\n");
            Some(safe_text(text.trim())).filter(|text| !text.is_empty())
        };
        let line_of = |key: Key| text_of(key).map(|text| safe_line(&text, LINE_CHARS)).filter(|text| is_said(text));
        let verdict = text_of(Key::Verdict);
        Some(Self {
            step: line_of(Key::Step),
            status,
            summary: text_of(Key::Summary).map(|text| short_summary(&text)),
            files: line_of(Key::Files),
            tests: line_of(Key::Tests),
            verdict: ReviewVerdict::ALL.into_iter().find(|word| Some(word.as_str()) == verdict.as_deref()),
            findings: text_of(Key::Findings).map(|text| findings(&text)).unwrap_or_default(),
            result: result_of(&mask_secrets(message)),
        })
    }

    /// Returns all that it says in one text, for the agents of later steps; the findings only if asked for.
    pub(crate) fn text(&self, with_findings: bool) -> Option<String> {
        let line = |name: &str, text: &Option<String>| text.as_ref().map(|text| format!("{name}: {text}"));
        let found = Some(self.findings.join("; ")).filter(|found| with_findings && !found.is_empty());
        let parts =
            [self.summary.clone(), line("Files", &self.files), line("Tests", &self.tests), line("Found", &found)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("\n"))
    }
}

/// Returns the JSON that a message ends with: the whole message, or its last block in a fence of `json` that parses.
pub(crate) fn result_of(message: &str) -> Option<Value> {
    if message.len() > RESULT_LIMIT {
        return None;
    }
    serde_json::from_str(message.trim()).ok().or_else(|| {
        let blocks = message.rsplit("```json").take(message.matches("```json").count());
        blocks.filter_map(|block| serde_json::from_str(block.split("```").next()?.trim()).ok()).next()
    })
}

/// Reads a line `KEY: value`; list marks, headings and emphasis around the key and the value do not matter.
fn keyed(line: &str) -> Option<(Key, &str)> {
    let is_mark = |c: char| matches!(c, '*' | '_' | '`' | '#' | '>' | ' ' | '\t');
    let line = line.trim().trim_start_matches("- ").trim_matches(is_mark);
    let (name, value) = line.split_once(':')?;
    let key = match name.trim_end_matches(is_mark) {
        "STEP" => Key::Step,
        "STATUS" => Key::Status,
        "SUMMARY" => Key::Summary,
        "FILES" => Key::Files,
        "TESTS" => Key::Tests,
        "VERDICT" => Key::Verdict,
        "FINDINGS" => Key::Findings,
        _ => return None,
    };
    Some((key, value.trim_matches(is_mark)))
}

fn findings(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| safe_line(line.trim().trim_start_matches(['-', '*', '•']), LINE_CHARS));
    lines.filter(|line| is_said(line)).take(FINDINGS_LIMIT).collect()
}

/// Tells whether a text is more than a word for nothing.
fn is_said(text: &str) -> bool {
    !matches!(text.trim_end_matches('.').to_ascii_lowercase().as_str(), "" | "-" | "none" | "n/a")
}

/// Cuts a summary off after 2,000 characters, and says so.
pub(crate) fn short_summary(text: &str) -> String {
    match text.char_indices().nth(SUMMARY_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}{CUT_OFF}", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{AgentReport, AgentStatus, result_of};
    use crate::model::ReviewVerdict;

    #[test]
    fn a_report_in_the_form_of_the_brief_is_read() {
        let message = "I looked at both files.\nSTATUS: of the tests is good\n\n\
                       STEP: 2:3\nSTATUS: DONE\nSUMMARY: The name is checked.\nIt may not be empty.\n\
                       FILES: src/login.rs, tests/login.rs\nTESTS: 14 passed\nFINDINGS: none\n";
        let report = AgentReport::parse(message).unwrap();
        assert_eq!((report.step.as_deref(), report.status), (Some("2:3"), AgentStatus::Done));
        assert_eq!(
            report.text(true).unwrap(),
            "The name is checked.\nIt may not be empty.\nFiles: src/login.rs, tests/login.rs\nTests: 14 passed"
        );
        assert!(report.verdict.is_none() && report.findings.is_empty());
    }

    #[test]
    fn the_report_of_a_review_has_its_verdict_in_the_exact_word() {
        let message = "**STEP:** `2:4`\n**STATUS:** DONE\n- VERDICT: REJECTED\n- FINDINGS:\n  - no test\n  - a panic\n";
        let report = AgentReport::parse(message).unwrap();
        assert_eq!(report.step.as_deref(), Some("2:4"));
        assert_eq!(report.verdict, Some(ReviewVerdict::Rejected));
        assert_eq!(report.findings, ["no test", "a panic"]);
        assert_eq!(report.text(true).as_deref(), Some("Found: no test; a panic"));
        assert_eq!(report.text(false), None);
        for other in ["approved", "APPROVED or REJECTED", "APPROVED, but see below", "PASS", ""] {
            let report = AgentReport::parse(&format!("STATUS: DONE\nVERDICT: {other}\n")).unwrap();
            assert_eq!(report.verdict, None, "{other}");
        }
    }

    #[test]
    fn the_result_is_the_last_block_of_json() {
        let message = "```json\n{\"a\": 1}\n```\nthen\n```json\n{\"a\": 2}\n```\nSTATUS: DONE\n";
        assert_eq!(AgentReport::parse(message).unwrap().result, Some(json!({"a": 2})));
        for (message, expected) in [
            ("{\"a\": [1]}\n", Some(json!({"a": [1]}))),
            ("text\n```json\n3\n```", Some(json!(3))),
            ("```json\n{\"a\": 1}\n```\n```json\nnot json\n```", Some(json!({"a": 1}))),
            ("```\n{}\n```", None),
            ("{\"a\": ", None),
            ("", None),
        ] {
            assert_eq!(result_of(message), expected, "{message}");
        }
    }

    #[test]
    fn without_a_status_in_its_words_there_is_no_report() {
        for message in ["", "done", "STATUS:", "STATUS: done", "STATUS: DONE or BLOCKED", "Status: DONE", "SUMMARY: x"]
        {
            assert_eq!(AgentReport::parse(message), None, "{message}");
        }
        let last = AgentReport::parse("STATUS: DONE\nSUMMARY: first\nSTATUS: BLOCKED\nSUMMARY: second\n").unwrap();
        assert_eq!((last.status, last.summary.as_deref()), (AgentStatus::Blocked, Some("second")));
    }

    #[test]
    fn its_texts_are_cleaned_masked_and_limited() {
        let long = "x".repeat(10_000);
        let message = format!(
            "STATUS: DONE\nSUMMARY: a\u{1b}[31mb\u{202e}c {long}\nTESTS: {long}\nFINDINGS:\n{}",
            format!("- {long}\n").repeat(300)
        );
        let report = AgentReport::parse(&message).unwrap();
        let summary = report.summary.as_ref().unwrap();
        assert!(summary.starts_with("a[31mbc xxx") && summary.ends_with("xxx… (cut off)"), "{}", &summary[..40]);
        let size = serde_json::to_vec(&report).unwrap().len();
        assert!(size < 32_000, "{size}");
        let key = format!("sk-ant-{}", "a1".repeat(40));
        let report = AgentReport::parse(&format!("STATUS: DONE\nSUMMARY: the key is {key}\n")).unwrap();
        assert!(!report.summary.unwrap().contains(&key));
    }
}
