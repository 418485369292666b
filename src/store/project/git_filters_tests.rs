use super::arguments;

/// Joins fields as git ends them.
fn listed(fields: &[&str]) -> Vec<u8> {
    fields.iter().flat_map(|field| [field.as_bytes(), b"\0"].concat()).collect()
}

#[test]
fn filters_of_the_repository_are_switched_off_and_those_of_the_user_are_not() {
    let text = listed(&[
        "system",
        "filter.system.clean\nx",
        "global",
        "filter.lfs.process\ngit-lfs filter-process",
        "local",
        "filter.a.b.clean\ntouch owned",
        "local",
        "filter.a.b.smudge\nline one\nline two",
        "worktree",
        "filter.w.required",
        "local",
        "core.bare\nfalse",
    ]);
    let found = arguments(&text, || true).unwrap();
    let settings: Vec<&str> = found.iter().map(String::as_str).filter(|word| *word != "-c").collect();
    assert_eq!(
        settings,
        [
            "filter.a.b.clean=",
            "filter.a.b.smudge=",
            "filter.a.b.process=",
            "filter.a.b.required=false",
            "filter.w.clean=",
            "filter.w.smudge=",
            "filter.w.process=",
            "filter.w.required=false",
        ]
    );
    assert_eq!(found.len(), 2 * settings.len());
}

/// SECURITY: row 1
#[test]
fn what_cannot_be_switched_off_is_not_asked() {
    let many: Vec<String> = (0..300).flat_map(|at| ["local".to_owned(), format!("filter.f{at}.clean\nx")]).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (what, fields) in [
        ("a name that no argument can have", vec!["local", "filter.a=b.clean\ntouch owned"]),
        ("more filters than anybody has", many),
        ("files that lie elsewhere", vec!["worktree", "core.worktree\n/etc"]),
    ] {
        assert_eq!(arguments(&listed(&fields), || false), None, "{what}");
    }
    assert_eq!(arguments(b"local\0filter.\xff.clean\nx\0", || true), None, "a name that is not UTF-8");
    assert_eq!(arguments(&listed(&["local", "core.worktree\n.."]), || true), Some(Vec::new()));
}
