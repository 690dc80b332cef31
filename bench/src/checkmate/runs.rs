//! The published Gurobi runs of Checkmate's program beside ours, and other solvers on the published
//! program with our limit.

use super::interval_chart::{self, Chart, ChartLine};
use super::others::{self, Others};
use super::{CheckmateConfig, Failure, percent, shown};
use crate::others::SolverRun;
use remat_instances::schedule::CheckmateSchedule;
use remat_report::Table;
use remat_search::{Outcome, Status};

/// One line of the table of published runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The instance.
    pub instance: String,
    /// Budget in GiB.
    pub budget_gib: f64,
    /// Best objective.
    pub objective: Option<f64>,
    /// Its bound.
    pub bound: Option<f64>,
    /// `OPTIMAL`, `TIME_LIMIT`, ...
    pub status: String,
    /// Seconds it took.
    pub seconds: Option<f64>,
    /// Cost of the published schedule, if there is one.
    pub schedule: Option<f64>,
    /// Rows, columns and nonzeros as logged.
    pub size: Option<[usize; 3]>,
    /// Root relaxation after presolve.
    pub root_lp: Option<f64>,
    /// Seconds until incumbent and bound were within 5% and 2%.
    pub seconds_to: [Option<f64>; 2],
}

/// Name of MONeT's formulation in the tables of the benchmark collection.
pub const MONET_FORMULATION: &str = "A";
/// Name of Checkmate's formulation there.
pub const CHECKMATE_FORMULATION: &str = "B";

/// Runs of a formulation in a table of the benchmark collection.
pub fn published(text: &str, formulation: &str) -> Vec<Published> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| header.iter().position(|h| *h == name);
    let mut runs = Vec::new();
    for line in lines {
        // Notes with commas come last, behind every column that is read here.
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |name: &str| {
            column(name)
                .and_then(|k| cells.get(k))
                .copied()
                .unwrap_or("")
        };
        let number = |name: &str| cell(name).parse::<f64>().ok();
        if cell("formulation") != formulation {
            continue;
        }
        let count = |name: &str| cell(name).parse::<usize>().ok();
        let size = (count("rows").zip(count("cols"))).zip(count("nonzeros"));
        runs.push(Published {
            instance: cell("instance").into(),
            budget_gib: number("budget_gib").unwrap_or(0.0),
            objective: number("best_objective"),
            bound: number("best_bound"),
            status: cell("status").into(),
            seconds: number("seconds"),
            schedule: number("schedule_objective"),
            size: size.map(|((rows, cols), nonzeros)| [rows, cols, nonzeros]),
            root_lp: number("root_lp"),
            seconds_to: [number("sec_gap_5"), number("sec_gap_2")],
        });
    }
    runs.sort_by(|a, b| {
        let name = a.instance.cmp(&b.instance);
        name.then(a.budget_gib.total_cmp(&b.budget_gib))
    });
    runs
}

/// Prints the comparison.
///
/// # Errors
/// [`Failure`].
pub fn run(config: &CheckmateConfig) -> Result<(), Failure> {
    let Some(folder) = config.data("zoo") else {
        return Ok(());
    };
    let anchors = std::fs::read_to_string(folder.join("anchors.csv"))?;
    let mut text = format!(
        "Published runs of Checkmate's program (Gurobi, 12 threads, up to 24 h) and ours, {} s each\n",
        config.seconds
    );
    let others = Others::find(config);
    text += &others.text;
    println!("{text}");
    let mut headings = vec![
        ("instance", false),
        ("GiB", true),
        ("Gurobi", true),
        ("bound", true),
        ("gap", true),
        ("s", true),
        ("ours", true),
        ("bound", true),
        ("gap", true),
        ("s", true),
        ("ours/Gurobi", true),
    ];
    headings.extend(others.headings());
    let mut table = Table::new(&headings);
    let mut lines = Vec::new();
    for run in published(&anchors, CHECKMATE_FORMULATION)
        .iter()
        .filter(|r| config.wants(&r.instance))
    {
        let path = folder.join("graphs").join(format!("{}.json", run.instance));
        if !path.is_file() {
            println!("left out: {} is not there", path.display());
            continue;
        }
        let instance = remat_instances::read(path)?.single_implementation_view();
        let budget_bytes = (run.budget_gib * (1u64 << 30) as f64) as u64;
        let ours = config.solve(&instance, budget_bytes)?;
        let theirs = others.solve(config, &instance, budget_bytes);
        row(&mut table, run, &ours, &theirs);
        lines.push(line(run, &ours, &theirs));
        println!(
            "{} {} GiB: {} {} in {:.1} s",
            run.instance,
            run.budget_gib,
            ours.status.as_str(),
            shown(ours.cost()),
            ours.seconds
        );
    }
    if lines.is_empty() {
        println!("no run has a name like {:?}", config.only);
        return Ok(());
    }
    println!();
    config.publish("runs.txt", &(text + "\n" + &table.render("")))?;
    let mut solvers = vec!["Gurobi, up to 24 h", "remat-bb"];
    solvers.extend(others.solvers.iter().map(|s| s.solver.name()));
    let chart = Chart {
        title: "Published runs: proven bound to best plan".into(),
        solvers: &solvers,
        lines,
    };
    config.save("runs.svg", &interval_chart::draw(&chart)?)
}

