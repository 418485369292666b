//! Passes on the output of a child and logs it.

use std::{fs::File, io::Write as _};

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    claude::{ClaudeReader, Rejection, Shown},
    console::{Event, OutputSource},
    context::RunContext,
    exec::{Stream, Watcher},
    files,
};
use crate::model::ClaudeWork;

/// How many bytes of the end of stderr are kept for error messages.
const TAIL: usize = 64 << 10;
/// Longer lines are logged in pieces.
const LOG_LINE: usize = 64 << 10;

/// The watcher of one child.
pub(super) struct OutputWatcher<'a> {
    context: &'a RunContext<'a>,
    source: OutputSource<'a>,
    /// Where the step works.
    folder: &'a Utf8Path,
    claude: Option<ClaudeReader>,
    log: Log<'a>,
    stderr: Vec<u8>,
    /// What may be the beginning of a secret, of each stream.
    held: [Vec<u8>; 2],
    /// Labelled lines that are not complete yet, of each stream.
    begun: [Vec<u8>; 2],
}

/// What a watcher saw of a child.
pub(super) struct ObservedOutput {
    pub(super) stderr: String,
    pub(super) result: Option<String>,
    pub(super) api_error: Option<String>,
    pub(super) rejection: Option<Rejection>,
    /// What a call of `claude` did, secrets masked, and whether all its calls of tools were denied.
    pub(super) work: Option<(ClaudeWork, bool)>,
}

/// The log of a step, created with the first output.
struct Log<'a> {
    context: &'a RunContext<'a>,
    path: Utf8PathBuf,
    file: Option<File>,
    waiting: Vec<u8>,
    is_broken: bool,
}

impl<'a> OutputWatcher<'a> {
    /// Returns a watcher of a child that works in `folder`; `log` is the file of its log.
    pub(super) fn new(
        context: &'a RunContext<'a>,
        (source, folder): (OutputSource<'a>, &'a Utf8Path),
        log: &str,
        is_claude: bool,
    ) -> Self {
        let path = context.session.join(format!("logs/{log}"));
        let log = Log { context, path, file: None, waiting: Vec::new(), is_broken: false };
        Self {
            context,
            source,
            folder,
            claude: is_claude.then(ClaudeReader::default),
            log,
            stderr: Vec::new(),
            held: <[Vec<u8>; 2]>::default(),
            begun: <[Vec<u8>; 2]>::default(),
        }
    }

    pub(super) fn end(mut self) -> ObservedOutput {
        let shown = self.claude.as_mut().map(ClaudeReader::end).unwrap_or_default();
        self.show_all(shown);
        self.show(Stream::Stdout, &[], true);
        self.show(Stream::Stderr, &[], true);
        self.log.flush(true);
        let (result, api_error) = match &self.claude {
            Some(reader) => (reader.result().map(str::to_owned), reader.error().map(str::to_owned)),
            None => (None, None),
        };
        let rejection = self.claude.as_ref().and_then(ClaudeReader::rejection);
        let work = self.claude.as_ref().map(|reader| (self.masked(reader.work()), reader.is_all_denied()));
        let stderr = String::from_utf8_lossy(&self.stderr).into_owned();
        ObservedOutput { stderr, result, api_error, rejection, work }
    }
}

impl OutputWatcher<'_> {
    /// Shows what an agent says and which tools it calls.
    fn show_all(&mut self, shown: Vec<Shown>) {
        for one in shown {
            match one {
                Shown::Text(text) => self.show(Stream::Stdout, text.as_bytes(), false),
                Shown::Tool { name, subject } => {
                    let subject = self.context.masks.hide(self.inside(&subject));
                    let tool = self.context.masks.hide(&name);
                    self.context.console.tell(&Event::Tool { source: self.source, tool: &tool, subject: &subject });
                }
            }
        }
    }

    /// Returns a path relative to the folder of the run, where it lies below.
    fn inside<'s>(&self, subject: &'s str) -> &'s str {
        let below = subject.strip_prefix(self.folder.as_str()).and_then(|rest| rest.strip_prefix('/'));
        below.unwrap_or(subject)
    }

    fn masked(&self, mut work: ClaudeWork) -> ClaudeWork {
        let hide = |text: &str| self.context.masks.hide(text);
        for denied in &mut work.denied {
            denied.subject = hide(self.inside(&denied.subject));
            denied.rule = hide(&denied.rule);
            denied.tool = hide(&denied.tool);
        }
        work.tools = work.tools.into_iter().map(|(tool, count)| (hide(&tool), count)).collect();
        work
    }

    /// Passes output on, without secrets: it ends up in the logs of services that run workflows.
    fn show(&mut self, stream: Stream, bytes: &[u8], is_end: bool) {
        let at = match stream {
            Stream::Stdout => 0,
            Stream::Stderr => 1,
        };
        let mut shown = self.context.masks.hide_piece(&mut self.held[at], bytes, is_end);
        if self.source.label.is_some() {
            // Lines of others must not stand in the middle of one.
            let begun = &mut self.begun[at];
            begun.extend_from_slice(&shown);
            let whole = begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let take = if is_end || begun.len() > LOG_LINE { begun.len() } else { whole };
            shown = begun.drain(..take).collect();
        }
        if !shown.is_empty() {
            self.context.console.output(self.source, stream, &shown);
        }
    }
}

impl Watcher for OutputWatcher<'_> {
    fn printed(&mut self, stream: Stream, bytes: &[u8]) {
        self.log.add(bytes);
        match (stream, &mut self.claude) {
            (Stream::Stdout, Some(reader)) => {
                let shown = reader.take(bytes);
                self.show_all(shown);
            }
            (Stream::Stdout, None) | (Stream::Stderr, _) => self.show(stream, bytes, false),
        }
        if stream == Stream::Stderr {
            self.stderr.extend_from_slice(bytes);
            if self.stderr.len() > 2 * TAIL {
                self.stderr.drain(..self.stderr.len() - TAIL);
            }
        }
    }
}

impl Log<'_> {
    fn add(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        self.flush(false);
    }

    /// Writes the complete lines with secrets masked.
    fn flush(&mut self, is_end: bool) {
        let whole = self.waiting.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let take = if is_end || self.waiting.len() > LOG_LINE { self.waiting.len() } else { whole };
        if take == 0 || self.is_broken {
            return;
        }
        let text = self.context.masks.hide(&String::from_utf8_lossy(&self.waiting[..take]));
        self.waiting.drain(..take);
        let written = match &mut self.file {
            Some(file) => file.write_all(text.as_bytes()),
            None => files::append_private(&self.path).and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                self.file = Some(file);
                Ok(())
            }),
        };
        if let Err(error) = written {
            self.is_broken = true;
            self.context.console.tell(&Event::Warning { text: &format!("{} cannot be written: {error}", self.path) });
        }
    }
}
