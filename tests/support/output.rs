//! The result of a program: exit code and text, with the paths of the sandbox replaced.

use std::fmt;

use serde_json::Value;

use super::Sandbox;

/// The result of one call. Snapshots hold its `Display` form.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// The exit code; 128 and the number of the signal for a program that was killed.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    pub(super) fn new(sandbox: &Sandbox, output: &std::process::Output) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        let code = output.status.code().or_else(|| output.status.signal().map(|signal| 128 + signal));
        Self::of_call(sandbox, code.expect("a program ends or is killed"), &output.stdout, &output.stderr)
    }

    pub(super) fn of_call(sandbox: &Sandbox, code: i32, stdout: &[u8], stderr: &[u8]) -> Self {
        let text = |bytes: &[u8]| sandbox.normalise(&String::from_utf8_lossy(bytes));
        Self { code, stdout: text(stdout), stderr: text(stderr) }
    }

    /// Fails the test, showing everything, unless the exit code is this one.
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit code\n{self}");
        self
    }

    /// Returns the one JSON document on stdout; anything else there fails the test.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert!(self.stdout.ends_with('\n'), "no newline at the end of stdout\n{self}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("stdout is not one document: {error}\n{self}"))
    }

    /// Returns the value at a JSON pointer of the document, `null` where there is none.
    #[track_caller]
    pub(crate) fn at(&self, pointer: &str) -> Value {
        self.json().pointer(pointer).cloned().unwrap_or(Value::Null)
    }

    /// Returns the codes of the findings of the document, in its order.
    #[track_caller]
    pub(crate) fn findings(&self) -> Vec<String> {
        let findings = self.at("/findings");
        let codes = findings.as_array().into_iter().flatten().map(|finding| &finding["code"]);
        codes.map(|code| code.as_str().unwrap_or_default().to_owned()).collect()
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "code: {}", self.code)?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                write!(f, "\n----- {name} -----\n{}", text.trim_end_matches('\n'))?;
            }
        }
        Ok(())
    }
}
