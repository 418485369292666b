//! The only place that prints. Results go to stdout, everything else to stderr.

use std::{
    borrow::Cow,
    io::{self, IsTerminal as _, Write as _},
};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};

use crate::{
    model::clean,
    ops::surroundings::{self, Stream},
    runner::Signals,
};

/// Text for people as a list of spans, so that untrusted text can be cleaned without losing the colours.
#[derive(Debug, Default)]
pub(super) struct Text {
    spans: Vec<(Tone, String)>,
}

/// How a span looks on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Bold,
    Dim,
    Good,
    Warn,
    Bad,
    /// Exact bytes for another program; cleaned only on a terminal.
    Exact,
}

impl Tone {
    const fn style(self) -> Style {
        match self {
            Self::Plain | Self::Exact => Style::new(),
            Self::Bold => Style::new().bold(),
            Self::Dim => Style::new().dimmed(),
            Self::Good => Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green))),
            Self::Warn => Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow))),
            Self::Bad => Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red))).bold(),
        }
    }
}

impl Text {
    /// Adds a span. Unless it is exact, line ends become spaces, so that untrusted text cannot begin a line.
    pub(super) fn put(&mut self, tone: Tone, text: impl AsRef<str>) -> &mut Self {
        let text = match tone {
            Tone::Exact => text.as_ref().to_owned(),
            Tone::Plain | Tone::Bold | Tone::Dim | Tone::Good | Tone::Warn | Tone::Bad => {
                clean(text.as_ref()).replace('\n', " ")
            }
        };
        self.spans.push((tone, text));
        self
    }

    /// Adds text of several lines: our own, or untrusted text inside a fence.
    pub(super) fn block(&mut self, text: &str) -> &mut Self {
        let text = clean(text);
        for line in text.strip_suffix('\n').unwrap_or(&text).split('\n') {
            self.line(line);
        }
        self
    }

    pub(super) fn plain(&mut self, text: impl AsRef<str>) -> &mut Self {
        self.put(Tone::Plain, text)
    }

    pub(super) fn bold(&mut self, text: impl AsRef<str>) -> &mut Self {
        self.put(Tone::Bold, text)
    }

    pub(super) fn dim(&mut self, text: impl AsRef<str>) -> &mut Self {
        self.put(Tone::Dim, text)
    }

    pub(super) fn line(&mut self, text: impl AsRef<str>) -> &mut Self {
        self.plain(text).end()
    }

    pub(super) fn end(&mut self) -> &mut Self {
        self.spans.push((Tone::Plain, "\n".to_owned()));
        self
    }

    fn styled(&self) -> String {
        self.spans.iter().fold(String::new(), |mut out, (tone, text)| {
            if *tone == Tone::Exact {
                out.push_str(&clean(text));
            } else if *tone == Tone::Plain || text == "\n" {
                out.push_str(text);
            } else {
                let style = tone.style();
                out.push_str(&format!("{style}{text}{style:#}"));
            }
            out
        })
    }

