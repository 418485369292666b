//! Every printed command works: walks through runs of every kind try each command that an answer holds, as printed, in a copy of
//! the state in which it was printed.

mod attempt;
mod copy;
mod judge;
mod lossless;
mod moves;
mod placeholders;
mod printed;
mod starts;
mod walker;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::support::{Output, sample, say, takes_all};
use copy::Copy;
use judge::Call;
use printed::{Form, Printed};
use starts::Start;
use walker::{Seen, Walker};

/// The least number of commands that all of it tries.
const LEAST: usize = 5_000;
/// Walks per start and moves per walk: of the sample, and of all of it.
const SAMPLE: (u64, usize) = (1, 1);
const ALL: (u64, usize) = (4, 16);
/// Commands tried in one state, those in their answers included.
const PER_STATE: usize = 150;
/// Failures that are printed in full.
const SHOWN: usize = 40;

/// A command that did not work.
struct Failure {
    what: String,
    printed: Printed,
    tried: String,
    code: i32,
    answer: String,
    start: String,
    history: Vec<String>,
}

#[derive(Default)]
struct Tally {
    tried: usize,
    states: usize,
    /// By kind, each with how often it happened and its first case.
    failures: BTreeMap<String, (usize, Failure)>,
}

impl Tally {
    fn add(&mut self, failure: Failure) {
        let call = Call::of(&failure.printed.command);
        let answer = judge::kind_of_text(&failure.answer.chars().take(80).collect::<String>());
        let kind = format!("{} | {} | {answer}", call.shape(), judge::kind_of_text(&failure.what));
        self.failures.entry(kind).and_modify(|(count, _)| *count += 1).or_insert((1, failure));
    }

    fn merge(&mut self, other: Self) {
        self.tried += other.tried;
        self.states += other.states;
        for (kind, (count, failure)) in other.failures {
            self.failures.entry(kind).and_modify(|(sum, _)| *sum += count).or_insert((count, failure));
        }
    }

    fn report(&self) -> String {
        let mut kinds: Vec<_> = self.failures.iter().collect();
        kinds.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let shown = kinds.iter().take(SHOWN).map(|(_, (count, failure))| {
            let Failure { what, printed, tried, code, answer, start, history } = failure;
            let history = history.join("; ");
            let sentence: String = printed.sentence.chars().take(300).collect();
            format!(
                "{count} x {what}: exit {code}: {answer}\n  tried:   {tried}\n  printed: {} (exit {})\n  text:    {sentence}\n  \
                 in:      {start}: {history}",
                printed.place, printed.printed_with
            )
        });
        let shown: Vec<String> = shown.collect();
        format!("{} kinds of printed commands do not work\n{}", kinds.len(), shown.join("\n"))
    }
}

/// Tries every command of one state, and those in the answers of commands that change nothing.
fn try_all(walker: &Walker, start: &Start, seen: Seen, copy: &mut Copy, tally: &mut Tally) {
    let values = walker.values(&seen);
    copy.restore();
    let mut open: Vec<Printed> = seen.printed;
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut at = 0;
    while let Some(printed) = open.get(at).cloned() {
        at += 1;
        let fail = |what: String, tried: &str, output: Option<&Output>| Failure {
            what,
            printed: printed.clone(),
            tried: tried.to_owned(),
            code: output.map_or(0, |output| output.code),
            answer: output.map_or_else(String::new, first_line),
            start: start.name.clone(),
            history: walker.history.clone(),
        };
        if printed.form == Form::Bare {
            tally.add(fail("it stands in prose without a mark".to_owned(), &printed.command, None));
        }
        let mut commands = placeholders::filled(&printed.command, &values).unwrap_or_else(|what| {
            if known.insert(printed.command.clone()) {
                tally.tried += 1;
                tally.add(fail(what, &printed.command, None));
            }
            Vec::new()
        });
        placeholders::retain_named(&mut commands, &printed.sentence);
        for command in commands {
            if known.len() >= PER_STATE
                || attempt::is_no_case(walker, &Call::of(&command), &printed, &seen.runs)
                || !known.insert(command.clone())
            {
                continue;
            }
            tally.tried += 1;
            let attempt = attempt::attempt(walker, &command, &printed, copy);
            if let Some(what) = attempt.wrong {
                tally.add(fail(what, &command, Some(&attempt.output)));
            } else if attempt.is_unchanged {
                open.extend(printed::commands(&command, attempt.output.code, &attempt.output.stdout));
            }
        }
    }
}

/// Returns the message of an answer, or its first line.
fn first_line(output: &Output) -> String {
    let document: serde_json::Value = serde_json::from_str(&output.stdout).unwrap_or_default();
    let message = document["error"]["message"].as_str().or_else(|| document["findings"][0]["message"].as_str());
    let text = message.or_else(|| output.stderr.lines().next()).or_else(|| output.stdout.lines().next());
    text.unwrap_or_default().chars().take(200).collect()
}

/// Walks from one start.
fn walk(start: &Start, seed: u64, moves: usize) -> Tally {
    let mut tally = Tally::default();
    let mut walker = Walker::new(start.make(), seed);
    let mut states: BTreeSet<String> = BTreeSet::new();
    for call in start.calls {
        walker.make(call);
    }
    for _ in 0..=moves {
        let mut copy = walker.copy();
        if states.insert(copy.digest()) {
            let seen = walker.look();
            copy.restore();
            try_all(&walker, start, seen, &mut copy, &mut tally);
        } else if let Some(answer) = walker.last.take() {
            let printed = printed::commands(&answer.call, answer.code, &answer.stdout);
            let seen = Seen { runs: walker.runs(), printed };
            try_all(&walker, start, seen, &mut copy, &mut tally);
        }
        walker.step_on();
    }
    tally.states = states.len();
    tally
}

#[test]
fn every_printed_command_works() {
    let all = takes_all();
    let (seeds, moves) = if all { ALL } else { SAMPLE };
    let starts = starts::all();
    let walks = (0..seeds).flat_map(|seed| starts.iter().map(move |start| (start, seed)));
    let walks: Vec<(&Start, u64)> = sample(3, 0, walks);
    let (turn, total) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, (start, seed))) = next_of(&walks, &turn) {
                    let tally = walk(start, seed * 1_000 + at as u64, moves);
                    total.lock().expect("no walk failed").merge(tally);
                }
            });
        }
    });
    let total = total.into_inner().expect("no walk failed");
    let hint = if all { "" } else { " (PITON_TESTS=all tries more)" };
    say(&format!(
        "walk: {} commands tried in {} states, {} kinds do not work{hint}",
        total.tried,
        total.states,
        total.failures.len()
    ));
    assert!(!all || total.tried >= LEAST, "only {} commands", total.tried);
    assert!(total.failures.is_empty(), "{}", total.report());
}

fn next_of<'a>(walks: &[(&'a Start, u64)], turn: &AtomicUsize) -> Option<(usize, (&'a Start, u64))> {
    let at = turn.fetch_add(1, Ordering::Relaxed);
    walks.get(at).map(|walk| (at, *walk))
}
