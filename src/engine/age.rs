//! Rule 8: the time since the last activity, by the best time stamp available.

use crate::model::{Age, AgeBand, Evidence, Finding, FindingCode, Options, Run, human_age, human_lead};

/// Clock skew up to which a time stamp in the future is accepted.
const SKEW_SECONDS: i64 = 300;

/// Returns the age of a run and findings about it.
///
/// The time stamp in the state comes first, then the commit time of the state file, then its modification time, which a clone or a
/// checkout makes meaningless; `source` names the one used.
pub(super) fn age(run: &Run, evidence: &Evidence, options: &Options) -> (Age, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut ahead: Vec<String> = Vec::new();
    let stamps = [("state", run.stamp), ("commit", evidence.committed_at), ("file", evidence.modified_at)];
    for (source, stamp) in stamps {
        let Some(stamp) = stamp else { continue };
        let seconds = options.now.seconds_since(stamp);
        if seconds < -SKEW_SECONDS {
            ahead.push(format!("the {source}'s time stamp {stamp} ({})", human_lead(-seconds)));
            continue;
        }
        let seconds = seconds.max(0);
        // The time of a file says when it was copied or checked out, not when the work stopped.
        let band = match band(seconds, options) {
            AgeBand::Fresh if source == "file" => AgeBand::Recent,
            band => band,
        };
        findings.extend(in_future(&ahead));
        if band == AgeBand::Stale {
            findings.push(
                Finding::new(FindingCode::AgeStale, format!("nothing has happened for {}", human_age(seconds)))
                    .fix("check that the plan still fits the code before you continue"),
            );
        }
        return (Age { seconds: Some(seconds), band: Some(band), source: source.to_owned() }, findings);
    }
    findings.extend(in_future(&ahead));
    findings
        .push(Finding::new(FindingCode::AgeUnknown, "the age of this state is unknown: it has no usable time stamp"));
    (Age { seconds: None, band: None, source: "unknown".to_owned() }, findings)
}

/// Returns one finding about all stamps that are in the future.
fn in_future(ahead: &[String]) -> Option<Finding> {
    let (is, used) = if ahead.len() == 1 { ("is", "it is") } else { ("are", "they are") };
    let message = format!("{} {is} in the future; {used} not used", ahead.join(" and "));
    let fix = "check the clock of this machine and of the one that wrote the state";
    (!ahead.is_empty()).then(|| Finding::new(FindingCode::TimeInFuture, message).fix(fix))
}

/// Leaves out what the dialect says already about the stamps in its own files.
pub(super) fn say_once(mut known: Vec<Finding>, of_age: &mut Vec<Finding>) -> Vec<Finding> {
    for own in known.iter_mut().filter(|own| matches!(own.code, FindingCode::TimeInFuture | FindingCode::AgeStale)) {
        let Some(at) = of_age.iter().position(|other| other.code == own.code) else { continue };
        own.message = format!("{}; {}", own.message, of_age.remove(at).message);
    }
    known
}

fn band(seconds: i64, options: &Options) -> AgeBand {
    let bands = &options.age;
    if seconds < bands.fresh_below {
        AgeBand::Fresh
    } else if seconds < bands.recent_below {
        AgeBand::Recent
    } else if seconds <= bands.moderate_up_to {
        AgeBand::Moderate
    } else {
        AgeBand::Stale
    }
}

#[cfg(test)]
mod tests {
    use super::{age, say_once};
    use crate::{
        engine::testing::run_of,
        model::{AgeBand, Evidence, Finding, FindingCode, Options, Timestamp},
    };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix(1_800_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn bands_change_exactly_on_their_boundaries() {
        for (seconds, band) in [
            (-300, Some("fresh")),
            (-301, None),
            (0, Some("fresh")),
            (3_599, Some("fresh")),
            (3_600, Some("recent")),
            (86_399, Some("recent")),
            (86_400, Some("moderate")),
            (604_800, Some("moderate")),
            (604_801, Some("stale")),
        ] {
            let mut run = run_of(&[("A", &[])]);
            run.stamp = Some(at(0));
            let (age, _) = age(&run, &Evidence::default(), &Options::at(at(seconds)));
            assert_eq!(age.band.map(AgeBand::as_str), band, "{seconds}");
        }
    }

    #[test]
    fn the_next_best_stamp_is_named() {
        let run = run_of(&[("A", &[])]);
        let mut evidence = Evidence { modified_at: Some(at(0)), ..Evidence::default() };
        let of_file = age(&run, &evidence, &Options::at(at(5))).0;
        assert_eq!((of_file.source.as_str(), of_file.band), ("file", Some(AgeBand::Recent)), "a checkout is not work");
        evidence.committed_at = Some(at(0));
        let of_commit = age(&run, &evidence, &Options::at(at(5))).0;
        assert_eq!((of_commit.source.as_str(), of_commit.band), ("commit", Some(AgeBand::Fresh)));
        let (age, findings) = age(&run, &Evidence::default(), &Options::at(at(5)));
        assert_eq!((age.seconds, findings[0].code), (None, FindingCode::AgeUnknown));
    }

    /// S-15: two stamps of one run, one finding.
    #[test]
    fn stamps_in_the_future_are_said_once() {
        let mut run = run_of(&[("A", &[])]);
        run.stamp = Some(at(0));
        let evidence = Evidence { modified_at: Some(at(60)), ..Evidence::default() };
        let (age, findings) = age(&run, &evidence, &Options::at(at(-7_200)));
        assert_eq!(age.source, "unknown");
        let codes: Vec<_> = findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [FindingCode::TimeInFuture, FindingCode::AgeUnknown]);
        let message = &findings[0].message;
        assert!(message.contains("the state's time stamp") && message.contains("the file's time stamp"), "{message}");
        assert!(message.ends_with("are in the future; they are not used"), "{message}");
        let (_, findings) = super::age(&run, &Evidence::default(), &Options::at(at(-7_200)));
        assert!(findings[0].message.ends_with("is in the future; it is not used"), "{}", findings[0].message);
    }

    #[test]
    fn what_the_dialect_says_about_the_same_stamp_is_one_finding() {
        let known = vec![Finding::new(FindingCode::TimeInFuture, "the start is in the future")];
        let mut of_age =
            vec![Finding::new(FindingCode::AgeUnknown, "no"), Finding::new(FindingCode::TimeInFuture, "so is the end")];
        let known = say_once(known, &mut of_age);
        assert_eq!(known[0].message, "the start is in the future; so is the end");
        assert_eq!(of_age.iter().map(|finding| finding.code).collect::<Vec<_>>(), [FindingCode::AgeUnknown]);
    }
}
