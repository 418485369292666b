//! The plugin matches the program: versions, frontmatter, and every verb, flag and link in its texts.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use serde_json::Value;

use crate::support;

/// The rule for the files beside the skills. Its path is absolute after the client has put in the folder of the plugin.
const OWN_FILES: &str = "Read(/${CLAUDE_PLUGIN_ROOT}/skills/**)";

/// How long the text of a skill may be: its reader pays for it in every session that uses it.
const SKILL_WORDS: usize = 700;

/// The keys of frontmatter that every supported client knows.
const FRONTMATTER: [&str; 5] = ["name", "description", "argument-hint", "allowed-tools", "disable-model-invocation"];

fn json(path: &str) -> Value {
    serde_json::from_str(&support::read(&support::repository().join(path)))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The verbs of the skills that the client asks about, as intended: they run programs, decide, or move state.
const ASKED: &[&str] = &["start", "run", "resume", "exec", "decide", "close", "restore"];

fn skills() -> Vec<Utf8PathBuf> {
    let skills = support::files_below(&support::repository().join("skills"), "md");
    skills.into_iter().filter(|path| path.file_name() == Some("SKILL.md")).collect()
}

/// Returns the rules that `setup --permissions` proposes: one for each verb that reads or records, in their order.
fn rules() -> Vec<String> {
    let setup = support::Sandbox::new().piton(["setup", "--permissions"]).run().expect_code(0);
    let diff = setup.json()["data"]["settings"]["diff"].as_array().expect("lines").clone();
    let lines = diff.iter().filter_map(Value::as_str).filter_map(|line| line.strip_prefix('+'));
    let lines = lines.take_while(|line| !line.contains("\"ask\""));
    let rules: Vec<String> = lines
        .map(|line| line.trim().trim_matches([',', '"']).to_owned())
        .filter(|line| line.starts_with("Bash("))
        .collect();
    assert!(rules.len() > 5, "{rules:?}");
    rules
}

/// Returns what is wrong with the tools that a text pre-approves: only these rules, in this order, and the plugin's own files.
fn check_tools(tools: &str, rules: &[String]) -> Result<(), String> {
    let mut left = rules.iter().map(String::as_str).chain([OWN_FILES]);
    for tool in tools.split(", ").filter(|tool| !tool.is_empty()) {
        if !left.any(|rule| rule == tool) {
            return Err(format!("`{tool}` may not be pre-approved, or is not in its place"));
        }
    }
    Ok(())
}

/// Reads the lines between the two `---` as `key: value`, and what comes after them.
fn frontmatter(text: &str) -> Result<(BTreeMap<&str, &str>, &str), String> {
    let rest = text.strip_prefix("---\n").ok_or("no `---` on the first line")?;
    let (head, body) = rest.split_once("\n---\n").ok_or("no closing `---`")?;
    let mut fields = BTreeMap::new();
    for line in head.lines() {
        let (key, value) = line.split_once(": ").ok_or_else(|| format!("no `key: value`: {line}"))?;
        let quoted = value.len() > 1 && value.starts_with('"') && value.ends_with('"');
        // Text that YAML would not read as plain text.
        if !quoted
            && (value.contains(": ")
                || value.contains(" #")
                || value.starts_with(['[', '{', '"', '&', '*', '!', '|', '>']))
        {
            return Err(format!("`{key}` needs quotes"));
        }
        if fields.insert(key, value.trim_matches('"')).is_some() {
            return Err(format!("`{key}` twice"));
        }
    }
    Ok((fields, body))
}

/// Returns all code of a Markdown text: the lines of fenced blocks, and inline code.
fn code(markdown: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut fenced = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            pieces.push(line.trim());
        } else {
            pieces.extend(line.split('`').skip(1).step_by(2));
        }
    }
    pieces
}

/// Returns what is wrong with the verb and the flags of a command line, according to the program's help.
fn check_command(command: &str) -> Result<(), String> {
    let words: Vec<&str> = command.split_whitespace().skip(1).map(|word| word.trim_start_matches('[')).collect();
    let is_flag = |word: &&&str| word.starts_with('-') && **word != "-";
    let first_flag = words.iter().position(|word| is_flag(&word)).unwrap_or(words.len());
    let asked = words.iter().copied().take(first_flag).chain(["--help"]);
    let help = support::Sandbox::new().piton(asked).run();
    if help.code != 0 {
        return Err(format!("`{command}`: {}", help.stderr));
    }
    // Such a line begins `-y, --yes <VALUE>`. The options of every verb are in the help of the program.
    let of_all = support::Sandbox::new().piton(["--help"]).run().stdout;
    let lines = help.stdout.lines().chain(of_all.lines()).map(str::trim).filter(|line| line.starts_with('-'));
    let known: Vec<&str> = lines.flat_map(|line| line.split([' ', ','])).filter(|word| word.starts_with('-')).collect();
    for flag in words.iter().filter(is_flag).filter_map(|word| word.split(['=', ']']).next()) {
        if !known.contains(&flag) {
            return Err(format!("`{command}`: no flag `{flag}`"));
        }
    }
    Ok(())
}

