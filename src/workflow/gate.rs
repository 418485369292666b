//! The answers that a gate takes. Pure.

use crate::{
    document::{
        Kind, Node, TextPosition,
        definition::{Fields, Problems, identifier, items, text_of},
    },
    model::{GateEffect, GateOption, StepId, clean_line},
};

/// Reads `options`: a list of words that all continue, or a mapping of each word to what it does.
pub(super) fn options(node: &Node, problems: &mut Problems<'_>) -> Vec<(GateOption, TextPosition)> {
    let mut found: Vec<(GateOption, TextPosition)> = Vec::new();
    if let Kind::Map(members) = &node.kind {
        for member in members {
            let key =
                Node { kind: Kind::Text(member.key.clone()), place: member.place, span: node.span, style: node.style };
            let word = identifier(&key, "an answer of `options`", problems);
            let effect = effect(&member.value, problems);
            found.extend(word.zip(effect).map(|(word, effect)| (GateOption { word: word.text, effect }, member.place)));
        }
    } else {
        for item in items(node, "`options`", problems) {
            let Some(word) = identifier(item, "an answer of `options`", problems) else { continue };
            found.push((GateOption { word: word.text, effect: GateEffect::Continue }, word.place));
        }
    }
    for at in 1..found.len() {
        let ((option, place), before) = (&found[at], &found[..at]);
        if before.iter().any(|(other, _)| other.word == option.word) {
            let message = format!("the answer `{}` is given twice", option.word);
            problems.add(*place, message, "give each answer a word of its own");
        }
    }
    if let Some((_, place)) =
        found.first().filter(|_| found.iter().all(|(option, _)| option.effect != GateEffect::Continue))
    {
        problems.add(*place, "no answer of `options` passes the gate", "let one of them `continue`");
    }
    found
}

fn effect(node: &Node, problems: &mut Problems<'_>) -> Option<GateEffect> {
    if matches!(node.kind, Kind::Map(_)) {
        let mut map = Fields::of(node, "what an answer does", &["return"], problems)?;
        let Some(to) = map.text("return", problems) else {
            problems.add(node.place, "an answer goes back to no step", "write `return: STEP`");
            return None;
        };
        return Some(GateEffect::Return(StepId::new(&to.text)));
    }
    let text = text_of(node, "what an answer does", problems)?;
    match text.text.as_str() {
        "continue" => Some(GateEffect::Continue),
        "stop" => Some(GateEffect::Stop),
        other => {
            let message = format!("an answer does not `{}`", clean_line(other, 40));
            problems.add(text.place, message, "use continue, stop or {return: STEP}");
            None
        }
    }
}
