//! `show`.

use super::prelude::*;
use crate::{
    cli::{
        format::Format,
        render::{self, text_page},
        watch,
    },
    model::Severity,
    page,
};

/// Columns of the text.
const COLUMNS: usize = 80;

#[derive(Debug, Args)]
#[command(after_help = "\
A picture of the run on the terminal; `--format markdown` for a pull request or an issue (with a Mermaid graph), `--format junit` for
a CI service, `--format json` for programs.

With --html, one file that a browser shows without network and without scripts: the verdict with the next command, what was paid and what is
paid again, the graph, the timeline, every step with what proves it, findings, history, and the brief of the next agent. Nothing of the run is
changed. An existing file is replaced only if it is such a page.

  piton show                          the only run of this project
  piton show 2 --html run.html        the second of `piton list`, as a page
  piton show user-auth --html run.html --open
  piton show user-auth --format markdown | gh pr comment --body-file -

With --watch it redraws when the run changes, works over ssh and without colour (NO_COLOR), and leaves the terminal as it was.
Keys: arrows or j and k choose, d or Enter shows the step, b the brief of the next agent, r the commands to go on, Esc goes back, q ends.")]
pub(in crate::cli) struct Show {
    #[command(flatten)]
    run: RunArg,
    /// Write the run as one HTML page to this file; `-` prints it
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
    /// Open the page in the browser
    #[arg(long, requires = "html")]
    open: bool,
    /// Show the run live on the terminal: what is done, what is in progress, what comes next
    #[arg(long, conflicts_with = "html")]
    watch: bool,
    /// With --watch: show all runs of this project, and open one with Enter
    #[arg(long, requires = "watch", conflicts_with = "run")]
    all: bool,
}

impl Command for Show {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        if self.watch {
            return watch::watch(call, self.run.name(), self.all);
        }
        let shown = ops::show(&call.project(self.run.name())?)?;
        let Some(file) = &self.html else {
            return match call.format {
                Format::Junit => Ok(call.print_page(&page::junit(&shown.body))),
                Format::Text | Format::Json | Format::Markdown | Format::Yaml => call.answer(Ok(shown)),
            };
        };
        let brief = shown.body.brief.as_ref().map(render::context);
        let html = page::page(&shown.body, &shown.findings, brief.as_deref());
        if file == "-" {
            if self.open {
                return Err(CommandError::usage("--open needs a file: --html FILE"));
            }
            return Ok(call.print_page(&html));
        }
        let written = ops::write_page(&shown.body, file, &html)?;
        if self.open {
            ops::open_page(&written.body)?;
        }
        call.answer(Ok(written))
    }

    fn has_junit(&self) -> bool {
        true
    }

    /// Text is only printed; a page is written where a person says.
    fn called(&self) -> Option<CalledVerb> {
        (self.html.is_none() && !self.watch).then(|| CalledVerb::of_run("show", self.run.name(), None))
    }
}

impl Shown for ops::ShowReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        for line in page::lines(self, COLUMNS, page.verbose) {
            text_page::put(&mut page.text, &line);
        }
    }

    fn lists(&self, finding: &Finding, verbose: bool) -> bool {
        verbose || finding.severity != Severity::Info
    }

    fn markdown(&self, findings: &[Finding]) -> String {
        page::markdown(self, findings)
    }
}

impl Shown for ops::PageFile {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        page.text.line(format!("{} ({} kB)", self.path, self.bytes.div_ceil(1_000))).line(&self.headline);
        if !page.quiet {
            page.text.line(format!("→ {}", self.command));
        }
    }
}
