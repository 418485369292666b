//! Section names of stories, in the supported languages (docs/formats/aios-stories.md#stories).

use super::status::fold_words;

/// The kind of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::dialect) enum SectionKind {
    /// Title and fields, before the first section.
    Header,
    Status,
    /// `As a ..., I want ...`.
    UserStory,
    Acceptance,
    Scope,
    Tasks,
    DevNotes,
    ChangeLog,
    FileList,
    Review,
    Executor,
    Other,
}

/// Full names, folded.
const NAMES: [(SectionKind, &[&str]); 9] = [
    (SectionKind::Status, &["status"]),
    (
        SectionKind::Header,
        &[
            "metadata",
            "metadados",
            "metadatos",
            "story metadata",
            "story info",
            "story information",
            "informacoes",
            "identificacao",
            "story details",
        ],
    ),
    (SectionKind::UserStory, &["story", "user story", "historia", "historia de usuario", "historia do usuario"]),
    (SectionKind::Acceptance, &["acs", "ac"]),
    (
        SectionKind::Scope,
        &["scope", "escopo", "alcance", "in scope", "out of scope", "escopo tecnico", "technical scope"],
    ),
    (
        SectionKind::Tasks,
        &[
            "tasks",
            "subtasks",
            "tasks subtasks",
            "tarefas",
            "subtarefas",
            "tarefas subtarefas",
            "tareas",
            "subtareas",
            "tareas subtareas",
            "implementation tasks",
            "development tasks",
            "tasks and subtasks",
            "tarefas e subtarefas",
            "tareas y subtareas",
        ],
    ),
    (SectionKind::ChangeLog, &["historico", "historial"]),
    (SectionKind::FileList, &["files", "arquivos"]),
    (SectionKind::Executor, &["executor"]),
];

/// Prefixes of names, folded.
const BEGINNINGS: [(SectionKind, &[&str]); 7] = [
    (SectionKind::Acceptance, &["acceptance criteria", "criterios de aceit", "criterios de acept"]),
    (SectionKind::Scope, &["fora do escopo", "fuera de alcance", "scope ", "escopo "]),
    (SectionKind::DevNotes, &["dev notes", "notas de desenvolvimento", "notas de desarrollo", "developer notes"]),
    (
        SectionKind::ChangeLog,
        &["change log", "changelog", "historico de", "registro de mudancas", "registro de cambios", "historial de"],
    ),
    (SectionKind::FileList, &["file list", "lista de arquivos", "lista de archivos"]),
    (
        SectionKind::Review,
        &[
            "qa results",
            "qa review",
            "qa gate",
            "qa verdict",
            "gate decision",
            "resultados de qa",
            "resultados do qa",
            "resultado qa",
            "resultado do qa",
            "resultado de qa",
            "revisao de qa",
            "revisao qa",
        ],
    ),
    (SectionKind::Executor, &["executor assignment"]),
];

/// Returns the kind of a section by name.
pub(super) fn kind_of(name: &str) -> SectionKind {
    let name = fold_words(name);
    let whole = NAMES.iter().find(|(_, names)| names.contains(&name.as_str()));
    let begins = || BEGINNINGS.iter().find(|(_, starts)| starts.iter().any(|start| name.starts_with(start)));
    let numbered = || name.starts_with("tasks ").then_some(SectionKind::Tasks);
    whole
        .map(|(kind, _)| *kind)
        .or_else(|| begins().map(|(kind, _)| *kind))
        .or_else(numbered)
        .unwrap_or(SectionKind::Other)
}
