//! The commands of Task Master, in the spelling of the project (docs/formats/taskmaster.md#commands).

use serde_json::{Value, json};

use crate::{
    dialect::guest::{self, Spelling},
    document::{Node, parse_json},
    model::{FileSet, Listing, RelPath, clean_line, quoted},
};

/// Where a project names its servers of tools.
const SERVERS: &str = ".mcp.json";
/// Its commands of the client, newest layout first.
const SPELLINGS: [Spelling; 4] = [
    (".claude/commands/tm/{}.md", "/tm:{}"),
    (".claude/commands/tm/show/{}.md", "/tm:show:{}"),
    (".claude/commands/tm/set-status/{}.md", "/tm:set-status:{}"),
    (".claude/commands/tm/list/{}.md", "/tm:list:{}"),
];
const SHOW: &str = "show-task";
const BEGIN: &str = "to-in-progress";
const LIST: &str = "list-tasks";

/// Returns the files of the project that say how its commands are called.
pub(super) fn files(listing: &Listing) -> Vec<RelPath> {
    let has_servers = listing.entries.iter().any(|entry| entry.path.as_str() == SERVERS);
    let servers = RelPath::parse(SERVERS).ok().filter(|_| has_servers);
    guest::command_files(listing, &SPELLINGS, &[SHOW, BEGIN, LIST]).into_iter().chain(servers).collect()
}

/// Returns the command that lists the tasks.
pub(super) fn list<'a>(files: impl Iterator<Item = &'a str>) -> String {
    guest::spelled(files, &SPELLINGS, LIST).unwrap_or_else(|| "task-master list".to_owned())
}

/// The commands as the project spells them.
#[derive(Debug)]
pub(super) struct Commands(Value);

impl Commands {
    pub(super) fn of(files: &FileSet, tag_flag: &str) -> Self {
        let paths = || files.files.keys().map(RelPath::as_str).filter(|path| path.starts_with(".claude/"));
        let spelled = |name: &str| guest::spelled(paths(), &SPELLINGS, name);
        Self(json!({
            "show": spelled(SHOW),
            "begin": spelled(BEGIN),
            "list": list(paths()),
            "tag": tag_flag,
            "server": server(files),
        }))
    }

    pub(super) const fn from_value(value: Value) -> Self {
        Self(value)
    }

    pub(super) fn into_value(self) -> Value {
        self.0
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// Returns the command that lists the tasks of the tag.
    pub(super) fn list(&self) -> String {
        format!("{}{}", self.get("list").unwrap_or_default(), self.tag())
    }

    fn tag(&self) -> &str {
        self.get("tag").unwrap_or_default()
    }

    /// Returns the command that begins a task.
    pub(super) fn begin(&self, id: &str) -> String {
        match self.get("begin") {
            Some(command) => format!("{command} {}{}", quoted(id), self.tag()),
            None => format!("task-master set-status --id={} --status=in-progress{}", quoted(id), self.tag()),
        }
    }

    /// Returns the command that shows a task.
    pub(super) fn show(&self, id: &str) -> String {
        match self.get("show") {
            Some(command) => format!("{command} {}{}", quoted(id), self.tag()),
            None => format!("task-master show {}{}", quoted(id), self.tag()),
        }
    }

    /// Returns the tools of its server that an agent calls instead of a command; `None` if the project has no such server.
    pub(super) fn tools(&self) -> Option<[String; 2]> {
        let server = self.get("server")?;
        Some(["get_task", "set_task_status"].map(|tool| format!("mcp__{server}__{tool}")))
    }
}

/// Returns the name of the server of Task Master in the settings of the project.
fn server(files: &FileSet) -> Option<String> {
    let settings = parse_json(files.bytes(&RelPath::parse(SERVERS).ok()?)?).ok()?;
    let is_own = |server: &Node| {
        let arguments = server.get("args").map(Node::items).unwrap_or_default();
        let words = arguments.iter().chain(server.get("command")).filter_map(Node::as_str);
        words.into_iter().any(|word| word.contains("task-master"))
    };
    let found = settings.get("mcpServers")?.members().iter().find(|member| is_own(&member.value))?;
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    Some(clean_line(&found.key, 64)).filter(|name| is_name(name))
}
