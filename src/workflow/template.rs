//! Texts with variables. Pure: the values come from the caller that renders one.
//!
//! `${name}`, `${a.b}` and `${name:-fallback}` are variables; `$${...}` is the text `${...}`. In a shell program, other forms
//! (`${x%y}`, `${#x}`, `${1}`) and everything after a backslash are left to the shell.

use std::fmt;

use crate::document::TextPosition;

/// A text of a workflow file with its variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Template {
    pub(crate) pieces: Vec<Piece>,
    /// The position of the text in its file.
    pub(crate) place: TextPosition,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(String),
    Variable(Reference),
}

/// A reference `${path}` or `${path:-fallback}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// `a.b.c`, as written.
    pub(crate) path: String,
    pub(crate) fallback: Option<Template>,
    /// Which of the files of a list, and in which form.
    pub(crate) filter: Option<Filter>,
}

/// The part after the colon of `${workflow.files_added:specs/*.md}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// Files that match a pattern.
    Pattern(String),
    Json,
    Lines,
    /// Separated by commas.
    Csv,
}

/// The reader of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A person, an agent, a file.
    Plain,
    /// `sh -c`.
    Shell,
}

impl Template {
    /// Parses the variables of a text.
    ///
    /// # Errors
    ///
    /// In one sentence: an unclosed `${`, or a form that is not a variable outside a shell program.
    pub(crate) fn parse(text: &str, reader: Reader) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['$', '\\']) {
            literal.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix('\\') {
                // An escaped character is left to the shell.
                let length = if reader == Reader::Shell { after.chars().next().map_or(0, char::len_utf8) } else { 0 };
                literal.push_str(&rest[..=length]);
                rest = &after[length..];
            } else if let Some(after) = rest.strip_prefix("$${") {
                let end = end_of_braces(after).ok_or_else(|| unended(rest))?;
                literal.push_str(&rest[1..end + 3]);
                rest = &after[end..];
            } else if let Some(after) = rest.strip_prefix("${") {
                let end = end_of_braces(after).ok_or_else(|| unended(rest))?;
                let form = &after[..end - 1];
                match reference(form, reader)? {
                    Some(reference) => {
                        if !literal.is_empty() {
                            pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                        }
                        pieces.push(Piece::Variable(reference));
                    }
                    None if reader == Reader::Shell => literal.push_str(&rest[..end + 2]),
                    None => return Err(no_variable(form)),
                }
                rest = &after[end..];
            } else {
                literal.push('$');
                rest = &rest[1..];
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(Self { pieces, place: TextPosition::default() })
    }

    /// Returns all variables, with those in fallbacks.
    pub(crate) fn references(&self) -> Vec<&Reference> {
        let mut found = Vec::new();
        for piece in &self.pieces {
            if let Piece::Variable(reference) = piece {
                found.push(reference);
                found.extend(reference.fallback.iter().flat_map(Self::references));
            }
        }
        found
    }
}

impl Template {
    /// Returns the names that stand in its text behind a dollar without braces.
    pub(super) fn bare_names(&self) -> impl Iterator<Item = &str> {
        let texts = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Literal(text) => Some(text.as_str()),
            Piece::Variable(_) => None,
        });
        texts.flat_map(|text| text.split('$').skip(1)).map(|rest| {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            &rest[..end]
        })
    }
}

impl Piece {
    /// Returns the text as written, and for a variable a letter, which every name of a file may have.
    pub(super) fn literal_or_letter(&self) -> &str {
        match self {
            Self::Literal(text) => text,
            Self::Variable(_) => "x",
        }
    }
}

impl fmt::Display for Template {
    /// Writes the canonical spelling, for titles and digests.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => f.write_str(text)?,
                Piece::Variable(reference) => write!(f, "{reference}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, fallback, filter } = self;
        write!(f, "${{{path}")?;
        match filter {
            None => {}
            Some(Filter::Pattern(pattern)) => write!(f, ":{pattern}")?,
            Some(Filter::Json) => f.write_str(":json")?,
            Some(Filter::Lines) => f.write_str(":lines")?,
            Some(Filter::Csv) => f.write_str(":csv")?,
        }
        if let Some(text) = fallback {
            write!(f, ":-{text}")?;
        }
        f.write_str("}")
    }
}

/// Returns the offset after the `}` that closes a `${`; nested braces are balanced.
pub(super) fn end_of_braces(text: &str) -> Option<usize> {
    let mut depth = 1_u32;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Parses the text between the braces; `None` when it is not a variable.
pub(super) fn reference(form: &str, reader: Reader) -> Result<Option<Reference>, String> {
    let end = form.find(|c: char| !is_path(c)).unwrap_or(form.len());
    // `${a:-b}`: the `-` belongs to the operator, and a name does not end in one.
    let (path, tail) = form.split_at(end);
    let starts_well = path.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts_well || path.ends_with(['.', '-']) || path.contains("..") {
        return Ok(None);
    }
    // `${x-y}` is a shell's default value; names with a dash are those of steps: `${step.build-all.output}`.
    if path.contains('-') && !path.contains('.') {
        return Ok(None);
    }
    if tail.starts_with('|') {
        // No shell has it, so it is a variable in the notation of another program.
        return Err(no_variable(form));
    }
    let (mut filter, mut fallback) = (None, None);
    match (tail.strip_prefix(":-"), tail.strip_prefix(':')) {
        (Some(text), _) => fallback = Some(Template::parse(text, reader)?),
        (None, Some(text)) if is_file_list(path) => filter = Some(Filter::parse(text, form)?),
        (None, _) if tail.is_empty() => {}
        (None, _) => return Ok(None),
    }
    Ok(Some(Reference { path: path.to_owned(), fallback, filter }))
}

impl Filter {
    fn parse(text: &str, form: &str) -> Result<Self, String> {
        match text {
            "json" => Ok(Self::Json),
            "lines" => Ok(Self::Lines),
            "csv" => Ok(Self::Csv),
            pattern if pattern.contains(['*', '?', '/', '.']) => Ok(Self::Pattern(pattern.to_owned())),
            _ => Err(format!("`${{{form}}}` ends in `:json`, `:lines`, `:csv` or a pattern of files")),
        }
    }
}

/// Tells whether a variable is a list of files that git answers.
fn is_file_list(path: &str) -> bool {
    let list = path.strip_prefix("step.").or_else(|| path.strip_prefix("workflow."));
    list.is_some_and(|list| list.starts_with("files_"))
}

const fn is_path(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

fn unended(rest: &str) -> String {
    let start: String = rest.chars().take(20).collect();
    format!("`{start}` begins a variable that does not end; close it with `}}`, or write `$${{` for a plain `${{`")
}

fn no_variable(form: &str) -> String {
    let form: String = form.chars().take(40).collect();
    format!(
        "`${{{form}}}` is not a variable; write `${{name}}`, `${{a.b}}` or `${{name:-default}}`, or `$${{{form}}}` for the text itself"
    )
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
