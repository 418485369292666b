//! `hook permission-request` of a huge command. The rest is in `tests/cases/hook_permissions`.

use serde_json::json;

use super::{
    hook::{hook, starts},
    projects,
};

/// SECURITY: row 15
#[test]
fn a_command_of_a_megabyte_is_not_allowed() {
    let sandbox = projects::nine_step();
    starts(&sandbox, "s", "startup");
    sandbox.piton(["begin", "2:3", "--run", "user-auth"]).session("s").run().expect_code(0);
    let before = sandbox.tree();
    let allows = |command: &str| {
        let input = json!({"command": command});
        let fields = json!({"permission_mode": "default", "tool_name": "Bash", "tool_input": input});
        !hook(&sandbox, "s", "permission-request", fields).stdout.is_empty()
    };
    assert!(allows("piton finish 2:3 --run user-auth --summary 'x'"));
    let long = format!("piton finish 2:3 --run user-auth --summary '{}'", "x".repeat(1 << 20));
    assert!(!allows(&long));
    assert_eq!(sandbox.tree(), before);
}
