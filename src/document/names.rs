//! The one reading of a list of names: what a step depends on, which files a plan has.

use super::{Kind, Node};
use crate::model::clean_line;

/// Number of names that are read.
const NAMES: usize = 10_000;
/// Characters of a name.
const NAME: usize = 200;
/// Fields of an entry that name something.
const FIELDS: [&str; 7] = ["id", "task_id", "story_id", "task", "story", "ref", "name"];
/// Words that people and models write for an empty list.
const NOTHING: [&str; 8] = ["", "none", "null", "nothing", "n/a", "~", "-", "无"];

/// The names in a value.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) known: Vec<String>,
    /// What stands where a name should, as text.
    pub(crate) unread: Vec<String>,
}

impl Names {
    /// Reads a list of names or of entries with a name, one name, or one text with several, separated by commas or lines.
    pub(crate) fn of(value: Option<&Node>) -> Self {
        let mut names = Self::default();
        match value.map(|value| (value, &value.kind)) {
            None | Some((_, Kind::Null)) => {}
            Some((_, Kind::Text(text))) => text.split([',', ';', '\n']).for_each(|name| names.add(name)),
            Some((_, Kind::List(items))) => items.iter().take(NAMES).for_each(|item| names.add_item(item)),
            Some((value, Kind::Number(_) | Kind::Bool(_) | Kind::Map(_))) => names.add_item(value),
        }
        names
    }

    /// Returns all of them: what is no name names nothing that exists.
    pub(crate) fn all(self) -> Vec<String> {
        self.known.into_iter().chain(self.unread).collect()
    }

    fn add(&mut self, name: &str) {
        let name = clean_line(name, NAME);
        if !NOTHING.contains(&name.to_lowercase().as_str()) && !self.known.contains(&name) {
            self.known.push(name);
        }
    }

    fn add_item(&mut self, item: &Node) {
        match &item.kind {
            Kind::Text(name) | Kind::Number(name) => self.add(name),
            Kind::List(items) => {
                items.iter().take(NAMES).filter(|item| !item.is_list()).for_each(|item| self.add_item(item))
            }
            Kind::Map(_) => match FIELDS.iter().find_map(|field| item.get(field)?.scalar()) {
                Some(name) => self.add(name),
                None => self.unread.push(clean_line(&item.to_string(), NAME)),
            },
            Kind::Bool(_) => self.unread.push(item.to_string()),
            Kind::Null => {}
        }
    }
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
