//! What happens in a walk between two looks: changes that agents and people make, refused ones, kills and damage.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use super::walker::{Answer, RunSeen, Walker, quoted};

/// How a step can end.
const ENDS: &[&str] = &[
    "--summary 'it works'",
    "--verdict APPROVED --summary 'looks right'",
    "--verdict NEEDS_REVISION --finding 'a name is missing'",
    "--verdict REJECTED --error 'the wrong approach'",
    "--verdict APPROVED_WITH_CONDITIONS --condition 'add a test'",
    "--status failed --error 'it broke'",
    "--status completed",
    "--status waiting_approval",
];
/// How often each of them is chosen, of [`ENDS`] as many as there are.
const WEIGHTED: &[usize] = &[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 4, 5, 5, 6, 7];

impl Walker {
    /// Makes one move; it may be refused.
    pub(super) fn step_on(&mut self) {
        let runs = self.runs();
        let Some(run) = runs.get(self.dice.below(8)).or(runs.first()).cloned() else {
            self.make("piton plan");
            return;
        };
        match self.dice.below(100) {
            0..34 => self.follow(&run),
            34..40 => self.begin(&run),
            40..48 => self.part(&run),
            48..55 => self.approve(&run),
            55..59 => self.person(&run, "skip", "--by Ada --note 'not now'"),
            59..64 => self.person(&run, "accept", "--by Ada --note fine"),
            64..68 => self.person(&run, "redo", "--by Ada --note again"),
            68..71 => self.person(&run, "override", "--by Ada --note go"),
            71..74 => self.on_run(&run, "pause", ""),
            74..76 => self.close(&run),
            76..81 => self.on_run(&run, "resume", "--yes"),
            81..85 => self.kill(),
            85..89 => self.finish_any(&run),
            89..91 => self.on_run(&run, "restore", "--yes"),
            91..93 => self.on_run(&run, "rollback", "--to last --yes"),
            93..95 => self.damage(&run),
            95 => self.on_run(&run, "close", ""),
            96 => self.on_run(&run, "close", "--done"),
            97 => self.on_run(&run, "plan", "--from nothing-like-this"),
            _ => self.wait(),
        }
    }

    /// Does what an agent does that follows the plan.
    fn follow(&mut self, run: &RunSeen) {
        if let Some(step) = run.group("in_progress").first() {
            return self.finish(run, step);
        }
        match run.plan["data"]["commands"]["begin"].as_str().map(str::to_owned) {
            Some(begin) => drop(self.make(&begin)),
            None if run.plan["data"]["next"][0]["action"] == "approve" => self.approve(run),
            None => self.on_run(run, "resume", ""),
        }
    }

    fn finish(&mut self, run: &RunSeen, step: &str) {
        let end = ENDS[WEIGHTED[self.dice.below(WEIGHTED.len())]];
        let command = format!("piton finish {} --run {} {end}", quoted(step), run.path);
        let answer = self.make(&command);
        if self.dice.below(4) > 0 && self.write_outputs(&answer) {
            self.make(&command);
        }
    }

    fn finish_any(&mut self, run: &RunSeen) {
        let step = self.any_step(run);
        self.finish(run, step.trim_matches('\''));
    }

    fn begin(&mut self, run: &RunSeen) {
        let step = self.any_step(run);
        let flag = ["", "--again"][self.dice.below(2)];
        self.make(&format!("piton begin {step} --run {} {flag}", run.path));
    }

    fn part(&mut self, run: &RunSeen) {
        let next = run.plan["data"]["next"].as_array().cloned().unwrap_or_default();
        let Some(next) = next.iter().find(|next| next["parts"].is_array()) else { return self.follow(run) };
        let parts = next["parts"].as_array().cloned().unwrap_or_default();
        if parts.is_empty() {
            return self.follow(run);
        }
        let text = |value: &serde_json::Value| quoted(value.as_str().unwrap_or_default());
        let (step, part) = (text(&next["step"]), text(&parts[self.dice.below(parts.len())]["name"]));
        let verb = ["begin", "finish", "finish"][self.dice.below(3)];
        let more = if verb == "finish" && self.dice.below(3) == 0 { "--set found=1" } else { "" };
        self.make(&format!("piton {verb} {step} --run {} --part {part} {more}", run.path));
    }