#[test]
fn one_version_everywhere() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(json(".claude-plugin/plugin.json")["version"], version);
    let marketplace = json(".claude-plugin/marketplace.json");
    assert_eq!(marketplace["plugins"][0]["version"], version);
    assert_eq!(marketplace["plugins"][0]["name"], json(".claude-plugin/plugin.json")["name"]);
    assert_eq!(marketplace["plugins"][0]["source"], "./");
    let lock = support::read(&support::repository().join("Cargo.lock"));
    assert!(lock.contains(&format!("name = \"piton\"\nversion = \"{version}\"\n")), "Cargo.lock is of another version");
}

#[test]
fn a_release_is_of_the_systems_that_the_launcher_looks_for() {
    let repository = support::repository();
    let release = support::read(&repository.join(".github/workflows/release.yml"));
    let built: Vec<&str> = release
        .split("triple: ")
        .skip(1)
        .filter_map(|rest| rest.split([',', ' ']).next())
        .filter(|it| it.contains('-'))
        .collect();
    let expected = [
        "x86_64-unknown-linux-gnu",
        "aarch64-unknown-linux-gnu",
        "x86_64-apple-darwin",
        "aarch64-apple-darwin",
        "x86_64-pc-windows-msvc",
    ];
    assert_eq!(built, expected);
    let launcher = support::read(&repository.join("bin/piton"));
    for triple in built {
        let (_, system) = triple.split_once('-').expect("machine and system");
        assert!(launcher.contains(&format!("$machine-{system}/piton")), "{triple}");
    }
}

#[test]
fn a_release_takes_actions_by_commit_and_overwrites_no_branch() {
    let release = support::read(&support::repository().join(".github/workflows/release.yml"));
    let actions: Vec<&str> = release.lines().filter_map(|line| line.trim().strip_prefix("- uses: ")).collect();
    assert!(actions.len() > 3, "{release}");
    for action in actions {
        let (name, commit) = action.split_once('@').expect("an action has a version");
        let (commit, tag) = commit.split_once(" # v").expect("the tag stands behind the commit");
        assert!(commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}: {commit} {tag}");
    }
    assert!(!release.contains("--force") && release.contains("cargo cyclonedx"), "{release}");
}

#[test]
fn the_tree_of_a_release_is_a_plugin_with_its_programs() {
    let sandbox = support::Sandbox::new();
    let repository = support::repository();
    if !repository.join(".git").exists() {
        eprintln!("left out: the tree is made of what git has");
        return;
    }
    let version = env!("CARGO_PKG_VERSION");
    let program = format!("#!/bin/sh\n[ $1 = --version ] && echo piton {version} || printf 'prebuilt <%s>' \"$@\"\n");
    sandbox.file("artifacts/x86_64-unknown-linux-gnu/piton", &program);
    let dist = repository.join(".github/dist");
    let layout = sandbox.tool("sh", [dist.as_str(), "tree", "artifacts"]).env("PATH", "/usr/bin:/bin").run();
    assert_eq!(layout.code, 0, "{layout}");
    for path in [
        "tree/.ci/ship",
        "tree/.claude-plugin/plugin.json",
        "tree/bin/piton",
        "tree/Cargo.lock",
        "tree/skills/checkpoint/SKILL.md",
    ] {
        assert!(sandbox.exists(path), "{path}");
    }
    assert!(!sandbox.exists("tree/tests"), "tests are not installed");
    let sums = sandbox.read("tree/SHA256SUMS");
    assert!(sums.ends_with("  bin/prebuilt/x86_64-unknown-linux-gnu/piton\n") && sums.lines().count() == 1, "{sums}");
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        let launcher = sandbox.root().join("tree/bin/piton");
        let ran = sandbox.tool("sh", [launcher.as_str(), "list"]).env("PATH", "/usr/bin:/bin").run();
        assert_eq!(ran.stdout, "prebuilt <list>", "{ran}");
    }
}

#[test]
fn manifests_have_the_types_that_the_client_wants() {
    let plugin = json(".claude-plugin/plugin.json");
    assert_eq!(plugin["name"], "piton");
    assert!(plugin["author"]["name"].is_string(), "docs/claude-code.md#the-manifest: a string for author is an error");
    assert!(plugin["repository"].is_string());
    assert!(plugin["keywords"].as_array().is_some_and(|words| words.iter().all(Value::is_string)));
    assert!(json(".claude-plugin/marketplace.json")["owner"]["name"].is_string());
    assert!(
        !support::repository().join("CLAUDE.md").exists(),
        "docs/claude-code.md#the-manifest: it would fail validation"
    );
}

