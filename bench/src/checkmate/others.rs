//! HiGHS through its Python package, on a program from a file: for comparison only, and left out where it is not there.

use remat_lp::{Model, mps};
use std::process::Command;

/// What HiGHS found.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// How it ended, in its own words.
    pub status: String,
    /// Its best objective.
    pub objective: Option<f64>,
    /// Its dual bound.
    pub bound: Option<f64>,
    /// Seconds of its run, without reading the file.
    pub seconds: f64,
    /// Branch-and-bound nodes.
    pub nodes: i64,
}

const SCRIPT: &str = r#"
import json, sys, time
import highspy
h = highspy.Highs()
h.setOptionValue('output_flag', False)
h.setOptionValue('threads', int(sys.argv[3]))
h.setOptionValue('mip_rel_gap', 1e-4)
h.readModel(sys.argv[1])
h.setOptionValue('time_limit', float(sys.argv[2]))
start = time.time()
h.run()
info = h.getInfo()
finite = lambda v: v if abs(v) < 1e30 else None
print(json.dumps({
    'status': h.modelStatusToString(h.getModelStatus()),
    'objective': finite(info.objective_function_value) if info.primal_solution_status == 2 else None,
    'bound': finite(info.mip_dual_bound),
    'seconds': time.time() - start,
    'nodes': info.mip_node_count,
}))
"#;

/// Whether a Python has the package; its version or what is wrong.
///
/// # Errors
/// What is wrong, in words.
pub fn version(python: &str) -> Result<String, String> {
    let ask = "import highspy; print(highspy.Highs().version())";
    let output = Command::new(python)
        .args(["-c", ask])
        .output()
        .map_err(|e| format!("{python}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{python} has no package highspy"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Solves a model.
///
/// # Errors
/// What went wrong, in words.
pub fn solve(python: &str, model: &Model, seconds: f64, threads: usize) -> Result<Run, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let path = folder.path().join("program.mps");
    mps::write(model, &path).map_err(|e| e.to_string())?;
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    let output = Command::new(python)
        .arg("-c")
        .arg(SCRIPT)
        .arg(&path)
        .arg(seconds.to_string())
        .arg(threads.to_string())
        .output()
        .map_err(|e| format!("{python}: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().last().unwrap_or_default();
    let value: serde_json::Value = serde_json::from_str(line).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        format!("{python}: {}", said.lines().last().unwrap_or("no answer"))
    })?;
    Ok(Run {
        status: value["status"].as_str().unwrap_or("unknown").to_owned(),
        objective: value["objective"].as_f64(),
        bound: value["bound"].as_f64(),
        seconds: value["seconds"].as_f64().unwrap_or(0.0),
        nodes: value["nodes"].as_i64().unwrap_or(0),
    })
}
