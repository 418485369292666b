//! A MapReduce file of Prodigy: its `setup` and `reduce` become steps, its `map` a loop over a JSON list. Pure.

use super::{Translation, mapping, member, text::ITEM_ID, text_node};
use crate::{
    document::{Kind, Member, Node},
    workflow::condition::Condition,
};

const MAP_KEYS: [&str; 10] = [
    "input",
    "json_path",
    "agent_template",
    "max_parallel",
    "timeout_per_agent",
    "agent_timeout_secs",
    "retry_on_failure",
    "max_items",
    "filter",
    "sort_by",
];
const ERROR_KEYS: [&str; 2] = ["continue_on_failure", "max_failures"];
/// Keys that decide what is recorded of failed items; Piton records each item in any case.
const RECORDED: [&str; 2] = ["error_collection", "on_item_failure"];

/// Tells whether a file is a MapReduce workflow, also where other keys are wrong.
pub(super) fn is_one(root: &Node) -> bool {
    let says_so = root.get("mode").and_then(Node::as_str) == Some("mapreduce");
    says_so || (root.get("map").is_some() && root.get("reduce").is_some())
}

impl Translation<'_, '_> {
    /// Returns `None` where there are no steps at all.
    pub(super) fn mapreduce(&mut self, root: &Node) -> Option<Node> {
        self.names.extend(["item", "map", ITEM_ID].map(str::to_owned));
        self.set_by_steps.extend(["item", ITEM_ID].map(str::to_owned));
        let mut members = Vec::new();
        let mut steps = Vec::new();
        for found in root.members() {
            match found.key.as_str() {
                "setup" | "reduce" | "map" | "mode" | "error_policy" => {}
                "continue_on_failure" | "max_failures" | "error_collection" | "on_item_failure" => {}
                "profiles" | "checkpoint" | "retry_config" => self.no_effect(found.place, &found.key),
                "merge" => members.push(member("merge", found.place, self.merge(&found.value))),
                _ => members.push(found.clone()),
            }
        }
        if let Some(setup) = root.get("setup") {
            steps.extend(self.phase(setup, "setup"));
        }
        match root.get("map") {
            Some(map) => steps.push(self.map(root, map)),
            None => self.problems.add(root.place, "a MapReduce workflow needs `map`", "add `map:`"),
        }
        if let Some(reduce) = root.get("reduce") {
            steps.extend(self.phase(reduce, "reduce"));
        }
        if steps.is_empty() {
            return None;
        }
        let steps = Node { place: root.place, kind: Kind::List(steps), ..Node::null() };
        members.push(member("steps", root.place, steps));
        Some(mapping(root.place, members))
    }

    /// Translates the steps of `setup` or `reduce`: a list, or a mapping with `commands`.
    fn phase(&mut self, node: &Node, what: &str) -> Vec<Node> {
        let list = match node.get("commands") {
            Some(list) => list,
            None if node.is_list() => node,
            None => {
                let message = format!("`{what}` is a list of steps, or a mapping with `commands`");
                self.problems.add(node.place, message, "write its steps as a list");
                return Vec::new();
            }
        };
        let timeout =
            node.member("timeout").map(|found| Member { value: self.filled_in(&found.value), ..found.clone() });
        for found in node.members().iter().filter(|found| !["commands", "timeout"].contains(&found.key.as_str())) {
            let message = format!("`{}` of `{what}` is not translated", found.key);
            self.problems.add(found.place, message, "write it on the steps that it is for");
        }
        let mut steps = self.steps(list).items().to_vec();
        if let Some(timeout) = timeout {
            let message = format!("the `timeout` of `{what}` counts for each of its steps");
            self.problems.note(timeout.place, message, "write `timeout:` on the steps that it is for");
            for step in steps.iter_mut().filter(|step| step.get("timeout").is_none()) {
                if let Kind::Map(members) = &mut step.kind {
                    members.push(timeout.clone());
                }
            }
        }
        steps
    }

    fn map(&mut self, root: &Node, map: &Node) -> Node {
        for found in map.members().iter().filter(|found| !MAP_KEYS.contains(&found.key.as_str())) {
            let message = format!("`{}` of `map` is not translated", found.key);
            self.problems.add(found.place, message, format!("the keys of `map` are {}", MAP_KEYS.join(", ")));
        }
        let template = map.get("agent_template");
        let body = match template.map(|template| template.get("commands").unwrap_or(template)) {
            Some(list) if list.is_list() => self.steps(list),
            Some(_) | None => {
                self.problems.add(map.place, "`map` needs an `agent_template` with steps", "add `agent_template:`");
                Node { place: map.place, kind: Kind::List(Vec::new()), ..Node::null() }
            }
        };
        if let Some(found) = map.member("retry_on_failure") {
            let message = "`retry_on_failure` has no effect here";
            self.problems.note(found.place, message, "write `retry:` on a step");
        }
        let id = member("id", map.place, text_node(map.place, "map"));
        let each = self.each(root, map);
        mapping(map.place, vec![id, member("foreach", map.place, each), member("steps", map.place, body)])
    }

