//! The place of a list in a JSON document: `$.items[*]`. Pure.

use std::fmt;

use serde_json::Value;

/// A path that selects values of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JsonPath {
    steps: Vec<PathStep>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    Key(String),
    Index(usize),
    /// Every element of a list, or every value of a mapping.
    All,
}

impl JsonPath {
    /// Returns the path of the document itself.
    pub(crate) const fn root() -> Self {
        Self { steps: Vec::new() }
    }

    /// Parses `$`, `.key`, `['key']`, `[0]`, `[*]` and `.*`.
    ///
    /// # Errors
    ///
    /// In one sentence.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a path of keys, `[0]` and `[*]`");
        let mut rest = text.trim().strip_prefix('$').ok_or_else(wrong)?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let end = inner.find(']').ok_or_else(wrong)?;
                let (form, after) = (inner[..end].trim(), &inner[end + 1..]);
                let quoted = ['\'', '"'].iter().find_map(|quote| form.strip_prefix(*quote)?.strip_suffix(*quote));
                steps.push(match (form, quoted) {
                    ("*", _) => PathStep::All,
                    (_, Some(key)) => PathStep::Key(key.to_owned()),
                    (index, None) => PathStep::Index(index.parse().map_err(|_| wrong())?),
                });
                rest = after;
            } else {
                let inner = rest.strip_prefix('.').ok_or_else(wrong)?;
                let end = inner.find(['.', '[']).unwrap_or(inner.len());
                let (key, after) = inner.split_at(end);
                let is_name = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
                steps.push(match key {
                    "*" => PathStep::All,
                    key if is_name => PathStep::Key(key.to_owned()),
                    _ => return Err(wrong()),
                });
                rest = after;
            }
        }
        Ok(Self { steps })
    }

    /// Returns the items that it selects: all values, or the elements of a single list.
    pub(crate) fn items(&self, document: &Value) -> Vec<Value> {
        let mut found = vec![document];
        for step in &self.steps {
            found = found.into_iter().flat_map(|value| step.select(value)).collect();
        }
        match found.as_slice() {
            [Value::Array(items)] => items.clone(),
            values => values.iter().copied().cloned().collect(),
        }
    }
}

impl PathStep {
    fn select<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match (self, value) {
            (Self::Key(key), Value::Object(map)) => map.get(key).into_iter().collect(),
            (Self::Index(at), Value::Array(items)) => items.get(*at).into_iter().collect(),
            (Self::All, Value::Array(items)) => items.iter().collect(),
            (Self::All, Value::Object(map)) => map.values().collect(),
            (Self::Key(_) | Self::Index(_) | Self::All, _) => Vec::new(),
        }
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for step in &self.steps {
            match step {
                PathStep::Key(key) => write!(f, "['{key}']")?,
                PathStep::Index(at) => write!(f, "[{at}]")?,
                PathStep::All => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "json_path_tests.rs"]
mod tests;
