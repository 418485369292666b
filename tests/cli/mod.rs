//! Black-box tests, one file per verb; what belongs to one dialect in a folder of its own.

mod ccw;
mod version;
