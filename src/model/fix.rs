//! What resolves a finding.

use std::fmt::{Display, Formatter, Result};

use serde::{Serialize, Serializer};

use super::suggested::{Suggested, Verb};

/// What resolves a finding: an exact command where possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fix {
    Command(Suggested),
    /// A sentence, with the commands in it that a question can offer.
    Advice {
        text: String,
        offers: Vec<Suggested>,
    },
}

impl Fix {
    /// Builds advice that names these commands, among others.
    pub(crate) fn offering(text: impl Into<String>, offers: impl Into<Vec<Suggested>>) -> Self {
        Self::Advice { text: text.into(), offers: offers.into() }
    }

    /// Returns the call of `piton` with this verb that it is, or offers.
    pub(crate) fn offer(&self, verb: Verb) -> Option<&Suggested> {
        let offers = match self {
            Self::Command(command) => std::slice::from_ref(command),
            Self::Advice { offers, .. } => offers,
        };
        offers.iter().find(|command| command.verb() == Some(verb))
    }

    /// Returns the command; `None` for advice.
    pub(crate) const fn command(&self) -> Option<&Suggested> {
        match self {
            Self::Command(command) => Some(command),
            Self::Advice { .. } => None,
        }
    }
}

impl Display for Fix {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Command(command) => command.fmt(f),
            Self::Advice { text, .. } => f.write_str(text),
        }
    }
}

impl From<Suggested> for Fix {
    fn from(command: Suggested) -> Self {
        Self::Command(command)
    }
}

impl From<String> for Fix {
    fn from(text: String) -> Self {
        Self::offering(text, [])
    }
}

impl From<&str> for Fix {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Fix> for Suggested {
    fn from(fix: Fix) -> Self {
        match fix {
            Fix::Command(command) => command,
            Fix::Advice { text, .. } => Self::Other(text),
        }
    }
}

impl From<Fix> for String {
    fn from(fix: Fix) -> Self {
        fix.to_string()
    }
}

impl Serialize for Fix {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
impl<S: AsRef<str>> PartialEq<S> for Fix {
    fn eq(&self, text: &S) -> bool {
        let shown = self.to_string();
        shown == text.as_ref()
    }
}
