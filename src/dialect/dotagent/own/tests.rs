use super::BUILT_IN;
use super::check;
use crate::model::RelPath;

#[test]
fn built_in_definitions_have_no_mistakes() {
    for one in BUILT_IN {
        let checked = check(&RelPath::parse("x.yaml").unwrap(), one.text.as_bytes());
        assert_eq!(checked.findings, Vec::new(), "{}", one.name);
    }
}
