use std::{collections::BTreeMap, fs};

use camino::Utf8Path;

use super::load;
use crate::model::{Config, Mode};

fn with(text: &str, overrides: &[(&str, &str)]) -> Result<Config, String> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("piton.toml"), text).unwrap();
    let overrides: BTreeMap<String, String> =
        overrides.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let root = Utf8Path::from_path(dir.path()).unwrap();
    load(root, None, &overrides).map(|loaded| loaded.config).map_err(|error| error.to_string())
}

#[test]
fn a_missing_file_means_defaults() {
    let dir = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(dir.path()).unwrap();
    let loaded = load(root, Some(&root.join("none.toml")), &BTreeMap::new()).unwrap();
    assert_eq!((loaded.config, loaded.ignored), (Config::default(), Vec::new()));
}

#[test]
fn every_key_is_optional() {
    let config =
        with("mode = \"preflight\"\n[limits]\nattempts = 2\n[nine-step.agents]\nplanner = \"mine\"\n", &[]).unwrap();
    assert_eq!(config.mode, Some(Mode::Preflight));
    assert_eq!(config.limits.attempts, 2);
    assert_eq!(config.limits.archives, 5);
    assert_eq!(config.nine_step.agents["planner"], "mine");
    assert!(with("[nine-step]\nmain_branch = \"trunk\"\n", &[]).is_ok());
}

#[test]
fn an_unknown_key_names_its_line_and_the_nearest_valid_one() {
    for (text, expected) in [
        ("mod = \"preflight\"\n", "piton.toml:1: unknown key `mod`; the nearest valid key is `mode`"),
        (
            "[limits]\n\nattemps = 5\n",
            "piton.toml:3: unknown key `limits.attemps`; the nearest valid key is `limits.attempts`",
        ),
        ("attempts = 5\n", "piton.toml:1: unknown key `attempts`; the nearest valid key is `limits.attempts`"),
        ("[nine_step]\n", "piton.toml:1: unknown key `nine_step`; the nearest valid key is `nine-step`"),
        (
            "[nine-step]\nmainbranch = \"x\"\n",
            "piton.toml:2: unknown key `nine-step.mainbranch`; the nearest valid key is `nine-step.main_branch`",
        ),
    ] {
        assert_eq!(with(text, &[]).unwrap_err(), expected);
    }
}

#[test]
fn wrong_types_and_broken_files_name_their_line() {
    let wrong = with("[limits]\nattempts = \"many\"\n", &[]).unwrap_err();
    assert!(wrong.starts_with("piton.toml:2: invalid type"), "{wrong}");
    let broken = with("mode = \"preflight\"\n[limits\n", &[]).unwrap_err();
    assert!(broken.starts_with("piton.toml:2: "), "{broken}");
}

#[test]
fn variables_override_the_file() {
    let config = with(
        "[limits]\nattempts = 5\n",
        &[
            ("PITON_LIMITS_ATTEMPTS", "7"),
            ("PITON_MODE", "autopilot"),
            ("PITON_NINE_STEP_BRANCH_PREFIXES", "a, b"),
            ("PITON_NINE_STEP_MAIN_BRANCH", "trunk"),
            ("PITON_SOMETHING_ELSE", "x"),
        ],
    )
    .unwrap();
    assert_eq!(config.limits.attempts, 7);
    assert_eq!(config.mode, Some(Mode::Autopilot));
    assert_eq!(config.nine_step.branch_prefixes, ["a", "b"]);
    assert_eq!(config.nine_step.main_branch.as_deref(), Some("trunk"));
    let error = with("", &[("PITON_LIMITS_ATTEMPTS", "many")]).unwrap_err();
    assert_eq!(error, "PITON_LIMITS_ATTEMPTS: `many` is not a whole number");
    let error = with("", &[("PITON_MODE", "fast")]).unwrap_err();
    assert!(error.starts_with("PITON_MODE: unknown variant `fast`"), "{error}");
}

#[test]
fn what_weakens_a_decision_counts_only_in_the_users_own_file() {
    let dir = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(dir.path()).unwrap();
    let weak = "mode = \"autopilot\"\n[limits]\nattempts = 9\narchives = 7\n[gates]\napprove = [\"dotagent/x\"]\n";
    fs::write(root.join("piton.toml"), weak).unwrap();
    let loaded = load(root, None, &BTreeMap::new()).unwrap();
    assert_eq!((loaded.config.mode, loaded.config.limits.attempts), (None, 3));
    assert_eq!((loaded.config.limits.archives, loaded.config.gates.approve.len()), (7, 0));
    assert_eq!(loaded.ignored.len(), 3, "{:?}", loaded.ignored);
    let own = root.join("own.toml");
    fs::write(&own, weak.replace("archives = 7", "archives = 2")).unwrap();
    fs::write(root.join("piton.toml"), weak.replace("archives = 7", "")).unwrap();
    let loaded = load(root, Some(&own), &BTreeMap::new()).unwrap();
    assert_eq!((loaded.config.mode, loaded.config.limits.attempts), (Some(Mode::Autopilot), 9));
    assert_eq!(loaded.config.limits.archives, 2, "of the user, where the project has none");
    assert_eq!(loaded.config.gates.approve, ["dotagent/x"]);
    fs::write(&own, "mod = 1\n").unwrap();
    let error = load(root, Some(&own), &BTreeMap::new()).unwrap_err().to_string();
    assert!(error.starts_with("~/.config/piton/config.toml:1: unknown key `mod`"), "{error}");
}