fn row(
    table: &mut Table,
    run: &Published,
    ours: &Outcome<CheckmateSchedule>,
    theirs: &[Result<SolverRun, String>],
) {
    let seconds = |s: Option<f64>| s.map_or_else(|| "-".into(), |s| format!("{s:.0}"));
    let gap = match (run.objective, run.bound) {
        (Some(cost), Some(bound)) if cost > 0.0 => Some((cost - bound) / cost),
        _ => None,
    };
    let infeasible = ours.status == Status::Infeasible;
    let ratio = match (ours.cost(), run.objective) {
        (Some(cost), Some(published)) => format!("{:.4}", cost as f64 / published),
        _ => String::new(),
    };
    let mut cells = vec![
        run.instance.clone(),
        run.budget_gib.to_string(),
        run.objective
            .map_or_else(|| run.status.to_lowercase(), |o| o.to_string()),
        run.bound.map_or_else(String::new, |b| format!("{b:.0}")),
        percent(gap),
        seconds(run.seconds),
        match ours.cost() {
            Some(cost) => cost.to_string(),
            None => ours.status.as_str().into(),
        },
        if infeasible {
            String::new()
        } else {
            ours.bound.to_string()
        },
        percent(ours.gap),
        format!("{:.1}", ours.seconds),
        ratio,
    ];
    cells.extend(theirs.iter().flat_map(others::cells));
    table.row(cells);
}

fn line(
    run: &Published,
    ours: &Outcome<CheckmateSchedule>,
    theirs: &[Result<SolverRun, String>],
) -> ChartLine {
    let infeasible = ours.status == Status::Infeasible;
    let bound = (!infeasible).then_some(ours.bound as f64);
    let mut spans = vec![
        (run.bound, run.objective),
        (bound, ours.cost().map(|o| o as f64)),
    ];
    spans.extend(theirs.iter().map(|run| match run {
        Ok(run) => (run.bound, run.objective),
        Err(_) => (None, None),
    }));
    ChartLine {
        name: format!("{} {}", run.instance, run.budget_gib),
        spans,
        note: if infeasible {
            "proven by remat-bb: no plan fits"
        } else {
            "no plan known"
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_the_other_program_are_left_out_and_unknown_numbers_are_none() {
        let text = "instance,formulation,budget_gib,best_objective,best_bound,status,seconds,schedule_objective,note\n\
                    b,B,6,100,90.5,TIME_LIMIT,86400,100,\"two, notes\"\n\
                    b,B,5.5,,,INFEASIBLE,3.5,,\n\
                    a,A,5,1,1,OPTIMAL,1,1,\n";
        let runs = published(text, CHECKMATE_FORMULATION);
        assert_eq!(runs.len(), 2);
        assert_eq!((runs[0].budget_gib, runs[0].objective), (5.5, None));
        assert_eq!(
            (runs[1].objective, runs[1].bound),
            (Some(100.0), Some(90.5))
        );
        assert_eq!(runs[0].status, "INFEASIBLE");
        assert_eq!((runs[0].size, runs[0].root_lp), (None, None));
        assert_eq!(published(text, MONET_FORMULATION).len(), 1);
    }
}
