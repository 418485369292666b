use super::{of, set_aside, standing};
use crate::{
    model::{Candidate, DialectId, JournalFile},
    store::{
        Environment, JournalStanding, StoreError, Trusted, file_set,
        project::open::Project,
        testing::{Scratch, candidate, clock, rel},
    },
};

/// Returns a project in a scratch folder, of a user whose state folder is in it too.
fn project(scratch: &Scratch) -> Project {
    let environment = Environment { state_home: Some(scratch.root.join("state")), ..Environment::default() };
    Project::open(&scratch.root, &environment).unwrap()
}

fn journal(scratch: &Scratch) -> JournalFile {
    of(&project(scratch), &candidate(Vec::new())).unwrap()
}

/// The place of the journal of the candidate in a folder without git.
const PLACE: &str = ".piton/runs/ccw.run/journal.jsonl";

#[test]
fn a_journal_counts_that_this_user_began_and_none_that_took_its_place() {
    let scratch = Scratch::new();
    let trusted = project(&scratch).trusted;
    let found = |trusted: &Trusted| standing(trusted, &journal(&scratch)).unwrap();
    assert_eq!(found(&trusted), JournalStanding::Silent);
    let (mine, planted) = ("{\"mine\":1}\n", "{\"planted\":1}\n");
    trusted.enter_journal(&journal(&scratch).home, mine.as_bytes()).unwrap();
    assert!(matches!(Trusted::nothing().enter_journal(&scratch.root, mine.as_bytes()), Err(StoreError::NoHome)));
    for (text, expected) in [
        (mine.to_owned(), JournalStanding::Ours),
        (format!("{mine}{planted}"), JournalStanding::Ours),
        (format!("{planted}{mine}"), JournalStanding::Foreign),
        (planted.to_owned(), JournalStanding::Foreign),
        ("{\"mine\":".to_owned(), JournalStanding::Silent),
    ] {
        scratch.write(PLACE, &text);
        assert_eq!(found(&trusted), expected, "{text}");
        assert_ne!(found(&Trusted::nothing()), JournalStanding::Ours, "that of another user: {text}");
    }
    scratch.write(PLACE, planted);
    trusted.enter_journal(&journal(&scratch).home, planted.as_bytes()).unwrap();
    assert_eq!(found(&trusted), JournalStanding::Ours, "a person said yes");
    let aside = set_aside(&journal(&scratch).file()).unwrap();
    assert_eq!((found(&trusted), aside.exists()), (JournalStanding::Silent, true));
}

/// A link to itself stands for anything that the system refuses to look at.
#[cfg(unix)]
#[test]
fn whether_a_journal_counts_is_unknown_where_its_entry_cannot_be_looked_at() {
    let scratch = Scratch::new();
    let trusted = project(&scratch).trusted;
    scratch.write(PLACE, "{\"mine\":1}\n");
    trusted.enter_journal(&journal(&scratch).home, b"{\"mine\":1}\n").unwrap();
    let entry = scratch.root.join("state/index").read_dir_utf8().unwrap().next().unwrap().unwrap().into_path();
    std::fs::remove_file(&entry).unwrap();
    std::os::unix::fs::symlink(&entry, &entry).unwrap();
    let found = standing(&trusted, &journal(&scratch));
    assert!(matches!(found, Err(StoreError::Io { .. })), "{found:?}");
}

#[test]
fn a_journal_is_in_the_git_folder_unless_it_was_begun_in_the_project() {
    let scratch = Scratch::new();
    let place = |scratch: &Scratch| journal(scratch).file().strip_prefix(&scratch.root).unwrap().to_string();
    assert_eq!(place(&scratch), PLACE, "outside of git");
    scratch.write(".git/HEAD", "ref: refs/heads/main\n");
    scratch.write(".git/objects/x", "");
    scratch.write(".git/refs/x", "");
    assert_eq!(place(&scratch), ".git/piton/runs/ccw.run/journal.jsonl");
    scratch.write(PLACE, "{}\n");
    assert_eq!(place(&scratch), PLACE, "it was begun before there was a repository");
}

#[test]
fn what_has_no_name_for_a_folder_gets_one() {
    let scratch = Scratch::new();
    let project = project(&scratch);
    let name = |name: &str| {
        let candidate = Candidate { name: name.to_owned(), ..candidate(Vec::new()) };
        of(&project, &candidate).unwrap().path.parent().unwrap().name().to_owned()
    };
    assert_eq!(name("WFS-a"), "ccw.WFS-a");
    assert_eq!(name("a/../b c"), "ccw.a%2F..%2Fb%20c");
    assert_ne!(name(&"x".repeat(300)), name(&"x".repeat(301)));
    assert!(name(&"ü".repeat(300)).len() < 130);
    for dialect in [DialectId::Piton, DialectId::Claude] {
        assert_eq!(of(&project, &Candidate { dialect, ..candidate(Vec::new()) }), None);
    }
}

/// SECURITY: row 20
#[cfg(unix)]
#[test]
fn a_journal_behind_a_link_is_not_read() {
    let scratch = Scratch::new();
    scratch.write(&PLACE.replace(".piton", "elsewhere"), "{\"planted\":1}\n");
    std::os::unix::fs::symlink(scratch.root.join("elsewhere"), scratch.root.join(".piton")).unwrap();
    let files = file_set(&project(&scratch), &scratch.root, &candidate(Vec::new()), clock()).unwrap();
    assert!(files.journal.unwrap().bytes().is_empty());
    assert_eq!(rel(PLACE).name(), "journal.jsonl");
}
