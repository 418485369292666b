//! Black-box tests, one file per verb.

mod ccw;
mod nine_step;
mod version;
