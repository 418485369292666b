//! The quoting context of each variable in a shell program, so that a reference to it can be quoted. Pure.
//!
//! A value never becomes part of the program: a context that is determined wrongly may split a value, but never executes it.

use std::collections::BTreeSet;

use super::template::{Piece, Template, end_of_braces};

/// The quoting context of a position in a shell program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quoting {
    /// Outside of quotes: a separate word.
    Bare,
    /// Inside double quotes, or in the text of a here-document.
    Double,
    Single,
    /// Inside `$((...))`, where a shell evaluates the value.
    Arithmetic,
}

/// Returns the quoting context of each variable of a shell program, in order.
///
/// # Errors
///
/// In one sentence, when a variable is in a position where a reference is impossible.
pub(crate) fn quoting(template: &Template) -> Result<Vec<Quoting>, String> {
    let mut scanner = Scanner::default();
    let mut found = Vec::new();
    for piece in &template.pieces {
        match piece {
            Piece::Literal(text) => scanner.literal(text),
            Piece::Variable(reference) => {
                let quoting = scanner.here().map_err(|why| format!("`${{{}}}` stands {why}", reference.path))?;
                found.push(quoting);
                scanner.word.push('x');
                scanner.line_start = false;
            }
        }
    }
    Ok(found)
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Frame {
    /// Program text: of `$(...)`, or between parentheses that a `case` has open.
    Program {
        parentheses: u32,
        cases: u32,
    },
    Double,
    Single,
    Backquotes,
    Arithmetic {
        parentheses: u32,
    },
    Comment,
    /// The text of a here-document up to its last line.
    Document(Document),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Document {
    end: String,
    quoted: bool,
    /// `<<-`: tabs before the last line do not count.
    indented: bool,
}

#[derive(Debug, Default)]
struct Scanner {
    frames: Vec<Frame>,
    /// Here-documents whose text begins on the next line.
    waiting: Vec<Document>,
    /// The word so far, of program text.
    word: String,
    line_start: bool,
}

impl Scanner {
    /// Returns the quoting context of the current position.
    fn here(&self) -> Result<Quoting, &'static str> {
        match self.frames.last() {
            None | Some(Frame::Program { .. } | Frame::Comment) => Ok(Quoting::Bare),
            Some(Frame::Double) => Ok(Quoting::Double),
            Some(Frame::Single) => Ok(Quoting::Single),
            Some(Frame::Arithmetic { .. }) => Ok(Quoting::Arithmetic),
            Some(Frame::Backquotes) => Err("between backquotes; write `$(...)` instead of them"),
            Some(Frame::Document(document)) if document.quoted => {
                Err("in a here-document whose end is quoted; take the quotes off its end, or set `env`")
            }
            Some(Frame::Document(_)) => Ok(Quoting::Double),
        }
    }

    fn literal(&mut self, text: &str) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let eaten = match self.frames.last_mut() {
                None => self.program(rest, c),
                Some(Frame::Program { .. }) => self.program(rest, c),
                Some(Frame::Double) => self.double(rest, c),
                Some(Frame::Single) => self.until(c, '\''),
                Some(Frame::Backquotes) if c == '\\' => two(rest),
                Some(Frame::Backquotes) => self.until(c, '`'),
                Some(Frame::Arithmetic { .. }) => self.arithmetic(rest, c),
                Some(Frame::Comment) if c == '\n' => {
                    self.frames.pop();
                    0
                }
                Some(Frame::Comment) => c.len_utf8(),
                Some(Frame::Document(_)) => self.document(rest, c),
            };
            rest = &rest[eaten..];
        }
    }

    fn until(&mut self, c: char, end: char) -> usize {
        if c == end {
            self.frames.pop();
        }
        c.len_utf8()
    }

    fn program(&mut self, rest: &str, c: char) -> usize {
        if let Some(eaten) = self.expansion(rest) {
            self.word.push('x');
            return eaten;
        }
        match c {
            '\\' => {
                self.word.push('x');
                return two(rest);
            }
            '\'' => self.quote(Frame::Single),
            '"' => self.quote(Frame::Double),
            '`' => self.quote(Frame::Backquotes),
            '#' if self.word.is_empty() => self.frames.push(Frame::Comment),
            '<' if rest.starts_with("<<") && !rest.starts_with("<<<") => {
                self.end_word();
                return self.here_document(rest);
            }
            '<' => {
                self.end_word();
                return rest.len() - rest.trim_start_matches('<').len();
            }
            '(' if rest.starts_with("((") && self.word.is_empty() => {
                self.frames.push(Frame::Arithmetic { parentheses: 0 });
                return 2;
            }
            '(' => {
                self.end_word();
                if let Some(Frame::Program { parentheses, .. }) = self.frames.last_mut() {
                    *parentheses += 1;
                }
            }
            ')' => self.close(),
            '\n' => {
                self.end_word();
                self.begin_document();
            }
            ' ' | '\t' | '\r' | ';' | '&' | '|' | '>' => self.end_word(),
            _ => self.word.push(c),
        }
        c.len_utf8()
    }

    fn quote(&mut self, frame: Frame) {
        self.word.push('x');
        self.frames.push(frame);
    }

    /// Enters `$(`, `$((` or skips `${...}`; returns the length of that.
    fn expansion(&mut self, rest: &str) -> Option<usize> {
        if rest.starts_with("$((") {
            self.frames.push(Frame::Arithmetic { parentheses: 0 });
            return Some(3);
        }
        if rest.starts_with("$(") {
            self.frames.push(Frame::Program { parentheses: 0, cases: 0 });
            self.word.clear();
            return Some(2);
        }
        let after = rest.strip_prefix("${")?;
        Some(2 + end_of_braces(after).unwrap_or(after.len()))
    }

    fn close(&mut self) {
        self.end_word();
        match self.frames.last_mut() {
            Some(Frame::Program { parentheses, .. }) if *parentheses > 0 => *parentheses -= 1,
            // The end of a pattern: `a) command ;;`.
            Some(Frame::Program { cases, .. }) if *cases > 0 => {}
            Some(Frame::Program { .. }) => {
                self.frames.pop();
                self.word.push('x');
            }
            _ => {}
        }
    }

    fn end_word(&mut self) {
        if let Some(Frame::Program { cases, .. }) = self.frames.last_mut() {
            match self.word.as_str() {
                "case" => *cases += 1,
                "esac" => *cases = cases.saturating_sub(1),
                _ => {}
            }
        }
        self.word.clear();
    }

    fn double(&mut self, rest: &str, c: char) -> usize {
        if let Some(eaten) = self.expansion(rest) {
            return eaten;
        }
        match c {
            '\\' => two(rest),
            '`' => {
                self.frames.push(Frame::Backquotes);
                1
            }
            _ => self.until(c, '"'),
        }
    }

    fn arithmetic(&mut self, rest: &str, c: char) -> usize {
        if let Some(eaten) = self.expansion(rest) {
            return eaten;
        }
        let Some(Frame::Arithmetic { parentheses }) = self.frames.last_mut() else { return c.len_utf8() };
        match c {
            '(' => *parentheses += 1,
            ')' if *parentheses > 0 => *parentheses -= 1,
            ')' => {
                self.frames.pop();
                return if rest.starts_with("))") { 2 } else { 1 };
            }
            _ => {}
        }
        c.len_utf8()
    }

    /// Reads `<<END`, `<<-END` and `<<'END'`; the text itself begins on the next line.
    fn here_document(&mut self, rest: &str) -> usize {
        let mut document = Document::default();
        let mut tail = &rest[2..];
        if let Some(after) = tail.strip_prefix('-') {
            document.indented = true;
            tail = after;
        }
        tail = tail.trim_start_matches([' ', '\t']);
        let mut quote = None;
        while let Some(c) = tail.chars().next() {
            match c {
                _ if quote == Some(c) => quote = None,
                '\'' | '"' if quote.is_none() => (quote, document.quoted) = (Some(c), true),
                '\\' if quote.is_none() => document.quoted = true,
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' if quote.is_none() => break,
                _ => document.end.push(c),
            }
            tail = &tail[c.len_utf8()..];
        }
        self.waiting.push(document);
        rest.len() - tail.len()
    }

    fn begin_document(&mut self) {
        // The document that was announced first is read first.
        while let Some(document) = self.waiting.pop() {
            self.frames.push(Frame::Document(document));
            self.line_start = true;
        }
    }

    fn document(&mut self, rest: &str, c: char) -> usize {
        let Some(Frame::Document(document)) = self.frames.last() else { return c.len_utf8() };
        if self.line_start {
            self.line_start = false;
            let line = rest.split('\n').next().unwrap_or(rest);
            let text = if document.indented { line.trim_start_matches('\t') } else { line };
            if text == document.end {
                self.frames.pop();
                self.line_start = matches!(self.frames.last(), Some(Frame::Document(_)));
                let newline = usize::from(self.line_start && rest.len() > line.len());
                return line.len() + newline;
            }
        }
        let quoted = document.quoted;
        if c == '\n' {
            self.line_start = true;
        } else if !quoted {
            if c == '\\' && !rest[1..].starts_with('\n') {
                return two(rest);
            }
            if let Some(eaten) = self.expansion(rest) {
                return eaten;
            }
            if c == '`' {
                self.frames.push(Frame::Backquotes);
            }
        }
        c.len_utf8()
    }
}

/// Returns the names that a shell program sets: `name=...`, `for name in`, `read name`.
pub(super) fn assigned(program: &str) -> BTreeSet<&str> {
    let words = program.split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')' | '{' | '`'));
    let mut before = "";
    let mut names = BTreeSet::new();
    for word in words.filter(|word| !word.is_empty()) {
        let is_set = matches!(before, "for" | "read" | "export" | "local") || before == "-r";
        let name = word.split_once('=').map(|(name, _)| name).or(is_set.then_some(word));
        let is_name = |name: &&str| {
            !name.is_empty()
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        names.extend(name.filter(is_name));
        before = word;
    }
    names
}

/// Returns the length of a backslash with the character after it.
fn two(rest: &str) -> usize {
    1 + rest[1..].chars().next().map_or(0, char::len_utf8)
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
