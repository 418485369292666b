//! The only use of `jsonschema`: embedded schemas, and errors as findings.
