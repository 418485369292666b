//! Looks at the files that the steps of a read-only run declare: whether they exist, and whether they contain what they have to.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use regex::RegexBuilder;

use crate::{
    model::{DeclaredFile, DeclaredState, Need, ReadProblem, RelPath, clean_line},
    store::fs::{
        path::{Root, bounded},
        unread,
    },
};

/// Bytes of a file that is looked into.
const FILE_LIMIT: u64 = 1 << 20;
/// Bytes of a regular expression.
const PATTERN_LIMIT: usize = 1 << 10;
/// Bytes of a compiled regular expression.
const COMPILED_LIMIT: usize = 1 << 20;
/// Characters of a text in a message.
const SHOWN: usize = 60;

/// Returns the state of each declared file. Each path is opened once.
pub(crate) fn declared_files(root: &Utf8Path, files: &BTreeSet<DeclaredFile>) -> BTreeMap<DeclaredFile, DeclaredState> {
    let Some(root) = unread::root(root) else { return BTreeMap::new() };
    let mut found = BTreeMap::new();
    let mut last: Option<(&RelPath, Opened)> = None;
    for file in files {
        let opened = match last.take() {
            Some((path, opened)) if *path == file.path => opened,
            Some(_) | None => open(&root, &file.path, is_looked_into(files, file)),
        };
        found.insert(file.clone(), state_of(&opened, &file.needs));
        last = Some((&file.path, opened));
    }
    found
}

/// Tells whether some declaration of a path is about its content.
fn is_looked_into(files: &BTreeSet<DeclaredFile>, file: &DeclaredFile) -> bool {
    let same = files.range(file..).take_while(|other| other.path == file.path);
    same.into_iter().any(|other| !other.needs.is_empty())
}

/// What was found at a path.
enum Opened {
    Missing,
    Folder,
    /// With its size; the text only if something has to be in it.
    File(u64, Option<String>),
    Unread(String),
}

