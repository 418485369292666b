//! Holds the rooms of `src` to their budgets of lines, `tests/budgets.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{arch, support};

/// Lines by which a figure may be larger than its room, so that not every commit changes the table.
const SLACK: usize = 60;

/// The table of budgets.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Budgets {
    /// The sum of all rooms, without what `grown` explains; it falls with them.
    total: usize,
    /// The lines that each room may have.
    rooms: BTreeMap<String, usize>,
    /// Why the sum grew, and by how many lines.
    grown: BTreeMap<String, usize>,
}

/// Returns the lines of a file before its module of tests.
fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let inline = lines
        .windows(2)
        .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{'));
    inline.unwrap_or(lines.len())
}

/// Returns the lines of each room of `src`.
fn measured() -> BTreeMap<String, usize> {
    let source = support::repository().join("src");
    let mut rooms = BTreeMap::new();
    for path in support::files_below(&source, "rs") {
        let below = path.strip_prefix(&source).expect("it was found below");
        let room = below.components().next().expect("a path has a part").as_str();
        if !arch::is_test(&path) && !room.ends_with(".rs") {
            *rooms.entry(room.to_owned()).or_insert(0) += lines_without_tests(&support::read(&path));
        }
    }
    rooms
}

/// Lists what is wrong with a table for rooms of these sizes.
fn violations(budgets: &Budgets, measured: &BTreeMap<String, usize>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (room, lines) in measured {
        match budgets.rooms.get(room) {
            None => wrong.push(format!("`{room}` has {lines} lines and no budget")),
            Some(budget) if lines > budget => {
                wrong.push(format!(
                    "`{room}` has {lines} lines, {} over its budget: shorten it or another room",
                    lines - budget
                ));
            }
            Some(budget) if lines + SLACK < *budget => {
                wrong.push(format!("`{room}` has {lines} lines: lower its budget of {budget}"));
            }
            Some(_) => {}
        }
    }
    wrong.extend(
        budgets.rooms.keys().filter(|room| !measured.contains_key(*room)).map(|room| format!("no room `{room}`")),
    );
    let (sum, allowed) = (budgets.rooms.values().sum::<usize>(), budgets.total + budgets.grown.values().sum::<usize>());
    if sum > allowed {
        wrong.push(format!(
            "the rooms have {sum} lines together, more than {allowed}: lower another room, or say why in `[grown]`"
        ));
    } else if sum < allowed {
        wrong.push(format!("the rooms have {sum} lines together: lower `total` by {}", allowed - sum));
    }
    wrong
}

#[test]
fn every_room_keeps_to_its_budget() {
    let text = support::read(&support::repository().join("tests/budgets.toml"));
    let budgets: Budgets = toml::from_str(&text).unwrap_or_else(|error| panic!("tests/budgets.toml: {error}"));
    let wrong = violations(&budgets, &measured());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_room_that_grows_takes_its_lines_from_another_or_says_why() {
    let table = |a: usize, b: usize, grown: usize| Budgets {
        total: 1_000,
        rooms: BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b)]),
        grown: BTreeMap::from([("a reason".to_owned(), grown)]),
    };
    let sizes = |a: usize, b: usize| BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b)]);
    assert_eq!(violations(&table(500, 500, 0), &sizes(500, 490)), [] as [&str; 0]);
    assert_eq!(violations(&table(500, 500, 0), &sizes(501, 499)).len(), 1, "over its budget");
    assert_eq!(violations(&table(500, 500, 0), &sizes(500, 400)).len(), 1, "a budget that is not lowered");
    assert_eq!(violations(&table(520, 500, 0), &sizes(510, 490)).len(), 1, "more together");
    assert_eq!(violations(&table(520, 500, 20), &sizes(510, 490)), [] as [&str; 0]);
    assert_eq!(violations(&table(480, 500, 0), &sizes(480, 490)).len(), 1, "a sum that is not lowered");
    assert_eq!(
        violations(&table(500, 500, 0), &BTreeMap::from([("a".to_owned(), 500)])).len(),
        1,
        "a room that is gone"
    );
}
