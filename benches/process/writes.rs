//! One durable checkpoint of a run of 100 steps: piton, the least that its files cost, and scripts that write the same fields.

use std::{ffi::OsStr, path::Path, process::Command};

use serde_json::Value;

use super::{
    budget::{Budget, Line},
    contest::{self, Contender},
    fixture::{Project, Scratch, State},
    report::Report,
    tools::{self, Peer, Tools},
};

/// When all of them say it is, where their results are compared.
const NOW: &str = "2026-02-01T12:00:00Z";
const PITON: &str = "piton";
const ONE_FILE: &str = "C floor, 1 file";

/// A dialect with the step that is begun and finished.
struct Subject {
    dialect: &'static str,
    step: &'static str,
    /// The same step as the scripts are told it.
    words: &'static [&'static str],
    make: fn(&Scratch, &str) -> Project,
    /// What scripts call the state.
    state: fn(&Project) -> &Path,
}

const SUBJECTS: [Subject; 2] = [
    Subject {
        dialect: "nine-step",
        step: "5:3",
        words: &["5", "3", "developer"],
        make: |scratch, name| scratch.nine_step(name, 10),
        state: |project| &project.state_files()[0],
    },
    Subject {
        dialect: "ccw",
        step: "IMPL-051",
        words: &["IMPL-051"],
        make: |scratch, name| scratch.ccw(name, 100),
        state: |project| project.state_files()[0].parent().unwrap(),
    },
];

type Call<'a> = Box<dyn Fn() -> Command + 'a>;

/// One of those that write checkpoints, with a project of its own.
struct Entrant<'a> {
    name: &'a str,
    state: State,
    begin: Call<'a>,
    finish: Call<'a>,
    next: Call<'a>,
    /// Whether no other asks for the next step with the same program.
    asks_in_its_own_way: bool,
}

pub(crate) fn measure(scratch: &Scratch, tools: &Tools, report: &mut Report) {
    for subject in &SUBJECTS {
        let project = |of: &str| (subject.make)(scratch, &format!("write-{}-{of}", subject.dialect));
        let floor = project("floor");
        let mut entrants = vec![piton(tools, subject, &project("piton"))];
        for (at, peer) in tools.peers.iter().enumerate() {
            entrants.push(script(peer, subject, &project(&at.to_string())));
        }
        assert_that_they_agree(&entrants);
        checkpoints(subject, tools, &floor, &entrants[0], report);
        beside_scripts(subject, tools, &floor, &entrants, report);
        next_steps(subject, tools, &entrants, report);
    }
}

fn piton<'a>(tools: &'a Tools, subject: &'a Subject, project: &Project) -> Entrant<'a> {
    let state = project.state();
    let call = |arguments: &'a [&'a str]| -> Call<'a> {
        let project = project.project().to_owned();
        Box::new(move || tools.piton(&project, arguments))
    };
    let words = |verb: &'static str| -> Call<'a> {
        let project = project.project().to_owned();
        Box::new(move || {
            let agent: &[&str] = if verb == "begin" { &["--agent", "developer"] } else { &[] };
            tools.piton(&project, &[&[verb, subject.step], agent].concat())
        })
    };
    Entrant {
        name: PITON,
        state,
        begin: words("begin"),
        finish: words("finish"),
        next: call(&["plan"]),
        asks_in_its_own_way: true,
    }
}

