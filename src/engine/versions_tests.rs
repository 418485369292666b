use std::sync::Arc;

use super::*;
use crate::{
    engine::testing::{at, path},
    model::{Edit, EditKind},
};

/// A project whose state files are changed by Piton, which records that, and by others, which do not.
#[derive(Default)]
struct Project {
    files: VersionFiles,
    entries: Vec<Entry>,
    /// What there was before each change.
    before: Vec<VersionFiles>,
}

impl Project {
    /// Gives files these contents, or removes them, as one change.
    fn change(&mut self, contents: &[(&str, Option<&str>)]) {
        let digests = last_digests(&self.entries);
        let digests: BTreeMap<RelPath, String> =
            digests.into_iter().map(|(path, digest)| (path.clone(), digest.to_owned())).collect();
        self.before.push(self.files.clone());
        let mut entry = Entry::new("begin", None, at(self.entries.len() as i64));
        for (name, content) in contents {
            let path = path(name);
            let before = self.files.get(&path).map(|bytes| Arc::from(bytes.as_slice()));
            let kind = match (before, content) {
                (None, None) => continue,
                (None, Some(after)) => EditKind::Create { after: after.as_bytes().to_vec() },
                (Some(before), Some(after)) => EditKind::Replace { before, after: after.as_bytes().to_vec() },
                (Some(before), None) => EditKind::Remove { before },
            };
            entry.files.push(ChangedFile::of(&Edit { path: path.clone(), kind }, digests.get(&path)));
            self.write(name, *content);
        }
        let left = digests.iter().filter(|(path, _)| entry.files.iter().all(|file| file.path != **path));
        let left = left.filter_map(|(path, last)| ChangedFile::found(path, self.files.get(path)?, last));
        entry.files.extend(left.collect::<Vec<_>>());
        self.entries.push(entry);
    }

    /// Writes a file as another program.
    fn write(&mut self, name: &str, content: Option<&str>) {
        match content {
            Some(content) => drop(self.files.insert(path(name), content.as_bytes().to_vec())),
            None => drop(self.files.remove(&path(name))),
        }
    }
}

#[test]
fn the_files_of_a_version_are_where_its_run_is_now() {
    let mut project = Project::default();
    project.change(&[("a.json", Some("a1")), ("b.json", Some("b1"))]);
    project.change(&[("a.json", Some("a2"))]);
    let away = [("a.json", None), ("b.json", None), ("old/a.json", Some("a2")), ("old/b.json", Some("b1"))];
    project.change(&away);
    let away = before(&project.entries, 2).unwrap();
    assert_eq!(away.keys().map(RelPath::as_str).collect::<Vec<_>>(), ["old/a.json", "old/b.json"]);
    let back = [("a.json", Some("a2")), ("b.json", Some("b1")), ("old/a.json", None), ("old/b.json", None)];
    project.change(&back);
    for number in [2, 3, 4] {
        let there = before(&project.entries, number).unwrap();
        assert_eq!(there.keys().map(RelPath::as_str).collect::<Vec<_>>(), ["a.json", "b.json"], "{number}");
        assert_eq!(there[&path("a.json")], if number == 2 { b"a1" } else { b"a2" }, "{number}");
    }
}

#[test]
fn a_version_is_the_state_as_it_was_before_its_change() {
    let mut project = Project::default();
    project.change(&[("a", Some("a1"))]);
    project.change(&[("a", Some("a2")), ("b", Some("b1"))]);
    project.write("b", Some("b2 of another program"));
    project.change(&[("b", Some("b3"))]);
    let numbers: Vec<usize> = replacing(&project.entries).map(|(number, _)| number).collect();
    assert_eq!(numbers, [3, 2]);
    assert_eq!(before(&project.entries, 3).unwrap(), project.before[2]);
    assert_eq!(before(&project.entries, 2).unwrap(), VersionFiles::from([(path("a"), b"a1".to_vec())]));
    assert_eq!(before(&project.entries, 1), None);
    project.write("c", Some("c of another program"));
    project.change(&[("c", Some("c2"))]);
    let first = before(&project.entries, 2).unwrap();
    assert_eq!(first[&path("c")], b"c of another program", "it was there before it was changed");
    assert_eq!(before(&project.entries, 5), None);
    assert_eq!(before(&project.entries, 0), None);
    project.write("a", Some("a of another program"));
    project.change(&[("c", Some("c3"))]);
    assert_eq!(before(&project.entries, 5).unwrap(), project.before[4], "also what the change leaves as it is");
    project.change(&[]);
    assert_eq!(replacing(&project.entries).next().unwrap().0, 5, "a change of nothing replaces nothing");
    assert_eq!(last(&project.entries).unwrap(), project.files);
    assert_eq!(last(&[]), None);
}

