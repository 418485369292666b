//! `--dry-run` of a workflow file: what would be run, with what is known before; nothing is run and nothing is written.

use super::support::Stage;

fn staged(text: &str) -> Stage {
    let stage = Stage::in_place(text);
    stage.program("claude", "exit 1");
    stage
}

/// Over a damaged journal nothing is asked and nothing changes.
#[test]
fn a_dry_resume_over_a_damaged_journal_says_what_a_resume_would_go_on_from() {
    let stage = staged("steps: [{id: a, shell: 'true'}, {id: b, shell: 'false'}]");
    let (failed, id) = stage.run(&["--no-worktree"]);
    failed.expect_code(7);
    let folder = stage.folder(&id);
    let (journal, checkpoint) = (folder.join("journal.jsonl"), folder.join("checkpoint.json"));
    let whole = crate::support::read(&journal);
    std::fs::remove_file(checkpoint).unwrap();
    let first = |records: usize| whole.split_inclusive('\n').take(records).collect::<String>();
    for (content, said) in [
        (first(3) + "broken\n", "a resume would go on from record 3, done: a"),
        (first(2) + "broken\n", "a resume would go on from record 2, no step"),
        (String::new(), "a resume would begin with the first step"),
    ] {
        std::fs::write(&journal, &content).unwrap();
        let shown = stage.piton(["--format", "text", "resume", &id, "--dry-run"]).run().expect_code(9);
        assert!(shown.stderr.contains(said) && shown.stderr.contains("its journal is"), "{said}: {shown}");
        assert!(shown.stderr.contains(&format!("`piton resume {id} ")) && shown.stderr.contains("--yes`"), "{shown}");
        assert!(!shown.to_string().contains("[y/N]"), "{shown}");
        assert_eq!(crate::support::read(&journal), content);
    }
}
