//! Words in capitals that stand for what the reader fills in.

/// The placeholders, with the values that the walk fills in. `NAME` and `ID` mean different things after different words.
const PLACEHOLDERS: &[(&str, &[&str])] = &[
    ("AGENT", &["walker"]),
    ("BYTES", &["2048"]),
    ("CHECKPOINT", &["{checkpoint}"]),
    ("DIR", &["{other}"]),
    ("FILE", &["{file}"]),
    ("ID", &["{step}"]),
    ("NAME", &["Ada"]),
    ("NUMBER", &["1"]),
    ("OPTION", &["1"]),
    ("PART", &["{part}"]),
    ("REASON", &["it is not needed"]),
    ("RUN", &["{run}"]),
    ("SESSION", &["{run}"]),
    ("SHA", &["HEAD"]),
    ("STEP", &["{step}"]),
    ("STORY", &["{step}"]),
    ("TEXT", &["what was done"]),
    ("VALUE", &["1"]),
    ("VERB", &["plan"]),
    ("VERDICT", &["APPROVED", "APPROVED_WITH_CONDITIONS", "NEEDS_REVISION", "REJECTED"]),
    ("WHY", &["it is good enough"]),
];

/// A folder with another project in it, and a workflow file; [`prepare`] writes them.
///
/// [`prepare`]: super::attempt::prepare
pub(super) const OTHER_PROJECT: &str = "../tmp/other";
pub(super) const OTHER_WORKFLOW: &str = "../tmp/other.yaml";

/// Words in capitals that are values: verdicts, and names of git.
const WORDS: &[&str] = &["APPROVED", "APPROVED_WITH_CONDITIONS", "NEEDS_REVISION", "REJECTED", "HEAD"];

/// What a placeholder stands for in one state.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    pub(super) run: String,
    pub(super) step: String,
    pub(super) part: String,
    pub(super) checkpoint: String,
    pub(super) file: String,
    /// Ids that are words in capitals themselves.
    pub(super) ids: Vec<String>,
}

/// Returns the command with every placeholder filled in, once for each value; else what is wrong with a placeholder.
pub(super) fn filled(command: &str, values: &Values) -> Result<Vec<String>, String> {
    if ["...", "…", " <", "=<"].iter().any(|old| command.contains(old)) {
        return Err("a placeholder in another form than a word in capitals".to_owned());
    }
    let mut all = vec![command.to_owned()];
    let before_comment = command.split(" # ").next().unwrap_or_default();
    let words: Vec<&str> = before_comment.split([' ', '=']).collect();
    for (at, word) in words.iter().enumerate() {
        let is_name = word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        if !is_name || WORDS.contains(word) || values.ids.iter().any(|id| id == word) {
            continue;
        }
        let Some((_, texts)) = PLACEHOLDERS.iter().find(|(name, _)| name == word) else {
            return Err(format!("{word} is not in the list of placeholders"));
        };
        let texts = special(at.checked_sub(1).map(|before| words[before]), words[1], word).unwrap_or(texts);
        all = all.iter().flat_map(|one| texts.iter().map(|text| replace(one, word, &value(text, values)))).collect();
    }
    Ok(all)
}

/// Leaves out the commands with a verdict that the sentence does not name, if it names any.
pub(super) fn retain_named(commands: &mut Vec<String>, sentence: &str) {
    let words = sentence.split(|c: char| !c.is_ascii_uppercase() && c != '_');
    let named: Vec<&str> = words.filter(|word| WORDS.contains(word) && *word != "HEAD").collect();
    let verdict = |command: &String| command.split("--verdict '").nth(1)?.split('\'').next().map(str::to_owned);
    commands
        .retain(|command| verdict(command).is_none_or(|verdict| named.is_empty() || named.contains(&verdict.as_str())));
}

/// Returns the values of a placeholder whose meaning depends on the words before it.
fn special(before: Option<&str>, verb: &str, word: &str) -> Option<&'static [&'static str]> {
    match (before?, verb, word) {
        ("--feature", _, "NAME") => Some(&["another"]),
        ("--part", _, "NAME") => Some(&["{part}"]),
        ("schema", _, "NAME") => Some(&["plan"]),
        ("run", "run", "FILE") => Some(&["{workflow}"]),
        ("start", "start", "FILE" | "NAME") => Some(&["nine-step"]),
        _ => None,
    }
}

fn value(text: &str, values: &Values) -> String {
    let known = [
        ("{run}", &values.run),
        ("{step}", &values.step),
        ("{part}", &values.part),
        ("{checkpoint}", &values.checkpoint),
        ("{file}", &values.file),
        ("{other}", &OTHER_PROJECT.to_owned()),
        ("{workflow}", &OTHER_WORKFLOW.to_owned()),
    ];
    let found = known.iter().find(|(name, _)| *name == text).map_or(text, |(_, value)| value.as_str());
    format!("'{}'", found.replace('\'', "'\\''"))
}

/// Replaces the first occurrence of a placeholder as a whole word.
fn replace(command: &str, word: &str, value: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let place = command
        .match_indices(word)
        .find(|(at, _)| !command[..*at].ends_with(is_part) && !command[at + word.len()..].starts_with(is_part));
    match place {
        Some((at, _)) => format!("{}{value}{}", &command[..at], &command[at + word.len()..]),
        None => command.to_owned(),
    }
}

#[test]
fn placeholders_are_filled_and_other_words_are_not() {
    let values = Values { step: "2:3".to_owned(), ids: vec!["DESIGNS".to_owned()], ..Values::default() };
    let all = filled("piton decide STEP accept --by NAME --note WHY", &values).unwrap();
    assert_eq!(all, ["piton decide '2:3' accept --by 'Ada' --note 'it is good enough'"]);
    assert_eq!(filled("piton begin DESIGNS", &values).unwrap(), ["piton begin DESIGNS"]);
    assert_eq!(filled("piton finish a --verdict VERDICT", &values).unwrap().len(), 4);
    assert!(filled("piton decide a skip --note ...", &values).is_err());
    assert!(filled("piton decide a skip --note MOTIVE", &values).is_err());
}
