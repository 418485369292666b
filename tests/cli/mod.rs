//! Black-box tests, one file per verb, one folder per dialect.

mod nine_step;
mod version;
