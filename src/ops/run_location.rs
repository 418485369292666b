//! Where a run is, before it is read.

use camino::{Utf8Path, Utf8PathBuf};

use super::{OpError, opened_run::command_word};
use crate::{
    dialect::{
        Guest, by_id,
        piton::{
            self,
            record::{HEADER, Header},
        },
    },
    model::{Candidate, Content, DialectId, Finding, FindingCode, No, ReadSpec, Suggested, Verb},
    store::{self, Stranger, Trusted},
};

/// A run that was located but not loaded.
#[derive(Clone, Debug)]
pub(crate) struct RunLocation {
    pub(crate) root: Utf8PathBuf,
    pub(crate) candidate: Candidate,
}

impl RunLocation {
    /// Returns the absolute path of the state, which names the run in every verb. A session of the client has its name: no answer has a path
    /// of the user's home.
    pub(crate) fn path(&self) -> String {
        if self.is_of_client() {
            return self.candidate.name.clone();
        }
        self.candidate.state.under(&self.root).into_string()
    }

    /// Returns the id of a run of a workflow file, with the home of its records.
    pub(crate) fn own_run(&self) -> Option<(&Utf8Path, &str)> {
        (self.candidate.dialect == DialectId::Piton).then(|| (self.root.as_path(), self.candidate.name.as_str()))
    }

    /// Returns the id of a run that the runner drives, with the home of its records; `None` for a run that was started for agents, and for one
    /// whose header cannot be read.
    pub(crate) fn session(&self) -> Option<(&Utf8Path, &str)> {
        self.own_run().filter(|(home, id)| session_header(home, id).is_some_and(|header| !header.is_attended))
    }

    /// Returns the command by which Piton runs the rest of a run of a workflow file.
    pub(crate) fn rest(&self) -> Option<Suggested> {
        let (home, id) = self.own_run()?;
        session_header(home, id).map(|header| header.resume())
    }

    /// Tells whether it is a session of the client.
    pub(crate) fn is_of_client(&self) -> bool {
        self.candidate.dialect == DialectId::Claude
    }

    /// Returns what continues the run if it belongs to another program.
    pub(crate) fn guest(&self) -> Option<Guest> {
        by_id(self.candidate.dialect).guest(&self.root, &self.candidate)
    }

    /// Refuses a run of another program, which is never written.
    pub(crate) fn check_writable(&self) -> Result<(), OpError> {
        self.guest().map_or(Ok(()), |guest| Err(self.refusal(&guest)))
    }

    /// Refuses a run of another program that `resume` has no brief for.
    pub(crate) fn check_resumable(&self) -> Result<(), OpError> {
        let without_brief = self.guest().filter(|guest| !guest.has_brief);
        without_brief.map_or(Ok(()), |guest| Err(self.refusal(&guest)))
    }

    fn refusal(&self, guest: &Guest) -> OpError {
        let name = &self.candidate.name;
        let mut hints = vec![guest.command.clone().into()];
        if guest.has_brief {
            hints.push(Suggested::of(Verb::Context, command_word(&self.root, &self.candidate)).into());
        }
        OpError::InTheWay { why: No::NotYours, message: format!("{name} {}", guest.refusal), hints }
    }
}

/// Returns a path for people: relative to the current folder, else with `~` for the home of this user.
pub(crate) fn short_path(path: &str) -> String {
    let below = |folder: Option<Utf8PathBuf>| {
        // Everything is below `/`, and without it a path does not look absolute.
        let folder = folder.filter(|folder| folder != "/")?;
        let below = Utf8Path::new(path).strip_prefix(folder).ok().map(Utf8Path::to_owned)?;
        Some(below.into_string())
    };
    match below(store::current_dir().ok()) {
        Some(here) if here.is_empty() => ".".to_owned(),
        Some(below) => below,
        None => below(store::client::user_home()).map_or_else(|| path.to_owned(), |below| format!("~/{below}")),
    }
}

/// Tells whether the current folder is in a project, whose path is without symlinks.
pub(crate) fn is_here(project: &str) -> bool {
    store::current_dir().is_ok_and(|here| here.starts_with(project))
}

/// Returns a message with its paths as [`short_path`] writes them.
pub(crate) fn with_short_paths(message: &str) -> String {
    let folders = [(store::current_dir().ok(), ""), (store::client::user_home(), "~/")];
    folders.into_iter().fold(message.to_owned(), |text, (folder, short)| match folder {
        Some(folder) if folder != "/" => text.replace(&format!(" {folder}/"), &format!(" {short}")),
        Some(_) | None => text,
    })
}

/// Reads the header of a session in a home.
pub(super) fn session_header(home: &Utf8Path, id: &str) -> Option<Header> {
    Header::parse(&header_bytes(home, id)?, home).ok()
}

/// Reads the bytes of the header of a session in a home.
pub(crate) fn header_bytes(home: &Utf8Path, id: &str) -> Option<Vec<u8>> {
    let header = piton::candidate(id, None)?.state.parent()?.join(HEADER).ok()?;
    match store::read_file(home, &header) {
        Content::Bytes(bytes) => Some(bytes.to_vec()),
        Content::NameOnly | Content::Problem(_) => None,
    }
}

/// Returns why a run of a workflow file does not count; `None` for one that this user began or said yes to.
pub(super) fn stranger(trusted: &Trusted, home: &Utf8Path, id: &str) -> Option<Stranger> {
    trusted.stranger(id, &header_bytes(home, id)?, home)
}

/// Returns why a run does not count, as a sentence.
pub(crate) fn sentence(id: &str, stranger: &Stranger) -> String {
    match stranger {
        Stranger::Unknown => format!("this user did not begin the run {id} on this machine"),
        Stranger::CopyOf(original) if store::unread::exists(original) => {
            format!(
                "the run {id} was copied with its project: {original} has it too, and it does not go on in both places"
            )
        }
        Stranger::CopyOf(original) => {
            format!(
                "the run {id} is of {original}, which is gone, and this is another folder: a copy, or one that was moved to another disk"
            )
        }
    }
}

/// Returns what is read of a run, with the finding about one that does not count: of such a run nothing is read besides its records.
pub(super) fn readable(trusted: &Trusted, location: &RunLocation) -> (Candidate, Option<Finding>) {
    let mut candidate = location.candidate.clone();
    let found = location.own_run().and_then(|(home, id)| Some((id, stranger(trusted, home, id)?)));
    let Some((id, stranger)) = found else { return (candidate, None) };
    if stranger == Stranger::Unknown {
        candidate.reads.retain(|read| !matches!(read, ReadSpec::Elsewhere { .. }));
    }
    let finding = Finding::new(FindingCode::RunUntrusted, sentence(id, &stranger));
    (candidate, Some(finding.fix(Suggested::of(Verb::Trust, id))))
}
