//! A text with its tree, and the places in it that an edit replaces.

use std::ops::Range;

use super::tree::{Kind, Member, Node, Style, TextPosition};

/// A text with its tree.
#[derive(Clone, Copy)]
pub(super) struct SpliceSource<'a> {
    pub(super) text: &'a str,
    pub(super) root: &'a Node,
}

/// A value with its surroundings.
#[derive(Clone, Copy)]
pub(super) struct SpliceTarget<'a> {
    pub(super) node: &'a Node,
    /// Its key; `None` for list elements and the root.
    pub(super) member: Option<&'a Member>,
    pub(super) parent: Option<&'a Node>,
    /// Whether it is inside brackets.
    pub(super) in_flow: bool,
}

/// The replacement of some bytes.
pub(super) type Splice = (Range<usize>, String);

/// Where and why a change cannot be placed.
pub(super) struct Refused {
    pub(super) place: TextPosition,
    pub(super) why: &'static str,
}

pub(super) const OTHER_TYPE: &str = "a value of another type is in the way";
pub(super) const ALIASED: &str = "it is an alias of another value";

pub(super) const fn refused(node: &Node, why: &'static str) -> Refused {
    Refused { place: node.place, why }
}

impl SpliceTarget<'_> {
    /// Refuses a change at the position of the key, else at that of the value.
    pub(super) fn refused(self, why: &'static str) -> Refused {
        Refused { place: self.member.map_or(self.node.place, |member| member.place), why }
    }
}

impl<'a> SpliceSource<'a> {
    /// Follows a path. Aliased values are refused, because editing them would change other values.
    pub(super) fn find(self, parts: &[String]) -> Result<Option<SpliceTarget<'a>>, Refused> {
        let mut target = SpliceTarget { node: self.root, member: None, parent: None, in_flow: false };
        for part in parts {
            if target.node.style == Style::Alias {
                return Err(target.refused(ALIASED));
            }
            let in_flow = target.in_flow || target.node.style == Style::Flow;
            let parent = Some(target.node);
            target = match &target.node.kind {
                Kind::Map(_) => match target.node.member(part) {
                    Some(member) => SpliceTarget { node: &member.value, member: Some(member), parent, in_flow },
                    None => return Ok(None),
                },
                Kind::List(items) => match part.parse().ok().and_then(|at: usize| items.get(at)) {
                    Some(node) => SpliceTarget { node, member: None, parent, in_flow },
                    None => return Ok(None),
                },
                Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => return Ok(None),
            };
        }
        Ok(Some(target))
    }

    /// Returns the nearest value around a path.
    pub(super) fn around(self, parts: &[String]) -> TextPosition {
        let found = (0..=parts.len()).rev().find_map(|end| self.find(&parts[..end]).ok().flatten());
        found.map_or(self.root.place, |target| target.refused("").place)
    }
}
