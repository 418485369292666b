//! The form that files of steps for agents had before `workflow/2`: the tree of such a file becomes that of a current one. Pure.

use crate::document::{Kind, Member, Node, definition::Problems};

/// Tells whether a file has the earlier form: phases, or a step that returns to another.
pub(super) fn is_earlier(root: &Node) -> bool {
    let has = |node: &Node, key: &str| node.get(key).is_some();
    has(root, "phases")
        || root.get("steps").is_some_and(|steps| steps.items().iter().any(|step| has(step, "returns_to")))
}

/// Translates a file. Keys that it does not know are kept, so that the parser names them.
pub(super) fn translate(root: &Node, problems: &mut Problems<'_>) -> Node {
    let mut root = root.clone();
    let phases = root.member("phases").map(|member| member.place);
    if let (Some(place), Some(_)) = (phases, root.get("steps")) {
        problems.add(
            place,
            "a workflow has `steps` or `phases`, not both",
            "keep `steps`; a step with `steps` is a group",
        );
    }
    // Where one step says what it depends on, the others depended on nothing.
    let is_ordered = all_steps(&root).iter().any(|step| is_given(step, "depends_on"));
    if let Kind::Map(members) = &mut root.kind {
        for member in members.iter_mut() {
            match member.key.as_str() {
                "phases" => {
                    "steps".clone_into(&mut member.key);
                    for phase in items(&mut member.value) {
                        if let Some(steps) = value(phase, "steps") {
                            items(steps).iter_mut().for_each(|node| step(node, is_ordered));
                        }
                    }
                }
                "steps" => items(&mut member.value).iter_mut().for_each(|node| step(node, is_ordered)),
                _ => {}
            }
        }
    }
    root
}

fn step(node: &mut Node, is_ordered: bool) {
    let (place, span) = (node.place, node.span);
    let is_silent = is_ordered && !is_given(node, "depends_on");
    let Kind::Map(members) = &mut node.kind else { return };
    for member in members.iter_mut().filter(|member| member.key == "returns_to") {
        "reviews".clone_into(&mut member.key);
    }
    if is_silent {
        members.retain(|member| member.key != "depends_on");
        let value = Node { place, kind: Kind::List(Vec::new()), ..Node::null() };
        members.push(Member { key: "depends_on".to_owned(), place, span, value });
    }
}

fn all_steps(root: &Node) -> Vec<&Node> {
    let phases = root.get("phases").map(Node::items).unwrap_or_default().iter();
    let lists = phases.chain([root]).filter_map(|holder| holder.get("steps"));
    lists.flat_map(Node::items).collect()
}

fn is_given(node: &Node, key: &str) -> bool {
    node.get(key).is_some_and(|value| value.kind != Kind::Null)
}

fn items(node: &mut Node) -> &mut [Node] {
    match &mut node.kind {
        Kind::List(items) => items,
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => &mut [],
    }
}

fn value<'a>(node: &'a mut Node, key: &str) -> Option<&'a mut Node> {
    let Kind::Map(members) = &mut node.kind else { return None };
    members.iter_mut().find(|member| member.key == key).map(|member| &mut member.value)
}
