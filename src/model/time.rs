//! Points in time. The only module that uses chrono.

use std::{fmt, time::Duration};

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, SecondsFormat, TimeDelta, TimeZone as _, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::plural;

/// A point in time, printed as RFC 3339 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub(crate) struct Timestamp(DateTime<Utc>);

/// A text that is not a point in time.
#[derive(Debug, thiserror::Error)]
#[error("not a date and time: `{0}` (RFC 3339, such as 2026-01-31T12:00:00Z)")]
pub(crate) struct TimestampError(String);

/// What a pure function knows about the clock: the current time and the local offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) now: Timestamp,
    pub(crate) utc_offset_seconds: i32,
}

impl Clock {
    /// Parses a time stamp; one without a zone is taken as local time.
    pub(crate) fn read(self, text: &str) -> Option<Timestamp> {
        Timestamp::parse(text, self.utc_offset_seconds).ok()
    }
}

impl Timestamp {
    /// Parses every kind of time stamp seen in the wild: RFC 3339 with any offset and any number of fraction digits, the same with a
    /// space for the `T`, without a zone (taken as local, docs/formats/nine-step.md#time-stamps), or a bare date.
    pub(crate) fn parse(text: &str, utc_offset_seconds: i32) -> Result<Self, TimestampError> {
        let text = text.trim();
        if let Ok(time) = DateTime::parse_from_rfc3339(text) {
            return Ok(Self(time.with_timezone(&Utc)));
        }
        // `Z` is written only with seconds by RFC 3339, and without them by some programs.
        let zoned = text.strip_suffix(['Z', 'z']).map_or_else(|| text.to_owned(), |time| format!("{time}+0000"));
        let with_zone = ["%Y-%m-%dT%H:%M:%S%.f%z", "%Y-%m-%dT%H:%M%z", "%Y-%m-%d %H:%M%z"];
        if let Some(time) = with_zone.iter().find_map(|format| DateTime::parse_from_str(&zoned, format).ok()) {
            return Ok(Self(time.with_timezone(&Utc)));
        }
        if let Some(time) = epoch(text) {
            return Ok(time);
        }
        let naive = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"]
            .iter()
            .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
            .or_else(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().and_then(|date| date.and_hms_opt(0, 0, 0)));
        let offset = FixedOffset::east_opt(utc_offset_seconds);
        match (naive, offset) {
            (Some(naive), Some(offset)) => {
                offset.from_local_datetime(&naive).single().map(|time| Self(time.with_timezone(&Utc)))
            }
            _ => None,
        }
        .ok_or_else(|| TimestampError(text.chars().take(64).collect()))
    }

    pub(crate) fn from_unix(seconds: i64, nanoseconds: u32) -> Option<Self> {
        DateTime::from_timestamp(seconds, nanoseconds).map(Self)
    }

    /// Returns whole seconds since 1970.
    pub(crate) fn unix_seconds(self) -> i64 {
        self.0.timestamp()
    }

    /// Tells whether it is less than a day before `now`.
    pub(crate) fn is_of_today(self, now: Self) -> bool {
        now.seconds_since(self) < 24 * 60 * 60
    }

    /// Returns the whole seconds since `earlier`; negative if `earlier` is later.
    pub(crate) fn seconds_since(self, earlier: Self) -> i64 {
        (self.0 - earlier.0).num_seconds()
    }

    pub(crate) fn plus_seconds(self, seconds: i64) -> Self {
        TimeDelta::try_seconds(seconds).and_then(|delta| self.0.checked_add_signed(delta)).map_or(self, Self)
    }

    /// Returns the point in time `time` later.
    pub(crate) fn plus(self, time: Duration) -> Self {
        TimeDelta::from_std(time).ok().and_then(|delta| self.0.checked_add_signed(delta)).map_or(self, Self)
    }

    /// Returns the time from `now` until this; zero if it has passed.
    pub(crate) fn time_left(self, now: Self) -> Duration {
        (self.0 - now.0).to_std().unwrap_or_default()
    }

    /// Returns it without a fraction of a second, for people.
    pub(crate) fn in_seconds(self) -> String {
        self.0.to_rfc3339_opts(SecondsFormat::Secs, true)
    }

    /// Returns `20260131T120000Z`, which is safe in a file name and sorts by time.
    pub(crate) fn compact(self) -> String {
        self.0.format("%Y%m%dT%H%M%SZ").to_string()
    }

