//! Black-box tests, one file per verb.

mod dotagent;
mod version;
