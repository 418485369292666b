//! One pass over a text: is it JSON, and where does each value in it begin and end.
//!
//! Takes exactly what `serde_json` takes as a value. What is rare and subtle (escapes by number, exponents) it is asked itself.

use serde_json::Number;

/// As in `serde_json`, whose limit for values this is.
const MAX_DEPTH: u32 = 128;

/// From this length on a number may be too large for `f64` without an exponent.
const LONG_NUMBER: usize = 300;

/// Is one value of a text, or one key. A key is followed by its value, a container by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// Bytes from the beginning of the text.
    pub(super) start: u32,
    pub(super) end: u32,
    /// How many nodes it is made of, itself included.
    pub(super) size: u32,
    pub(super) sort: Sort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Null,
    False,
    True,
    Number,
    /// A text that means what is written.
    Plain,
    /// A text with escapes in it.
    Escaped,
    Array,
    Object,
}

impl Sort {
    pub(super) const fn is_container(self) -> bool {
        matches!(self, Self::Array | Self::Object)
    }
}

/// Returns the values of a JSON text; `None` when it is none, nests too deep, or is longer than 4 GiB.
pub(super) fn scan(text: &str) -> Option<Vec<Node>> {
    let mut scanner = Scanner::new(text)?;
    scanner.value()?;
    scanner.space();
    (scanner.at == text.len()).then_some(scanner.nodes)
}

/// Returns the values, or the keys with their values, of a piece out of a container, one after the other.
pub(super) fn scan_piece(text: &str) -> Option<Vec<Node>> {
    let mut scanner = Scanner::new(text)?;
    loop {
        scanner.space();
        match scanner.peek() {
            0 => return (scanner.at == text.len()).then_some(scanner.nodes),
            b',' | b':' => scanner.at += 1,
            _ => scanner.value()?,
        }
    }
}

/// Returns how many bytes there are before a quote, a backslash or a control character. Most of a text is such bytes: they are
/// looked at eight at a time.
fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The high bit of the lowest byte that is below `limit`; what is above that byte says nothing.
        let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGH;
        let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
        let stops = below(word, 0x20) | is(b'"') | is(b'\\');
        if stops != 0 {
            return at * 8 + stops.trailing_zeros() as usize / 8;
        }
    }
    let stops = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    words.len() * 8 + rest.iter().position(stops).unwrap_or(rest.len())
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: u32,
    nodes: Vec<Node>,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Option<Self> {
        u32::try_from(text.len()).ok()?;
        Some(Self { text, bytes: text.as_bytes(), at: 0, depth: 0, nodes: Vec::with_capacity(text.len() / 8 + 1) })
    }

    fn value(&mut self) -> Option<()> {
        self.space();
        match self.peek() {
            b'"' => self.string(),
            b'{' => self.container(Sort::Object),
            b'[' => self.container(Sort::Array),
            b'n' => self.word("null", Sort::Null),
            b't' => self.word("true", Sort::True),
            b'f' => self.word("false", Sort::False),
            _ => self.number(),
        }
    }

    fn container(&mut self, sort: Sort) -> Option<()> {
        let node = self.open(sort);
        self.at += 1;
        self.depth += 1;
        if self.depth == MAX_DEPTH {
            return None;
        }
        let close = if sort == Sort::Object { b'}' } else { b']' };
        self.space();
        if self.peek() == close {
            self.at += 1;
        } else {
            loop {
                if sort == Sort::Object {
                    self.key()?;
                }
                self.value()?;
                self.space();
                let byte = self.peek();
                self.at += 1;
                match byte {
                    b',' => {}
                    _ if byte == close => break,
                    _ => return None,
                }
            }
        }
        self.depth -= 1;
        self.close(node)
    }

    fn key(&mut self) -> Option<()> {
        self.space();
        if self.peek() != b'"' {
            return None;
        }
        self.string()?;
        self.space();
        (self.peek() == b':').then(|| self.at += 1)
    }

    fn string(&mut self) -> Option<()> {
        let (start, mut sort, mut is_numbered) = (self.at, Sort::Plain, false);
        self.at += 1;
        loop {
            self.at += plain_length(self.bytes.get(self.at..)?);
            match *self.bytes.get(self.at)? {
                b'"' => break,
                b'\\' => {
                    sort = Sort::Escaped;
                    match self.bytes.get(self.at + 1)? {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                        b'u' => is_numbered = true,
                        _ => return None,
                    }
                    self.at += 2;
                }
                _ => return None,
            }
        }
        self.at += 1;
        if is_numbered {
            serde_json::from_str::<String>(&self.text[start..self.at]).ok()?;
        }
        self.leaf(start, sort);
        Some(())
    }

    fn number(&mut self) -> Option<()> {
        let start = self.at;
        if self.peek() == b'-' {
            self.at += 1;
        }
        match self.peek() {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits()?,
            _ => return None,
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        let has_exponent = matches!(self.peek(), b'e' | b'E');
        if has_exponent {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        if has_exponent || self.at - start > LONG_NUMBER {
            serde_json::from_str::<Number>(&self.text[start..self.at]).ok()?;
        }
        self.leaf(start, Sort::Number);
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn word(&mut self, word: &str, sort: Sort) -> Option<()> {
        let start = self.at;
        self.text[self.at..].starts_with(word).then(|| self.at += word.len())?;
        self.leaf(start, sort);
        Some(())
    }

    /// Notes a value that holds no others and ends here.
    fn leaf(&mut self, start: usize, sort: Sort) {
        self.nodes.push(Node { start: super::to_u32(start), end: super::to_u32(self.at), size: 1, sort });
    }

    /// Notes where a container begins; what is in it follows.
    fn open(&mut self, sort: Sort) -> usize {
        let start = super::to_u32(self.at);
        self.nodes.push(Node { start, end: start, size: 1, sort });
        self.nodes.len() - 1
    }

    /// Notes where the container ends that was opened as this node.
    fn close(&mut self, node: usize) -> Option<()> {
        let size = super::to_u32(self.nodes.len() - node);
        let opened = self.nodes.get_mut(node)?;
        (opened.end, opened.size) = (super::to_u32(self.at), size);
        Some(())
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    /// Returns the byte that comes next; past the end a zero, which no JSON text has outside of its values.
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }
}
