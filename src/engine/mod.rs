//! Decides: pure functions over the model. No I/O, no clock, no dialect names.