fn script<'a>(peer: &'a Peer, subject: &'a Subject, project: &Project) -> Entrant<'a> {
    let call = |verb: &'static str, words: &'a [&'a str]| -> Call<'a> {
        let state = (subject.state)(project).to_owned();
        Box::new(move || {
            let start = [OsStr::new(subject.dialect), OsStr::new(verb), state.as_os_str()];
            let words = words.iter().map(OsStr::new);
            peer.command(&start.into_iter().chain(words).collect::<Vec<_>>())
        })
    };
    let (begin, finish) = (call("begin", subject.words), call("finish", subject.words));
    let next = call("next", &[]);
    Entrant { name: peer.name, state: project.state(), begin, finish, next, asks_in_its_own_way: peer.is_durable }
}

/// Ends the benchmark unless all find the same step next and leave the same fields in the same files.
fn assert_that_they_agree(entrants: &[Entrant<'_>]) {
    let results: Vec<Vec<Value>> = entrants.iter().map(Entrant::results).collect();
    for (entrant, results_of_it) in entrants.iter().zip(&results) {
        assert_eq!(results_of_it, &results[0], "{} does something else than piton", entrant.name);
    }
}

impl Entrant<'_> {
    fn results(&self) -> Vec<Value> {
        self.state.put_back();
        let mut results = vec![self.found_next()];
        for write in [&self.begin, &self.finish] {
            super::run(write().env("NOW", NOW).env("PITON_NOW", NOW).stdout(std::process::Stdio::null()));
            let files = self.state.files().map(|file| std::fs::read_to_string(file).unwrap());
            results.extend(files.map(|text| serde_json::from_str(&text).unwrap_or(Value::String(text))));
        }
        results.push(self.found_next());
        self.state.put_back();
        results
    }

    fn found_next(&self) -> Value {
        let output = (self.next)().output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let plan: Option<Value> = serde_json::from_str(&text).ok();
        plan.and_then(|plan| plan.pointer("/data/next/0/step").cloned()).unwrap_or_else(|| text.trim().into())
    }
}

/// Holds piton to its budget, in turns with nothing but what the budget is made of.
fn checkpoints(subject: &Subject, tools: &Tools, floor: &Project, piton: &Entrant<'_>, report: &mut Report) {
    let copies = floor.copies();
    let one = || tools.floor(&copies[copies.len() - 1..]);
    let all = || tools.floor(&copies);
    let cat = || tools::given("cat", floor.state_files());
    let mut contenders = vec![Contender::new(ONE_FILE, &one)];
    contenders.push(Contender::new(format!("C floor, {} files", copies.len()), &all));
    let of_all = contenders.len() - 1;
    // Who may begin and what comes next is in the files of all steps, where each has one.
    let read = (floor.state_files().len() > copies.len()).then_some(contenders.len());
    contenders.extend(read.map(|_| Contender::new(format!("cat, 100 files of {}", subject.dialect), &cat)));
    // A format with one file writes it and its backup at every change.
    let of_begin = if read.is_some() { 0 } else { of_all };
    let times = |of| {
        let budget = Budget::times(Line::Writes, 2.5, of);
        read.map_or(budget, |cat| budget.beside(cat))
    };
    let put_back = || piton.state.put_back();
    let [begin, finish] = writes(subject, piton, &put_back);
    contenders.push(begin.may_take(times(of_begin)));
    contenders.push(finish.may_take(times(of_all)));
    report.group(&format!("One checkpoint, {}, 100 steps", subject.dialect), &contest::hold(100, contenders));
}

/// Compares piton with the scripts, which leave the caches of the processor cold for what runs next.
fn beside_scripts(subject: &Subject, tools: &Tools, floor: &Project, entrants: &[Entrant<'_>], report: &mut Report) {
    let copies = floor.copies();
    let one = || tools.floor(&copies[copies.len() - 1..]);
    let put_back: Vec<_> = entrants.iter().map(|entrant| || entrant.state.put_back()).collect();
    let of_each = entrants.iter().zip(&put_back).flat_map(|(entrant, put_back)| writes(subject, entrant, put_back));
    let contenders = std::iter::once(Contender::new(ONE_FILE, &one)).chain(of_each).collect();
    report.group(
        &format!("One checkpoint, {}, 100 steps, in turns with scripts", subject.dialect),
        &contest::hold(40, contenders),
    );
}

fn writes<'a>(subject: &Subject, entrant: &'a Entrant<'_>, put_back: &'a dyn Fn()) -> [Contender<'a>; 2] {
    let name = |verb: &str| format!("{verb}, {}, {}", subject.dialect, entrant.name);
    let contender = if entrant.name == PITON { Contender::piton } else { Contender::new };
    let begin = contender(name("begin"), &entrant.begin).before(put_back);
    [begin, contender(name("finish"), &entrant.finish)]
}

fn next_steps(subject: &Subject, tools: &Tools, entrants: &[Entrant<'_>], report: &mut Report) {
    let empty = || tools.empty();
    let mut contenders = vec![Contender::new("empty Rust process", &empty)];
    for (at, entrant) in entrants.iter().enumerate().filter(|(_, entrant)| entrant.asks_in_its_own_way) {
        let contender = if at == 0 { Contender::piton } else { Contender::new };
        contenders.push(contender(format!("next step, {}, {}", subject.dialect, entrant.name), &entrant.next));
    }
    report.group(&format!("Which step is next, {}, 100 steps", subject.dialect), &contest::hold(40, contenders));
}
