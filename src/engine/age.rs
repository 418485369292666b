//! Rule 8: the time since the last activity, by the best time stamp available.

use crate::model::Age;
use crate::model::AgeBand;
use crate::model::Evidence;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Options;
use crate::model::Run;
use crate::model::human_age;

/// Clock skew up to which a time stamp in the future is accepted.
const SKEW_SECONDS: i64 = 300;

/// Returns the age of a run and findings about it.
///
/// The time stamp in the state comes first, then the commit time of the state file, then its modification time, which a clone or a
/// checkout makes meaningless; `source` names the one used.
pub(super) fn age(run: &Run, evidence: &Evidence, options: &Options) -> (Age, Vec<Finding>) {
    let mut findings = Vec::new();
    let stamps = [("state", run.stamp), ("commit", evidence.committed_at), ("file", evidence.modified_at)];
    for (source, stamp) in stamps {
        let Some(stamp) = stamp else { continue };
        let seconds = options.now.seconds_since(stamp);
        if seconds < -SKEW_SECONDS {
            findings.push(
                Finding::new(
                    FindingCode::TimeInFuture,
                    format!(
                        "the {source}'s time stamp {stamp} is {} in the future; it is not used",
                        human_age(-seconds)
                    ),
                )
                .fix("check the clock of this machine and of the one that wrote the state"),
            );
            continue;
        }
        let seconds = seconds.max(0);
        // The time of a file says when it was copied or checked out, not when the work stopped.
        let band = match band(seconds, options) {
            AgeBand::Fresh if source == "file" => AgeBand::Recent,
            band => band,
        };
        if band == AgeBand::Stale {
            findings.push(
                Finding::new(FindingCode::AgeStale, format!("nothing has happened for {}", human_age(seconds)))
                    .fix("check that the plan still fits the code before you continue"),
            );
        }
        return (Age { seconds: Some(seconds), band: Some(band), source: source.to_owned() }, findings);
    }
    findings
        .push(Finding::new(FindingCode::AgeUnknown, "the age of this state is unknown: it has no usable time stamp"));
    (Age { seconds: None, band: None, source: "unknown".to_owned() }, findings)
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
    use super::age;
    use crate::engine::fixtures::run_of;
    use crate::model::Evidence;
    use crate::model::FindingCode;
    use crate::model::Options;
    use crate::model::Timestamp;

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
            assert_eq!(age.band.map(crate::model::AgeBand::as_str), band, "{seconds}");
        }
    }

    #[test]
    fn the_next_best_stamp_is_named() {
        let run = run_of(&[("A", &[])]);
        let mut evidence = Evidence { modified_at: Some(at(0)), ..Evidence::default() };
        assert_eq!(age(&run, &evidence, &Options::at(at(5))).0.source, "file");
        evidence.committed_at = Some(at(0));
        assert_eq!(age(&run, &evidence, &Options::at(at(5))).0.source, "commit");
        let (age, findings) = age(&run, &Evidence::default(), &Options::at(at(5)));
        assert_eq!((age.seconds, findings[0].code), (None, FindingCode::AgeUnknown));
    }
}
