//! When a usage limit ends, from the words of the service: `resets 8pm (Europe/London)`, `resets Oct 9 at 5pm`. Pure: the offset of a zone
//! is an input.

use crate::model::Timestamp;

/// Returns the seconds that a zone, or this machine, is ahead of UTC at a moment.
pub(super) type Offset<'a> = &'a dyn Fn(Option<&str>, i64) -> Option<i32>;

const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/// Number of words after `resets` that are read.
const WORDS: usize = 10;
const DAY: i64 = 86_400;

/// Tells whether the service says that the usage of a plan is at its limit. A rate limit is another thing: it passes within seconds.
pub(super) fn is_usage_limit(said: &str) -> bool {
    let text = said.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let is_of_plan = has(&["usage limit", "hit your", "limit reached", "reached your", "limit will reset", "reset"]);
    has(&["out of extra usage"]) || has(&["limit"]) && !has(&["rate limit", "rate_limit", "context"]) && is_of_plan
}

/// Reads when a limit ends. A time of day that has passed today is tomorrow's.
pub(super) fn end(said: &str, now: Timestamp, offset: Offset<'_>) -> Option<Timestamp> {
    let text = said.to_ascii_lowercase();
    let at = text.find("reset")?;
    // The zone keeps its capitals.
    let after = said.get(at..)?;
    let end = after.find('\n').unwrap_or(after.len());
    let is_trim = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, ':' | '/' | '_' | '+' | '-'));
    let words: Vec<&str> =
        after[..end].split_whitespace().skip(1).take(WORDS).map(|word| word.trim_matches(is_trim)).collect();
    let lower: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
    if lower.first().is_some_and(|word| word == "in") {
        return in_time(&lower[1..]).map(|seconds| now.plus_seconds(seconds));
    }
    let time = lower.iter().enumerate().find_map(|(at, word)| {
        let next = lower.get(at + 1).map_or("", String::as_str);
        time_of_day(word, next)
    })?;
    let weekday = lower.iter().find_map(|word| WEEKDAYS.iter().position(|day| is_weekday(word, day)));
    let month = lower.iter().position(|word| MONTHS.iter().any(|month| word.starts_with(month)));
    let date = month.and_then(|at| {
        let number = MONTHS.iter().position(|month| lower[at].starts_with(month))? + 1;
        let day = |at: usize| lower.get(at)?.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse::<u32>().ok();
        let day = day(at + 1).or_else(|| at.checked_sub(1).and_then(day)).filter(|day| (1..=31).contains(day))?;
        Some(Day::Date(number, day))
    });
    let day = date.or_else(|| weekday.and_then(|number| i64::try_from(number).ok()).map(Day::Weekday));
    let zone = words.iter().copied().find(|word| word.contains('/'));
    let fixed = words.iter().find_map(|word| fixed_offset(word));
    moment(now, zone, day, time, &|zone, at| fixed.or_else(|| offset(zone, at)))
}

/// The day at which a limit ends.
#[derive(Clone, Copy)]
enum Day {
    /// Month and day, from 1.
    Date(usize, u32),
    /// Days after Monday.
    Weekday(i64),
}

/// Tells whether a word is the name of a weekday, short or whole.
fn is_weekday(word: &str, day: &str) -> bool {
    word.strip_suffix("day").unwrap_or(word).starts_with(day) && (word.len() == day.len() || word.ends_with("day"))
}

/// Reads `UTC`, `GMT+2`, `UTC-5:30`, and the abbreviations of North America, as seconds ahead of UTC. Others mean several zones.
fn fixed_offset(word: &str) -> Option<i32> {
    let north_american = ["PST", "PDT", "MST", "MDT", "CST", "CDT", "EST", "EDT"];
    if let Some((_, hours)) =
        north_american.iter().zip([-8, -7, -7, -6, -6, -5, -5, -4]).find(|(zone, _)| **zone == word)
    {
        return Some(hours * 3_600);
    }
    let rest = word.strip_prefix("UTC").or_else(|| word.strip_prefix("GMT"))?;
    if rest.is_empty() {
        return Some(0);
    }
    let (sign, ahead) =
        rest.strip_prefix('+').map(|ahead| (1, ahead)).or_else(|| Some((-1, rest.strip_prefix('-')?)))?;
    let (hours, minutes) = ahead.split_once(':').unwrap_or((ahead, "0"));
    let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
    (hours <= 14 && minutes < 60).then(|| sign * (i32::from(hours) * 3_600 + i32::from(minutes) * 60))
}