    /// Translates the items of `map`, and what happens when one fails.
    fn each(&mut self, root: &Node, map: &Node) -> Node {
        let mut members: Vec<Member> = Vec::new();
        match map.get("input") {
            None => {
                self.problems.add(map.place, "`map` needs an `input`", "add `input:` with a JSON file or a command")
            }
            Some(input) if map.get("json_path").is_some() || input.as_str().is_some_and(is_json_file) => {
                let file = member("file", input.place, self.plain(input));
                let at = map.member("json_path").map(|path| Member { key: "at".to_owned(), ..path.clone() });
                let items = mapping(input.place, std::iter::once(file).chain(at).collect());
                members.push(member("items", input.place, items));
            }
            Some(input) => members.push(member("items", input.place, self.program(input))),
        }
        self.selection(map, &mut members);
        for (key, of) in [
            ("max_items", "max_items"),
            ("max_parallel", "parallel"),
            ("timeout_per_agent", "timeout"),
            ("agent_timeout_secs", "timeout"),
        ] {
            if let Some(found) = map.member(key).filter(|_| members.iter().all(|other| other.key != of)) {
                let value = self.filled_in(&found.value);
                members.push(Member { key: of.to_owned(), value, ..found.clone() });
            }
        }
        members.push(member("worktree", map.place, text_node(map.place, "each")));
        let policy = root.get("error_policy");
        for found in policy.map(Node::members).unwrap_or_default() {
            let key = found.key.as_str();
            if RECORDED.contains(&key) {
                self.item_failure(found);
                if key == "error_collection" {
                    let message = "`error_collection` has no effect here: each item that fails is recorded";
                    self.problems.note(found.place, message, "remove `error_collection`");
                }
            } else if !ERROR_KEYS.contains(&key) {
                let message = format!("`{key}` of `error_policy` is not translated");
                self.problems.add(found.place, message, format!("its keys are {}", ERROR_KEYS.join(", ")));
            }
        }
        let of = |key: &str| policy.and_then(|policy| policy.get(key)).or_else(|| root.get(key));
        let goes_on = of("continue_on_failure").is_none_or(|value| value.kind != Kind::Bool(false));
        if let Some(most) = of("max_failures") {
            members.push(member("max_failures", most.place, most.clone()));
        } else if goes_on {
            let most = Node { place: map.place, kind: Kind::Number("100000".to_owned()), ..Node::null() };
            members.push(member("max_failures", map.place, most));
        }
        mapping(map.place, members)
    }

    /// Returns a number or a length of time, which may be a variable of `env`.
    fn filled_in(&mut self, node: &Node) -> Node {
        let Some(text) = node.as_str().and_then(|text| text.trim().strip_prefix('$')) else { return node.clone() };
        let name = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        match self.env.iter().find(|(known, _)| known == name) {
            Some((_, value)) => text_node(node.place, value),
            None => {
                let message = format!("`${{{name}}}` is not a variable of `env`, which alone can stand here");
                self.problems.add(node.place, message, format!("add `{name}` to `env`, or write the number"));
                // The parser would name a key that the file does not have.
                text_node(node.place, "1")
            }
        }
    }

    /// Translates which items are taken, and their order.
    fn selection(&mut self, map: &Node, members: &mut Vec<Member>) {
        members.extend(map.member("sort_by").map(|found| {
            // Items without the value come last in any case.
            let value = found.value.as_str().map(|text| text.replace(" NULLS LAST", "").replace(" nulls last", ""));
            Member {
                value: value.map_or_else(|| found.value.clone(), |text| text_node(found.value.place, text)),
                ..found.clone()
            }
        }));
        let Some(found) = map.member("filter") else { return };
        let text = found.value.as_str().unwrap_or_default();
        let condition = condition(text);
        if let Err(why) =
            condition.as_ref().map_or_else(|why| Err(why.clone()), |text| Condition::parse(text).map(drop))
        {
            let message = format!("`filter` of `map` is not translated: {why}");
            self.problems.add(found.place, message, "let a step of `setup` write the list that is wanted");
            return;
        }
        members.push(member("where", found.place, text_node(found.value.place, condition.unwrap_or_default())));
    }

    fn item_failure(&mut self, found: &Member) {
        let known = ["dlq", "skip", "aggregate", "immediate"];
        if found.value.as_str().is_none_or(|value| !known.contains(&value)) {
            let message = format!("this value of `{}` is not translated", found.key);
            self.problems.add(found.value.place, message, "use dlq: items that failed are repeated by a resume");
        }
    }
}

/// Translates an expression about an item: its fields are named with or without `item.` there, and behind a comparison a word is a text.
fn condition(text: &str) -> Result<String, String> {
    let mut translated = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == '\'' || c == '"' {
            let end = rest[1..].find(c).ok_or("a quote is not closed")? + 2;
            translated.push_str(&rest[..end]);
            rest = &rest[end..];
        } else if c.is_alphabetic() || c == '_' {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let is_value = translated.trim_end().ends_with(['=', '<', '>']);
            match word {
                "true" | "false" | "null" | "contains" => translated.push_str(word),
                "OR" | "or" => translated.push_str("||"),
                "AND" | "and" => translated.push_str("&&"),
                _ if after.trim_start().starts_with(['(', '[']) || matches!(word, "in" | "matches") => {
                    return Err(format!("`{word}` is not known here"));
                }
                _ if is_value => translated.push_str(&format!("'{word}'")),
                _ => {
                    let path = word.strip_prefix("item.").unwrap_or(word);
                    // A field that an item does not have is empty.
                    translated.push_str(&format!("${{item.{path}:-}}"));
                }
            }
            rest = after;
        } else {
            translated.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    Ok(translated)
}

fn is_json_file(text: &str) -> bool {
    text.ends_with(".json") && !text.contains(char::is_whitespace)
}
