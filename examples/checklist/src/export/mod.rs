//! The export of orders.

mod orders;
