//! The command line of CBC: a sequence of words, each with or without a dash, some with a value.

use super::request::{Request, SolveRequest, number, write};
use crate::failure::Failure;
use crate::files;
use remat_lp::{ColId, RowId, Sense};
use remat_models::program::Ending;
use remat_report::results::VERSION;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Known options: the whole name, the number of letters that must be given, and the meaning.
const OPTIONS: [(&str, usize, Meaning); 34] = [
    ("seconds", 3, Meaning::Seconds),
    ("ratiogap", 5, Meaning::RelativeGap),
    ("allowablegap", 5, Meaning::AbsoluteGap),
    ("threads", 6, Meaning::Threads),
    ("maxnodes", 4, Meaning::Nodes),
    ("cutoff", 4, Meaning::Cutoff),
    ("mipstart", 4, Meaning::Start),
    ("solution", 4, Meaning::Solution),
    ("printingoptions", 6, Meaning::Printing),
    ("import", 3, Meaning::Import),
    ("maximize", 3, Meaning::Maximise),
    ("maximise", 3, Meaning::Maximise),
    ("minimize", 3, Meaning::Minimise),
    ("minimise", 3, Meaning::Minimise),
    ("initialsolve", 8, Meaning::Relax),
    ("solve", 4, Meaning::Solve),
    ("branchandcut", 6, Meaning::Solve),
    ("primalsimplex", 7, Meaning::Solve),
    ("dualsimplex", 5, Meaning::Solve),
    ("barrier", 4, Meaning::Solve),
    ("presolve", 5, Meaning::Presolve),
    ("cutsonoff", 4, Meaning::Cuts),
    ("heuristicsonoff", 4, Meaning::Heuristics),
    ("randomcbcseed", 10, Meaning::Seed),
    ("randomseed", 7, Meaning::Seed),
    ("integertolerance", 8, Meaning::Integrality),
    ("primaltolerance", 7, Meaning::Feasibility),
    ("quit", 4, Meaning::Nothing),
    ("exit", 4, Meaning::Nothing),
    ("end", 3, Meaning::Nothing),
    ("stop", 4, Meaning::Nothing),
    ("statistics", 4, Meaning::Nothing),
    ("allslack", 4, Meaning::Nothing),
    ("version", 7, Meaning::Nothing),
];

#[derive(Clone, Copy, PartialEq)]
enum Meaning {
    Seconds,
    RelativeGap,
    AbsoluteGap,
    Threads,
    Nodes,
    Cutoff,
    Start,
    Solution,
    Printing,
    Import,
    Maximise,
    Minimise,
    Relax,
    Solve,
    Presolve,
    Cuts,
    Heuristics,
    Seed,
    Integrality,
    Feasibility,
    Nothing,
}

impl Meaning {
    fn of(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        let fits = |&&(name, least, _): &&(&str, usize, Meaning)| {
            word.len() >= least.min(name.len()) && name.starts_with(word.as_str())
        };
        OPTIONS.iter().find(fits).map(|option| option.2)
    }

    fn takes_value(self) -> bool {
        use Meaning::{Maximise, Minimise, Nothing, Relax, Solve};
        !matches!(self, Maximise | Minimise | Relax | Solve | Nothing)
    }
}

/// Output at the end.
#[derive(Default)]
struct Output {
    solution: Option<PathBuf>,
    all: bool,
}

/// Reads the arguments, solves, and writes the requested files.
///
/// # Errors
/// [`Failure`] for unreadable files and invalid numbers.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    files::print(&format!(
        "Welcome to remat-bb {}, which answers to the name cbc\n\n",
        VERSION
    ))?;
    let (request, output) = parsed(arguments)?;
    if request.model.as_os_str().is_empty() {
        return Ok(());
    }
    let solved = request.solve()?;
    files::print(&log(&solved))?;
    match &output.solution {
        Some(path) => write(path, &solution(&solved, output.all)),
        None => Ok(()),
    }
}

