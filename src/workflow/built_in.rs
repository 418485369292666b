//! The definitions that Piton ships, also usable as templates.

/// A built-in definition.
#[derive(Debug)]
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

pub(crate) static BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "dotagent", text: include_str!("../../workflows/dotagent.yaml") },
    BuiltIn { name: "nine-step", text: include_str!("../../workflows/nine-step.yaml") },
];
