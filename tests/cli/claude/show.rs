use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::trace::{self, Trace};
use crate::{cli::projects::document, support::Sandbox};

/// A session that launched twelve agents: seven ended, three were cut off while they read, two after they had written.
fn twelve_agents() -> Sandbox {
    let sandbox = Sandbox::new();
    let id = |at: usize| format!("a{at:02}b2c3d4e5f60718");
    let mut main = Trace::new(&sandbox).prompt("build the billing service");
    for at in 0..12 {
        main = main.launches(&format!("call-{}", id(at)), &id(at), &format!("Part {at} of the billing service"));
    }
    main.ends("launched").write(&sandbox);
    for at in 0..12_u32 {
        let agent = Trace::new(&sandbox).at(30 + 20 * at).agent(&id(at as usize)).prompt("do your part");
        let file = format!("part-{at}.txt");
        let agent = match at {
            0..7 => agent.writes("w", &file).at(400 + 60 * at).ends("done"),
            7..10 => agent.call("r", "Grep", json!({"pattern": "x"})),
            _ => agent.writes("w", &file).call("b", "Bash", json!({"command": "make"})),
        };
        agent.write(&sandbox);
    }
    sandbox
}

#[test]
fn a_session_with_twelve_agents_is_a_page_with_a_lane_for_each() {
    let sandbox = twelve_agents();
    let shown = document(&sandbox.piton(["show", trace::RUN, "--format", "json"]).run().expect_code(0));
    let mut marks: BTreeMap<&str, usize> = BTreeMap::new();
    let steps = shown["data"]["steps"].as_array().expect("a list");
    for step in steps.iter().filter(|step| step["id"].as_str().is_some_and(|id| id.starts_with("A-"))) {
        *marks.entry(step["mark"].as_str().expect("a mark")).or_default() += 1;
    }
    assert_eq!(marks.get("interrupted"), Some(&3), "{marks:?}");
    assert_eq!(marks.get("unknown"), Some(&2), "{marks:?}");
    assert_eq!(marks.get("proved").unwrap_or(&0) + marks.get("claimed").unwrap_or(&0), 7, "{marks:?}");
    let paid = |step: &Value| step["tokens"].as_u64().unwrap_or(0);
    assert!(steps.iter().filter(|step| step["mark"] == "unknown").all(|step| paid(step) > 0), "{shown}");
    let sum: u64 = steps.iter().filter(|step| step.get("attempts").is_some()).map(paid).sum();
    assert!(sum > 0 && shown["data"]["paid"]["tokens"] == sum, "{shown}");
    let tokens = |notice: &Value| notice["text"].as_str().is_some_and(|text| text.contains("tokens"));
    assert!(shown["data"]["notices"].as_array().is_some_and(|notices| notices.iter().any(tokens)), "{shown}");
    let page = sandbox.piton(["show", trace::RUN, "--html", "-"]).run().expect_code(0).stdout;
    assert!(page.contains("tokens") && page.len() < 100_000, "{}", page.len());
}
