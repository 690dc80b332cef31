//! A solve in progress: on a terminal a line that is redrawn below a line for every better plan,
//! plain lines otherwise.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use remat_instances::instance::CostUnit;
use remat_report::draw::progress::ProgressPoint;
use remat_search::Progress;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::Duration;

/// Longest silence between two plain lines, in seconds.
const SILENCE_SECONDS: f64 = 10.0;

/// Shows progress on standard error, and remembers it.
pub struct Reporter {
    unit: CostUnit,
    base_cost: u64,
    way: Display,
    looks: Mutex<Vec<ProgressPoint>>,
}

enum Display {
    Quiet,
    /// With the limit, and the cost of the last plan that got a line of its own.
    Bar(ProgressBar, Option<Duration>, Mutex<Option<u64>>),
    Lines(Mutex<Last>),
}

/// Content of the last plain line.
struct Last {
    seconds: f64,
    objective: Option<u64>,
    bound: u64,
}

impl Reporter {
    /// A reporter; with a time limit a terminal shows how much of it is over.
    pub fn new(quiet: bool, unit: CostUnit, base_cost: u64, limit: Option<Duration>) -> Self {
        let way = if quiet {
            Display::Quiet
        } else if std::io::stderr().is_terminal() {
            Display::Bar(bar(limit), limit, Mutex::default())
        } else {
            Display::Lines(Mutex::new(Last {
                seconds: f64::NEG_INFINITY,
                objective: None,
                bound: 0,
            }))
        };
        Reporter {
            unit,
            base_cost,
            way,
            looks: Mutex::default(),
        }
    }

    /// Everything new that was seen so far, by time.
    pub fn looks(&self) -> Vec<ProgressPoint> {
        // A panic of another thread while it held the lock leaves a look out at worst.
        self.looks
            .lock()
            .map_or_else(|e| e.into_inner().clone(), |l| l.clone())
    }

    fn remember(&self, progress: &Progress) {
        let Ok(mut looks) = self.looks.lock() else {
            return;
        };
        let seen = (progress.objective, progress.bound);
        if looks.last().is_none_or(|l| (l.objective, l.bound) != seen) {
            looks.push(ProgressPoint {
                seconds: progress.seconds,
                objective: progress.objective,
                bound: progress.bound,
            });
        }
    }

    /// Shows a look at the solve.
    pub fn update(&self, progress: &Progress) {
        self.update_named("", progress);
    }

    /// Shows a look at one of several solves; `name` stands in front.
    pub fn update_named(&self, name: &str, progress: &Progress) {
        self.remember(progress);
        match &self.way {
            Display::Quiet => {}
            Display::Bar(bar, limit, shown) => {
                let text = self.text(progress);
                if let Ok(mut shown) = shown.lock()
                    && *shown != progress.objective
                {
                    *shown = progress.objective;
                    bar.println(format!("{:>8.1} s  {name}{text}", progress.seconds));
                }
                if limit.is_some() {
                    bar.set_position((progress.seconds * 1000.0) as u64);
                } else {
                    bar.tick();
                }
                bar.set_message(format!("{name}{text}"));
            }
            Display::Lines(last) => {
                // A panic of another thread while it held the lock leaves a line unsaid at worst.
                let Ok(mut last) = last.lock() else { return };
                let news = (last.objective, last.bound) != (progress.objective, progress.bound);
                // The clock starts anew with each of several solves.
                let silent = (progress.seconds - last.seconds)
                    .max(-progress.seconds)
                    .abs();
                if silent < SILENCE_SECONDS && !(news && silent >= 1.0) {
                    return;
                }
                *last = Last {
                    seconds: progress.seconds,
                    objective: progress.objective,
                    bound: progress.bound,
                };
                let text = self.text(progress);
                let _ = writeln!(
                    std::io::stderr(),
                    "{:>8.1} s  {name}{text}",
                    progress.seconds
                );
            }
        }
    }

    /// Takes the line off a terminal.
    pub fn finish(&self) {
        if let Display::Bar(bar, ..) = &self.way {
            bar.finish_and_clear();
        }
    }

    fn text(&self, progress: &Progress) -> String {
        let mut text = match progress.objective {
            None => "no plan yet".to_owned(),
            Some(objective) => {
                let over = percent_over(objective, self.base_cost);
                format!(
                    "best {} ({over:+.2}%)",
                    remat_report::cost(objective, &self.unit)
                )
            }
        };
        let bound = percent_over(progress.bound, self.base_cost);
        text += &format!(
            "  bound {} ({bound:+.2}%)",
            remat_report::cost(progress.bound, &self.unit)
        );
        if let Some(objective) = progress.objective.filter(|o| *o > 0) {
            let gap = objective.saturating_sub(progress.bound) as f64 / objective as f64;
            text += &format!("  gap {:.2}%", gap * 100.0);
        }
        text + &format!("  {:.1} M moves", progress.moves as f64 / 1e6)
    }
}

fn percent_over(cost: u64, base: u64) -> f64 {
    if base == 0 {
        0.0
    } else {
        (cost as f64 / base as f64 - 1.0) * 100.0
    }
}

fn bar(limit: Option<Duration>) -> ProgressBar {
    let target = ProgressDrawTarget::stderr();
    let (bar, template) = match limit {
        Some(limit) => (
            ProgressBar::with_draw_target(Some(limit.as_millis() as u64), target),
            "{bar:20.cyan/blue} {elapsed:>4}  {wide_msg}",
        ),
        None => (
            ProgressBar::with_draw_target(None, target),
            "{spinner:.cyan} {elapsed:>4}  {wide_msg}",
        ),
    };
    // The templates above are well-formed; a style that is not would only look plainer.
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style)
}
