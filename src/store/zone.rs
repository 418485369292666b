//! The offset of a time zone from UTC, from the system's zone files (RFC 8536), for times that a service names in words.

use camino::Utf8Path;

use super::environment::variable;

const ZONES: &str = "/usr/share/zoneinfo";
const LOCAL: &str = "/etc/localtime";
/// Bytes of a zone file.
const SIZE_LIMIT: u64 = 1 << 20;
const DAY: i64 = 86_400;

/// Returns the seconds that a zone is ahead of UTC at a moment; without a zone, those of this machine. `None` if the zone is unknown.
pub(crate) fn utc_offset(zone: Option<&str>, unix_seconds: i64) -> Option<i64> {
    let own = if zone.is_none() { variable("TZ").filter(|zone| !zone.is_empty()) } else { None };
    let zone = zone.map(str::to_owned).or(own);
    let zone = zone.as_deref().map(|zone| zone.trim_start_matches(':'));
    if matches!(zone, Some("UTC" | "GMT" | "Z")) {
        return Some(0);
    }
    let is_plain = |zone: &str| {
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/');
        !zone.is_empty() && zone.len() <= 64 && !zone.starts_with('/') && zone.bytes().all(is_of_name)
    };
    let file = match zone {
        Some(zone) if is_plain(zone) => Utf8Path::new(ZONES).join(zone),
        Some(_) => return None,
        None => Utf8Path::new(LOCAL).to_owned(),
    };
    // `/etc/localtime` is a link; a machine without one keeps UTC.
    let Ok(real) = file.canonicalize_utf8() else { return zone.is_none().then_some(0) };
    let metadata = std::fs::metadata(&real).ok()?;
    let bytes = (metadata.is_file() && metadata.len() <= SIZE_LIMIT).then(|| std::fs::read(&real).ok()).flatten()?;
    offset_in(&bytes, unix_seconds)
}

/// Reads the offset at a moment from the second part of a zone file.
fn offset_in(file: &[u8], at: i64) -> Option<i64> {
    let first = counts(file)?;
    let second = file.get(44 + first.size(4)..)?;
    let counts = counts(second)?;
    let data = second.get(44..)?;
    let transitions = data.get(..counts.times * 8)?;
    let kinds = data.get(counts.times * 8..counts.times * 9)?;
    let types = data.get(counts.times * 9..counts.times * 9 + counts.types * 6)?;
    let time = |index: usize| {
        transitions.get(index * 8..index * 8 + 8).and_then(|bytes| bytes.try_into().ok()).map(i64::from_be_bytes)
    };
    let passed = (0..counts.times).take_while(|index| time(*index).is_some_and(|time| time <= at)).count();
    let footer =
        data.get(counts.size(8)..).and_then(|rest| std::str::from_utf8(rest).ok()).map(str::trim).unwrap_or_default();
    if passed == counts.times
        && let Some(offset) = rule_offset(footer, at)
    {
        return Some(offset);
    }
    let kind = passed.checked_sub(1).and_then(|last| kinds.get(last)).copied().unwrap_or(0);
    let bytes = types.get(usize::from(kind) * 6..usize::from(kind) * 6 + 4)?;
    Some(i64::from(i32::from_be_bytes(bytes.try_into().ok()?)))
}

/// How many entries a part of a zone file has.
struct Counts {
    times: usize,
    types: usize,
    characters: usize,
    leaps: usize,
    standard: usize,
    universal: usize,
}

impl Counts {
    /// Returns the bytes behind the header, where a time has `width` bytes.
    fn size(&self, width: usize) -> usize {
        self.times * (width + 1)
            + self.types * 6
            + self.characters
            + self.leaps * (width + 4)
            + self.standard
            + self.universal
    }
}

fn counts(part: &[u8]) -> Option<Counts> {
    let header = part.get(..44).filter(|header| header.starts_with(b"TZif"))?;
    let count = |index: usize| {
        let bytes = header.get(20 + index * 4..24 + index * 4)?.try_into().ok()?;
        usize::try_from(u32::from_be_bytes(bytes)).ok().filter(|count| *count <= 1 << 16)
    };
    Some(Counts {
        universal: count(0)?,
        standard: count(1)?,
        leaps: count(2)?,
        times: count(3)?,
        types: count(4)?,
        characters: count(5)?,
    })
}

