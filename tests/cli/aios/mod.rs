//! AIOS, AIOX and nexos through the binary.

mod dev_cycle;
mod epic;
mod implied;
mod kinds;
mod locks;
mod qa_loop;
mod real;
mod writes;
mod rest;
mod yaml;