fn open(root: &Root, path: &RelPath, with_text: bool) -> Opened {
    match root.open_file(path) {
        Ok((_, metadata)) if !with_text => Opened::File(metadata.len(), None),
        Ok((_, metadata)) if metadata.len() > FILE_LIMIT => {
            Opened::Unread(format!("it has {} bytes, more than the {FILE_LIMIT} that are looked at", metadata.len()))
        }
        Ok((file, metadata)) => match bounded(file, metadata.len(), FILE_LIMIT) {
            Ok(bytes) => Opened::File(metadata.len(), Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(problem) => unread(root, path, problem),
        },
        Err(ReadProblem::Missing) => Opened::Missing,
        Err(ReadProblem::Directory) => Opened::Folder,
        Err(problem) => unread(root, path, problem),
    }
}

fn unread(root: &Root, path: &RelPath, problem: ReadProblem) -> Opened {
    let opened = Opened::Unread(problem.to_string());
    unread::note_failure(&path.under(root.path()), problem);
    opened
}

fn state_of(opened: &Opened, needs: &[Need]) -> DeclaredState {
    match opened {
        Opened::Missing => DeclaredState::Missing,
        Opened::Folder => DeclaredState::Unread("it is a folder".to_owned()),
        Opened::Unread(why) => DeclaredState::Unread(why.clone()),
        Opened::File(bytes, None) => DeclaredState::Present { is_empty: *bytes == 0, lacks: Vec::new() },
        Opened::File(_, Some(text)) => DeclaredState::Present {
            is_empty: text.trim().is_empty(),
            lacks: needs.iter().filter_map(|need| lack(text, need)).collect(),
        },
    }
}

/// Returns what a text lacks, in words; `None` if it has what it needs, or that cannot be checked.
fn lack(text: &str, need: &Need) -> Option<String> {
    match need {
        Need::Text(wanted) if text.contains(wanted.as_str()) => None,
        Need::Text(wanted) => {
            let pattern = (wanted.len() <= PATTERN_LIMIT).then(|| {
                RegexBuilder::new(wanted)
                    .size_limit(COMPILED_LIMIT)
                    .dfa_size_limit(COMPILED_LIMIT)
                    .multi_line(true)
                    .build()
            });
            let matches = pattern?.ok()?.is_match(text);
            (!matches).then(|| format!("`{}`", clean_line(wanted, SHOWN)))
        }
        Need::Lines(wanted) => {
            let lines = text.lines().count() as u64;
            (lines < *wanted).then(|| format!("{wanted} lines (it has {lines})"))
        }
        Need::Name(name) => {
            let words = name.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.len() > 1);
            let is_there = text.contains(name.as_str()) || words.clone().all(|word| text.contains(word));
            (!is_there).then(|| format!("`{}`", clean_line(name, SHOWN)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{declared_files, lack};
    use crate::model::{DeclaredFile, DeclaredState, Need, RelPath};

    #[test]
    fn a_need_is_a_text_a_pattern_a_count_or_a_name() {
        let text = "class A:\n    pass\ndef run(x):\n";
        let text_need = |text: &str| Need::Text(text.to_owned());
        let name = |text: &str| Need::Name(text.to_owned());
        for (need, holds) in [
            (text_need("def run(x)"), true),
            (text_need("class A|class B"), true),
            (text_need("^def \\w+"), true),
            (text_need("class B"), false),
            // One that does not compile, or is too large, was not looked at.
            (text_need("a(b"), true),
            (text_need("(a{1000}){1000}{1000}"), true),
            (text_need(&"x".repeat(2000)), true),
            (Need::Lines(3), true),
            (Need::Lines(4), false),
            (name("run"), true),
            (name("def A"), true),
            (name("walk"), false),
        ] {
            assert_eq!(lack(text, &need).is_none(), holds, "{need:?}");
        }
    }

    #[test]
    fn every_declared_path_has_a_state() {
        let folder = tempfile::tempdir().unwrap();
        let root = camino::Utf8Path::from_path(folder.path()).unwrap();
        for (name, text) in [("a.rs", "fn main() {}\n"), ("blank.rs", " \n"), ("none.rs", "")] {
            std::fs::write(root.join(name), text).unwrap();
        }
        std::fs::write(root.join("large.rs"), vec![b'x'; (1 << 20) + 1]).unwrap();
        std::fs::create_dir(root.join("src")).unwrap();
        std::os::unix::fs::symlink("/etc/hosts", root.join("out.rs")).unwrap();
        let with =
            |name: &str, needs: &[Need]| DeclaredFile { path: RelPath::parse(name).unwrap(), needs: needs.to_vec() };
        let main = [Need::Text("fn main".to_owned())];
        let other = [Need::Text("fn other".to_owned())];
        let present = |is_empty, lacks: &[&str]| {
            Some(DeclaredState::Present { is_empty, lacks: lacks.iter().map(ToString::to_string).collect() })
        };
        let files = [
            (with("a.rs", &[]), present(false, &[])),
            (with("a.rs", &main), present(false, &[])),
            (with("a.rs", &other), present(false, &["`fn other`"])),
            (with("blank.rs", &main), present(true, &["`fn main`"])),
            (with("none.rs", &[]), present(true, &[])),
            // Without a need, only the size counts.
            (with("large.rs", &[]), present(false, &[])),
            // A folder that is there shows nothing.
            (with("src", &[]), None),
            (with("gone.rs", &[]), Some(DeclaredState::Missing)),
            (with("src/gone.rs", &main), Some(DeclaredState::Missing)),
            // What leads out of the project is not looked at.
            (with("out.rs", &main), None),
        ];
        let found = declared_files(root, &files.iter().map(|(file, _)| file.clone()).collect::<BTreeSet<_>>());
        for (file, expected) in files {
            match expected {
                Some(expected) => assert_eq!(found[&file], expected, "{file:?}"),
                None => assert!(matches!(found[&file], DeclaredState::Unread(_)), "{file:?}: {:?}", found[&file]),
            }
        }
        let large = with("large.rs", &main);
        let found = declared_files(root, &BTreeSet::from([large.clone()]));
        assert!(matches!(&found[&large], DeclaredState::Unread(why) if why.contains("1048577 bytes")), "{found:?}");
        assert!(declared_files(&root.join("nowhere"), &BTreeSet::from([large])).is_empty());
    }

    #[test]
    fn a_pattern_that_explodes_elsewhere_takes_no_time() {
        let text = "a".repeat(100_000);
        assert_eq!(lack(&text, &Need::Text("(a+)+$b".to_owned())).as_deref(), Some("`(a+)+$b`"));
    }
}
