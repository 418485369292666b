//! The steps of a file of Prodigy, in the two spellings of its documents. Pure.

use super::{Translation, capture, mapping, member, text_node, with};
use crate::document::{Kind, Member, Node, definition::text_of};

const COMMANDS: [&str; 7] = ["shell", "claude", "test", "foreach", "write_file", "validate", "name"];
/// The keys that say what a step of a current file does.
const KINDS: [&str; 4] = ["shell", "claude", "foreach", "write_file"];
/// Keys of a step that its documents have and its program ignores.
const NO_EFFECT: [&str; 5] = ["analysis", "options", "metadata", "context", "args"];
const TOLERATED: &str = "write `on_failure: {fail_workflow: false}` with what to do";
/// Keys of a step that its documents or files have and its program ignores, with what to write. They would change what a step does.
const IGNORED: [(&str, &str); 5] = [
    ("on_exit_code", TOLERATED),
    ("allow_failure", TOLERATED),
    ("fail_workflow", TOLERATED),
    ("temporary", "remove it: `env` of a step is only for that step"),
    ("clear_env", "write `env -i NAME=VALUE` in front of the command"),
];
/// Commands that its program has no longer, with what to do.
const GONE: [(&str, &str); 2] = [
    ("analyze", "remove the step"),
    ("goal_seek", "write the command with `validate` and `on_incomplete`, which repeat until the threshold is reached"),
];

impl Translation<'_, '_> {
    /// Translates a list of steps.
    pub(super) fn steps(&mut self, list: &Node) -> Node {
        let steps = list.items().iter().flat_map(|node| self.step(node)).collect();
        Node { kind: Kind::List(steps), ..list.clone() }
    }

    /// Translates one step or a list of them into a list.
    pub(super) fn one_or_more(&mut self, node: &Node) -> Node {
        match &node.kind {
            Kind::List(_) => self.steps(node),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => {
                let steps = self.step(node);
                Node { place: node.place, kind: Kind::List(steps), ..Node::null() }
            }
        }
    }

    /// Translates a step, with the steps of its `on_success` behind it; none if it has no command, which is reported.
    fn step(&mut self, node: &Node) -> Vec<Node> {
        let Some(mut step) = self.one(node) else { return Vec::new() };
        let Some(success) = node.get("on_success").filter(|value| value.kind != Kind::Null) else { return vec![step] };
        let mut following = self.one_or_more(success).items().to_vec();
        let is_false = |key: &Node| key.kind == Kind::Bool(false);
        let is_tolerated =
            step.get("on_failure").and_then(|handler| handler.get("fail_workflow")).is_some_and(is_false);
        let is_conditional = is_tolerated || step.get("when").is_some();
        if is_conditional {
            let id = id_of(&mut step);
            following.iter_mut().for_each(|next| after_success(next, &id));
        }
        if (is_conditional && self.depth > 0) || reads_its_step(success) {
            let message = "this `on_success` cannot become a step of its own, which is what it is here";
            self.problems.add(success.place, message, "write what it does into the command before it");
        }
        following.insert(0, step);
        following
    }

    /// Translates steps inside of another one, where nothing is known of how a single one ended.
    pub(super) fn inside(&mut self, node: &Node) -> Node {
        self.depth += 1;
        let steps = self.one_or_more(node);
        self.depth -= 1;
        steps
    }

