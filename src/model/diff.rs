//! A change to a text file as a unified diff that `git apply` and `patch -p1` take, byte for byte.

/// Lines shown before and after a change.
const CONTEXT: usize = 3;

/// Returns what turns `before` into `after`; empty where nothing does.
///
/// Without a `diff --git` line the names are relative to where the patch is applied, whether or not that is the top of a
/// repository.
pub(crate) fn unified_diff(path: &str, before: &str, after: &str) -> String {
    let (old, new) = (lines(before), lines(after));
    let hunks = hunks(&blocks(&old, &new), old.len());
    if hunks.is_empty() {
        return String::new();
    }
    let mut diff = format!("--- {}\n+++ {}\n", name("a/", path), name("b/", path));
    for hunk in hunks {
        hunk.write(&mut diff, &old, &new);
    }
    diff
}

/// Is a run of lines that another run of lines takes the place of.
#[derive(Clone, Copy, Debug)]
struct Block {
    old: (usize, usize),
    new: (usize, usize),
}

/// Splits behind every newline, which stays.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Finds what differs. Of equally many lines each is compared with its own; else all between the first and the last difference
/// is one block.
fn blocks(old: &[&str], new: &[&str]) -> Vec<Block> {
    if old.len() != new.len() {
        let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(old, new)| old == new).count();
        return vec![Block { old: (head, old.len() - tail), new: (head, new.len() - tail) }];
    }
    let mut blocks: Vec<Block> = Vec::new();
    for at in (0..old.len()).filter(|at| old[*at] != new[*at]) {
        match blocks.last_mut().filter(|block| block.old.1 == at) {
            Some(block) => (block.old.1, block.new.1) = (at + 1, at + 1),
            None => blocks.push(Block { old: (at, at + 1), new: (at, at + 1) }),
        }
    }
    blocks
}

/// Puts blocks together whose context would touch.
fn hunks(blocks: &[Block], count: usize) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for block in blocks {
        let end = (block.old.1 + CONTEXT).min(count);
        match hunks.last_mut().filter(|hunk| block.old.0.saturating_sub(CONTEXT) <= hunk.end) {
            Some(hunk) => {
                hunk.blocks.push(*block);
                hunk.end = end;
            }
            None => {
                hunks.push(Hunk { start: block.old.0.saturating_sub(CONTEXT), end, blocks: vec![*block] });
            }
        }
    }
    hunks
}

/// Is one hunk; `start` and `end` are lines of the old text.
#[derive(Debug)]
struct Hunk {
    start: usize,
    end: usize,
    blocks: Vec<Block>,
}

impl Hunk {
    fn write(&self, diff: &mut String, old: &[&str], new: &[&str]) {
        let first = self.blocks[0];
        let length = |(from, to): (usize, usize)| to - from;
        let removed: usize = self.blocks.iter().map(|block| length(block.old)).sum();
        let added: usize = self.blocks.iter().map(|block| length(block.new)).sum();
        let count = self.end - self.start;
        let new_start = first.new.0 - (first.old.0 - self.start);
        let range = |start: usize, count: usize| format!("{},{count}", if count == 0 { start } else { start + 1 });
        let (was, is) = (range(self.start, count), range(new_start, count - removed + added));
        diff.push_str(&format!("@@ -{was} +{is} @@\n"));
        let mut at = self.start;
        for block in &self.blocks {
            old[at..block.old.0].iter().for_each(|line| put(diff, ' ', line));
            old[block.old.0..block.old.1].iter().for_each(|line| put(diff, '-', line));
            new[block.new.0..block.new.1].iter().for_each(|line| put(diff, '+', line));
            at = block.old.1;
        }
        old[at..self.end].iter().for_each(|line| put(diff, ' ', line));
    }
}

fn put(diff: &mut String, mark: char, line: &str) {
    diff.push(mark);
    diff.push_str(line);
    if !line.ends_with('\n') {
        diff.push_str("\n\\ No newline at end of file\n");
    }
}

/// Writes a name as git does: quoted where it has more than plain letters, and behind one with blanks a tab.
fn name(side: &str, path: &str) -> String {
    let is_plain = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\';
    if path.bytes().all(is_plain) {
        let end = if path.contains(' ') { "\t" } else { "" };
        return format!("{side}{path}{end}");
    }
    let mut quoted = format!("\"{side}");
    for byte in path.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            _ if is_plain(byte) => quoted.push(char::from(byte)),
            _ => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