    fn approve(&mut self, run: &RunSeen) {
        let next = run.plan["data"]["next"].as_array().cloned().unwrap_or_default();
        let gate = next.iter().find(|next| next["action"] == "approve").and_then(|next| next["step"].as_str());
        let step = gate.map_or_else(|| self.any_step(run), quoted);
        self.make(&format!("piton decide {step} approve --run {} --by Ada --note fine", run.path));
    }

    /// Decides something about a step, of those that failed if there are any.
    fn person(&mut self, run: &RunSeen, verb: &str, how: &str) {
        let failed = run.group("failed");
        let step = match failed.first() {
            Some(failed) if verb != "skip" || self.dice.below(2) == 0 => quoted(failed),
            _ => self.any_step(run),
        };
        self.make(&format!("piton decide {step} {verb} --run {} {how}", run.path));
    }

    fn on_run(&mut self, run: &RunSeen, verb: &str, how: &str) {
        self.make(&format!("piton {verb} {} {how}", run.path));
    }

    /// Aborts a run, and brings it back if that archived it.
    fn close(&mut self, run: &RunSeen) {
        let (_, closed) = self.json(&format!("piton close {} --abort --by Ada --note stop", run.path));
        if let Some(restore) = closed["data"]["restore"].as_str() {
            self.make(restore);
        }
    }

    /// Ends the session: the next calls come from another one.
    fn kill(&mut self) {
        self.session += 1;
        self.history.push("(another session)".to_owned());
        self.make("piton plan");
    }

    fn wait(&mut self) {
        self.minute += 60 * [5, 30, 24 * 9][self.dice.below(3)];
        self.history.push(format!("(until {})", self.minute));
        self.make("piton plan");
    }

    /// Cuts a state file off in the middle.
    fn damage(&mut self, run: &RunSeen) {
        let files = run.plan["data"]["run"]["state_files"].as_array().cloned().unwrap_or_default();
        if files.is_empty() {
            return self.wait();
        }
        let file = files[self.dice.below(files.len())].as_str().unwrap_or_default().to_owned();
        let path = self.sandbox.root().join(&file);
        let Ok(bytes) = std::fs::read(&path) else { return self.wait() };
        std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("the sandbox is ours");
        self.history.push(format!("(half of {file} is lost)"));
        self.make("piton plan");
    }

    /// Puts earlier state files back, as git or another program does.
    pub(super) fn put_back(&mut self, files: &BTreeMap<String, Vec<u8>>) {
        for (path, bytes) in files.iter().filter(|(path, _)| !path.ends_with("journal.jsonl")) {
            self.sandbox.bytes(path, bytes);
        }
        self.history.push("(an earlier state is put back)".to_owned());
        self.make("piton plan");
    }

    /// Writes the outputs that a refusal asks for; tells whether it asks for any.
    pub(super) fn write_outputs(&mut self, answer: &Answer) -> bool {
        let written = write_outputs(self, &answer.stdout);
        if written {
            self.history.push("(the outputs are written)".to_owned());
        }
        written
    }
}

fn hash_of(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Writes the outputs that a refusal asks for; tells whether it asks for any.
pub(super) fn write_outputs(walker: &Walker, stdout: &str) -> bool {
    let answer: serde_json::Value = serde_json::from_str(stdout).unwrap_or_default();
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    let is_asked = [
        "are not valid: ",
        "is not a result of this attempt",
        "is missing; nothing was recorded",
        "no design option of this run",
        "the plan document ",
    ];
    if !is_asked.iter().any(|words| message.contains(words)) {
        return false;
    }
    for path in
        message.split([' ', ';', ',']).filter(|word| word.contains('/') && word.contains('.') && !word.ends_with('.'))
    {
        let path = path.trim_matches(['`', ':']);
        if !path.starts_with('/') && !path.contains("..") {
            let task = path.split('/').rev().nth(1).unwrap_or_default();
            // Work that was sent back is not handed in again as it was.
            let before = std::fs::read(walker.sandbox.root().join(path)).unwrap_or_default();
            let output = serde_json::json!({
                "task_id": task, "status": "completed", "verdict": "APPROVED", "files_modified": [], "knowledge_updates": [],
                "instead_of": hash_of(&before),
                "reflection": {"what_worked": [], "what_failed": [], "patterns_noticed": []}, "passed": 3, "failed": 0,
            });
            walker.sandbox.file(path, &format!("{output}\n")).modified(path, walker.unix_seconds());
        }
    }
    true
}