    /// Returns the text without colours.
    pub(super) fn plain_text(&self) -> String {
        self.spans.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// Tells whether a person is likely to read stdout.
pub(super) fn is_terminal() -> bool {
    surroundings::given().is_none() && io::stdout().is_terminal()
}

/// Tells whether stdin is a terminal.
pub(super) fn is_input_terminal() -> bool {
    surroundings::given().is_none() && io::stdin().is_terminal()
}

/// Tells whether a person is likely to read stderr.
pub(super) fn is_stderr_terminal() -> bool {
    surroundings::given().is_none() && io::stderr().is_terminal()
}

/// Tells whether a person can answer.
pub(super) fn can_ask() -> bool {
    is_input_terminal() && is_stderr_terminal()
}

/// Prints a result for people, with colours if stdout is a terminal that supports them.
pub(super) fn print_text(text: &Text) -> io::Result<()> {
    if !is_terminal() && text.spans.iter().any(|(tone, _)| *tone == Tone::Exact) {
        return print_raw(&text.plain_text());
    }
    print_styled(&text.styled())
}

/// Prints a result unchanged.
pub(super) fn print_raw(text: &str) -> io::Result<()> {
    write(Stream::Out, text.as_bytes())
}

/// Prints a text that has colours, if the terminal and the person want them.
pub(super) fn print_styled(text: &str) -> io::Result<()> {
    write_styled(Stream::Out, text)
}

/// Draws on the screen of a live view: text with what moves the cursor.
pub(super) fn draw(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Returns a text for a screen, with colours if the terminal and the person want them.
pub(super) fn for_screen(text: &Text) -> String {
    if surroundings::given().is_some() {
        return text.plain_text();
    }
    match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => text.plain_text(),
        ColorChoice::Auto | ColorChoice::Always | ColorChoice::AlwaysAnsi => text.styled(),
    }
}

/// Prints one JSON document on one line, or indented on a terminal. Control characters and bidirectional marks are escaped.
pub(super) fn print_json(value: &impl serde::Serialize) -> io::Result<()> {
    let text = if is_terminal() { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    let text = text.unwrap_or_default();
    let mut out = match clean(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(_) => escaped(&text),
    };
    out.push('\n');
    write(Stream::Out, out.as_bytes())
}

/// Prints one line of JSON, on a terminal too.
pub(super) fn print_line(value: &impl serde::Serialize) -> io::Result<()> {
    let mut line = escaped(&serde_json::to_string(value).unwrap_or_default());
    line.push('\n');
    write(Stream::Out, line.as_bytes())
}

pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if clean(c.encode_utf8(&mut [0; 4])).is_empty() {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// Passes on the output of a step unchanged.
pub(super) fn pass_on(bytes: &[u8], is_result: bool) {
    // A closed pipe must not end a run.
    let _ = write(if is_result { Stream::Out } else { Stream::Err }, bytes);
}

/// Prints a message to stderr.
pub(super) fn say(text: &Text) -> io::Result<()> {
    write_styled(Stream::Err, &text.styled())
}

/// Prints one line of JSON to stderr, where stdout takes nothing.
pub(super) fn say_json(value: &impl serde::Serialize) -> io::Result<()> {
    let line = escaped(&serde_json::to_string(value).unwrap_or_default()) + "\n";
    write(Stream::Err, line.as_bytes())
}

/// Asks on stderr and returns the first line of the answer. `None` at the end of input and after a handled signal; neither is
/// consent.
pub(super) fn ask(question: &str) -> io::Result<Option<String>> {
    say(Text::default().bold(question).plain(" "))?;
    if is_input_terminal() {
        // `read_line` restarts after a signal, so Ctrl-C would be noticed only at the end of the line.
        let stdin = io::stdin();
        let waited = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None);
        if waited == Err(Errno::INTR) {
            say(Text::default().end())?;
            return Ok(None);
        }
    }
    read_answer()
}

/// Asks for consent. End of input is never consent.
pub(super) fn agrees(question: &str) -> io::Result<bool> {
    let answer = ask(question)?.map(|answer| answer.to_lowercase());
    Ok(matches!(answer.as_deref(), Some("y" | "yes")))
}

/// Asks with a signal listener: also returns `None` if a signal to stop arrived, before or after the question was shown.
pub(super) fn ask_unless_stopped(question: &str, signals: &Signals) -> io::Result<Option<String>> {
    say(Text::default().bold(question).plain(" "))?;
    if signals.wait_for(io::stdin())?.is_some() {
        say(Text::default().end())?;
        return Ok(None);
    }
    read_answer()
}

fn read_answer() -> io::Result<Option<String>> {
    let mut answer = String::new();
    let read = surroundings::read_input(|input| input.read_line(&mut answer))?;
    Ok((read > 0).then(|| answer.trim().to_owned()))
}

/// Writes bytes unchanged. A closed pipe is not an error.
fn write(stream: Stream, bytes: &[u8]) -> io::Result<()> {
    quiet_pipe(match (surroundings::given(), stream) {
        (Some(given), stream) => {
            given.write(stream, bytes);
            Ok(())
        }
        (None, Stream::Out) => {
            let mut out = io::stdout().lock();
            out.write_all(bytes).and_then(|()| out.flush())
        }
        (None, Stream::Err) => io::stderr().lock().write_all(bytes),
    })
}

/// Writes a text with colours, without them where the stream has none.
pub(super) fn write_styled(stream: Stream, text: &str) -> io::Result<()> {
    quiet_pipe(match (surroundings::given(), stream) {
        (Some(given), stream) => {
            given.write(stream, anstream::adapter::strip_str(text).to_string().as_bytes());
            Ok(())
        }
        (None, Stream::Out) => anstream::stdout().lock().write_all(text.as_bytes()),
        (None, Stream::Err) => anstream::stderr().lock().write_all(text.as_bytes()),
    })
}

/// Ignores a closed pipe.
fn quiet_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
