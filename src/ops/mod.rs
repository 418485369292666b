//! Use cases, one file per verb. They return reports and never print.
