//! `setup`: its report. The rest is in `tests/cases/setup`.

use serde_json::json;

use super::projects::document;
use crate::support::Sandbox;

#[test]
fn without_flags_it_only_reports() {
    let sandbox = Sandbox::new();
    let output = sandbox.piton(["setup"]).run().expect_code(0);
    let report = document(&output);
    assert_eq!(report["data"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["data"]["in_cache"], false);
    assert_eq!(report["data"]["settings"], json!(null));
    assert!(!sandbox.home().join(".claude").exists() && !sandbox.home().join(".cache").exists());
}
