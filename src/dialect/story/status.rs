//! The status words of stories (docs/formats/aios-stories.md#story-status-words), in the supported languages.

use crate::model::{letters_and_digits, words};

words! {
    /// The status of a story, independent of spelling.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(in crate::dialect) enum StoryStatus {
        Draft = "Draft",
        Ready = "Ready",
        InProgress = "InProgress",
        InReview = "InReview",
        Done = "Done",
        /// Closed without being done: absorbed, superseded, deferred.
        TerminalOther = "closed without being done",
        Blocked = "Blocked",
        /// Not in the vocabulary; never a reason to resume.
        Unknown = "unknown",
    }
    impl Display;
}

/// The meaning of a status word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) status: StoryStatus,
    /// Whether it is done only once the announced step happens.
    pub(super) is_provisional: bool,
}

/// Words of gates and templates that are not statuses.
const FALSE_FRIENDS: [&str; 9] =
    ["pass", "passed", "fail", "concerns", "waived", "needswork", "string", "tbd", "statusreason"];

const ENGLISH: [(StoryStatus, &[&str]); 7] = [
    (StoryStatus::Draft, &["draft", "planning", "planned", "backlog", "todo", "pending", "readytodraft"]),
    (StoryStatus::Ready, &["ready", "approved", "readyfordevelopment", "readyforimplementation", "readyfordev"]),
    (StoryStatus::InProgress, &["inprogress", "wip", "doing", "active", "development", "indevelopment"]),
    (StoryStatus::InReview, &["inreview", "review", "readyforreview", "readyforqa", "implemented"]),
    (StoryStatus::Done, &["done", "complete", "completed", "shipped", "released", "merged"]),
    (StoryStatus::TerminalOther, &["absorbed", "superseded", "discarded", "deferred", "closed", "promoted"]),
    (StoryStatus::Blocked, &["blocked", "reviewfailed", "deploymentfailed"]),
];

const PORTUGUESE: [(StoryStatus, &[&str]); 6] = [
    (StoryStatus::Draft, &["planejado", "planejada", "rascunho", "pararevisao"]),
    (StoryStatus::Ready, &["aprovado", "aprovada", "validado", "validada"]),
    (StoryStatus::InProgress, &["emprogresso", "emexecucao", "emandamento", "emdesenvolvimento"]),
    (StoryStatus::InReview, &["implementado", "implementada", "emrevisao", "prontopararevisao", "prontapararevisao"]),
    (StoryStatus::Done, &["completo", "completa", "concluido", "concluida"]),
    (StoryStatus::Blocked, &["rejeitado", "rejeitada", "bloqueado", "bloqueada"]),
];

const SPANISH: [(StoryStatus, &[&str]); 6] = [
    (StoryStatus::Draft, &["borrador", "planificado", "planificada"]),
    (StoryStatus::Ready, &["aprobado", "aprobada"]),
    (StoryStatus::InProgress, &["enprogreso", "encurso", "endesarrollo"]),
    (StoryStatus::InReview, &["enrevision"]),
    (StoryStatus::Done, &["completado", "completada", "terminado", "terminada"]),
    (StoryStatus::Blocked, &["rechazado", "rechazada"]),
];

/// Returns the status within a value, without leading decoration and anything after the first separator.
pub(super) fn status_text(value: &str) -> &str {
    let mut value = value.trim();
    // `:white_check_mark: Done`.
    if let Some((shortcode, rest)) = value.strip_prefix(':').and_then(|rest| rest.split_once(':'))
        && shortcode.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    {
        value = rest;
    }
    let value = value.trim_start_matches(|c: char| !c.is_alphanumeric());
    let cuts = ["<!--", " — ", " – ", " - ", "—", "(", "→", "->", ":", "|"];
    let end = cuts.iter().filter_map(|cut| value.find(cut)).min().unwrap_or(value.len());
    value[..end].trim_end_matches(|c: char| !c.is_alphanumeric())
}

