use std::collections::BTreeMap;

use super::{Masks, env_file};

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn values_of_secrets_leave_no_text() {
    let declared = BTreeMap::from([("DEPLOY".to_owned(), "hunter2-and-more".to_owned())]);
    let environment = pairs(&[
        ("GITHUB_TOKEN", "tok-1234567"),
        ("aws_secret_access_key", "hunter2"),
        ("HOME", "/home/me"),
        ("SHORT_TOKEN", "abc"),
    ]);
    let masks = Masks::of(&declared, environment.into_iter());
    assert_eq!(
        masks.hide("tok-1234567 hunter2-and-more hunter2 /home/me abc"),
        "[masked] [masked] [masked] /home/me abc"
    );
    assert_eq!(masks.found_in("x hunter2-and-more y"), Some("DEPLOY"));
    assert_eq!(masks.found_in("/home/me"), None);
    assert_eq!(format!("{masks:?}"), "3 secrets");
}

#[test]
fn a_file_of_variables_is_read_as_people_write_it() {
    let text = "# comment\n\nA=1\nexport B = two words # why\nC=\"x # y\"\nD='z'\nE=\n";
    let expected = pairs(&[("A", "1"), ("B", "two words"), ("C", "x # y"), ("D", "z"), ("E", "")]);
    assert_eq!(env_file(text), Ok(expected));
    for (text, line) in [("A=1\nnonsense", "line 2"), ("1A=x", "line 1"), ("PITON_HOME=x", "line 1"), ("=x", "line 1")]
    {
        assert!(env_file(text).unwrap_err().contains(line), "{text}");
    }
}
