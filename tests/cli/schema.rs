use super::projects::document;
use crate::support::{self, Sandbox};

#[test]
fn every_published_schema_is_listed_and_printed_as_it_is() {
    let sandbox = Sandbox::new();
    let list = document(&sandbox.piton(["schema"]).run().expect_code(0));
    let names: Vec<&str> =
        list["data"]["schemas"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    let files = support::files_below(&support::repository().join("schemas"), "json");
    assert_eq!(names.len(), files.len());
    for name in names {
        let path = support::repository().join(format!("schemas/{name}.schema.json"));
        for format in ["json", "text"] {
            let output = sandbox.piton(["schema", name, "--format", format]).run().expect_code(0);
            assert_eq!(output.stdout, support::read(&path), "{name}");
        }
    }
}
