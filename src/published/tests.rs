use serde_json::Value;

use super::{PUBLISHED, testing};
use crate::schema::Subject;

#[test]
#[expect(clippy::disallowed_methods, reason = "rewrites the schema files when asked to")]
fn generated_schemas_are_current() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let update = std::env::var_os("UPDATE_SCHEMAS").is_some();
    for published in PUBLISHED {
        let Some(text) = testing::text(published) else { continue };
        let path = folder.join(format!("{}.schema.json", published.file.name));
        if update {
            std::fs::write(path, text).unwrap();
        } else {
            assert!(
                text == published.file.text,
                "schemas/{}.schema.json is stale: run `UPDATE_SCHEMAS=1 cargo test --lib published`",
                published.file.name
            );
        }
    }
}

#[test]
fn every_subject_has_a_published_schema() {
    for subject in Subject::ALL {
        assert!(PUBLISHED.iter().any(|published| published.file.name == subject.as_str()), "{}", subject.as_str());
    }
}

#[test]
fn every_schema_names_and_describes_itself() {
    for published in PUBLISHED {
        let schema: Value = serde_json::from_str(published.file.text).unwrap();
        assert_eq!(schema["$id"], format!("{}{}.schema.json", testing::BASE, published.file.name));
        assert!(schema["title"].is_string() && schema["description"].is_string(), "{}", published.file.name);
    }
}
