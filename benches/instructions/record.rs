//! The recorded figures, and what a new figure says beside them. Pure: text in, text out.

use std::fmt::Write as _;

/// How far a figure may be from the recorded one, in percent. The same build counts within 0.03 % of itself in other folders and on a
/// busy machine, within 0.6 % with other processes above it, and where it has threads within 2.3 %; what is above that is the code.
pub(crate) const TOLERANCE: f64 = 3.0;

const HEAD: &str = "\
# Instructions of whole calls, as callgrind counts them, and the tools they depend on.
# Compared by `cargo bench --bench instructions`, written anew by `cargo bench --bench instructions -- --record`.
";

/// Is the content of `benches/instructions.txt`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// What figures depend on besides the code, by name.
    pub(crate) tools: Vec<(String, String)>,
    /// Instructions by call.
    pub(crate) calls: Vec<(String, u64)>,
}

/// Is what a new figure says beside the recorded one.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Same(f64),
    Slower(f64),
    Faster(f64),
    Unrecorded,
}

impl Record {
    /// Reads the recorded figures.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with which line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut record = Self { tools: Vec::new(), calls: Vec::new() };
        for (at, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong =
                || format!("line {}: `{line}` is neither `tool NAME: VERSION` nor `CALL: INSTRUCTIONS`", at + 1);
            let (name, value) = line.split_once(": ").ok_or_else(wrong)?;
            match name.strip_prefix("tool ") {
                Some(tool) => record.tools.push((tool.to_owned(), value.to_owned())),
                None => record.calls.push((name.to_owned(), value.parse().map_err(|_| wrong())?)),
            }
        }
        Ok(record)
    }

    pub(crate) fn render(&self) -> String {
        let mut text = HEAD.to_owned();
        for (name, version) in &self.tools {
            let _ = writeln!(text, "tool {name}: {version}");
        }
        for (name, instructions) in &self.calls {
            let _ = writeln!(text, "{name}: {instructions}");
        }
        text
    }

    /// Returns how these tools differ from the recorded ones. Figures of different tools say nothing about the code.
    pub(crate) fn other_tools(&self, now: &[(String, String)]) -> Vec<String> {
        let recorded =
            |name: &str| self.tools.iter().find(|(tool, _)| tool == name).map_or("none", |(_, version)| version);
        let differing = now.iter().filter(|(name, version)| recorded(name) != version);
        differing.map(|(name, version)| format!("{name}: {version}, recorded with {}", recorded(name))).collect()
    }

    pub(crate) fn figure(&self, call: &str) -> Option<u64> {
        self.calls.iter().find(|(name, _)| name == call).map(|(_, figure)| *figure)
    }

    pub(crate) fn judge(&self, call: &str, now: u64) -> Verdict {
        let Some(recorded) = self.figure(call) else { return Verdict::Unrecorded };
        let percent = (now as f64 / recorded as f64 - 1.0) * 100.0;
        match percent {
            _ if percent > TOLERANCE => Verdict::Slower(percent),
            _ if percent < -TOLERANCE => Verdict::Faster(percent),
            _ => Verdict::Same(percent),
        }
    }

    /// Returns the recorded calls that nobody makes any more.
    pub(crate) fn not_among<'a>(&'a self, measured: &[(String, u64)]) -> Vec<&'a str> {
        let gone = |call: &&(String, u64)| measured.iter().all(|(name, _)| *name != call.0);
        self.calls.iter().filter(gone).map(|(name, _)| name.as_str()).collect()
    }
}
