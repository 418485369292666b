//! What the steps of a file of Prodigy capture. The language has no key for it: it is kept beside the translated steps, by their places. Pure.

use super::Translation;
use crate::{
    document::{
        Kind, Node, TextPosition,
        definition::{Fields, Text, text_of},
    },
    model::clean_line,
    workflow::{Capture, CaptureFormat, Captured, Step, Workflow, canonical, values::variable_name},
};

/// The keys of a step that are about captures.
pub(super) const KEYS: [&str; 4] = ["capture", "capture_output", "capture_format", "capture_streams"];
const STREAMS: [&str; 5] = ["stdout", "stderr", "exit_code", "success", "duration"];

/// The captures of steps, each step by its place.
pub(in crate::workflow) type Captures = Vec<(TextPosition, Vec<Capture>)>;

/// Gives the steps of a parsed file what they capture.
pub(in crate::workflow) fn attach(workflow: &mut Workflow, captures: &Captures) {
    if !captures.is_empty() {
        let merge = workflow.merge.iter_mut().flat_map(|merge| &mut merge.steps);
        workflow.steps.iter_mut().chain(merge).for_each(|step| attach_to(step, captures));
    }
}

fn attach_to(step: &mut Step, captures: &Captures) {
    step.inside_mut().into_iter().flatten().for_each(|inner| attach_to(inner, captures));
    if let Some((_, found)) = captures.iter().find(|(place, _)| *place == step.place) {
        step.captures.clone_from(found);
        for capture in &mut step.captures {
            if matches!(capture.of, Captured::Files(_)) {
                capture.name = format!("{}.{}", step.id, capture.name);
            }
        }
    }
    step.canonical = canonical::of(step);
}

impl Translation<'_, '_> {
    /// Keeps what a step captures.
    pub(super) fn capture(&mut self, step: &Node) {
        let mut found: Vec<Capture> = self.output(step).into_iter().collect();
        for member in step.get("outputs").filter(|outputs| has_patterns(outputs)).map(Node::members).unwrap_or_default()
        {
            let name = Text { text: member.key.clone(), place: member.place };
            let pattern = member.value.get("file_pattern").unwrap_or(&member.value);
            let pattern = text_of(pattern, "a `file_pattern`", self.problems);
            if let Some((name, pattern)) = variable_name(&name, self.problems).zip(pattern) {
                found.push(Capture { name, of: Captured::Files(pattern.text) });
            }
        }
        if !found.is_empty() {
            self.captures.push((step.place, found));
        }
    }

    fn output(&mut self, step: &Node) -> Option<Capture> {
        let given = |key: &str| step.get(key).filter(|value| value.kind != Kind::Null);
        let name = match (given("capture"), given("capture_output")) {
            (Some(_), Some(other)) => {
                let message = "`capture` and `capture_output` of a step say the same";
                self.problems.add(other.place, message, "keep `capture`");
                return None;
            }
            (None, Some(Node { kind: Kind::Bool(true), place, .. })) => {
                Some(Text { text: "CAPTURED_OUTPUT".to_owned(), place: *place })
            }
            (None, Some(Node { kind: Kind::Bool(false), .. })) => None,
            // It is set in any case.
            (Some(name), None) | (None, Some(name)) if is_output(step, name) => None,
            (Some(name), None) | (None, Some(name)) => Some(text_of(name, "`capture`", self.problems)?),
            (None, None) => None,
        };
        let (format, streams) = (given("capture_format"), given("capture_streams"));
        let Some(name) = name else {
            if let Some(given) = format.or(streams) {
                self.problems.add(
                    given.place,
                    "nothing is captured here",
                    "add `capture:` with the name of a variable",
                );
            }
            return None;
        };
        let format = format.map_or(Some(CaptureFormat::String), |node| self.format(node));
        let has_output = streams.is_none_or(|node| self.has_output(node));
        let of = if has_output { Captured::Output(format?) } else { Captured::Errors };
        Some(Capture { name: variable_name(&name, self.problems)?, of })
    }

    fn format(&mut self, node: &Node) -> Option<CaptureFormat> {
        let text = text_of(node, "`capture_format`", self.problems)?;
        let found = match text.text.as_str() {
            "string" | "text" => Some(CaptureFormat::String),
            "json" => Some(CaptureFormat::Json),
            "lines" => Some(CaptureFormat::Lines),
            "number" => Some(CaptureFormat::Number),
            "boolean" => Some(CaptureFormat::Boolean),
            _ => None,
        };
        if found.is_none() {
            let message = format!("`{}` is not a capture format", clean_line(&text.text, 40));
            self.problems.add(text.place, message, "use string, json, lines, number or boolean");
        }
        found
    }

    /// Tells whether stdout is among the streams that are captured. What else a step left is set where a text reads it.
    fn has_output(&mut self, node: &Node) -> bool {
        if matches!(node.kind, Kind::Map(_)) {
            let Some(mut map) = Fields::of(node, "`capture_streams`", &STREAMS, self.problems) else { return true };
            return STREAMS.map(|stream| map.flag(stream, self.problems))[0].unwrap_or(true);
        }
        match node.as_str() {
            Some("stdout" | "both") => true,
            Some("stderr") => false,
            other => {
                let message = format!("`{}` is not a stream", clean_line(other.unwrap_or(node.what()), 40));
                let fix = "use stdout, stderr, both, or a mapping of stdout, stderr, exit_code, success, duration";
                self.problems.add(node.place, message, fix);
                true
            }
        }
    }
}

/// Tells whether outputs are names of files that are found by a pattern.
pub(super) fn has_patterns(outputs: &Node) -> bool {
    outputs.members().iter().any(|one| one.value.get("file_pattern").is_some())
}

/// Tells whether a step captures its output as `shell.output` or `claude.output`, which it sets in any case.
fn is_output(step: &Node, name: &Node) -> bool {
    let of = name.as_str().and_then(|name| name.strip_suffix(".output"));
    of.is_some_and(|of| ["shell", "claude"].contains(&of) && step.get(of).is_some())
}