    /// Reads what [`Timestamp::compact`] returns.
    pub(crate) fn from_compact(text: &str) -> Option<Self> {
        let naive = NaiveDateTime::parse_from_str(text, "%Y%m%dT%H%M%SZ").ok()?;
        Some(Self(naive.and_utc()))
    }
}

/// Reads seconds or milliseconds since 1970, of this century.
fn epoch(text: &str) -> Option<Timestamp> {
    const FIRST: i64 = 946_684_800;
    const LAST: i64 = 4_102_444_800;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let number: i64 = whole.parse().ok().filter(|_| fraction.bytes().all(|byte| byte.is_ascii_digit()))?;
    if (FIRST..LAST).contains(&number) {
        Timestamp::from_unix(number, 0)
    } else if (FIRST..LAST).contains(&(number / 1_000)) {
        Timestamp::from_unix(number / 1_000, 0)
    } else {
        None
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?, 0).map_err(D::Error::custom)
    }
}

/// Returns a duration in words: `3 minutes`, `2 days`.
pub(crate) fn human_age(seconds: i64) -> String {
    let seconds = usize::try_from(seconds).unwrap_or_default();
    let (count, unit) = match seconds {
        ..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    plural(count, unit)
}

/// Returns a duration as a person says it: `40 s`, `12 min`, `1 h 9 min`.
pub(crate) fn human_duration(time: Duration) -> String {
    let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    let minutes = seconds.div_ceil(60);
    match (seconds, minutes / 60, minutes % 60) {
        (..120, _, _) => format!("{seconds} s"),
        (_, 0, minutes) => format!("{minutes} min"),
        (_, hours, 0) => format!("{hours} h"),
        (_, hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// Returns a moment that lies ahead as a person says it: `11:01 (in 1 h 9 min)`. `local` are the seconds that this machine is ahead of UTC then.
pub(crate) fn until_in_words(at: Timestamp, local: i64, left: Duration) -> String {
    let at = at.plus_seconds(local).to_string();
    let (day, time) = (at.get(..10).unwrap_or_default(), at.get(11..16).unwrap_or_default());
    // Behind a day the time alone does not say when.
    let at = if left.as_secs() < 86_400 { time.to_owned() } else { format!("{time} on {day}") };
    format!("{at} (in {})", human_duration(left))
}

/// Describes how far ahead a time is. A span just below a number of days is almost that number.
pub(crate) fn human_lead(seconds: i64) -> String {
    const DAY: i64 = 86_400;
    let is_almost = seconds > DAY && seconds % DAY > DAY - 7_200;
    if is_almost { format!("almost {}", human_age(seconds + 7_200)) } else { human_age(seconds) }
}

#[cfg(test)]
mod tests {
    use super::{Timestamp, human_age};

    #[test]
    fn stamps_of_the_wild_are_read() {
        for (text, expected) in [
            ("2025-12-11T16:55:25-05:00", "2025-12-11T21:55:25Z"),
            ("2026-03-29T10:16:45+08:00", "2026-03-29T02:16:45Z"),
            ("2026-03-29T10:16:45.1234567Z", "2026-03-29T10:16:45.123456700Z"),
            ("2026-03-29T10:16:45.123456", "2026-03-29T08:16:45.123456Z"),
            ("2026-03-29 10:16:45", "2026-03-29T08:16:45Z"),
            ("2026-03-29", "2026-03-28T22:00:00Z"),
            ("2026-03-29T10:16:45.5+0800", "2026-03-29T02:16:45.500Z"),
            ("2026-03-29T10:16Z", "2026-03-29T10:16:00Z"),
            ("2026-03-29 10:16+02:00", "2026-03-29T08:16:00Z"),
            ("1774779405", "2026-03-29T10:16:45Z"),
            ("1774779405123", "2026-03-29T10:16:45Z"),
        ] {
            let time = Timestamp::parse(text, 7200).unwrap();
            assert_eq!(time.to_string(), expected, "{text}");
        }
        assert!(Timestamp::parse("yesterday", 0).is_err());
        assert!(Timestamp::parse("", 0).is_err());
        assert!(Timestamp::parse("20260131", 0).is_err(), "a day is not a number of seconds");
    }

    #[test]
    fn ages_read_like_speech() {
        for (seconds, text) in [
            (-5, "0 seconds"),
            (1, "1 second"),
            (59, "59 seconds"),
            (60, "1 minute"),
            (7200, "2 hours"),
            (259_200, "3 days"),
        ] {
            assert_eq!(human_age(seconds), text);
        }
    }
}
