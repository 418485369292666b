//! The words for where a story stands (2.7), in the languages in which they were seen.

/// Says where a story stands, whatever its spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StoryStatus {
    Draft,
    Ready,
    InProgress,
    InReview,
    Done,
    /// Over without being done: absorbed, superseded, deferred.
    TerminalOther,
    Blocked,
    /// Not in the vocabulary; never a reason to resume.
    Unknown,
}

/// Is what a word of a status means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) status: StoryStatus,
    pub(super) language: Language,
    /// It is done only if what it announces happens.
    pub(super) is_announced: bool,
}

/// Names the language of a word, for a suggestion in the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Portuguese,
    Spanish,
}

/// Words of gates and templates that stand where a status could.
const FALSE_FRIENDS: [&str; 9] =
    ["pass", "passed", "fail", "concerns", "waived", "needswork", "string", "tbd", "statusreason"];

const ENGLISH: [(StoryStatus, &[&str]); 7] = [
    (StoryStatus::Draft, &["draft", "planning", "planned", "backlog", "todo", "pending", "readytodraft"]),
    (StoryStatus::Ready, &["ready", "approved", "readyfordevelopment", "readyforimplementation", "readyfordev"]),
    (StoryStatus::InProgress, &["inprogress", "doing", "active", "development", "indevelopment"]),
    (StoryStatus::InReview, &["inreview", "review", "readyforreview", "readyforqa", "implemented"]),
    (StoryStatus::Done, &["done", "complete", "completed", "shipped", "released", "merged"]),
    (StoryStatus::TerminalOther, &["absorbed", "superseded", "discarded", "deferred", "closed", "promoted"]),
    (StoryStatus::Blocked, &["blocked", "reviewfailed", "deploymentfailed"]),
];

const PORTUGUESE: [(StoryStatus, &[&str]); 6] = [
    (StoryStatus::Draft, &["planejado", "planejada", "rascunho", "pararevisao"]),
    (StoryStatus::Ready, &["aprovado", "aprovada", "validado", "validada"]),
    (StoryStatus::InProgress, &["emprogresso", "emexecucao", "emandamento", "emdesenvolvimento"]),
    (StoryStatus::InReview, &["implementado", "implementada", "emrevisao"]),
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

impl StoryStatus {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 8] = [
        Self::Draft,
        Self::Ready,
        Self::InProgress,
        Self::InReview,
        Self::Done,
        Self::TerminalOther,
        Self::Blocked,
        Self::Unknown,
    ];

    /// Returns the word of the seed's tables.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "Draft",
            Self::Ready => "Ready",
            Self::InProgress => "InProgress",
            Self::InReview => "InReview",
            Self::Done => "Done",
            Self::TerminalOther => "closed without being done",
            Self::Blocked => "Blocked",
            Self::Unknown => "unknown",
        }
    }
}

impl std::fmt::Display for StoryStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the part of a value that is the status: decoration in front and everything from the first cut on left out.
pub(super) fn core(value: &str) -> &str {
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

/// Reads the core of a value.
pub(super) fn meaning(core: &str) -> Meaning {
    let word = fold(core);
    let of = |language, table: &[(StoryStatus, &[&str])]| {
        let status = table.iter().find(|(_, words)| words.contains(&word.as_str()))?.0;
        Some(Meaning { status, language, is_announced: false })
    };
    let known = of(Language::English, &ENGLISH)
        .or_else(|| of(Language::Portuguese, &PORTUGUESE))
        .or_else(|| of(Language::Spanish, &SPANISH));
    let is_announced = matches!(word.as_str(), "readyfordeploy" | "readyfordeployment" | "readyforlaunch");
    let status = if is_announced { StoryStatus::Done } else { StoryStatus::Unknown };
    known.unwrap_or(Meaning { status, language: Language::English, is_announced })
}

/// Tells whether a value is none: a placeholder of a template, or the word of a gate.
pub(super) fn is_no_status(value: &str) -> bool {
    let value = value.trim();
    let is_template = value.contains(['{', '}', '<']) && !value.contains("<!--") || value.contains('|');
    let word = fold(core(value));
    is_template || word.is_empty() || FALSE_FRIENDS.contains(&word.as_str())
}

/// Returns the letters and digits in lower case and without accents.
pub(super) fn fold(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).map(plain).collect()
}

/// Does the same and keeps one blank between words.
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
