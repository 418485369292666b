//! The entry points of the fuzzers: pure functions of any bytes that panic when a guarantee is violated. `src/lib.rs` takes them in as
//! its module `fuzz`, for unit tests and with the feature `fuzzing`; `tests` replays every seed and every finding through the same functions.

mod bundle;
mod change;
mod definition;
mod document;
mod guest;
mod guest_evidence;
mod kept;
mod look;
mod project;
mod text;
mod transcript;

/// A fuzzer.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its file in `fuzz/fuzz_targets/`, its corpus and its findings.
    pub name: &'static str,
    pub run: fn(&[u8]),
}

/// All fuzzers.
pub const TARGETS: &[Target] = &[
    Target { name: "nine_step", run: project::nine_step },
    Target { name: "ccw", run: project::ccw },
    Target { name: "dotagent", run: project::dotagent },
    Target { name: "aios", run: project::aios },
    Target { name: "piton", run: project::piton },
    Target { name: "gsd", run: guest::gsd },
    Target { name: "task_list", run: guest::task_list },
    Target { name: "check_list", run: guest::check_list },
    Target { name: "sprint", run: guest::sprint },
    Target { name: "journal", run: document::journal },
    Target { name: "json_edit", run: document::json_edit },
    Target { name: "yaml_edit", run: document::yaml_edit },
    Target { name: "schema", run: document::schema },
    Target { name: "change", run: definition::change },
    Target { name: "hook", run: definition::hook },
    Target { name: "config", run: definition::config },
    Target { name: "workflow", run: definition::workflow },
    Target { name: "shell", run: definition::shell },
    Target { name: "definition", run: definition::definition },
    Target { name: "checklist", run: text::checklist },
    Target { name: "story", run: text::story },
    Target { name: "text", run: text::text },
    Target { name: "path", run: text::path },
    Target { name: "transcript", run: transcript::transcript },
];

/// Runs the fuzzer with this name.
///
/// # Panics
///
/// If a guarantee is violated, or there is no such fuzzer.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("the fuzzer is in the table");
    (target.run)(data);
}

#[cfg(test)]
mod tests;
