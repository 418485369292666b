//! The link between a repository and the home of its runs in `PITON_HOME`, which does not move with it: each names the other. A repository
//! that was moved still names its home; one that was copied does too, while the place that the home names is still there.

use camino::{Utf8Path, Utf8PathBuf};

use super::{repository::GitPaths, trusted::write_lines};
use crate::store::fs::{error::StoreError, stage, unread};

/// The file in the git folder, in the folder where the runs are without `PITON_HOME`.
const IN_GIT: &str = "home";
/// The file in the home: the project, and below it the place that it was moved from, until that was said.
const IN_HOME: &str = "project";
/// Bytes of a link.
const LINK_LIMIT: u64 = 16 << 10;

/// The link of one project, which need not be written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HomeLink {
    /// The git folder that all worktrees share.
    common_dir: Utf8PathBuf,
    /// The folder in that one for this project.
    own_dir: Utf8PathBuf,
    project: Utf8PathBuf,
}

impl HomeLink {
    pub(super) fn new(common_dir: &Utf8Path, own_dir: &Utf8Path, project: &Utf8Path) -> Self {
        Self { common_dir: common_dir.to_owned(), own_dir: own_dir.to_owned(), project: project.to_owned() }
    }

    /// Returns the home of the project in a state folder: the one that its repository names, else the one of this name that no other project
    /// has.
    pub(super) fn home(&self, state_home: &Utf8Path, key: &str) -> Utf8PathBuf {
        let named = lines_in(&self.own_dir.join(IN_GIT)).map(|lines| lines[0].clone());
        let named = named.filter(|home| home.parent() == Some(state_home) && home.is_dir());
        let keys = std::iter::once(key.to_owned()).chain((2..).map(|number| format!("{key}-{number}")));
        let mut homes = named.into_iter().chain(keys.map(|key| state_home.join(key)));
        homes.find(|home| !self.is_of_another(home)).expect("a home without a link has no project")
    }

    /// Tells whether a home names another project, which names it too.
    fn is_of_another(&self, home: &Utf8Path) -> bool {
        let project = lines_in(&home.join(IN_HOME)).map(|lines| lines[0].clone());
        let Some(project) = project.filter(|project| *project != self.project) else { return false };
        let own_dir = self.own_dir.strip_prefix(&self.common_dir).unwrap_or(&self.own_dir);
        let git = project.ancestors().find_map(GitPaths::at);
        let named = git.and_then(|git| lines_in(&git.common_dir.join(own_dir).join(IN_GIT)));
        named.is_some_and(|lines| lines[0] == home)
    }

    /// Writes both files for a home that is about to have a run. Where the git folder cannot be written, the runs do not follow the repository.
    pub(super) fn write(&self, home: &Utf8Path) -> Result<(), StoreError> {
        let own = self.own_dir.join(IN_GIT);
        if lines_in(&own).is_none_or(|lines| lines[0] != home) {
            let is_written =
                stage::create_private_dirs(&self.own_dir).and_then(|()| write_lines(&own, &[home.as_str()]));
            if is_written.is_err() {
                return Ok(());
            }
        }
        let there = home.join(IN_HOME);
        match lines_in(&there).is_some_and(|lines| lines[0] == self.project) {
            true => Ok(()),
            false => write_lines(&there, &[self.project.as_str()]),
        }
    }

    /// Corrects what a home says of the place of its project, after that was moved.
    pub(super) fn follow(&self, home: &Utf8Path) {
        let there = home.join(IN_HOME);
        if let Some([old, ..]) = lines_in(&there).as_deref()
            && *old != self.project
        {
            // Derived data: without it the run is not found from here.
            let _ = write_lines(&there, &[self.project.as_str(), old.as_str()]);
        }
    }
}

/// Returns what a home says of the place of its project.
pub(crate) fn link_of(home: &Utf8Path) -> Option<Vec<u8>> {
    unread::data_file(&home.join(IN_HOME), LINK_LIMIT)
}

/// Returns the place that the project of a home was moved from, once.
pub(crate) fn moved_from(home: &Utf8Path) -> Option<Utf8PathBuf> {
    let there = home.join(IN_HOME);
    let lines = lines_in(&there)?;
    let old = lines.get(1)?.clone();
    write_lines(&there, &[lines[0].as_str()]).ok().map(|()| old)
}

/// Returns the absolute paths in a link, at least one.
fn lines_in(file: &Utf8Path) -> Option<Vec<Utf8PathBuf>> {
    let bytes = unread::data_file(file, LINK_LIMIT)?;
    let text = String::from_utf8(bytes).ok()?;
    let lines: Vec<_> = text.lines().map(Utf8PathBuf::from).take_while(|path| path.is_absolute()).collect();
    (!lines.is_empty()).then_some(lines)
}
