//! One call of a program in a sandbox.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::Write as _,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};
use piton::cli::{self, Surroundings};

use super::{
    Output, Sandbox,
    bound::{self, Bound},
    terminal::Terminal,
};

/// A user without files and permissions.
const NOBODY: u32 = 65_534;

/// A call under construction. It does not inherit the environment of the tests.
#[must_use = "nothing runs before `run` or `spawn`"]
pub(crate) struct Program<'a> {
    sandbox: &'a Sandbox,
    program: PathBuf,
    now: Option<String>,
    arguments: Vec<String>,
    folder: Utf8PathBuf,
    variables: BTreeMap<String, String>,
    stdin: Option<Vec<u8>>,
    user: Option<u32>,
    bound: Duration,
}

impl<'a> Program<'a> {
    pub(super) fn new(sandbox: &'a Sandbox, program: PathBuf) -> Self {
        let variables = sandbox.environment().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self {
            sandbox,
            program,
            now: None,
            arguments: Vec::new(),
            folder: sandbox.root(),
            variables,
            stdin: None,
            user: None,
            bound: bound::CALL,
        }
    }

    /// Appends arguments.
    pub(crate) fn arguments<'b>(mut self, arguments: impl IntoIterator<Item = &'b str>) -> Self {
        self.arguments.extend(arguments.into_iter().map(str::to_owned));
        self
    }

    /// Runs piton at this moment (`--now`).
    pub(crate) fn now(mut self, time: &str) -> Self {
        self.now = Some(time.to_owned());
        self
    }

    /// Runs piton at the real time, for tests of the clock itself and for calls without a verb.
    pub(crate) fn real_clock(mut self) -> Self {
        self.now = None;
        self
    }

    /// Runs it as part of the client's session with this id.
    pub(crate) fn session(self, id: &str) -> Self {
        self.env("CLAUDE_CODE_SESSION_ID", id)
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Runs it as an unprivileged user. If the tests run as the superuser, the sandbox belongs to that user from then on.
    pub(crate) fn unprivileged(mut self) -> Self {
        if rustix::process::geteuid().is_root() {
            self.program = self.sandbox.give_to(NOBODY, &self.program);
            self.user = Some(NOBODY);
        }
        self
    }

    /// Runs it with an empty PATH.
    pub(crate) fn without_git(self) -> Self {
        let empty = self.sandbox.top().join("empty").into_string();
        self.env("PATH", &empty)
    }

    /// Runs it under another program, which gets these arguments first.
    pub(super) fn under(mut self, tool: &str, arguments: &[&str]) -> Self {
        let program = self.program.to_str().expect("a path in UTF-8").to_owned();
        let now = self.now.take().into_iter().flat_map(|now| ["--now".to_owned(), now]);
        let words = arguments.iter().map(|word| (*word).to_owned()).chain([program]).chain(now);
        self.arguments = words.chain(std::mem::take(&mut self.arguments)).collect();
        self.program = tool.into();
        self
    }

    pub(super) fn sandbox(&self) -> &'a Sandbox {
        self.sandbox
    }

    /// Runs it in this folder: absolute, or relative to the project.
    pub(crate) fn folder(mut self, folder: &Utf8Path) -> Self {
        self.folder = self.sandbox.root().join(folder);
        self
    }

    pub(crate) fn stdin(mut self, text: impl AsRef<[u8]>) -> Self {
        self.stdin = Some(text.as_ref().to_vec());
        self
    }

    /// Makes a call of piton inside this process, with its own environment, clock and ends.
    pub(crate) fn run_in_process(self) -> Output {
        let now = self.now.iter().flat_map(|now| ["--now", now.as_str()]);
        let words = ["piton"].into_iter().chain(now).chain(self.arguments.iter().map(String::as_str));
        let words: Vec<OsString> = words.map(OsString::from).collect();
        let surroundings = Arc::new(Surroundings::new(self.variables, self.folder, self.stdin.unwrap_or_default()));
        let code = cli::call(&words, Arc::clone(&surroundings));
        let printed = surroundings.printed();
        Output::of_call(self.sandbox, i32::from(code), &printed.stdout, &printed.stderr)
    }

    /// Returns the line for a shell that makes this call.
    pub(crate) fn by_hand(&self) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
        let variables = self.variables.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let now = self.now.iter().map(|now| format!("--now {now}"));
        let words = now.chain(self.arguments.iter().map(|word| quoted(word))).collect::<Vec<_>>().join(" ");
        let input = self
            .stdin
            .as_ref()
            .map_or_else(String::new, |bytes| format!("printf %s {} | ", quoted(&String::from_utf8_lossy(bytes))));
        let (folder, program) = (&self.folder, self.program.display());
        format!("cd {folder} && {input}env -i {} {program} {words}", variables.collect::<Vec<_>>().join(" "))
    }

    /// Kills it after this time; a call has two minutes.
    pub(super) fn bound(mut self, limit: Duration) -> Self {
        self.bound = limit;
        self
    }

    /// Runs it to its end.
    pub(crate) fn run(mut self) -> Output {
        let stdin = self.stdin.take();
        let sandbox = self.sandbox;
        let (mut child, bound) = self.start(self.command());
        let pipe = child.stdin.take();
        let writer = std::thread::spawn(move || {
            if let (Some(mut pipe), Some(bytes)) = (pipe, stdin) {
                // A program may end before it has read everything.
                let _ = pipe.write_all(&bytes);
            }
        });
        let output = Output::new(sandbox, &child.wait_with_output().expect("a child of our own"));
        writer.join().expect("a writer without assertions");
        bound.check(self.call(), &output);
        output
    }

    /// Runs it to its end at a terminal with this input; stdout goes elsewhere. `None` if the machine has no
    /// terminal: the test prints a message and ends.
    pub(crate) fn on_terminal(self, typed: &str) -> Option<Output> {
        let (mut terminal, child, bound) = self.start_on_terminal()?;
        terminal.type_in(typed);
        Some(self.ended(terminal.until_the_end(child, |_| ()), &bound))
    }

    /// Runs it to its end at a terminal, and presses Ctrl-C when this is shown.
    pub(crate) fn interrupted_at(self, question: &str) -> Option<Output> {
        let (terminal, child, bound) = self.start_on_terminal()?;
        let (id, mut is_pressed) = (child.id(), false);
        let ended = terminal.until_the_end(child, |shown| {
            if !is_pressed && find(shown, question.as_bytes()).is_some() {
                run_tool(Path::new("/bin/sh"), &["-c", &format!("kill -INT {id}")], &[]);
                is_pressed = true;
            }
        });
        Some(self.ended(ended, &bound))
    }

    /// Runs it to its end at a terminal that is closed when the function returns.
    pub(crate) fn hung_up(self, wait: impl FnOnce()) -> Option<Output> {
        let (terminal, child, bound) = self.start_on_terminal()?;
        wait();
        drop(terminal);
        run_tool(Path::new("/bin/sh"), &["-c", &format!("kill -HUP {}", child.id())], &[]);
        Some(self.ended((child.wait_with_output().expect("a child of our own"), Vec::new()), &bound))
    }

    /// Runs it to its end with all of its ends at a terminal of 100 columns and 40 rows. When a text is shown, its function is called with the
    /// id of the process, and what it returns is typed; each counts once, after the one before. What was shown is in `stderr`.
    pub(crate) fn on_screen<'s>(
        self,
        steps: impl IntoIterator<Item = (&'s str, Box<dyn Fn(u32) -> String + 's>)>,
    ) -> Option<Output> {
        let Some(terminal) = Terminal::open() else {
            let _ = writeln!(std::io::stderr(), "skipped: this machine has no pseudo-terminal to give");
            return None;
        };
        terminal.resize(100, 40);
        let end = || Stdio::from(terminal.program.try_clone().expect("a terminal of our own"));
        let mut command = self.command();
        command.stdin(end()).stdout(end()).stderr(end());
        // The command, which also holds the program's end, is dropped in there.
        let (child, bound) = self.start(command);
        let (id, mut from) = (child.id(), 0);
        let mut steps = steps.into_iter().peekable();
        let mut person = terminal.person();
        let ended = terminal.until_the_end(child, |shown| {
            let Some((wanted, then)) = steps.peek() else { return };
            if let Some(at) = find(&shown[from..], wanted.as_bytes()) {
                from += at + wanted.len();
                let typed = then(id);
                let _ = steps.next();
                person.write_all(typed.as_bytes()).expect("a terminal of our own");
            }
        });
        Some(self.ended(ended, &bound))
    }

    /// Runs it to its end; kills it and returns `None` after a timeout.
    pub(crate) fn run_within(self, limit: Duration) -> Option<Output> {
        let sandbox = self.sandbox;
        let mut child = self.spawn();
        drop(child.stdin.take());
        let id = child.id();
        let (ended, wait) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            let output = child.wait_with_output().expect("a child of our own");
            // After a timeout the receiver is gone.
            let _ = ended.send(());
            output
        });
        let is_in_time = wait.recv_timeout(limit).is_ok();
        if !is_in_time {
            let id = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw).expect("the id of a child");
            // It may have ended meanwhile.
            let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
        }
        let output = reader.join().expect("a reader without assertions");
        is_in_time.then(|| Output::new(sandbox, &output))
    }

    /// Starts it without waiting; for tests that kill it or run several at once. It lives for ten minutes at most.
    pub(crate) fn spawn(self) -> Child {
        let program = self.bound(bound::LIFE);
        program.start(program.command()).0
    }

    fn start(&self, mut command: Command) -> (Child, Bound) {
        let child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        let bound = Bound::of(&child, self.bound);
        (child, bound)
    }

    /// Returns the output of a program whose stderr was a terminal.
    fn ended(&self, (mut output, shown): (std::process::Output, Vec<u8>), bound: &Bound) -> Output {
        output.stderr = shown;
        let output = Output::new(self.sandbox, &output);
        bound.check(self.call(), &output);
        output
    }

    fn call(&self) -> String {
        format!("`{} {}`", self.program.display(), self.arguments.join(" "))
    }

    fn start_on_terminal(&self) -> Option<(Terminal, Child, Bound)> {
        let Some(terminal) = Terminal::open() else {
            let _ = writeln!(std::io::stderr(), "skipped: this machine has no pseudo-terminal to give");
            return None;
        };
        let end = || Stdio::from(terminal.program.try_clone().expect("a terminal of our own"));
        let mut command = self.command();
        command.stdin(end()).stderr(end());
        // The command, which also holds the program's end, is dropped in there.
        let (child, bound) = self.start(command);
        Some((terminal, child, bound))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(now) = &self.now {
            command.args(["--now", now]);
        }
        command
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env_clear()
            .envs(&self.variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }
}

/// Returns where some bytes are among others.
pub(super) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Runs a tool of the machine, such as `sh`, with only these variables in its environment.
pub(crate) fn run_tool(tool: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> std::process::Output {
    let child = Command::new(tool)
        .args(arguments)
        .env_clear()
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", tool.display()));
    let bound = Bound::of(&child, bound::CALL);
    let output = child.wait_with_output().expect("a child of our own");
    bound.check(tool.display(), String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()));
    output
}

/// Bounds the life of a program that a test started by itself.
pub(crate) fn bounded(child: Child) -> Child {
    let _ = Bound::of(&child, bound::LIFE);
    child
}