fn parsed(arguments: &[String]) -> Result<(Request, Output), Failure> {
    let mut request = Request::default();
    let mut output = Output::default();
    let mut words = arguments.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        let bare = word.trim_start_matches('-');
        let known = Meaning::of(bare);
        let is_file = !word.starts_with('-') && Path::new(word).is_file();
        let Some(meaning) = known.filter(|_| !is_file) else {
            if is_file || !word.starts_with('-') && request.model.as_os_str().is_empty() {
                request.model = word.into();
            } else {
                crate::failure::note(&format!("cbc: {word} has no effect"), false);
                // The value of the unknown option, if it has one.
                let value = |next: &&str| !next.starts_with('-') && Meaning::of(next).is_none();
                if word.starts_with('-') && !Path::new(words.peek().unwrap_or(&"")).is_file() {
                    words.next_if(value);
                }
            }
            continue;
        };
        let value = match meaning.takes_value() {
            true => words.next().unwrap_or_default(),
            false => "",
        };
        let mip = &mut request.settings.model.mip;
        match meaning {
            Meaning::Seconds => request.time_limit(word, value)?,
            Meaning::RelativeGap => {
                mip.relative_gap = number(word, value)?.clamp(0.0, 0.999_999);
            }
            Meaning::AbsoluteGap => mip.absolute_gap = number(word, value)?.max(0.0),
            Meaning::Threads => request.threads(word, value)?,
            Meaning::Nodes => mip.limits.nodes = Some(number(word, value)?.max(0.0) as u64),
            Meaning::Cutoff => mip.cutoff = Some(number(word, value)?).filter(|v| v.abs() < 1e20),
            Meaning::Start => request.starts.push(value.into()),
            Meaning::Solution => output.solution = Some(value.into()),
            Meaning::Printing => output.all = value.starts_with("all"),
            Meaning::Import => request.model = value.into(),
            Meaning::Maximise => request.sense = Some(Sense::Maximise),
            Meaning::Minimise => request.sense = Some(Sense::Minimise),
            Meaning::Relax => request.relax = true,
            Meaning::Presolve => {
                mip.presolve = value != "off";
                if value == "off" {
                    request.settings.model.linear.presolve = None;
                }
            }
            Meaning::Cuts => mip.cuts = value != "off",
            Meaning::Heuristics => mip.heuristics = value != "off",
            Meaning::Seed => mip.seed = number(word, value)?.abs() as u64,
            Meaning::Integrality => {
                mip.integrality_tolerance = number(word, value)?.clamp(1e-10, 1e-3);
            }
            Meaning::Feasibility => {
                mip.feasibility_tolerance = number(word, value)?.clamp(1e-10, 1e-3);
            }
            Meaning::Solve | Meaning::Nothing => {}
        }
    }
    Ok((request, output))
}

/// First words of the solution file, by which its readers know the status.
fn status(solved: &SolveRequest) -> &'static str {
    let found = solved.x().is_some();
    match solved.answer.ending {
        Ending::Optimal => "Optimal",
        Ending::Infeasible if solved.integer => "Integer infeasible",
        Ending::Infeasible | Ending::Cutoff => "Infeasible",
        Ending::Unbounded => "Unbounded",
        Ending::TimeLimit if found => "Stopped on time",
        Ending::TimeLimit => "Stopped on time (no integer solution - continuous used)",
        Ending::Numeric => "Stopped on difficulties",
        Ending::Interrupted if found => "Stopped on ctrl-c",
        Ending::NodeLimit | Ending::IterationLimit if found => "Stopped on nodes",
        _ => "Stopped on iterations (no integer solution - continuous used)",
    }
}

