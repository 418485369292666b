//! Time stamps as the programs write them (docs/formats/aios.md#words-and-values).

use crate::model::Timestamp;

/// Unix seconds stay below this until the year 5138; Unix milliseconds (`Date.now()`) are above it since 1973.
const MILLISECONDS: i64 = 100_000_000_000;

/// Parses a timestamp, or Unix milliseconds or seconds. `offset` applies to timestamps without a zone.
pub(super) fn parse_time(text: &str, offset: i32) -> Option<Timestamp> {
    match text.parse::<i64>() {
        Ok(number) if number >= MILLISECONDS => Timestamp::from_unix(number / 1000, 0),
        Ok(number) => Timestamp::from_unix(number, 0),
        Err(_) => Timestamp::parse(text, offset).ok(),
    }
}