/// Returns the meaning of a status text.
pub(super) fn meaning(core: &str) -> Meaning {
    let word = fold(core);
    if matches!(word.as_str(), "readyfordeploy" | "readyfordeployment" | "readyforlaunch") {
        return Meaning { status: StoryStatus::Done, is_provisional: true };
    }
    let words = ENGLISH.iter().chain(&PORTUGUESE).chain(&SPANISH);
    let known = words.into_iter().find(|(_, words)| words.contains(&word.as_str()));
    Meaning { status: known.map_or(StoryStatus::Unknown, |(status, _)| *status), is_provisional: false }
}

/// Returns whether a value is not a status: empty, a template placeholder, or a word that only gates use.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    let is_choice =
        value.split('|').nth(1).is_some_and(|next| meaning(status_text(next)).status != StoryStatus::Unknown);
    let is_template = is_choice || (value.contains(['{', '}', '<']) && !value.contains("<!--"));
    let word = fold(status_text(value));
    is_template || word.is_empty() || FALSE_FRIENDS.contains(&word.as_str())
}

/// Returns a status in the language, case and word separator of `like`.
pub(super) fn word_like(like: &str, wanted: StoryStatus) -> String {
    let word = fold(like);
    let speaks = |words: &[(StoryStatus, &[&str])]| words.iter().any(|(_, words)| words.contains(&word.as_str()));
    let words: &[&str] = match wanted {
        StoryStatus::InProgress if speaks(&PORTUGUESE) => &["Em", "Progresso"],
        StoryStatus::InProgress if speaks(&SPANISH) => &["En", "Progreso"],
        StoryStatus::InProgress => &["In", "Progress"],
        StoryStatus::InReview if speaks(&PORTUGUESE) => &["Em", "Revisão"],
        StoryStatus::InReview if speaks(&SPANISH) => &["En", "Revisión"],
        StoryStatus::InReview => &["In", "Review"],
        StoryStatus::Done if speaks(&PORTUGUESE) => &["Concluído"],
        StoryStatus::Done if speaks(&SPANISH) => &["Completado"],
        StoryStatus::Done => &["Done"],
        StoryStatus::Draft
        | StoryStatus::Ready
        | StoryStatus::TerminalOther
        | StoryStatus::Blocked
        | StoryStatus::Unknown => &[wanted.as_str()],
    };
    let joint = like.chars().find(|c| matches!(c, ' ' | '_' | '-')).map_or_else(String::new, String::from);
    let joined = words.join(&joint);
    let has = |is: fn(char) -> bool| like.chars().any(is);
    match (has(char::is_lowercase), has(char::is_uppercase)) {
        (true, false) => joined.to_lowercase(),
        (false, true) => joined.to_uppercase(),
        (true, true) | (false, false) => joined,
    }
}

/// Tells whether a field is the status of a story. `Estado` may mean something else, so its value has to be a known status.
pub(super) fn names(key: &str, value: &str) -> bool {
    match fold(key).as_str() {
        "status" => true,
        "estado" => meaning(status_text(value)).status != StoryStatus::Unknown,
        _ => false,
    }
}

/// Returns the letters and digits in lowercase without accents.
pub(super) fn fold(text: &str) -> String {
    letters_and_digits(text).chars().map(plain).collect()
}

/// Like [`fold`], with one blank between words.
pub(super) fn fold_words(text: &str) -> String {
    let words: Vec<String> = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(fold).collect();
    words.join(" ")
}

const fn plain(c: char) -> char {
    match c {
        'á' | 'à' | 'â' | 'ã' | 'ä' => 'a',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'í' | 'ì' | 'î' | 'ï' => 'i',
        'ó' | 'ò' | 'ô' | 'õ' | 'ö' => 'o',
        'ú' | 'ù' | 'û' | 'ü' => 'u',
        'ç' => 'c',
        'ñ' => 'n',
        other => other,
    }
}
