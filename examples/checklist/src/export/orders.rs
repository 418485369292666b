//! Reads orders.
