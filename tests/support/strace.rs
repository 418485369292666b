//! The system calls of a program: lists them, and makes one of them fail or the last.

use std::{collections::BTreeMap, fmt, io::Write as _, path::Path};

use super::{Output, Program};

/// The calls that look at files and folders.
const READS: [&str; 9] =
    ["openat", "openat2", "getdents64", "read", "pread64", "statx", "newfstatat", "readlink", "readlinkat"];

/// Calls that change something, wait for the disk or take a lock. Opening a file counts if it is opened for writing.
const WRITES: &[&str] = &[
    "open",
    "openat",
    "creat",
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "unlink",
    "unlinkat",
    "rmdir",
    "mkdir",
    "mkdirat",
    "fsync",
    "fdatasync",
    "chmod",
    "fchmod",
    "fchmodat",
    "chown",
    "fchown",
    "fchownat",
    "ftruncate",
    "fallocate",
    "copy_file_range",
    "sendfile",
    "utimensat",
    "flock",
];

/// The tool that traces the system calls of a program.
#[derive(Clone, Copy)]
pub(crate) struct Strace(&'static str);

/// One system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// The number of the thread, in order of appearance; 0 is the main thread.
    pub(crate) thread: usize,
    pub(crate) name: String,
    /// How many calls of this name its thread had made, this one included, as for strace's `when=`.
    pub(crate) count: usize,
    /// The text after the opening bracket: arguments and result, or that the call was unfinished.
    pub(crate) rest: String,
}

impl Strace {
    /// Finds strace; prints a message if it is missing.
    pub(crate) fn find() -> Option<Self> {
        let found = ["/usr/bin/strace", "/bin/strace"].into_iter().find(|path| Path::new(path).exists());
        if found.is_none() {
            say("skipped: there is no strace to follow the calls of the system");
        }
        found.map(Self)
    }

    /// Runs the program to its end and returns its calls in order. `options` are passed to strace.
    pub(crate) fn record(self, program: Program<'_>, options: &[&str]) -> (Output, Vec<Call>) {
        let (output, text) = self.follow(program, &WRITES.join(","), &[&["-b", "execve"], options].concat());
        (output, calls(&text))
    }

    /// Runs the program to its end and returns its calls that read, with the paths of open files.
    pub(crate) fn record_reads(self, program: Program<'_>) -> (Output, Vec<Call>) {
        let (output, text) = self.follow(program, &READS.join(","), &["-b", "execve", "-y"]);
        (output, calls(&text))
    }

    /// Runs the program to its end and returns strace's output for these calls.
    pub(crate) fn follow(self, program: Program<'_>, calls: &str, options: &[&str]) -> (Output, String) {
        let log = program.sandbox().top().join("calls");
        let trace = format!("trace={calls}");
        let words = [&["-f", "-qqq", "-o", log.as_str(), "-e", trace.as_str()], options].concat();
        let output = program.under(self.0, &words).run();
        let text = super::read(&log);
        std::fs::remove_file(&log).expect("it was just read");
        (output, text)
    }

    /// Runs the program and injects a fault into one of its calls: `signal=SIGKILL`, `error=EIO`. Every thread whose own count is
    /// reached is hit.
    pub(crate) fn inject(self, program: Program<'_>, call: &Call, effect: &str) -> Output {
        let trace = format!("trace={}", call.name);
        let inject = format!("inject={}:{effect}:when={}", call.name, call.count);
        let words = ["-f", "-b", "execve", "-qqq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
        program.under(self.0, &words).run()
    }
}

impl Call {
    /// Tells whether it changes something, waits for the disk or takes a lock.
    pub(crate) fn is_write(&self) -> bool {
        let opens = matches!(self.name.as_str(), "open" | "openat");
        !opens || ["O_CREAT", "O_WRONLY", "O_RDWR"].iter().any(|flag| self.rest.contains(flag))
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of thread {}: ({}", self.name, self.count, self.thread, self.rest)
    }
}

/// Prints a message beside the test's result.
pub(crate) fn say(text: &str) {
    // A closed stderr must not fail a test.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Parses a line of strace: thread, name and arguments.
fn calls(text: &str) -> Vec<Call> {
    let mut threads: Vec<&str> = Vec::new();
    let mut counts: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let Some((name, rest)) = call.trim_start().split_once('(') else { continue };
        // The second half of an unfinished call.
        if name.starts_with('<') {
            continue;
        }
        let thread = threads.iter().position(|known| *known == thread).unwrap_or_else(|| {
            threads.push(thread);
            threads.len() - 1
        });
        let count = counts.entry((thread, name)).or_default();
        *count += 1;
        calls.push(Call { thread, name: name.to_owned(), count: *count, rest: rest.to_owned() });
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::{Call, calls};

    #[test]
    fn calls_are_counted_per_thread() {
        let log = "7 fsync(3) = 0\n7 write(1, \"a(b\", 3) = 3\n8  fsync(4 <unfinished ...>\n7 fsync(5) = 0\n8  <... fsync resumed>) = 0\n";
        let expected = [
            (0, "fsync", 1, "3) = 0"),
            (0, "write", 1, "1, \"a(b\", 3) = 3"),
            (1, "fsync", 1, "4 <unfinished ...>"),
            (0, "fsync", 2, "5) = 0"),
        ];
        let expected = expected.map(|(thread, name, count, rest)| Call {
            thread,
            name: name.to_owned(),
            count,
            rest: rest.to_owned(),
        });
        assert_eq!(calls(log), expected);
    }
}
