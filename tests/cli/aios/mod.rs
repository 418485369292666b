//! AIOS, AIOX and nexos through the binary.

mod dev_cycle;
mod epic;
mod real;
