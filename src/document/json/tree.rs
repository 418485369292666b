//! Builds the tree of a JSON text whose syntax `serde_json` accepts.

use crate::document::tree::{Kind, Member, Node, Span, Style, TextPosition};

/// The number of levels that `serde_json` reads.
const DEPTH: usize = 127;

/// Reads the value of a text that starts `shift` bytes into its file. `None` for what `serde_json` refuses only when it reads the
/// value: a number out of range, half of a surrogate pair, too many levels.
pub(super) fn tree(text: &str, shift: usize) -> Option<Node> {
    Builder { text, shift, at: 0, place: TextPosition { line: 1, column: 1 }, depth: 0 }.value()
}

struct Builder<'a> {
    text: &'a str,
    shift: usize,
    /// The offset of the next byte, with its position.
    at: usize,
    place: TextPosition,
    depth: usize,
}

impl Builder<'_> {
    fn value(&mut self) -> Option<Node> {
        self.skip(b" \n\r\t");
        let (place, start) = (self.place, self.at);
        let (style, kind) = match self.next() {
            Some(b'{') => (Style::Flow, Kind::Map(self.members()?)),
            Some(b'[') => (Style::Flow, Kind::List(self.items()?)),
            Some(b'"') => (Style::DoubleQuoted, Kind::Text(self.string()?)),
            Some(_) | None => (Style::Plain, self.word()?),
        };
        Some(Node { place, span: self.span(start), style, kind })
    }

    fn members(&mut self) -> Option<Vec<Member>> {
        let mut members = Vec::new();
        self.open()?;
        self.skip(b" \n\r\t");
        while self.next().is_some_and(|byte| byte == b'"') {
            let (place, start) = (self.place, self.at);
            let key = self.string()?;
            let span = self.span(start);
            self.skip(b" \n\r\t:");
            members.push(Member { key, place, span, value: self.value()? });
            self.skip(b" \n\r\t,");
        }
        self.close();
        Some(members)
    }

    fn items(&mut self) -> Option<Vec<Node>> {
        let mut items = Vec::new();
        self.open()?;
        self.skip(b" \n\r\t");
        while self.next().is_some_and(|byte| byte != b']') {
            items.push(self.value()?);
            self.skip(b" \n\r\t,");
        }
        self.close();
        Some(items)
    }

    fn open(&mut self) -> Option<()> {
        self.depth += 1;
        self.forward(1);
        (self.depth <= DEPTH).then_some(())
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.forward(1);
    }

    fn string(&mut self) -> Option<String> {
        let bytes = self.text.as_bytes();
        let (start, mut end) = (self.at, self.at + 1);
        let mut has_escapes = false;
        while let Some(byte) = bytes.get(end).filter(|byte| **byte != b'"') {
            has_escapes |= *byte == b'\\';
            end += 1 + usize::from(*byte == b'\\');
        }
        self.forward(end + 1 - start);
        let literal = &self.text[start..self.at];
        if has_escapes {
            return serde_json::from_str(literal).ok();
        }
        literal.get(1..literal.len() - 1).map(str::to_owned)
    }

    fn word(&mut self) -> Option<Kind> {
        let rest = &self.text[self.at..];
        let end = rest.find([',', '}', ']', ' ', '\n', '\r', '\t']).unwrap_or(rest.len());
        self.forward(end);
        match &rest[..end] {
            "true" => Some(Kind::Bool(true)),
            "false" => Some(Kind::Bool(false)),
            "null" => Some(Kind::Null),
            number if number.parse::<f64>().is_ok_and(f64::is_finite) => Some(Kind::Number(number.to_owned())),
            _ => None,
        }
    }

    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips all bytes of a set.
    fn skip(&mut self, set: &[u8]) {
        let rest = &self.text.as_bytes()[self.at..];
        self.forward(rest.iter().position(|byte| !set.contains(byte)).unwrap_or(rest.len()));
    }

    /// Goes on by a number of bytes, at most to the end.
    fn forward(&mut self, bytes: usize) {
        let end = (self.at + bytes).min(self.text.len());
        for byte in &self.text.as_bytes()[self.at..end] {
            match byte {
                b'\n' => self.place = TextPosition { line: self.place.line.saturating_add(1), column: 1 },
                // Columns count characters, so the further bytes of one do not count.
                0x80..=0xbf => {}
                _ => self.place.column = self.place.column.saturating_add(1),
            }
        }
        self.at = end;
    }

    const fn span(&self, start: usize) -> Span {
        Span { start: start + self.shift, end: self.at + self.shift }
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