/// Reads `3 hours`, `2h`, `2h 15m`, `45 minutes`.
fn in_time(words: &[String]) -> Option<i64> {
    let mut seconds = 0;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
        let Ok(count) = word[..end].parse::<i64>() else { break };
        let unit = if end < word.len() { &word[end..] } else { words.get(at + 1)?.as_str() };
        at += if end < word.len() { 1 } else { 2 };
        let unit = match unit.as_bytes().first()? {
            b'd' => DAY,
            b'h' => 3_600,
            b'm' => 60,
            b's' => 1,
            _ => return None,
        };
        seconds += count.min(1_000) * unit;
    }
    (seconds > 0).then_some(seconds)
}

/// Reads `8pm`, `3:50pm`, `3:50 pm`, `15:00` as seconds of the day.
fn time_of_day(word: &str, next: &str) -> Option<i64> {
    let end = word.find(|c: char| !(c.is_ascii_digit() || c == ':')).unwrap_or(word.len());
    let (digits, suffix) = word.split_at(end);
    let half = match suffix {
        "am" | "pm" => suffix,
        "" if matches!(next, "am" | "pm") => next,
        "" if digits.contains(':') => "",
        _ => return None,
    };
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hour, minute) = (hour.parse::<i64>().ok()?, minute.parse::<i64>().ok()?);
    let hour = match half {
        "am" | "pm" if !(1..=12).contains(&hour) => return None,
        "am" => hour % 12,
        "pm" => hour % 12 + 12,
        _ => hour,
    };
    ((0..24).contains(&hour) && (0..60).contains(&minute)).then_some(hour * 3_600 + minute * 60)
}