#[test]
fn skills_answer_to_the_name_of_their_folder() {
    let skills = skills();
    assert!(skills.iter().any(|path| path.ends_with("workflow-resume/SKILL.md")));
    for path in skills {
        let text = support::read(&path);
        let (fields, body) = frontmatter(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let folder = path.parent().and_then(|folder| folder.file_name());
        assert_eq!(fields.get("name").copied(), folder, "{path}");
        let description = fields.get("description").copied().unwrap_or_default();
        assert!(description.starts_with("Use when "), "{path}: the description says when to use it");
        assert!(description.chars().count() <= 300, "{path}: every session pays for it, and the menu cuts it off");
        let words = body.split_whitespace().count();
        assert!(words <= SKILL_WORDS, "{path}: {words} words; move details to references/");
        assert!(
            !body.contains("!`") && !body.contains("```!"),
            "{path}: nothing is run before the model has read the text"
        );
    }
}

#[test]
fn frontmatter_has_only_keys_that_every_client_knows() {
    let texts = ["skills", "commands"].map(|folder| support::files_below(&support::repository().join(folder), "md"));
    for path in texts.concat() {
        let text = support::read(&path);
        let Ok((fields, _)) = frontmatter(&text) else {
            assert!(path.as_str().contains("/references/"), "{path}: no frontmatter");
            continue;
        };
        for key in fields.keys() {
            assert!(FRONTMATTER.contains(key), "{path}: `{key}`");
        }
    }
}

#[test]
fn the_loop_stands_once_and_says_how_a_step_is_done() {
    let texts: Vec<String> = support::files_below(&support::repository().join("skills"), "md")
        .iter()
        .map(|path| support::read(path))
        .collect();
    assert_eq!(texts.iter().filter(|text| text.contains("`run_in_background: false`")).count(), 1);
    let resume = support::read(&support::repository().join("skills/workflow-resume/SKILL.md"));
    let (_, body) = frontmatter(&resume).expect("it has frontmatter");
    let words = body.split_whitespace().count();
    assert!(words <= 500, "{words} words");
    let (_, steps) = body.split_once("## 3. Step by step").expect("the loop");
    for part in
        ["piton begin STEP", "`data.brief`", "piton finish STEP", "independent steps in one message", "worktree"]
    {
        assert!(steps.contains(part), "{part}");
    }
    for verdict in ["`APPROVED`", "`APPROVED_WITH_CONDITIONS`", "`NEEDS_REVISION`", "`REJECTED`"] {
        assert!(steps.contains(verdict), "{verdict}: the verdicts stand where one is given");
    }
}

#[test]
fn what_a_skill_reads_is_not_asked_about() {
    let rules = rules();
    for path in support::files_below(&support::repository().join("skills"), "md") {
        let text = support::read(&path);
        for command in code(&text).into_iter().filter(|code| code.starts_with("piton ")) {
            let verb = command.split_whitespace().nth(1).unwrap_or_default();
            let is_allowed = rules.contains(&format!("Bash(piton {verb}:*)"));
            assert!(is_allowed || ASKED.contains(&verb), "{path}: `{command}`: the client asks a person about it");
        }
    }
}

#[test]
fn files_beside_a_skill_are_there() {
    let mut named = 0;
    for path in skills() {
        let text = support::read(&path);
        let folder = path.parent().expect("a file is in a folder");
        let reads = text.contains("${CLAUDE_SKILL_DIR}/");
        assert_eq!(text.contains(OWN_FILES), reads, "{path}: what names files may read them, and nothing else");
        for file in text.split("${CLAUDE_SKILL_DIR}/").skip(1).filter_map(|rest| rest.split('`').next()) {
            assert!(folder.join(file).is_file(), "{path}: {file}");
            named += 1;
        }
    }
    assert_eq!(named, 4, "the loop, sessions of the runner, sessions of the client, and plans of other systems");
}

/// Events known to the oldest supported client: an unknown one would disable all hooks
/// (docs/claude-code.md#hook-events).
const EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "SubagentStart",
    "SubagentStop",
    "PermissionRequest",
    "StopFailure",
    "SessionEnd",
];

#[test]
fn hooks_are_the_programs_and_end_soon() {
    let hooks = json("hooks/hooks.json");
    let events = hooks["hooks"].as_object().expect("an object");
    assert_eq!(events.keys().map(String::as_str).collect::<Vec<_>>(), EVENTS);
    for (event, entries) in events {
        for hook in entries.as_array().into_iter().flatten().flat_map(|entry| entry["hooks"].as_array()).flatten() {
            assert_eq!(hook["type"], "command", "{event}");
            assert!(hook["timeout"].as_u64().is_some_and(|seconds| seconds <= 10), "{event}");
            let command = hook["command"].as_str().unwrap_or_default();
            let verb = command.strip_prefix("sh \"${CLAUDE_PLUGIN_ROOT}/bin/piton\" hook ");
            let verb = verb.and_then(|verb| verb.strip_suffix(" || :"));
            let known = support::read(&support::repository().join("src/hook/mod.rs"));
            assert!(verb.is_some_and(|verb| known.contains(&format!("\"{verb}\" => "))), "{event}: {command}");
        }
    }
    assert!(
        json(".claude-plugin/plugin.json")["hooks"].is_null(),
        "docs/claude-code.md#the-manifest: it would be loaded twice"
    );
}

