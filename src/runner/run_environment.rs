//! What a run knows of its surroundings before its records are read.

use camino::Utf8Path;

use super::{console::Console, error::RunError, origin};
use crate::{
    dialect::piton::record::Header,
    ops::{self, Exit},
    store::{self, Caller, Environment, Project, Ticker, Trusted},
};

/// The project, the environment and the clock of a run.
pub(super) struct RunEnvironment {
    pub(super) environment: Environment,
    pub(super) project: Project,
    pub(super) ticker: Ticker,
}

impl RunEnvironment {
    pub(super) fn open(folder: &Utf8Path, now: Option<&str>) -> Result<Self, RunError> {
        let environment = Environment::read();
        let project = Project::open(folder, &environment)?;
        let ticker = Ticker::new(now.or(environment.now.as_deref()))
            .map_err(|error| RunError::new(Exit::Usage, format!("--now: {error}"), []))?;
        Ok(Self { environment, project, ticker })
    }

    /// Opens the project of a run that speaks for this user.
    pub(super) fn of_session(
        home: &Utf8Path,
        header: &Header,
        now: Option<&str>,
        console: &dyn Console,
    ) -> Result<Self, RunError> {
        origin::check(&Trusted::of(&Environment::read()), home, header, console)?;
        if !store::is_folder(&header.root) {
            let message =
                format!("session {} was made in {}, which is not there any more", header.session, header.root);
            return Err(RunError::new(Exit::NotFound, message, [ops::where_it_moved(&header.session)]));
        }
        Self::open(&header.root, now)
    }

    pub(super) fn caller(&self) -> Caller {
        Caller::this_process(&self.environment)
    }
}