/// Returns the next moment at which it is that time in a zone.
fn moment(now: Timestamp, zone: Option<&str>, day: Option<Day>, time: i64, offset: Offset<'_>) -> Option<Timestamp> {
    let unix = now.unix_seconds();
    let offset = |unix: i64| offset(zone, unix).map(i64::from);
    let here = offset(unix)?;
    let in_utc = |local: i64| Some(local - offset(local - here)?);
    let today = (unix + here).div_euclid(DAY) * DAY;
    let next = |days: i64, again: i64| {
        let first = in_utc(today + days * DAY + time)?;
        let end = if first > unix { first } else { in_utc(today + (days + again) * DAY + time)? };
        Timestamp::from_unix(end, 0)
    };
    let (month, day) = match day {
        None => return next(0, 1),
        // 1970 began on a Thursday.
        Some(Day::Weekday(weekday)) => return next((weekday - today / DAY - 3).rem_euclid(7), 7),
        Some(Day::Date(month, day)) => (month, day),
    };
    let year: i64 = Timestamp::from_unix(unix + here, 0)?.to_string().get(..4)?.parse().ok()?;
    [year, year + 1].into_iter().find_map(|year| {
        let midnight = Timestamp::parse(&format!("{year:04}-{month:02}-{day:02}T00:00:00Z"), 0).ok()?;
        let end = in_utc(midnight.unix_seconds() + time)?;
        // A limit does not end half a year ago.
        (end > unix - 180 * DAY).then(|| Timestamp::from_unix(end, 0)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::{end, is_usage_limit};
    use crate::model::Timestamp;

    /// the wordings of the client, with the time at which each ends.
    #[test]
    fn the_end_of_a_limit_is_read_in_all_its_wordings() {
        let now = Timestamp::parse("2026-10-08T16:30:00Z", 0).unwrap();
        let offset = |zone: Option<&str>, _: i64| match zone {
            Some("Europe/London") => Some(3_600),
            Some("Asia/Tokyo") => Some(9 * 3_600),
            Some(_) => None,
            // This machine is two hours ahead.
            None => Some(7_200),
        };
        for (said, expected) in [
            ("You've hit your limit · resets 8pm (Europe/London)", Some("2026-10-08T19:00:00Z")),
            ("You've hit your session limit · resets 3:50pm (Asia/Tokyo)", Some("2026-10-09T06:50:00Z")),
            ("5-hour limit reached ∙ resets 3pm", Some("2026-10-09T13:00:00Z")),
            ("Weekly limit reached ∙ resets Oct 9 at 5pm", Some("2026-10-09T15:00:00Z")),
            ("Weekly limit reached, resets Jan 2, 12am (UTC)", Some("2027-01-02T00:00:00Z")),
            ("Claude usage limit reached. Your limit will reset at 3pm (Asia/Tokyo).", Some("2026-10-09T06:00:00Z")),
            ("CLAUDE USAGE LIMIT REACHED. RESETS AT 19:15", Some("2026-10-08T17:15:00Z")),
            ("You've reached your usage limit; it resets in 2h 15m", Some("2026-10-08T18:45:00Z")),
            ("usage limit reached, resets in 3 hours", Some("2026-10-08T19:30:00Z")),
            // A Thursday, half past one on Friday in Tokyo.
            ("You've hit your weekly limit · resets Mon 5pm (Asia/Tokyo)", Some("2026-10-12T08:00:00Z")),
            ("You've hit your weekly limit · resets Friday, 1am (Asia/Tokyo)", Some("2026-10-15T16:00:00Z")),
            ("You've hit your weekly limit · resets thu 8pm (UTC)", Some("2026-10-08T20:00:00Z")),
            ("You're out of extra usage · resets 8pm (UTC)", Some("2026-10-08T20:00:00Z")),
            ("You've hit your limit · resets 8pm (UTC)", Some("2026-10-08T20:00:00Z")),
            ("You've hit your limit · resets 8pm GMT", Some("2026-10-08T20:00:00Z")),
            ("You've hit your limit · resets 8pm (GMT+2)", Some("2026-10-08T18:00:00Z")),
            ("You've hit your limit · resets 8pm (UTC-5)", Some("2026-10-09T01:00:00Z")),
            ("You've hit your limit · resets 8pm (UTC+05:30)", Some("2026-10-09T14:30:00Z")),
            ("You've hit your limit · resets 8pm (PST)", Some("2026-10-09T04:00:00Z")),
            ("You've hit your limit · resets 8pm (PDT)", Some("2026-10-09T03:00:00Z")),
            ("You've hit your limit · resets 8pm (MST)", Some("2026-10-09T03:00:00Z")),
            ("You've hit your limit · resets 8pm (MDT)", Some("2026-10-09T02:00:00Z")),
            ("You've hit your limit · resets 8pm (CST)", Some("2026-10-09T02:00:00Z")),
            ("You've hit your limit · resets 8pm (CDT)", Some("2026-10-09T01:00:00Z")),
            ("You've hit your limit · resets 8pm (EST)", Some("2026-10-09T01:00:00Z")),
            ("You've hit your limit · resets Oct 9 at 5pm (EDT)", Some("2026-10-09T21:00:00Z")),
            // Of other abbreviations the time is that of this machine.
            ("You've hit your limit · resets 8pm (IST)", Some("2026-10-08T18:00:00Z")),
            ("You've hit your limit · resets 8pm (GMT+99)", Some("2026-10-08T18:00:00Z")),
            ("You've hit your limit · resets 8pm (Nowhere/City)", None),
            ("usage limit reached", None),
            ("usage limit reached, resets soon", None),
            ("usage limit reached, resets 25:00", None),
        ] {
            assert!(is_usage_limit(said), "{said}");
            assert_eq!(end(said, now, &offset).map(|at| at.to_string()).as_deref(), expected, "{said}");
        }
        for said in [
            "API Error: 429 rate limit, resets 3pm",
            "the limit of the loop is 3",
            "no such file",
            "reset the database",
        ] {
            assert!(!is_usage_limit(said), "{said}");
        }
    }
}
