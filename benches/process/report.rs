//! The tables, in Markdown, and what they add up to.

use super::budget::Line;
use super::contest::Taken;

/// How much more a further step or byte may keep than those before it.
const LINEAR: f64 = 1.1;

/// Is what was measured for a line of docs/performance.md#the-budgets.
struct Finding {
    line: Line,
    what: String,
    figure: String,
    budget: String,
    is_met: bool,
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
        println!("\n### {title}\n\n| what | min ms | median ms | × the first | may take ms | peak MiB |");
        println!("| --- | ---: | ---: | ---: | ---: | ---: |");
        for (at, taken) in group.iter().enumerate() {
            let median = taken.median.as_secs_f64() * 1_000.0;
            let ratio = if at == 0 { String::new() } else { format!("{:.2}", taken.ms() / group[0].ms()) };
            let allowed: Vec<String> =
                taken.budgets.iter().map(|budget| format!("{:.2}", budget.allows(group))).collect();
            let peak = taken.peak.map_or_else(|| "-".to_owned(), mebibytes);
            println!(
                "| {} | {:.2} | {median:.2} | {ratio} | {} | {peak} |",
                taken.name,
                taken.ms(),
                allowed.join(", ")
            );
            self.judge(taken, group);
        }
    }

    /// Judges what a contender took by its budgets, and keeps its memory in mind.
    pub(crate) fn judge(&mut self, taken: &Taken, group: &[Taken]) {
        for budget in &taken.budgets {
            let allowed = budget.allows(group);
            let finding = Finding {
                line: budget.line,
                what: taken.name.clone(),
                figure: format!("{:.2} ms", taken.ms()),
                budget: budget.text(group),
                is_met: taken.ms() <= allowed,
            };
            self.findings.push(finding);
        }
        if let Some(peak) = taken.peak.filter(|_| taken.is_piton)
            && self.peak.as_ref().is_none_or(|(most, _)| peak > *most)
        {
            self.peak = Some((peak, taken.name.clone()));
        }
    }

    fn note(&mut self, line: Line, what: String, figure: String, budget: &str, is_met: bool) {
        self.findings.push(Finding { line, what, figure, budget: budget.to_owned(), is_met });
    }

    /// Prints how times grow, and what one more costs from size to size.
    pub(crate) fn growth(&mut self, title: &str, unit: &str, curves: &[Curve]) {
        self.curves(&format!("{title}, ms"), &format!("µs per further {unit}"), 1_000.0, curves);
    }

    /// Prints how sizes grow, and what one more adds from size to size.
    pub(crate) fn sizes(&mut self, line: Line, curve: &Curve, unit: &str) {
        let title = format!("Bytes kept: {}", curve.name);
        self.curves(&title, &format!("bytes per further {unit}"), 1.0, std::slice::from_ref(curve));
        let factor = curve.last_factor().unwrap_or(f64::INFINITY);
        let figure = format!("one more {unit} adds {factor:.2} × as much as at the size before");
        self.note(line, curve.name.clone(), figure, &format!("{LINEAR} ×"), factor <= LINEAR);
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

    /// Prints every line of docs/performance.md#the-budgets with what was measured for it.
    pub(crate) fn summary(mut self) {
        if let Some((peak, what)) = self.peak.take() {
            let figure = format!("{} MiB", mebibytes(peak));
            self.note(Line::Memory, format!("most: {what}"), figure, "64 MiB", peak <= 64 << 10);
        }
        println!("\n### The budgets\n\n| line | measured | figure | at most | met |\n| --- | --- | ---: | --- | --- |");
        for line in Line::ALL {
            let mut findings = self.findings.iter().filter(|finding| finding.line == line).peekable();
            if findings.peek().is_none() {
                println!("| {} | not in this run | | | |", line.title());
            }
            for Finding { what, figure, budget, is_met, .. } in findings {
                println!(
                    "| {} | {what} | {figure} | {budget} | {} |",
                    line.title(),
                    if *is_met { "yes" } else { "no" }
                );
            }
        }
    }
}

/// Is what was measured at growing sizes.
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

fn mebibytes(kibibytes: u64) -> String {
    format!("{:.1}", kibibytes as f64 / 1024.0)
}