    /// Translates a step without its `on_success`; `None` if it has no command, which is reported.
    fn one(&mut self, node: &Node) -> Option<Node> {
        let Kind::Map(members) = &node.kind else {
            // A bare text is the name of a Claude command.
            let text = text_of(node, "a step", self.problems)?;
            let prompt = self.prompt(&text_node(text.place, slash(&text.text)));
            return Some(mapping(node.place, vec![member("claude", node.place, prompt)]));
        };
        let mut given: Vec<&str> = COMMANDS.into_iter().filter(|key| node.get(key).is_some()).collect();
        let is_named = given.len() > 1 && given.last() == Some(&"name");
        if is_named {
            // A label.
            given.pop();
        }
        if matches!(given.as_slice(), ["shell" | "claude", "validate"]) {
            // It measures what the command did.
            given.pop();
        }
        if given.len() > 1 {
            let message = format!("a step has one command, and this one has {}", given.join(" and "));
            self.problems.add(node.place, message, "give it one of them");
            return None;
        }
        if given.is_empty() {
            let keys: Vec<&str> = members.iter().map(|member| member.key.as_str()).collect();
            if let Some((key, fix)) = GONE.iter().find(|(key, _)| keys.contains(key)) {
                let message = format!("the step has no command; Prodigy does not run `{key}` either");
                self.problems.add(node.place, message, *fix);
                return None;
            }
            let has = if keys.is_empty() { String::new() } else { format!("; it has {}", keys.join(", ")) };
            let fix = "give it one of shell, claude, test, foreach, write_file or validate";
            self.problems.add(node.place, format!("the step has no command{has}"), fix);
            return None;
        }
        self.capture(node);
        let mut translated = Vec::new();
        for found in members {
            self.key(node, found, is_named, &mut translated);
        }
        if given.as_slice() == ["name"] {
            translated.extend(self.named(node));
        }
        if given.as_slice() == ["validate"] {
            let title = member("title", node.place, text_node(node.place, "validate"));
            translated.extend(translated.iter().all(|member| member.key != "title").then_some(title));
            translated.insert(0, member("shell", node.place, text_node(node.place, ":")));
        }
        // A command that could not be translated is reported.
        let has_kind = translated.iter().any(|member| KINDS.contains(&member.key.as_str()));
        has_kind.then(|| with(node, translated))
    }

    /// Translates one key of a step.
    fn key(&mut self, node: &Node, found: &Member, is_named: bool, into: &mut Vec<Member>) {
        let (place, value) = (found.place, &found.value);
        let mut put = |key: &str, value: Node| into.push(member(key, place, value));
        match found.key.as_str() {
            "shell" => put("shell", self.program(value)),
            "claude" => put("claude", self.prompt(value)),
            "test" => self.test(node, value, into),
            "foreach" if value.kind == Kind::Null => {}
            "foreach" => self.foreach(value, into),
            "validate" => put("validate", self.validate(value)),
            "on_failure" => put("on_failure", self.handler(value)),
            // The step is followed by it.
            "on_success" => {}
            "retry" => put("retry", self.retry(value)),
            "description" => put("title", value.clone()),
            "name" if is_named => put("title", value.clone()),
            "name" => {}
            "args" if node.get("name").is_some() && !is_named => {}
            key if NO_EFFECT.contains(&key) => self.no_effect(place, key),
            key if let Some((_, fix)) = IGNORED.iter().find(|(ignored, _)| *ignored == key) => {
                self.problems.add(place, format!("a step has no key `{key}`, which Prodigy ignores; {fix}"), *fix);
            }
            "write_file" | "env" => put(&found.key, self.values(value)),
            "output_file" => {
                let message = "`output_file` has no counterpart here";
                self.problems.add(place, message, "write `> FILE` behind the command, or let the step write the file");
            }
            "working_dir" | "when" => put(&found.key, self.plain(value)),
            key if capture::KEYS.contains(&key) => {}
            "irreversible" => match (&value.kind, node.get("idempotent").map(|other| &other.kind)) {
                (Kind::Bool(once), Some(Kind::Bool(twice))) if once == twice => {
                    let message = "`idempotent` and `irreversible` contradict each other";
                    self.problems.add(place, message, "keep one of them");
                }
                (Kind::Bool(once), None) => {
                    put("idempotent", Node { place: value.place, kind: Kind::Bool(!once), ..Node::null() });
                }
                (Kind::Bool(_), Some(_)) | (Kind::Null, _) => {}
                (_, _) => put("idempotent", value.clone()),
            },
            "outputs" if capture::has_patterns(value) => {}
            _ => into.push(found.clone()),
        }
    }

    /// Translates `{name, args}`, the oldest spelling of a Claude command.
    fn named(&mut self, node: &Node) -> Option<Member> {
        let name = node.get("name")?;
        let mut text = slash(&text_of(name, "`name` of a step", self.problems)?.text);
        if let Some(args) = node.get("args") {
            let list = if args.is_list() { args.items() } else { std::slice::from_ref(args) };
            for arg in list.iter().filter_map(|arg| text_of(arg, "an entry of `args`", self.problems)) {
                text = format!("{text} {}", arg.text);
            }
        }
        let prompt = self.prompt(&text_node(name.place, text));
        Some(member("claude", name.place, prompt))
    }

