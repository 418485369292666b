//! The disk operations of a call of piton, in the kernel's order.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

/// One successful call. Calls that failed are ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Creates the file if it does not exist.
    Open {
        path: Utf8PathBuf,
        mode: u32,
        truncates: bool,
    },
    /// Writes at an offset, or at the end.
    Write {
        path: Utf8PathBuf,
        at: Option<u64>,
        bytes: Vec<u8>,
    },
    Truncate {
        path: Utf8PathBuf,
        length: u64,
    },
    Mode {
        path: Utf8PathBuf,
        mode: u32,
    },
    Folder {
        path: Utf8PathBuf,
        mode: u32,
    },
    Link {
        from: Utf8PathBuf,
        to: Utf8PathBuf,
    },
    Rename {
        from: Utf8PathBuf,
        to: Utf8PathBuf,
    },
    Remove {
        path: Utf8PathBuf,
    },
    /// Makes the content of a file, or the names in a folder, durable.
    Sync {
        path: Utf8PathBuf,
    },
    /// Visible output that cannot be undone: the answer, or a child process.
    Said,
}

/// Calls that change something, and calls that open what they change.
pub(super) const CALLS: &str = "open,openat,creat,write,pwrite64,writev,pwritev,lseek,rename,renameat,renameat2,link,linkat,\
    symlink,symlinkat,unlink,unlinkat,rmdir,mkdir,mkdirat,fsync,fdatasync,fchmod,fchmodat,chmod,ftruncate,truncate,fallocate,\
    copy_file_range,sendfile,sync_file_range,execve";

/// Parses the output of `strace -f -y -xx`. Paths outside `top` are ignored.
pub(super) fn parse(text: &str, top: &Utf8Path) -> Vec<Call> {
    let mut reading = Reading {
        top,
        unfinished: BTreeMap::new(),
        opened: BTreeMap::new(),
        tokens: Vec::new(),
        calls: Vec::new(),
        started: 0,
    };
    for line in text.lines() {
        reading.line(line);
    }
    reading.calls
}

/// How an open file is written.
struct Opened {
    path: Utf8PathBuf,
    /// `None` for a file opened for appending.
    at: Option<u64>,
}

struct Reading<'a> {
    top: &'a Utf8Path,
    unfinished: BTreeMap<&'a str, String>,
    opened: BTreeMap<String, Opened>,
    /// The unique part of the names of temporary files.
    tokens: Vec<String>,
    calls: Vec<Call>,
    started: usize,
}

