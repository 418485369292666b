//! AIOS, AIOX and nexos through the binary.

mod dev_cycle;
mod epic;
mod implied;
mod kinds;
mod locks;
mod matrix;
mod qa_loop;
mod real;
mod rest;
mod writes;
mod yaml;