    /// Translates `test`: a shell command with an optional handler.
    fn test(&mut self, node: &Node, value: &Node, into: &mut Vec<Member>) {
        let Kind::Map(members) = &value.kind else {
            into.push(member("shell", value.place, self.program(value)));
            return;
        };
        for found in members {
            match found.key.as_str() {
                "command" => into.push(member("shell", found.place, self.program(&found.value))),
                "on_failure" if node.get("on_failure").is_some() => {
                    let message = "the step has an `on_failure` already";
                    self.problems.add(found.value.place, message, "keep one of the two");
                }
                "on_failure" => into.push(member("on_failure", found.place, self.handler(&found.value))),
                other => {
                    let message = format!("`test` has no key `{other}`; its keys are command, on_failure");
                    self.problems.add(found.place, message, "use command and on_failure");
                }
            }
        }
        if value.get("command").is_none() {
            self.problems.add(value.place, "`test` needs a `command`", "add `command:`");
        }
    }

    fn foreach(&mut self, value: &Node, into: &mut Vec<Member>) {
        let mut items = None;
        let mut members = Vec::new();
        let mut body = None;
        for found in value.members() {
            match found.key.as_str() {
                "foreach" | "input" | "items" if items.is_some() => {
                    let message = "`foreach` and `input` of `foreach` say the same";
                    self.problems.add(found.value.place, message, "keep `foreach`");
                }
                "foreach" | "input" | "items" => {
                    items = Some(());
                    members.push(member("items", found.place, self.items(&found.value)));
                }
                "do" if found.value.kind != Kind::Null => {
                    body = Some(member("steps", found.place, self.one_or_more(&found.value)));
                }
                _ => members.push(found.clone()),
            }
        }
        match (items, body) {
            (Some(()), Some(body)) => {
                into.push(member("foreach", value.place, mapping(value.place, members)));
                into.push(body);
            }
            _ => {
                let fix = "add `foreach:` with a list or a command, and `do:`";
                self.problems.add(value.place, "`foreach` needs items and what to do", fix);
            }
        }
    }

    fn items(&mut self, node: &Node) -> Node {
        if node.is_list() { node.clone() } else { self.program(node) }
    }

    fn validate(&mut self, value: &Node) -> Node {
        if value.is_list() {
            return self.inside(value);
        }
        let mut members = Vec::new();
        // Several commands run in the order of the file; the last one measures.
        let several: Vec<&Member> =
            value.members().iter().filter(|found| matches!(found.key.as_str(), "shell" | "claude")).collect();
        if several.len() > 1 {
            let steps =
                several.iter().flat_map(|found| self.step(&mapping(found.place, vec![(*found).clone()]))).collect();
            let list = Node { place: value.place, kind: Kind::List(steps), ..Node::null() };
            members.push(member("steps", value.place, list));
        }
        for found in value.members() {
            match found.key.as_str() {
                "shell" | "claude" if several.len() > 1 => {}
                "shell" => members.push(member("shell", found.place, self.program(&found.value))),
                "claude" => members.push(member("claude", found.place, self.prompt(&found.value))),
                "commands" => members.push(member("steps", found.place, self.inside(&found.value))),
                "on_incomplete" => members.push(member("on_incomplete", found.place, self.handler(&found.value))),
                "result_file" => members.push(member("result_file", found.place, self.plain(&found.value))),
                _ => members.push(found.clone()),
            }
        }
        with(value, members)
    }

    /// Translates a handler: a text (a Claude command when it begins with `/`, else one of a shell), a list, or a mapping.
    fn handler(&mut self, value: &Node) -> Node {
        match &value.kind {
            Kind::List(_) => self.inside(value),
            Kind::Text(text) if text.trim_start().starts_with('/') => {
                let prompt = self.prompt(value);
                mapping(value.place, vec![member("claude", value.place, prompt)])
            }
            Kind::Text(_) => self.program(value),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => value.clone(),
            Kind::Map(found) => {
                let members = found.iter().map(|found| match found.key.as_str() {
                    "shell" => member("shell", found.place, self.program(&found.value)),
                    "claude" => member("claude", found.place, self.prompt(&found.value)),
                    "commands" => member("steps", found.place, self.inside(&found.value)),
                    "max_attempts" => member("attempts", found.place, found.value.clone()),
                    _ => found.clone(),
                });
                let members = members.collect();
                with(value, members)
            }
        }
    }

