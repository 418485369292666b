//! The notation of variables in texts of Prodigy: `$name` beside `${name}`, and `${shell.name}` for a captured name. Pure.

use super::Translation;
use crate::document::Kind;
use crate::document::Node;

impl Translation<'_, '_> {
    /// Translates a prompt: no shell fills in its variables, so a `$name` that is not known is refused.
    pub(super) fn prompt(&mut self, node: &Node) -> Node {
        let Kind::Text(text) = &node.kind else { return node.clone() };
        let (text, unknown) = self.filled(text);
        for name in unknown {
            let message = format!("`${name}` is not a variable of the workflow");
            self.problems.add(node.place, message, format!("define `{name}`, or write `$${name}` for the text itself"));
        }
        Node { kind: Kind::Text(self.captured(&text)), ..node.clone() }
    }

    /// Translates a shell program, whose `$name` a shell fills in.
    pub(super) fn program(&self, node: &Node) -> Node {
        let Kind::Text(text) = &node.kind else { return node.clone() };
        Node { kind: Kind::Text(self.captured(text)), ..node.clone() }
    }

    /// Writes known `$name` as `${name}` and `$$name` as `$name`; returns the unknown names too.
    fn filled(&self, text: &str) -> (String, Vec<String>) {
        let mut filled = String::new();
        let mut unknown = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            filled.push_str(&rest[..at]);
            rest = &rest[at..];
            let is_literal = rest.starts_with("$$");
            let after = &rest[if is_literal { 2 } else { 1 }..];
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            let name = &after[..end];
            if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                // A brace, a digit or nothing follows.
                let length = if is_literal { 2 } else { 1 };
                filled.push_str(&rest[..length]);
                rest = &rest[length..];
                continue;
            }
            match (is_literal, self.names.contains(name)) {
                (true, _) => filled.push_str(&format!("${name}")),
                (false, true) => filled.push_str(&format!("${{{name}}}")),
                (false, false) => {
                    filled.push_str(&format!("${name}"));
                    unknown.push(name.to_owned());
                }
            }
            rest = &after[end..];
        }
        filled.push_str(rest);
        (filled, unknown)
    }

    /// Writes `${shell.name}` as `${name}` where a step captures the name.
    fn captured(&self, text: &str) -> String {
        let mut written = text.to_owned();
        for name in &self.names {
            for of in ["shell", "claude"] {
                for end in ["}", ".", ":"] {
                    let (long, short) = (format!("${{{of}.{name}{end}"), format!("${{{name}{end}"));
                    if name != "output" && written.contains(&long) {
                        written = written.replace(&long, &short);
                    }
                }
            }
        }
        written
    }
}
