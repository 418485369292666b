use super::check;
use crate::{
    dialect::{Loaded, aios::testing::files},
    model::FileSet,
};

const LOCK: &str = ".aiox/locks/bob-orchestration.lock";

fn looked_at(lock: &str) -> Loaded {
    let set: FileSet = files(&[(".aiox/epic-5-state.yaml", ""), (LOCK, lock)]);
    let mut loaded = Loaded::default();
    check(&set, &mut loaded);
    loaded
}

#[test]
fn a_lock_names_its_process_until_its_time_is_over() {
    // Now is 12:00 of 1 March.
    for (created, ttl, holds) in [
        ("'2026-03-01T12:00:00.000Z'", "300", true),
        ("2026-03-01T11:55:01Z", "300", true),
        ("2026-03-01T11:55:00Z", "300", true),
        ("2026-03-01T11:54:59Z", "300", false),
        ("2026-03-01T11:55:00Z", "null", true),
        ("2026-03-01T11:54:59Z", "null", false),
        ("2026-03-01T11:59:00Z", "60", true),
        ("2026-03-01T11:58:59Z", "60", false),
        // A clock that is a little ahead, and one that says nothing.
        ("2026-03-01T12:01:00Z", "300", true),
        ("2026-03-01T13:00:00Z", "300", true),
        ("soon", "300", true),
        ("1772366400000", "300", true),
        ("1772366099999", "300", false),
    ] {
        let loaded = looked_at(&format!(
            "pid: 4711\nowner: bob-orchestrator\ncreated_at: {created}\nttl_seconds: {ttl}\nresource: bob-orchestration\n"
        ));
        let owner_processes: Vec<u32> = loaded.wanted.owner_processes.iter().map(|driver| driver.pid).collect();
        let said: Vec<&str> = loaded.findings.iter().map(|finding| finding.code.as_str()).collect();
        let expected = if holds { (vec![4711], vec![]) } else { (vec![], vec!["owner-gone"]) };
        assert_eq!((owner_processes, said), expected, "{created} {ttl}");
    }
}

#[test]
fn a_lock_that_says_nothing_holds_nobody() {
    for (lock, why) in [
        ("", "empty"),
        ("{\"pid\": 0, \"timestamp\": 1772366400000}", "names no process"),
        ("pid: many\n", "names no process"),
        ("pid: -1\n", "names no process"),
        ("a: [\n", "a lock that is not in effect"),
    ] {
        let loaded = looked_at(lock);
        assert_eq!(loaded.wanted.owner_processes, [], "{lock}");
        assert!(loaded.findings[0].message.contains(why), "{lock}: {}", loaded.findings[0].message);
    }
    // The other shape that was seen.
    assert_eq!(looked_at("{\"pid\": 17, \"timestamp\": 1772366400000}").wanted.owner_processes[0].pid, 17);
}
