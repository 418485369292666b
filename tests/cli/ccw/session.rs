//! Builds session folders in the shapes found in real projects.

use serde_json::{Value, json};

use crate::support::{Output, Program, Sandbox};

/// Where [`Session::new`] puts its session.
pub(super) const DIR: &str = ".workflow/active/WFS-x";

/// A project with one session in it.
pub(super) struct Session {
    pub(super) sandbox: Sandbox,
    dir: String,
}

impl Session {
    /// Makes the session `WFS-x`, three hours old, with a plan document and nothing to do.
    pub(super) fn new() -> Self {
        Self::at(DIR)
    }

    /// Makes it in this folder; its id is the name of the folder.
    pub(super) fn at(dir: &str) -> Self {
        let session = Self { sandbox: Sandbox::new(), dir: dir.to_owned() };
        add_to(&session.sandbox, dir);
        session
    }

    /// Returns the path of a file of the session.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.dir)
    }

    /// Writes a file of the session.
    pub(super) fn file(&self, name: &str, text: &str) -> &Self {
        self.sandbox.file(&self.path(name), text);
        self
    }

    /// Writes the task file `.task/ID.json`; `fields` come on top of id and title, `null` takes a field out.
    pub(super) fn task(&self, id: &str, fields: &Value) -> &Self {
        let mut task = json!({"id": id, "title": format!("Title of {id}")});
        for (key, value) in fields.as_object().expect("fields are an object") {
            task[key] = value.clone();
        }
        task.as_object_mut().expect("it was made as one").retain(|_, value| !value.is_null());
        self.file(&format!(".task/{id}.json"), &pretty(&task))
    }

    /// Writes task files of id, status and dependencies.
    pub(super) fn tasks(&self, tasks: &[(&str, &str, &[&str])]) -> &Self {
        for (id, status, depends_on) in tasks {
            self.task(id, &json!({"status": status, "depends_on": depends_on}));
        }
        self
    }

    /// Writes the checklist with one line per `x IMPL-1`, ` ` standing for an open box.
    pub(super) fn todo(&self, marks: &[(&str, char)]) -> &Self {
        let line =
            |(id, mark): &(&str, char)| format!("- [{mark}] **{id}**: Title of {id} → [📋](./.task/{id}.json)\n");
        let lines: String = marks.iter().map(line).collect();
        self.file("TODO_LIST.md", &format!("# Tasks\n\n{lines}"))
    }

    /// Writes summaries of these tasks.
    pub(super) fn summaries(&self, ids: &[&str]) -> &Self {
        for id in ids {
            self.file(&format!(".summaries/{id}-summary.md"), &format!("# What {id} did\n"));
        }
        self
    }

    /// Prepares a call with the arguments of a command line; for arguments with spaces there is `sandbox.piton`.
    pub(super) fn call(&self, line: &str) -> Program<'_> {
        self.sandbox.piton([]).arguments(line.split_whitespace())
    }

    /// Runs `plan` with flags.
    pub(super) fn plan(&self, flags: &str) -> Output {
        self.call(&format!("plan {flags}")).run()
    }

    /// Runs a verb that must succeed.
    #[track_caller]
    pub(super) fn ok(&self, line: &str) -> Output {
        self.call(line).run().expect_code(0)
    }

    /// Reads a file of the session.
    pub(super) fn read(&self, name: &str) -> String {
        self.sandbox.read(&self.path(name))
    }

    /// Reads a file of the session as JSON.
    pub(super) fn json(&self, name: &str) -> Value {
        self.sandbox.read_json(&self.path(name))
    }
}

/// Adds an empty session to a project.
pub(super) fn add_to(sandbox: &Sandbox, dir: &str) {
    let id = dir.rsplit('/').next().expect("a path has a name");
    let session = json!({
        "session_id": id,
        "project": "Sign-in for users",
        "status": "active",
        "type": "workflow",
        "created_at": "2026-01-31T09:00:00Z",
    });
    sandbox.file(&format!("{dir}/workflow-session.json"), &pretty(&session));
    sandbox.file(&format!("{dir}/IMPL_PLAN.md"), "# Plan\n");
}

fn pretty(value: &Value) -> String {
    format!("{}\n", serde_json::to_string_pretty(value).expect("a value of our own"))
}

/// Returns what comes next as `run IMPL-1`.
#[track_caller]
pub(super) fn next(output: &Output) -> Vec<String> {
    let next = output.at("/data/next");
    let word = |next: &Value, key: &str| next[key].as_str().unwrap_or_default().to_owned();
    next.as_array()
        .into_iter()
        .flatten()
        .map(|next| format!("{} {}", word(next, "action"), word(next, "step")))
        .collect()
}

/// Returns the findings of one code as `step: message`, in their order.
#[track_caller]
pub(super) fn told(output: &Output, code: &str) -> Vec<String> {
    let findings = output.at("/findings");
    let of_code = findings.as_array().into_iter().flatten().filter(|finding| finding["code"] == code);
    let words = |finding: &Value| match finding["step"].as_str() {
        Some(step) => format!("{step}: {}", finding["message"].as_str().unwrap_or_default()),
        None => finding["message"].as_str().unwrap_or_default().to_owned(),
    };
    of_code.map(words).collect()
}

/// Returns a list of texts of the document.
#[track_caller]
pub(super) fn texts(output: &Output, pointer: &str) -> Vec<String> {
    let list = output.at(pointer);
    let texts = list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap_or_default().to_owned());
    texts.collect()
}
