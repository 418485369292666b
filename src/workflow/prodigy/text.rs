//! The notation of variables in texts of Prodigy: `$name` beside `${name}`, and `${shell.name}` for a captured name. Pure.

use std::collections::BTreeSet;

use super::{Translation, with};
use crate::{
    document::{Kind, Member, Node},
    workflow::shell::assigned,
};

/// The number of an item, in texts of `map`.
pub(super) const ITEM_ID: &str = "item_id";

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

    /// Translates a shell program, whose `$name` a shell fills in from the environment. So it does `${name}` where the program sets the name.
    pub(super) fn program(&self, node: &Node) -> Node {
        let Kind::Text(text) = &node.kind else { return node.clone() };
        let own = assigned(text);
        let mut written = self.braced(text, &own);
        for name in own.into_iter().filter(|name| !self.names.contains(*name)) {
            for end in ["}", ":"] {
                let (braced, literal) = (format!("${{{name}{end}"), format!("$${{{name}{end}"));
                written = written.replace(&literal, &braced).replace(&braced, &literal);
            }
        }
        Node { kind: Kind::Text(self.captured(&written)), ..node.clone() }
    }

    /// Writes `$name` as `${name}` where a step sets the name: no command has it in its environment.
    fn braced(&self, text: &str, own: &BTreeSet<&str>) -> String {
        let mut written = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            written.push_str(before);
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            let name = &after[..end];
            let is_literal = written.ends_with(['$', '\\']);
            if !is_literal && self.set_by_steps.contains(name) && !own.contains(name) {
                written.push_str(&format!("${{{name}}}"));
            } else {
                written.push('$');
                written.push_str(name);
            }
            rest = &after[end..];
        }
        written + rest
    }

    /// Translates a text that no shell reads.
    pub(super) fn plain(&self, node: &Node) -> Node {
        let Kind::Text(text) = &node.kind else { return node.clone() };
        Node { kind: Kind::Text(self.captured(text)), ..node.clone() }
    }

    /// Translates the values of a mapping.
    pub(super) fn values(&self, node: &Node) -> Node {
        let members = node.members().iter().map(|found| Member { value: self.plain(&found.value), ..found.clone() });
        with(node, members.collect())
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
                    if !unknown.iter().any(|known| known == name) {
                        unknown.push(name.to_owned());
                    }
                }
            }
            rest = &after[end..];
        }
        filled.push_str(rest);
        (filled, unknown)
    }

    /// Writes `${shell.name}` as `${name}` where a step captures the name, and what an item or a measurement sets as it is called here.
    fn captured(&self, text: &str) -> String {
        let mut written = text.to_owned();
        for name in ["gaps", "missing", "implemented"] {
            // What a result does not have is empty.
            written = written.replace(&format!("${{validation.{name}}}"), &format!("${{validation.{name}:-}}"));
        }
        if self.names.contains(ITEM_ID) {
            written = written.replace("${item_id}", "item_${index}");
        }
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