impl<'a> Reading<'a> {
    /// Joins a call that another thread interrupted; its end is its position.
    fn line(&mut self, line: &'a str) {
        let Some((thread, rest)) = line.split_once(' ') else { return };
        let rest = rest.trim_start();
        if let Some(head) = rest.strip_suffix(" <unfinished ...>") {
            self.unfinished.insert(thread, head.to_owned());
        } else if let Some((_, tail)) = rest.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>")) {
            if let Some(head) = self.unfinished.remove(thread) {
                self.call(&format!("{head}{tail}"));
            }
        } else {
            self.call(rest);
        }
    }

    fn call(&mut self, text: &str) {
        let Some((name, rest)) = text.split_once('(') else { return };
        let Some((arguments, result)) = rest.rsplit_once(" = ") else { return };
        if result.starts_with('-') || result.starts_with('?') {
            return;
        }
        let arguments = arguments.trim_end();
        let arguments: Vec<&str> = arguments.strip_suffix(')').unwrap_or(arguments).split(", ").collect();
        self.note(name, &arguments, result);
    }

    fn note(&mut self, name: &str, arguments: &[&str], result: &str) {
        let at = |folder: usize, path: usize| joined(arguments[folder], arguments[path]);
        let plain = |path: usize| Some(Utf8PathBuf::from(quoted(arguments[path])?));
        let opened = || descriptor(arguments[0]);
        let call = match name {
            "creat" => panic!("the model does not know `{name}`"),
            // Form of libraries without `openat`.
            "open" => return self.open(plain(0), &arguments[1..], result),
            "openat" => return self.open(at(0, 1), &arguments[2..], result),
            "lseek" => {
                if let (Some(path), Some(open)) = (opened(), self.opened.get_mut(number(arguments[0])))
                    && open.path == path
                    && open.at.is_some()
                {
                    open.at = result.parse().ok();
                }
                return;
            }
            "write" => return self.write(arguments, result),
            "rename" => plain(0).zip(plain(1)).map(|(from, to)| Call::Rename { from, to }),
            "renameat" | "renameat2" => at(0, 1).zip(at(2, 3)).map(|(from, to)| Call::Rename { from, to }),
            "linkat" => at(0, 1).zip(at(2, 3)).map(|(from, to)| Call::Link { from, to }),
            "unlink" | "rmdir" => plain(0).map(|path| Call::Remove { path }),
            "unlinkat" => at(0, 1).map(|path| Call::Remove { path }),
            "mkdir" => plain(0).map(|path| Call::Folder { path, mode: octal(arguments[1]) }),
            "mkdirat" => at(0, 1).map(|path| Call::Folder { path, mode: octal(arguments[2]) }),
            "fsync" | "fdatasync" => opened().map(|path| Call::Sync { path }),
            "fchmod" => opened().map(|path| Call::Mode { path, mode: octal(arguments[1]) }),
            "chmod" => plain(0).map(|path| Call::Mode { path, mode: octal(arguments[1]) }),
            "ftruncate" => {
                opened().map(|path| Call::Truncate { path, length: arguments[1].parse().expect("a length") })
            }
            "execve" => {
                // The first one is the program itself.
                self.started += 1;
                (self.started > 1).then_some(Call::Said)
            }
            other => panic!("the model does not know `{other}`"),
        };
        self.keep(call);
    }

    /// Keeps operations below the top; the model has no renames across its border.
    fn keep(&mut self, call: Option<Call>) {
        let Some(mut call) = call else { return };
        let mut paths = match &mut call {
            Call::Said => Vec::new(),
            Call::Open { path, .. }
            | Call::Write { path, .. }
            | Call::Truncate { path, .. }
            | Call::Mode { path, .. }
            | Call::Folder { path, .. }
            | Call::Remove { path }
            | Call::Sync { path } => vec![path],
            Call::Link { from, to } | Call::Rename { from, to } => vec![from, to],
        };
        let below = paths.iter().filter(|path| path.starts_with(self.top)).count();
        assert!(below == 0 || below == paths.len(), "across the border: {paths:?}");
        let counts = below > 0 || paths.is_empty();
        for path in &mut paths {
            self.steady(path);
        }
        if counts {
            self.calls.push(call);
        }
    }

    /// Gives a temporary file a name that is the same in every test run.
    fn steady(&mut self, path: &mut Utf8PathBuf) {
        let Some(name) = path.file_name().and_then(|name| name.strip_suffix(".piton-tmp")) else { return };
        let mut parts = name.rsplitn(3, '.');
        let (Some(token), Some(process), Some(name)) = (parts.next(), parts.next(), parts.next()) else { return };
        // It is that of a content, by which the next command finds it.
        if process == "0" {
            return;
        }
        let number = self.tokens.iter().position(|known| known == token).unwrap_or_else(|| {
            self.tokens.push(token.to_owned());
            self.tokens.len() - 1
        });
        *path = path.with_file_name(format!("{name}.1.{number:016x}.piton-tmp"));
    }

    /// `how` are flags and mode.
    fn open(&mut self, path: Option<Utf8PathBuf>, how: &[&str], result: &str) {
        let flags: Vec<&str> = how[0].split('|').collect();
        let has = |flag| flags.contains(&flag);
        let Some(path) = path.filter(|_| !has("O_RDONLY") && !has("O_PATH") && !has("O_DIRECTORY")) else { return };
        let at = (!has("O_APPEND")).then_some(0);
        self.opened.insert(number(result).to_owned(), Opened { path: path.clone(), at });
        if has("O_CREAT") || has("O_TRUNC") {
            let mode = how.get(1).map_or(0, |mode| octal(mode));
            self.keep(Some(Call::Open { path, mode, truncates: has("O_TRUNC") }));
        }
    }

    fn write(&mut self, arguments: &[&str], result: &str) {
        if number(arguments[0]) == "1" {
            return self.keep(Some(Call::Said));
        }
        let Some(path) = descriptor(arguments[0]).filter(|path| path.starts_with(self.top)) else { return };
        let mut bytes = hex(arguments[1]).expect("bytes as numbers");
        bytes.truncate(result.trim().parse().expect("a count"));
        let open = self.opened.get_mut(number(arguments[0])).filter(|open| open.path == path);
        let open = open.unwrap_or_else(|| panic!("{path} is written but was never opened"));
        let at = open.at;
        open.at = open.at.map(|at| at + bytes.len() as u64);
        self.keep(Some(Call::Write { path, at, bytes }));
    }
}

/// Returns the number before the path: `5<\x2f>`.
fn number(descriptor: &str) -> &str {
    descriptor.split('<').next().unwrap_or_default().trim()
}

/// Returns the path of an open file that has a name: `5<\x2f>`.
fn descriptor(argument: &str) -> Option<Utf8PathBuf> {
    let (_, rest) = argument.split_once('<')?;
    let path = rest.strip_suffix('>')?;
    String::from_utf8(hex(path)?).ok().map(Utf8PathBuf::from)
}

/// Returns a path relative to an open folder: `AT_FDCWD<\x2f>`, `"\x61"`.
fn joined(folder: &str, path: &str) -> Option<Utf8PathBuf> {
    let path = quoted(path)?;
    Some(descriptor(folder).map_or_else(|| Utf8PathBuf::from(&path), |folder| folder.join(&path)))
}

fn quoted(argument: &str) -> Option<String> {
    String::from_utf8(hex(argument)?).ok()
}

/// Reads bytes as numbers, in quotation marks or without: `"\x2f\x61"`.
fn hex(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_matches('"');
    let pairs = text.split("\\x").skip(1);
    let is_whole = text.is_empty() || text.starts_with("\\x");
    is_whole.then(|| pairs.map(|pair| u8::from_str_radix(pair, 16).ok()).collect())?
}

fn octal(text: &str) -> u32 {
    u32::from_str_radix(text, 8).expect("a mode")
}
