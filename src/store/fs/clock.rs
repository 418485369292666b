//! The clock. All other code receives the time as an argument.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Local, Offset as _};
use chrono_tz::Tz;

use crate::model::{Clock, Timestamp, TimestampError};

/// Reads the clock, or takes the given time instead, with the UTC offset of local time at that moment.
///
/// # Errors
///
/// If the given text is not a time.
pub(crate) fn now(override_rfc3339: Option<&str>) -> Result<Clock, TimestampError> {
    let now = match override_rfc3339 {
        Some(text) => Timestamp::parse(text, 0)?,
        None => from_system(SystemTime::now()).unwrap_or_else(epoch),
    };
    let utc_offset_seconds = utc_offset(None, now.unix_seconds()).unwrap_or(0);
    Ok(Clock { now, utc_offset_seconds })
}

/// Returns the seconds that a zone is ahead of UTC at a moment; without a zone, those of this machine. `None` if the zone is unknown.
pub(crate) fn utc_offset(zone: Option<&str>, unix_seconds: i64) -> Option<i32> {
    let at = DateTime::from_timestamp(unix_seconds, 0)?;
    let offset = match zone {
        Some(zone) => at.with_timezone(&zone.parse::<Tz>().ok()?).offset().fix(),
        None => at.with_timezone(&Local).offset().fix(),
    };
    Some(offset.local_minus_utc())
}

/// Reads the clock again. Never returns an earlier time, even if the clock was set back.
pub(crate) fn later(than: Clock) -> Clock {
    let now = from_system(SystemTime::now()).unwrap_or_else(epoch);
    Clock { now: now.max(than.now), ..than }
}

/// A clock for long-running work. A given time advances from where it was set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticker {
    pretended: Option<(Timestamp, Instant)>,
    utc_offset_seconds: i32,
}

impl Ticker {
    /// Starts at the time of [`now`].
    ///
    /// # Errors
    ///
    /// If the given text is not a time.
    pub(crate) fn new(override_rfc3339: Option<&str>) -> Result<Self, TimestampError> {
        let clock = now(override_rfc3339)?;
        let pretended = override_rfc3339.map(|_| (clock.now, Instant::now()));
        Ok(Self { pretended, utc_offset_seconds: clock.utc_offset_seconds })
    }

    pub(crate) fn now(&self) -> Clock {
        let now = match self.pretended {
            Some((begin, since)) => begin.plus(since.elapsed()),
            None => from_system(SystemTime::now()).unwrap_or_else(epoch),
        };
        Clock { now, utc_offset_seconds: self.utc_offset_seconds }
    }
}

/// Converts a file timestamp.
pub(in crate::store) fn from_system(time: SystemTime) -> Option<Timestamp> {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => Timestamp::from_unix(i64::try_from(since.as_secs()).ok()?, since.subsec_nanos()),
        Err(before) => Timestamp::from_unix(-i64::try_from(before.duration().as_secs()).ok()?, 0),
    }
}

fn epoch() -> Timestamp {
    Timestamp::from_unix(0, 0).expect("1970 is a time")
}

#[cfg(test)]
mod tests {
    use super::{now, utc_offset};

    #[test]
    fn a_given_time_is_taken_and_nonsense_is_refused() {
        assert_eq!(now(Some("2026-01-31T12:00:00+02:00")).unwrap().now.to_string(), "2026-01-31T10:00:00Z");
        assert!(now(Some("noon")).is_err());
        assert!(now(None).unwrap().now.to_string().as_str() > "2026-01-01");
    }

    #[test]
    fn zones_know_when_summer_is() {
        // 2026-01-15 and 2026-07-15, at noon UTC.
        for (zone, winter, summer) in [
            ("UTC", 0, 0),
            ("Asia/Tokyo", 32_400, 32_400),
            ("Europe/Paris", 3_600, 7_200),
            ("Europe/London", 0, 3_600),
            ("America/New_York", -18_000, -14_400),
            ("Australia/Sydney", 39_600, 36_000),
            ("Asia/Tehran", 12_600, 12_600),
        ] {
            assert_eq!(utc_offset(Some(zone), 1_768_478_400), Some(winter), "{zone}");
            assert_eq!(utc_offset(Some(zone), 1_784_116_800), Some(summer), "{zone}");
        }
        // The hour of the change: 2026-03-29T01:00:00Z.
        assert_eq!(utc_offset(Some("Europe/Paris"), 1_774_745_999), Some(3_600));
        assert_eq!(utc_offset(Some("Europe/Paris"), 1_774_746_000), Some(7_200));
    }

    #[test]
    fn what_is_no_zone_is_unknown() {
        for name in ["", "nonsense", "/etc/passwd", "../../etc/passwd", "No/Such_Zone", "a b"] {
            assert_eq!(utc_offset(Some(name), 0), None, "{name}");
        }
    }
}
