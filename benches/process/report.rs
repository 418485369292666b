//! The tables, in Markdown, and what they add up to.

use super::budget::{Line, Taken, median};

/// The memory that any call may have at its peak.
const MOST_KIBIBYTES: f64 = 64.0 * 1024.0;

/// What was measured for a row of the table of budgets.
struct Finding {
    line: Line,
    what: String,
    figure: String,
    budget: String,
    /// The share of the budget that was used.
    used: f64,
}

/// Prints as it goes and keeps what the summary needs.
#[derive(Default)]
pub(crate) struct Report {
    findings: Vec<Finding>,
    /// The most memory that a call of piton had, in KiB, and which it was.
    peak: Option<(u64, String)>,
}

impl Report {
    /// Prints a group whose members were measured in turns.
    pub(crate) fn group(&mut self, title: &str, group: &[Taken]) {
        println!("\n### {title}\n\n| what | min ms | median ms | × the first | of its budget | peak MiB |");
        println!("| --- | ---: | ---: | ---: | ---: | ---: |");
        for (at, taken) in group.iter().enumerate() {
            let pairs = taken.rounds.iter().zip(&group[0].rounds);
            let ratio = median(pairs.map(|(ms, first)| ms / first).collect());
            let ratio = if at == 0 { String::new() } else { format!("{ratio:.2}") };
            let used = taken.budget.map_or_else(String::new, |budget| percent(budget.share_used(taken, group)));
            let peak = taken.peak.map_or_else(|| "-".to_owned(), mebibytes);
            println!("| {} | {:.2} | {:.2} | {ratio} | {used} | {peak} |", taken.name, taken.min(), taken.median());
            self.judge(taken, group);
        }
    }

    /// Judges what a contender took by its budget, and keeps its memory in mind.
    pub(crate) fn judge(&mut self, taken: &Taken, group: &[Taken]) {
        if let Some(budget) = taken.budget {
            let finding = Finding {
                line: budget.line,
                what: taken.name.clone(),
                figure: format!("{:.2} ms", taken.median()),
                budget: budget.text(group),
                used: budget.share_used(taken, group),
            };
            self.findings.push(finding);
        }
        if let Some(peak) = taken.peak.filter(|_| taken.is_piton)
            && self.peak.as_ref().is_none_or(|(most, _)| peak > *most)
        {
            self.peak = Some((peak, taken.name.clone()));
        }
    }

    /// Prints how times grow, and what one more costs from size to size.
    pub(crate) fn growth(&self, title: &str, unit: &str, curves: &[Curve]) {
        self.curves(&format!("{title}, ms"), &format!("µs per further {unit}"), 1_000.0, curves);
    }

    /// Prints how sizes grow, and what one more adds from size to size.
    pub(crate) fn sizes(&self, curve: &Curve, unit: &str) {
        let title = format!("Bytes kept: {}", curve.name);
        self.curves(&title, &format!("bytes per further {unit}"), 1.0, std::slice::from_ref(curve));
    }

    fn curves(&self, title: &str, slope: &str, scale: f64, curves: &[Curve]) {
        let sizes: Vec<String> = curves[0].points.iter().map(|(size, _)| format!("at {size}")).collect();
        println!("\n### {title}\n\n| what | {} | {slope}, from size to size | last ÷ before |", sizes.join(" | "));
        println!("| --- |{} --- | ---: |", " ---: |".repeat(sizes.len()));
        for curve in curves {
            let decimals = if scale > 1.0 { 2 } else { 0 };
            let points: Vec<String> = curve.points.iter().map(|(_, value)| format!("{value:.decimals$}")).collect();
            let slopes: Vec<String> = curve.slopes().iter().map(|slope| format!("{:.2}", slope * scale)).collect();
            let factor = curve.last_factor().map_or_else(|| "-".to_owned(), |factor| format!("{factor:.2}"));
            println!("| {} | {} | {} | {factor} |", curve.name, points.join(" | "), slopes.join(", "));
        }
    }

    /// Prints every row of the table of budgets with what was measured for it; returns whether all are met.
    pub(crate) fn summary(mut self) -> bool {
        if let Some((peak, what)) = self.peak.take() {
            let (figure, used) = (format!("{} MiB", mebibytes(peak)), peak as f64 / MOST_KIBIBYTES);
            let budget = "64 MiB".to_owned();
            self.findings.push(Finding { line: Line::Memory, what: format!("most: {what}"), figure, budget, used });
        }
        println!("\n### The budgets\n\n| what | measured | median | at most | of it | met |");
        println!("| --- | --- | ---: | --- | ---: | --- |");
        for line in Line::ALL {
            let mut findings = self.findings.iter().filter(|finding| finding.line == line).peekable();
            if findings.peek().is_none() {
                println!("| {} | not in this run | | | | |", line.title());
            }
            for Finding { what, figure, budget, used, .. } in findings {
                let met = if *used <= 1.0 { "yes" } else { "no" };
                println!("| {} | {what} | {figure} | {budget} | {} | {met} |", line.title(), percent(*used));
            }
        }
        self.findings.iter().all(|finding| finding.used <= 1.0)
    }
}

/// What was measured at growing sizes.
pub(crate) struct Curve {
    name: String,
    points: Vec<(usize, f64)>,
}

impl Curve {
    pub(crate) fn new(name: String, points: impl IntoIterator<Item = (usize, f64)>) -> Self {
        Self { name, points: points.into_iter().collect() }
    }

    /// Returns what one more costs between each size and the next.
    fn slopes(&self) -> Vec<f64> {
        let pairs = self.points.windows(2);
        pairs.map(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0) as f64).collect()
    }

    /// Returns how much dearer one more is at the largest size than at the one before: 1 is linear, 10 is square. Noise can hide it.
    pub(crate) fn last_factor(&self) -> Option<f64> {
        let slopes = self.slopes();
        let [.., before, last] = slopes[..] else { return None };
        (before > 0.0 && last > 0.0).then(|| last / before)
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn mebibytes(kibibytes: u64) -> String {
    format!("{:.1}", kibibytes as f64 / 1024.0)
}
