//! Texts with variables in them. Pure: the values come from whoever renders one.

/// Is a text of a workflow file with the variables in it found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Template {
    pub(crate) pieces: Vec<Piece>,
}

/// Is a part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(String),
    Variable(Reference),
}

/// Is `${path}` or `${path:-fallback}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// `a.b.c`, as written.
    pub(crate) path: String,
    pub(crate) fallback: Option<Template>,
}
