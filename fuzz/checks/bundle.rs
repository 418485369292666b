//! A project as one text, so that a seed can be read, written by hand and minimised by a fuzzer.
//!
//! The lines before the first `@@ PATH` are changes, one per line. Each `@@ PATH` is followed by the content of that file, up to the
//! next `@@`; the line end before that belongs to neither.

use std::{collections::BTreeMap, sync::Arc};

use camino::Utf8PathBuf;

use crate::{
    dialect::{Dialect, piton::record},
    model::{
        Candidate, Clock, Config, Content, Edit, EditKind, FileEntry, FileSet, Listing, ListingEntry, ReadSpec,
        RelPath, RunFolder, Timestamp,
    },
    store,
};

/// Limit of files, and of changes; the rest is ignored.
const FILES: usize = 64;
const CHANGES: usize = 6;
const SEPARATOR: &[u8] = b"@@ ";

/// The files of a project, and the changes to make.
#[derive(Clone, Debug)]
pub(super) struct Bundle {
    pub(super) changes: Vec<Vec<u8>>,
    pub(super) files: BTreeMap<RelPath, Arc<[u8]>>,
}

impl Bundle {
    /// Parses any bytes; a file with an invalid path is ignored.
    pub(super) fn parse(data: &[u8]) -> Self {
        let mut sections: Vec<Vec<&[u8]>> = vec![Vec::new()];
        for line in data.split(|byte| *byte == b'\n') {
            match line.strip_prefix(SEPARATOR) {
                Some(path) if sections.len() <= FILES => sections.push(vec![path]),
                Some(_) | None => sections.last_mut().expect("there is a first one").push(line),
            }
        }
        let mut sections = sections.into_iter();
        let changes = sections.next().unwrap_or_default();
        let changes = changes.into_iter().filter(|line| !line.is_empty()).take(CHANGES).map(<[u8]>::to_vec).collect();
        let mut bundle = Self { changes, files: BTreeMap::new() };
        for section in sections {
            let path = std::str::from_utf8(section[0]).ok().and_then(|path| RelPath::parse(path).ok());
            if let Some(path) = path.filter(|path| !bundle.is_in_the_way(path)) {
                bundle.files.insert(path, section[1..].join(&b'\n').into());
            }
        }
        bundle.chain_journals();
        bundle
    }

    /// Drops files whose path is a folder of another file.
    fn is_in_the_way(&self, path: &RelPath) -> bool {
        self.files.keys().any(|known| known.starts_with(path) || path.starts_with(known))
    }

    /// Computes the digest chain of every session, which a fuzzer cannot guess.
    fn chain_journals(&mut self) {
        let headers: Vec<RelPath> = self.files.keys().filter(|path| path.name() == record::HEADER).cloned().collect();
        for header in headers {
            let journal = header.parent().and_then(|folder| folder.join(record::JOURNAL).ok());
            if let Some((path, lines)) = journal.and_then(|path| self.files.remove_entry(&path)) {
                let chained = record::chain(&self.files[&header], &lines);
                self.files.insert(path, chained.into());
            }
        }
    }

    /// Lists the project as discovery would.
    pub(super) fn listing(&self, dialect: &dyn Dialect) -> Listing {
        let mut entries: BTreeMap<RelPath, ListingEntry> = BTreeMap::new();
        for (path, bytes) in &self.files {
            let look = dialect.marks(path.as_str()).then(|| Arc::clone(bytes));
            entries.insert(path.clone(), ListingEntry { path: path.clone(), is_dir: false, content: look });
            let mut folder = path.parent();
            while let Some(path) = folder {
                folder = path.parent();
                entries.insert(path.clone(), ListingEntry { path, is_dir: true, content: None });
            }
        }
        let entries = entries.into_values().collect();
        let mut listing =
            Listing { root: Utf8PathBuf::from("/project"), entries, config: self.config(), ..Listing::default() };
        for path in dialect.discovery().extra_probe_paths(&listing) {
            let found = listing.entries.iter_mut().find(|entry| entry.path == path && !entry.is_dir);
            if let Some(entry) = found {
                entry.content = self.files.get(&path).cloned();
            }
        }
        listing
    }

    /// Reads the files of a candidate as the store would.
    pub(super) fn read(&self, candidate: &Candidate) -> FileSet {
        let mut files = FileSet {
            root: Utf8PathBuf::from("/project"),
            name: candidate.name.clone(),
            state: candidate.state.clone(),
            own: RunFolder { home: "/project/.piton".into(), path: candidate.state.clone() },
            files: BTreeMap::new(),
            journal: None,
            local: crate::model::Local::default(),
            lost: None,
            worktrees: Vec::new(),
            main_root: None,
            clock: clock(),
            config: self.config(),
        };
        let create = |(path, bytes): (&RelPath, &Arc<[u8]>)| {
            let kind = EditKind::Create { after: bytes.to_vec() };
            Edit { path: path.clone(), kind }
        };
        let edits: Vec<Edit> = self.files.iter().map(create).collect();
        store::lay_edits_over(&mut files, &candidate.reads, &edits);
        for read in &candidate.reads {
            if let ReadSpec::Elsewhere { shown, .. } = read
                && let Some(bytes) = self.files.get(shown)
            {
                let content = Content::Bytes(Arc::clone(bytes));
                files.files.insert(shown.clone(), FileEntry::new(content, None));
            }
        }
        files
    }

    /// Applies edits as a commit would, with the same refusals.
    pub(super) fn commit(&mut self, edits: &[Edit]) {
        for edit in edits {
            let before = self.files.get(&edit.path);
            let after = match &edit.kind {
                EditKind::Create { after } => {
                    assert!(before.is_none(), "{} is there already", edit.path);
                    Some(after.clone())
                }
                EditKind::Replace { before: computed_from, after } => {
                    assert_eq!(before, Some(computed_from), "{} is computed from other bytes", edit.path);
                    Some(after.clone())
                }
                EditKind::Remove { before: computed_from } => {
                    assert_eq!(before, Some(computed_from), "{} is computed from other bytes", edit.path);
                    None
                }
                EditKind::Append { before_len, bytes } => {
                    let before = before.map(|bytes| &bytes[..]).unwrap_or_default();
                    assert_eq!(before.len() as u64, *before_len, "{} has another length", edit.path);
                    Some([before, bytes].concat())
                }
            };
            match after {
                Some(after) => self.files.insert(edit.path.clone(), after.into()),
                None => self.files.remove(&edit.path),
            };
        }
    }

    fn config(&self) -> Arc<Config> {
        let path = RelPath::parse("piton.toml").expect("it is a path");
        let text = self.files.get(&path).and_then(|bytes| std::str::from_utf8(bytes).ok());
        Arc::new(text.and_then(|text| store::parse_config(text).ok()).unwrap_or_default())
    }
}

/// The fixed time of every fuzzer.
pub(super) fn clock() -> Clock {
    Clock { now: Timestamp::parse("2026-03-01T12:00:00Z", 0).expect("it is a time"), utc_offset_seconds: 0 }
}
