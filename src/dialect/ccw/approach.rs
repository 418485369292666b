//! How a task is to be done, as its file says: steps, modification points, logic flow, artifacts and what it takes over from its parent
//! (docs/formats/ccw.md#how-a-task-is-to-be-done).

use crate::document::{Kind, Node};

use super::raw;
use crate::model::{Part, PartKind, Status};

/// Bytes of the text; the task file has the rest.
const BYTES: usize = 1600;

/// Returns the lines for the agent, each group under its head. Untrusted text.
pub(super) fn of(task: &Node, parts: &[Part]) -> String {
    let mut text = Lines::default();
    for (head, kind) in [("Analysis steps", PartKind::Analysis), ("Implementation steps", PartKind::Work)] {
        text.group(head, parts.iter().filter(|part| part.kind == kind).map(line_of_part));
    }
    let approach = ["/flow_control/implementation_approach", "/implementation_approach", "/implementation"];
    let approach = approach.iter().find_map(|pointer| task.at(pointer));
    if let Some(said) = approach.filter(|said| said.as_str().is_some()) {
        text.group("Approach", raw::text(Some(said)));
    }
    // One object in format D, a list of them since format E.
    let steps: Vec<&Node> = approach.into_iter().filter(|one| one.is_map()).chain(raw::items(approach)).collect();
    for (head, field) in [("Modification points", "modification_points"), ("Logic flow", "logic_flow")] {
        text.group(head, steps.iter().flat_map(|step| raw::list(step.get(field))));
    }
    for (head, pointers) in [
        ("Artifacts", ["/context/artifacts", "/artifacts"]),
        ("Taken over from the parent", ["/context/inherited", "/inherited"]),
        ("Shared context", ["/context/shared_context", "/shared_context"]),
    ] {
        let said = pointers.iter().find_map(|pointer| task.at(pointer)).filter(|said| !said.is_null());
        text.group(head, said.map(facts).unwrap_or_default());
    }
    text.finish()
}

fn line_of_part(part: &Part) -> String {
    let mut line = raw::line(&part.name);
    if part.title != part.name {
        line = format!("{line}: {}", raw::line(&part.title));
    }
    if !part.commands.is_empty() {
        let commands: Vec<String> = part.commands.iter().map(|command| raw::line(command)).collect();
        line = format!("{line} (command: {})", commands.join("; "));
    }
    if let Some((name, _)) = &part.output {
        line = format!("{line} -> {}", raw::line(name));
    }
    if part.status == Status::Pending { line } else { format!("{line}, {}", part.status) }
}

/// Returns the lines of a list or an object; what is nested deeper is written as JSON.
fn facts(said: &Node) -> Vec<String> {
    let shown = |value: &Node| raw::text(Some(value)).unwrap_or_else(|| value.to_string());
    match &said.kind {
        Kind::List(items) => items.iter().take(raw::LIST_LIMIT).map(named).collect(),
        Kind::Map(members) => {
            let members = members.iter().take(raw::LIST_LIMIT);
            members.map(|member| format!("{}: {}", member.key, shown(&member.value))).collect()
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => vec![shown(said)],
    }
}

/// Returns an artifact as its path and type, anything else as it is.
fn named(item: &Node) -> String {
    let path = raw::first_line(item, &["/path", "/file", "/name"]);
    let kind = raw::first_line(item, &["/type", "/source", "/priority"]);
    match (path, kind) {
        (Some(path), Some(kind)) => format!("{path} ({kind})"),
        (Some(path), None) => path,
        (None, _) => raw::text(Some(item)).unwrap_or_else(|| item.to_string()),
    }
}

/// A text of limited size.
#[derive(Default)]
struct Lines {
    text: String,
    left_out: usize,
}

impl Lines {
    fn group(&mut self, head: &str, lines: impl IntoIterator<Item = String>) {
        let mut head = Some(head);
        for line in lines.into_iter().map(|line| raw::line(&line)).filter(|line| !line.is_empty()) {
            let line = format!("{}- {line}\n", head.map(|head| format!("{head}:\n")).unwrap_or_default());
            if self.left_out > 0 || self.text.len() + line.len() > BYTES {
                self.left_out += 1;
                continue;
            }
            head = None;
            self.text.push_str(&line);
        }
    }

    fn finish(self) -> String {
        match self.left_out {
            0 => self.text,
            _ => format!("{}The task file has {} more of these lines.\n", self.text, self.left_out),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_of_an_approach_is_told_under_its_head() {
        let object = json!({"modification_points": ["a.rs"], "logic_flow": ["parse", "store"]});
        let told = "Modification points:\n- a.rs\nLogic flow:\n- parse\n- store\n";
        assert_eq!(of(&Node::of(&json!({"flow_control": {"implementation_approach": object}})), &[]), told);
        assert_eq!(of(&Node::of(&json!({"flow_control": {"implementation_approach": [object]}})), &[]), told);
        let text = json!({"flow_control": {"implementation_approach": "Write the service"}});
        assert_eq!(of(&Node::of(&text), &[]), "Approach:\n- Write the service\n");
        let context = json!({"context": {
            "artifacts": [{"path": "spec.md", "type": "synthesis"}, "notes.md"],
            "inherited": {"from": "IMPL-1", "context": ["auth"]},
            "shared_context": {"stack": "rust"},
        }});
        assert_eq!(
            of(&Node::of(&context), &[]),
            "Artifacts:\n- spec.md (synthesis)\n- notes.md\nTaken over from the parent:\n- from: IMPL-1\n- context: [\"auth\"]\n\
             Shared context:\n- stack: rust\n"
        );
        assert_eq!(of(&Node::of(&json!({})), &[]), "");
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let points: Vec<String> = (0..200).map(|at| format!("point {at} of a long list")).collect();
        let text = of(&Node::of(&json!({"implementation_approach": {"modification_points": points}})), &[]);
        assert!(text.len() < BYTES + 80 && text.ends_with(" more of these lines.\n"), "{text}");
    }
}