/// Reads the offset at a moment from a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`; `None` for a rule of another form.
fn rule_offset(rule: &str, at: i64) -> Option<i64> {
    let mut parts = rule.split(',');
    let rest = after_name(parts.next()?)?;
    let (standard, rest) = duration(rest)?;
    let standard = -standard;
    if rest.is_empty() {
        return Some(standard);
    }
    let rest = after_name(rest)?;
    let summer = if rest.is_empty() { standard + 3_600 } else { -duration(rest)?.0 };
    let year = year_of((at + standard).div_euclid(DAY));
    let begin = moment(parts.next()?, year)? - standard;
    let end = moment(parts.next()?, year)? - summer;
    let is_summer = if begin < end { (begin..end).contains(&at) } else { !(end..begin).contains(&at) };
    Some(if is_summer { summer } else { standard })
}

/// Returns what follows the name of a zone: letters, or anything in angle brackets.
fn after_name(text: &str) -> Option<&str> {
    match text.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>').map(|(_, rest)| rest),
        None => Some(text.trim_start_matches(|c: char| c.is_ascii_alphabetic())).filter(|rest| rest.len() < text.len()),
    }
}

/// Reads `[-]H[:M[:S]]` as seconds, and returns what follows.
fn duration(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '-' | '+'))).unwrap_or(text.len());
    let (own, rest) = text.split_at(end);
    let (sign, digits) = own.strip_prefix('-').map_or((1, own.trim_start_matches('+')), |digits| (-1, digits));
    let mut seconds = 0;
    for (part, unit) in digits.split(':').zip([3_600, 60, 1]) {
        seconds += part.parse::<i64>().ok()? * unit;
    }
    Some((sign * seconds, rest))
}

/// Returns the moment of `Mmonth.week.day[/time]` in a year, in seconds since 1970 of local time.
fn moment(rule: &str, year: i64) -> Option<i64> {
    let (date, time) = rule
        .split_once('/')
        .map_or((rule, 7_200), |(date, time)| (date, duration(time).map_or(7_200, |(time, _)| time)));
    let mut numbers = date.strip_prefix('M')?.split('.').map(str::parse::<i64>);
    let (month, week, day) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
    let first = days(year, month, 1);
    // 1970-01-01 was a Thursday.
    let mut found = first + (day - (first + 4)).rem_euclid(7) + (week - 1) * 7;
    let next = if month == 12 { days(year + 1, 1, 1) } else { days(year, month + 1, 1) };
    while found >= next {
        found -= 7;
    }
    Some(found * DAY + time)
}

/// Returns the days since 1970 of a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is their last.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn year_of(day: i64) -> i64 {
    let estimate = 1970 + day.div_euclid(366);
    (estimate..).find(|year| days(year + 1, 1, 1) > day).unwrap_or(estimate)
}

#[cfg(test)]
mod tests {
    use super::rule_offset;
    use super::utc_offset;

    #[test]
    fn rules_say_when_summer_is() {
        // 2026-01-15 and 2026-07-15, at noon UTC.
        for (rule, winter, summer) in [
            ("UTC0", 0, 0),
            ("JST-9", 32_400, 32_400),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 3_600, 7_200),
            ("GMT0BST,M3.5.0/1,M10.5.0", 0, 3_600),
            ("EST5EDT,M3.2.0,M11.1.0", -18_000, -14_400),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", 39_600, 36_000),
            ("<+0330>-3:30", 12_600, 12_600),
        ] {
            assert_eq!(rule_offset(rule, 1_768_478_400), Some(winter), "{rule}");
            assert_eq!(rule_offset(rule, 1_784_116_800), Some(summer), "{rule}");
        }
        // The hour of the change: 2026-03-29T01:00:00Z.
        assert_eq!(rule_offset("CET-1CEST,M3.5.0,M10.5.0/3", 1_774_745_999), Some(3_600));
        assert_eq!(rule_offset("CET-1CEST,M3.5.0,M10.5.0/3", 1_774_746_000), Some(7_200));
        assert_eq!(rule_offset("nonsense", 0), None);
    }

    #[test]
    fn only_names_of_zones_are_looked_up() {
        assert_eq!(utc_offset(Some("UTC"), 0), Some(0));
        for name in ["", "/etc/passwd", "../../etc/passwd", "No/Such_Zone", "a b"] {
            assert_eq!(utc_offset(Some(name), 0), None, "{name}");
        }
        // Where the system has its zones.
        if let Some(offset) = utc_offset(Some("Asia/Tokyo"), 1_768_478_400) {
            assert_eq!(offset, 32_400);
        }
    }
}
