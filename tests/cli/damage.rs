//! Files of a plan that are cut off, lack a line or have a conflict marker.

use crate::support::{Sandbox, takes_all};

/// Damages a file in every way, a sample of them unless all are asked for, looks each time, and restores the file.
pub(in crate::cli) fn each(sandbox: &Sandbox, file: &str, mut look: impl FnMut(&str)) {
    let text = sandbox.read(file);
    let is_whole = takes_all();
    for end in (0..text.len()).step_by(if is_whole { 1 } else { 61 }) {
        sandbox.bytes(file, &text.as_bytes()[..end]);
        look(&format!("{file} cut at {end}"));
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for at in (0..lines.len()).step_by(if is_whole { 1 } else { 7 }) {
        let (head, tail) = lines.split_at(at);
        sandbox.file(file, &format!("{}{}", head.concat(), tail[1..].concat()));
        look(&format!("{file} without line {}", at + 1));
        sandbox.file(file, &format!("{}<<<<<<< a\n=======\n>>>>>>> b\n{}", head.concat(), tail.concat()));
        look(&format!("{file} with a conflict at {}", at + 1));
    }
    sandbox.file(file, &text);
}
