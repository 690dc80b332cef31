//! Work in progress: one line that is redrawn on a terminal, plain lines otherwise.
//!
//! The line fits the terminal, whose width is asked anew each time. A narrow one first loses the
//! number of moves, then the bar, then the bound; the gap stays.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use remat_instances::instance::CostUnit;
use remat_report::draw::progress::ProgressPoint;
use remat_search::Progress;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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
    /// With the limit.
    Bar(ProgressBar, Option<Duration>),
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
            Display::Bar(bar(limit), limit)
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
            Display::Bar(bar, limit) => {
                let clauses = self.clauses(progress);
                let room = width().saturating_sub(name.chars().count());
                let (text, has_bar) = fitted(&clauses, room, limit.is_some());
                bar.set_style(style(limit.is_some() && has_bar));
                match limit {
                    Some(_) => bar.set_position((progress.seconds * 1000.0) as u64),
                    None => bar.tick(),
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
                let (text, _) = fitted(&self.clauses(progress), usize::MAX, false);
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

    /// The gap, the best plan, the bound and the moves, in the order in which they are kept.
    fn clauses(&self, progress: &Progress) -> [String; 4] {
        let cost = |cost| {
            let over = percent_over(cost, self.base_cost);
            format!("{} ({over:+.2}%)", remat_report::cost(cost, &self.unit))
        };
        let gap = progress.objective.filter(|o| *o > 0).map(|objective| {
            let gap = objective.saturating_sub(progress.bound) as f64 / objective as f64;
            format!("gap {:.2}%", gap * 100.0)
        });
        let best = progress.objective.map(|o| format!("best {}", cost(o)));
        [
            gap.unwrap_or_else(|| "no plan yet".into()),
            best.unwrap_or_default(),
            format!("bound {}", cost(progress.bound)),
            format!("{:.1} M moves", progress.moves as f64 / 1e6),
        ]
    }
}

/// Columns of the spinner or the bar, and of the elapsed time.
const TIME_COLUMNS: usize = 8;
const BAR_COLUMNS: usize = 21;

/// As many clauses as fit so many columns beside the time, and whether a bar fits beside them. The
/// moves go first, then the bar, then the bound and the cost.
fn fitted(clauses: &[String; 4], columns: usize, has_bar: bool) -> (String, bool) {
    let text = |count: usize| {
        let shown = clauses[..count].iter().filter(|clause| !clause.is_empty());
        shown.map(String::as_str).collect::<Vec<_>>().join("  ")
    };
    let room = columns.saturating_sub(TIME_COLUMNS);
    for (count, bar) in [(4, has_bar), (3, has_bar), (3, false), (2, false)] {
        let text = text(count);
        if text.chars().count() + usize::from(bar) * BAR_COLUMNS <= room {
            return (text, bar);
        }
    }
    (text(1), false)
}

/// Columns of the terminal.
fn width() -> usize {
    const UNKNOWN: usize = 80;
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(UNKNOWN, |(width, _)| usize::from(width.0))
}

/// Time after which an activity is shown.
const SHORT: Duration = Duration::from_secs(1);

/// An activity without figures of its own: a line on a terminal with the time that it has taken,
/// once that is more than a second. It goes when this value does.
pub struct Activity {
    line: Option<Line>,
}

/// The line of an activity, and the thread that draws it.
struct Line {
    text: Arc<Mutex<String>>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Activity {
    /// Begins an activity; `quiet` shows no line. Where no further thread starts, it has no line.
    pub fn begin(text: &str, quiet: bool) -> Activity {
        if quiet || !std::io::stderr().is_terminal() {
            return Activity { line: None };
        }
        let text = Arc::new(Mutex::new(text.to_owned()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (shown, ended) = (text.clone(), is_over.clone());
        let thread = std::thread::Builder::new().spawn(move || draw(&shown, &ended));
        let line = thread.ok().map(|thread| Line {
            text,
            is_over,
            thread,
        });
        Activity { line }
    }

    /// Returns whether it has a line on a terminal.
    pub fn is_shown(&self) -> bool {
        self.line.is_some()
    }

    /// Says what is done now.
    pub fn say(&self, text: String) {
        if let Some(line) = &self.line {
            *line.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
        }
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            line.is_over.store(true, Ordering::Relaxed);
            line.thread.thread().unpark();
            // A panic of the drawing thread leaves its line on the terminal at worst.
            let _ = line.thread.join();
        }
    }
}

/// Draws the line of an activity until it is over.
fn draw(text: &Mutex<String>, is_over: &AtomicBool) {
    let begun = Instant::now();
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(style(false));
    while !is_over.load(Ordering::Relaxed) {
        if begun.elapsed() >= SHORT {
            let text = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
            bar.set_message(text);
            bar.tick();
        }
        std::thread::park_timeout(SHORT / 5);
    }
    bar.finish_and_clear();
}

fn percent_over(cost: u64, base: u64) -> f64 {
    if base == 0 {
        0.0
    } else {
        (cost as f64 / base as f64 - 1.0) * 100.0
    }
}

fn bar(limit: Option<Duration>) -> ProgressBar {
    let length = limit.map(|limit| limit.as_millis() as u64);
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
    bar.with_style(style(limit.is_some()))
}

fn style(has_bar: bool) -> ProgressStyle {
    let template = match has_bar {
        true => "{bar:20.cyan/blue} {elapsed:>4}  {wide_msg}",
        false => "{spinner:.cyan} {elapsed:>4}  {wide_msg}",
    };
    // The templates are well-formed; a style that is not would only look plainer.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_terminals_lose_moves_then_the_bar_and_keep_the_gap() {
        let clauses = [
            "gap 1.25%",
            "best 126.4 ms (+6.08%)",
            "bound 124.8 ms (+4.75%)",
        ];
        let [gap, best, bound] = clauses.map(String::from);
        let clauses = [gap, best, bound, "4.4 M moves".to_owned()];
        for (columns, words, bar) in [
            (120, "moves", true),
            (90, "bound", true),
            (70, "bound", false),
            (45, "best", false),
            (20, "gap", false),
            (5, "gap", false),
        ] {
            let (text, has_bar) = fitted(&clauses, columns, true);
            assert!(text.starts_with("gap 1.25%"), "{columns}: {text}");
            assert!(text.contains(words), "{columns}: {text}");
            assert_eq!(has_bar, bar, "{columns}: {text}");
        }
    }
}
