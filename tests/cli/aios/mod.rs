//! AIOS, AIOX and nexos through the binary.

mod dev_cycle;
mod epic;
mod implied;
mod kinds;
mod qa_loop;
mod real;