fn solution(solved: &SolveRequest, all: bool) -> String {
    let model = &solved.model;
    let objective = solved.answer.points.first().map_or(0.0, |p| p.objective);
    let mut out = format!("{} - objective value {objective:.8}\n", status(solved));
    let Some(x) = solved.x() else {
        return out;
    };
    let duals = solved.answer.duals.as_ref();
    if all {
        for i in 0..model.num_rows() {
            let id = RowId(i as u32);
            let activity: f64 = model.row(id).map(|(c, v)| v * x[c.index()]).sum();
            let dual = duals.map_or(0.0, |d| d.rows[i]);
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "{i:7} {} {:>20} {:>20}",
                model.row_name(id),
                digits(activity),
                digits(dual)
            );
        }
    }
    for (j, &value) in x.iter().enumerate() {
        if all || value != 0.0 {
            let name = model.col_name(ColId(j as u32));
            let cost = duals.map_or(0.0, |d| d.reduced_costs[j]);
            let (value, cost) = (digits(value), digits(cost));
            let _ = writeln!(out, "{j:7} {name} {value:>20} {cost:>20}");
        }
    }
    out
}

/// A number to 15 significant digits, as CBC prints it (`%.15g` of C).
fn digits(value: f64) -> String {
    const DIGITS: i32 = 15;
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    let scientific = format!("{value:.14e}");
    let parts = scientific.split_once('e');
    let parts = parts.and_then(|(mantissa, e)| Some((mantissa, e.parse::<i32>().ok()?)));
    match parts {
        Some((_, e)) if (-4..DIGITS).contains(&e) => {
            trimmed(&format!("{value:.*}", (DIGITS - 1 - e) as usize))
        }
        Some((mantissa, e)) => {
            let sign = if e < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", trimmed(mantissa), e.abs())
        }
        None => value.to_string(),
    }
}

/// Lines of CBC's log that other programs search for.
fn log(solved: &SolveRequest) -> String {
    let answer = &solved.answer;
    let result = match answer.ending {
        Ending::Optimal => "Optimal solution found",
        Ending::Infeasible | Ending::Cutoff => "Problem proven infeasible",
        Ending::Unbounded => "Problem is unbounded",
        Ending::TimeLimit => "Stopped on time limit",
        Ending::NodeLimit => "Stopped on node limit",
        Ending::Interrupted => "User ctrl-cuser ctrl-c",
        _ => "Difficulties",
    };
    let mut out = format!("Result - {result}\n\n");
    match answer.points.first() {
        Some(point) => {
            let _ = writeln!(
                out,
                "Objective value:                {:.8}",
                point.objective
            );
        }
        None => out += "No feasible solution found\n",
    }
    if solved.stopped() && answer.bound.is_finite() {
        let _ = writeln!(out, "Lower bound:                    {:.3}", answer.bound);
        if !answer.points.is_empty() {
            let _ = writeln!(out, "Gap:                            {:.2}", answer.gap());
        }
    }
    let _ = write!(
        out,
        "Enumerated nodes:               {}\nTotal iterations:               {}\nTime (CPU seconds):             {:.2}\n\
         Time (Wallclock seconds):       {:.2}\n\nTotal time (CPU seconds):       {:.2}   (Wallclock seconds):       {:.2}\n\n",
        answer.info.nodes,
        answer.info.lp_iterations,
        solved.seconds,
        solved.seconds,
        solved.seconds,
        solved.seconds,
    );
    out
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn numbers_are_those_of_c() {
        let cases = [
            (0.0, "0"),
            (0.1 + 0.2, "0.3"),
            (1.0 / 3.0, "0.333333333333333"),
            (-2.5, "-2.5"),
            (123456789012345.6, "123456789012346"),
            (999999999999999.9, "1e+15"),
            (1.5e15, "1.5e+15"),
            (1e-4, "0.0001"),
            (1.25e-5, "1.25e-05"),
            (1e100, "1e+100"),
            (f64::INFINITY, "inf"),
        ];
        for (value, text) in cases {
            assert_eq!(digits(value), text);
        }
    }
}
