//! Unified diffs that `git apply` and `patch -p1` apply byte for byte.

use std::{hash::Hash, ops::Range};

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops, udiff::UnifiedHunkHeader};

/// Lines shown before and after a change.
const CONTEXT: usize = 3;

/// Returns the diff from `before` to `after`; empty if they are equal. `before` is `None` for a file that the patch creates.
///
/// There is no `diff --git` line, so the names are relative to the folder in which the patch is applied, inside or outside of a
/// repository.
pub(crate) fn unified_diff(path: &str, before: Option<&str>, after: &str) -> String {
    let (old, new) = (lines(before.unwrap_or_default()), lines(after));
    let hunks = group_diff_ops(in_place(capture_diff_slices(Algorithm::Myers, &old, &new)), CONTEXT);
    if hunks.is_empty() {
        return String::new();
    }
    let old_name = before.map_or_else(|| "/dev/null".to_owned(), |_| name("a/", path));
    let mut diff = format!("--- {old_name}\n+++ {}\n", name("b/", path));
    for hunk in hunks {
        write_hunk(&mut diff, &hunk, &old, &new);
    }
    diff
}

/// Returns what differs: each part of the first with the part of the second that replaces it, in order.
pub(super) fn changed_ranges<T: Hash + Ord>(before: &[T], after: &[T]) -> Vec<(Range<usize>, Range<usize>)> {
    let ops = in_place(capture_diff_slices(Algorithm::Myers, before, after)).into_iter();
    ops.filter(|op| !matches!(op, DiffOp::Equal { .. })).map(|op| (op.old_range(), op.new_range())).collect()
}

/// Splits after every newline and keeps it. `git apply` does not treat a lone carriage return as the end of a line, but the
/// formatter of `similar` does, so lines are split and written here.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Puts each part of a diff behind the one before it. `similar` leaves some with wrong places when it moves changes along equal lines, and
/// the heads of hunks are made of them.
fn in_place(ops: Vec<DiffOp>) -> Vec<DiffOp> {
    let (mut old_index, mut new_index) = (0, 0);
    let placed = ops.into_iter().map(|op| {
        let (old_len, new_len) = (op.old_range().len(), op.new_range().len());
        let placed = match op {
            DiffOp::Equal { len, .. } => DiffOp::Equal { old_index, new_index, len },
            DiffOp::Delete { old_len, .. } => DiffOp::Delete { old_index, old_len, new_index },
            DiffOp::Insert { new_len, .. } => DiffOp::Insert { old_index, new_index, new_len },
            DiffOp::Replace { old_len, new_len, .. } => DiffOp::Replace { old_index, old_len, new_index, new_len },
        };
        (old_index, new_index) = (old_index + old_len, new_index + new_len);
        placed
    });
    placed.collect()
}

fn write_hunk(diff: &mut String, ops: &[DiffOp], old: &[&str], new: &[&str]) {
    diff.push_str(&format!("{}\n", UnifiedHunkHeader::new(ops)));
    for change in ops.iter().flat_map(|op| op.iter_changes(old, new)) {
        diff.push_str(&format!("{}{}", change.tag(), change.value()));
        if !change.value().ends_with('\n') {
            diff.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Formats a file name as git does: quoted if it has special characters, and followed by a tab if it has spaces.
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