    /// Translates the names of a `retry`.
    pub(super) fn retry(&mut self, value: &Node) -> Node {
        let mut members: Vec<Member> = Vec::new();
        let mut codes = Vec::new();
        for found in value.members() {
            let key = match found.key.as_str() {
                "max_attempts" => "attempts",
                "initial_delay_secs" => "initial_delay",
                "max_delay_secs" => "max_delay",
                "jitter_factor" => {
                    // `jitter: true` keeps the factor beside it; `jitter: false` means no jitter.
                    match value.get("jitter").map(|jitter| &jitter.kind) {
                        Some(Kind::Bool(false)) => continue,
                        Some(Kind::Bool(true)) | None => members.retain(|member| member.key != "jitter"),
                        Some(_) => {}
                    }
                    "jitter"
                }
                "jitter" if value.get("jitter_factor").is_some() && found.value.kind == Kind::Bool(true) => continue,
                "backoff"
                    if let Some(kind) = found.value.as_str().filter(|kind| ["linear", "fibonacci"].contains(kind)) =>
                {
                    let message = format!("`backoff: {kind}` is not known here: the delays grow exponentially");
                    self.problems.note(found.value.place, message, "write `exponential` or `fixed`");
                    continue;
                }
                "exit_codes" => {
                    codes.extend(found.value.items().iter().cloned());
                    if !found.value.is_list() {
                        members.push(found.clone());
                    }
                    continue;
                }
                other => other,
            };
            if key != "jitter" && members.iter().any(|member| member.key == key) {
                let message = format!("`{key}` and `{}` of `retry` say the same", other_name(key));
                self.problems.add(found.value.place, message, format!("keep `{key}`"));
                continue;
            }
            members.push(Member { key: key.to_owned(), ..found.clone() });
        }
        if !codes.is_empty() {
            let mut kinds = Vec::new();
            if let Some(at) = members.iter().position(|member| member.key == "retry_on") {
                let listed = members.remove(at).value;
                kinds = if listed.is_list() { listed.items().to_vec() } else { vec![listed] };
            }
            kinds.extend(codes);
            members.push(member("retry_on", value.place, Node { kind: Kind::List(kinds), ..value.clone() }));
        }
        with(value, members)
    }
}

/// Returns the id of a translated step, which gets one where it has none.
fn id_of(step: &mut Node) -> String {
    if let Some(id) = step.get("id").and_then(Node::as_str) {
        return id.to_owned();
    }
    let place = step.place;
    let id = format!("step-{}-{}", place.line, place.column);
    if let Kind::Map(members) = &mut step.kind {
        members.push(member("id", place, text_node(place, &id)));
    }
    id
}

/// Has a translated step run only where another one succeeded.
fn after_success(step: &mut Node, id: &str) {
    let place = step.place;
    let Kind::Map(members) = &mut step.kind else { return };
    let own = members.iter().position(|member| member.key == "when").map(|at| members.remove(at).value);
    let own = own.and_then(|own| match own.kind {
        Kind::Text(text) => Some(format!(" && ({text})")),
        Kind::Bool(value) => Some(format!(" && {value}")),
        Kind::Null | Kind::Number(_) | Kind::List(_) | Kind::Map(_) => None,
    });
    let when = format!("succeeded({id}){}", own.unwrap_or_default());
    members.push(member("when", place, text_node(place, when)));
}

/// Tells whether a text asks what changed since its step began.
fn reads_its_step(node: &Node) -> bool {
    let mut inner = node.members().iter().map(|member| &member.value).chain(node.items());
    node.as_str().is_some_and(|text| text.contains("${step.")) || inner.any(reads_its_step)
}

fn other_name(key: &str) -> &'static str {
    match key {
        "attempts" => "max_attempts",
        "initial_delay" => "initial_delay_secs",
        _ => "max_delay_secs",
    }
}

fn slash(text: &str) -> String {
    format!("/{}", text.trim_start_matches('/'))
}