#[test]
fn a_state_that_was_moved_comes_back_where_it_is_now() {
    let mut project = Project::default();
    project.change(&[("early", Some("1"))]);
    project.change(&[("early", Some("2"))]);
    project.write("early.backup", Some("1"));
    project.change(&[("worktree/state", Some("3")), ("early", None), ("early.backup", None)]);
    project.change(&[("worktree/state", Some("4"))]);
    let moved = |content: &str| VersionFiles::from([(path("worktree/state"), content.as_bytes().to_vec())]);
    assert_eq!(before(&project.entries, 4).unwrap(), moved("3"));
    assert_eq!(before(&project.entries, 3).unwrap(), moved("2"));
    assert_eq!(before(&project.entries, 2).unwrap(), moved("1"));
}

#[test]
fn a_record_whose_content_is_not_what_its_digest_says_gives_no_version() {
    let mut project = Project::default();
    project.change(&[("a", Some("one"))]);
    project.change(&[("a", Some("two"))]);
    project.entries[0].files[0].written = Some(crate::model::Delta::whole(b"other"));
    assert_eq!(before(&project.entries, 2), None);
    assert_eq!(last(&project.entries), None);
}

#[test]
fn no_recorded_state_is_lost_in_a_long_random_walk() {
    let mut project = Project::default();
    let mut seed = 40_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for turn in 0..500 {
        let name = ["a", "b", "c"][random(3) as usize];
        let text = format!("{{\"turn\": {turn},\n \"steps\": [{}]}}\n", "1, ".repeat(random(40) as usize));
        match random(8) {
            0 => project.write(name, Some(&text)),
            1 => project.write(name, None),
            2 => project.change(&[(name, None)]),
            3 if !project.entries.is_empty() => {
                // A restore is a change as any other.
                let number = 1 + random(project.entries.len() as u64) as usize;
                let version = before(&project.entries, number).unwrap_or_default();
                let contents: Vec<(String, String)> = version
                    .into_iter()
                    .map(|(path, bytes)| (path.to_string(), String::from_utf8(bytes).unwrap()))
                    .collect();
                let contents: Vec<(&str, Option<&str>)> =
                    contents.iter().map(|(path, text)| (path.as_str(), Some(text.as_str()))).collect();
                project.change(&contents);
            }
            _ => project.change(&[(name, Some(text.as_str())), ("d", Some(text.as_str()))][..1 + random(2) as usize]),
        }
    }
    for (number, _) in replacing(&project.entries) {
        let version = before(&project.entries, number).unwrap();
        let was = &project.before[number - 1];
        let changed = &project.entries[number - 1].files;
        let recorded = last_digests(&project.entries[..number - 1]);
        // A file that another program made is known from the change that finds it.
        let is_known = |path: &RelPath| recorded.contains_key(path) || changed.iter().any(|file| file.path == *path);
        for (path, bytes) in was.iter().filter(|(path, _)| is_known(path)) {
            let later = &project.entries[number - 1..];
            let moved = later.iter().any(|entry| moved(entry).iter().any(|(from, _)| *from == path));
            assert!(moved || version.get(path) == Some(bytes), "{number}: {path}");
        }
    }
    assert!(project.entries.len() > 300);
}
