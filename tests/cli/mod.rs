//! Black-box tests, one file per verb.

mod version;
