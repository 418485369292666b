//! The values of the variables of a workflow at one moment.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use serde_json::Value;

use super::context::RunContext;
use crate::{
    dialect::piton::record::BUILT_IN,
    store::worktree::git,
    workflow::{CHANGES, variables::Scope},
};

/// The variables in scope, innermost first: of the item, of the step so far, of the steps before it, of the environment.
pub(super) struct ScopedVariables<'a> {
    pub(super) context: &'a RunContext<'a>,
    /// Where the step works.
    pub(super) folder: &'a Utf8Path,
    pub(super) locals: &'a BTreeMap<String, Value>,
    pub(super) outputs: &'a BTreeMap<String, Value>,
    /// What the last commands printed, failed ones included.
    pub(super) last: &'a BTreeMap<String, Value>,
    /// What only the steps for the current item set: the values that other items left are not its own.
    pub(super) of_item: &'a BTreeSet<String>,
    /// HEAD before the step.
    pub(super) head: Option<&'a str>,
}

impl Scope for ScopedVariables<'_> {
    fn get(&self, name: &str) -> Result<Option<Value>, String> {
        let here = self.locals.get(name).or_else(|| self.last.get(name)).or_else(|| self.outputs.get(name));
        if let Some(value) = here {
            return Ok(Some(value.clone()));
        }
        if !is_set_in(self.of_item, name)
            && let Some(value) = self.context.ledger().variable(name)?
        {
            return Ok(Some(value));
        }
        if let Some((_, value)) = self.context.env.iter().rev().find(|(known, _)| known == name) {
            return Ok(Some(Value::String(value.clone())));
        }
        if let Some(value) = self.context.built_in(name, self.folder) {
            return Ok(Some(value));
        }
        self.changes(name)
    }

    fn names(&self) -> Vec<String> {
        let known = self.locals.keys().chain(self.outputs.keys()).cloned();
        let ledger = self.context.ledger();
        let captured = ledger.state().variables.keys().cloned();
        let env = self.context.env.iter().map(|(name, _)| name.clone());
        let given = BUILT_IN.iter().map(|name| (*name).to_owned());
        let changes = ["step", "workflow"].iter().flat_map(|of| CHANGES.map(|what| format!("{of}.{what}")));
        known.chain(captured).chain(env).chain(given).chain(changes).collect()
    }
}

impl ScopedVariables<'_> {
    /// Asks git what changed since the step or the run began.
    pub(super) fn changes(&self, name: &str) -> Result<Option<Value>, String> {
        let Some((of, what)) = name.split_once('.').filter(|(_, what)| CHANGES.contains(what)) else { return Ok(None) };
        let run_head;
        let head = match of {
            "step" => self.head,
            "workflow" => {
                run_head = self.context.ledger().state().run.head.clone();
                run_head.as_deref()
            }
            _ => return Ok(None),
        };
        let head = head.ok_or("the steps do not work in a git repository with a commit")?;
        let folder = self.folder;
        let ask = |verb, arguments: &[&str]| git(folder, verb, arguments).map_err(|refusal| refusal.to_string());
        Ok(Some(match what {
            "commits" => text(ask("log", &["--format=%H", &format!("{head}..HEAD"), "--"])?.lines()),
            "commit_count" => {
                let count = ask("rev-list", &["--count", &format!("{head}..HEAD"), "--"])?;
                Value::from(count.trim().parse::<u64>().unwrap_or_default())
            }
            "insertions" | "deletions" => {
                let table = ask("diff", &["--numstat", "--no-renames", head, "--"])?;
                let column = usize::from(what == "deletions");
                let numbers = table.lines().filter_map(|line| line.split('\t').nth(column)?.parse::<u64>().ok());
                Value::from(numbers.sum::<u64>())
            }
            _ => {
                let table = ask("diff", &["--name-status", "--no-renames", head, "--"])?;
                let new = ask("ls-files", &["--others", "--exclude-standard"])?;
                files(what, &table, &new)
            }
        }))
    }
}

/// Tells whether a name is one of these, or a value inside of one.
pub(super) fn is_set_in(names: &BTreeSet<String>, name: &str) -> bool {
    let is_inside =
        |set: &String| name.strip_prefix(set.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    names.iter().any(is_inside)
}

/// Returns the files of one kind, one per line.
fn files(what: &str, table: &str, new: &str) -> Value {
    let wanted = |status: &str| match what {
        "files_added" => status == "A",
        "files_modified" => matches!(status, "M" | "T"),
        "files_deleted" => status == "D",
        _ => true,
    };
    let known = table.lines().filter_map(|line| line.split_once('\t'));
    let known = known.filter(|(status, _)| wanted(status)).map(|(_, file)| file);
    text(known.chain(new.lines().filter(|_| wanted("A"))))
}

fn text<'a>(lines: impl Iterator<Item = &'a str>) -> Value {
    Value::String(lines.collect::<Vec<_>>().join("\n"))
}