#[test]
fn commands_are_short_and_named_by_their_files() {
    let commands = support::files_below(&support::repository().join("commands"), "md");
    let names: Vec<_> = commands.iter().filter_map(|path| path.file_stem()).collect();
    assert_eq!(names, ["doctor", "list", "rollback", "setup", "show", "status"]);
    for path in &commands {
        let text = support::read(path);
        let (fields, body) = frontmatter(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(fields.contains_key("description") && !fields.contains_key("name"), "{path}: its file names it");
        assert!(text.lines().count() <= 60 && !body.contains("!`"), "{path}");
    }
}

/// SECURITY: row 14
#[test]
fn texts_pre_approve_only_what_reads_or_records() {
    let rules = rules();
    let texts = ["skills", "commands"].map(|folder| support::files_below(&support::repository().join(folder), "md"));
    let mut approving = 0;
    for path in texts.concat() {
        let text = support::read(&path);
        let Ok((fields, _)) = frontmatter(&text) else { continue };
        let tools = fields.get("allowed-tools").copied().unwrap_or_default();
        approving += usize::from(tools.contains("Bash("));
        check_tools(tools, &rules).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    assert_eq!(approving, 6, "the skills, and the commands that read");

    let verbs: Vec<String> = rules.iter().map(|rule| rule.replace("Bash(piton ", "`").replace(":*)", "`")).collect();
    let page = support::read(&support::repository().join("docs/plugin.md"));
    let row = page.lines().find(|line| line.contains("| pre-approved by the skills")).unwrap_or_default();
    assert!(
        row.starts_with(&format!("| {} |", verbs.join(", "))),
        "the row of docs/plugin.md lists {}",
        verbs.join(", ")
    );
}

#[test]
fn the_guard_knows_a_rule_that_gives_too_much() {
    let rules = rules();
    assert_eq!(check_tools("", &rules), Ok(()));
    assert_eq!(
        check_tools("Bash(piton plan:*), Bash(piton begin:*), Read(/${CLAUDE_PLUGIN_ROOT}/skills/**)", &rules),
        Ok(())
    );
    for wrong in [
        "Bash(piton:*)",
        "Bash(piton *)",
        "Bash(piton run:*)",
        "Bash(piton show:*)",
        "Bash(piton setup --yes)",
        "Bash(piton begin:*), Bash(piton plan:*)",
        "Bash",
        "Write",
        "Read",
        "Read(//**)",
        "Glob",
    ] {
        assert!(check_tools(wrong, &rules).is_err(), "{wrong}");
    }
}

#[test]
fn texts_name_only_verbs_and_flags_that_exist() {
    let mut wrong = Vec::new();
    let texts = ["skills", "commands"].map(|folder| support::files_below(&support::repository().join(folder), "md"));
    for path in texts.concat() {
        let text = support::read(&path);
        let commands = code(&text).into_iter().filter(|code| code.starts_with("piton "));
        wrong.extend(
            commands.filter_map(|command| check_command(command).err()).map(|error| format!("{path}: {error}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_link_is_dead() {
    let repository = support::repository();
    let mut wrong = Vec::new();
    for path in support::files_below(repository, "md") {
        let text = support::read(&path);
        let folder = path.parent().expect("a file is in a folder");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()) {
            let file = target.split('#').next().unwrap_or_default();
            let elsewhere = target.contains("://") || target.starts_with("mailto:") || file.is_empty();
            if !elsewhere && !folder.join(file).exists() {
                wrong.push(format!("{path}: {target}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_guard_knows_a_wrong_command_when_it_sees_one() {
    for right in
        ["piton", "piton plan --from ID", "piton finish 4 --format json --json -", "piton plan [RUN] [--retry [ID]]"]
    {
        assert_eq!(check_command(right), Ok(()));
    }
    for wrong in ["piton explode", "piton begin STEP --yes", "piton status -x", "piton sessions explode"] {
        assert!(check_command(wrong).is_err(), "{wrong}");
    }
    assert!(frontmatter("---\nname: a: b\n---\n").is_err());
    assert!(frontmatter("name: a\n").is_err());
    assert_eq!(code("a `piton plan` b\n```\npiton list\n```\n"), ["piton plan", "piton list"]);
}
