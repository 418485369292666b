use serde_json::json;

use super::is_refusal;

#[test]
fn a_call_that_was_refused_is_told_from_one_that_failed() {
    for said in [
        "Permission to use Bash with command git push has been denied.",
        "Permission to use Bash has been denied because Claude Code is running in don't ask mode. IMPORTANT: ...",
        "Permission to read /etc/shadow has been denied.",
        "Permission for this action was denied by the Claude Code auto mode classifier. Reason: it pushes",
        "Claude requested permissions to use Bash, but you haven't granted it yet.",
        "Claude requested permissions to write to /etc/hosts, but you haven't granted it yet.",
        "This command requires approval",
        "cd in '/etc' was blocked. For security, Claude Code may only change directories to the allowed ones",
        "PreToolUse:Bash hook error: [guard]: no pushes",
        "Bash operation blocked by hook:\n- [guard]: no pushes",
        "Execution stopped by PreToolUse hook: no pushes",
        "<tool_use_error>InputValidationError: Bash failed due to the following issue</tool_use_error>",
        "<tool_use_error>Error: No such tool available: Deploy</tool_use_error>",
    ] {
        assert!(is_refusal(&json!({"is_error": true, "content": said})), "{said}");
        assert!(is_refusal(&json!({"is_error": true, "content": [{"type": "text", "text": said}]})), "{said}");
        assert!(!is_refusal(&json!({"content": said})), "an answer may quote it: {said}");
    }
    for said in [
        "Exit code 1\nfatal: Permission to a/b.git denied to c",
        "Exit code 1\nBash operation blocked by hook",
        "Command timed out after 2m 0s",
        "The user doesn't want to proceed with this tool use.",
        "<tool_use_error>Error calling tool (mcp__tracker__create): timeout</tool_use_error>",
        "<tool_use_error>Cancelled: parallel tool call Bash errored</tool_use_error>",
        "<tool_use_error>Error: Streaming fallback - tool execution discarded</tool_use_error>",
        "",
    ] {
        assert!(!is_refusal(&json!({"is_error": true, "content": said})), "{said}");
    }
}
