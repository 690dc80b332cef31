//! The form with all its columns and rows, for files and for solvers that take a program at once.

use super::{CheckmateGraph, Interval, Row};
use remat_lp::{Model, ModelBuilder, RowId, Sense};
use std::collections::BTreeMap;

/// The program of a graph: a binary for every interval, rows of needs, inputs, parents and memory.
/// Costs are in the instance's unit, memory in units of [`CheckmateGraph::memory_unit`].
///
/// There are up to `n^3 / 3` columns for `n` nodes with two readers each, and up to `n^2 / 2`
/// entries in a column.
///
/// # Panics
/// Never: entries are finite, one for each row and column.
///
/// ```
/// use remat_formulations::checkmate::CheckmateGraph;
/// use remat_formulations::checkmate::interval::written;
/// let instance = remat_formulations::zoo::build(&"chain?n=3".parse()?)?;
/// let graph = CheckmateGraph::new(&instance, 4 << 20)?;
/// let model = written(&graph);
/// assert_eq!(model.col_name(remat_lp::ColId(0)), "I_0_0_1_1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn written(graph: &CheckmateGraph) -> Model {
    let mut b = ModelBuilder::new(Sense::Minimise);
    b.set_name("checkmate_interval");
    b.set_offset(graph.base_cost() as f64);
    let unit = |row: &Row| match row.is_memory() {
        true => graph.memory_unit(),
        false => 1.0,
    };
    let mut rows: BTreeMap<Row, RowId> = BTreeMap::new();
    for row in all_rows(graph) {
        let side = row.right_side(graph) as f64 / unit(&row);
        let id = match row.is_memory() {
            true => b.add_row(..=side, []),
            false => b.add_row(side.., []),
        };
        b.set_row_name(id, name(&row));
        rows.insert(row, id);
    }
    for column in all_columns(graph) {
        let Interval {
            node,
            start,
            end,
            reader,
        } = column;
        let cost = match column.is_recomputed() {
            true => graph.cost_again[node as usize],
            false => 0,
        };
        let col = b.add_col(cost as f64, 0.0..=1.0);
        b.set_integer(col, true);
        b.set_col_name(col, format!("I_{node}_{start}_{end}_{reader}"));
        for (row, id) in near(graph, &column).filter_map(|row| rows.get_key_value(&row)) {
            let entry = row.coefficient(graph, &column) as f64;
            if entry != 0.0 {
                b.add_entry(*id, col, entry / unit(row));
            }
        }
    }
    b.build()
        .expect("entries are finite, one for each row and column")
}

/// Returns whether a node may run in a stage.
fn runs(graph: &CheckmateGraph, node: u32, stage: u32) -> bool {
    node == stage || graph.stages_again(node as usize).contains(&stage)
}

/// Rows of needs; and for every possible recomputation, the rows of its inputs, its parent and the
/// memory there.
fn all_rows(graph: &CheckmateGraph) -> Vec<Row> {
    let mut rows = Vec::new();
    for stage in 0..graph.len() as u32 {
        for node in (0..=stage).filter(|k| runs(graph, *k, stage)) {
            for &input in &graph.needs[node as usize] {
                rows.push(match node == stage {
                    true => Row::Need {
                        node: input,
                        reader: stage,
                    },
                    false => Row::Input { stage, node, input },
                });
            }
            if node < stage && graph.parent[node as usize].is_some() {
                rows.push(Row::Parent { stage, node });
            }
            let gauge = 0;
            rows.push(Row::Memory { stage, node, gauge });
        }
    }
    rows
}

/// Intervals that begin with a run and end with a reader's run.
fn all_columns(graph: &CheckmateGraph) -> Vec<Interval> {
    let n = graph.len() as u32;
    let mut columns = Vec::new();
    for node in 0..n {
        let starts = [node].into_iter().chain(graph.stages_again(node as usize));
        for start in starts {
            for end in start..n {
                let readers = graph.users[node as usize].iter().copied();
                let readers = readers.filter(|q| *q <= end && runs(graph, *q, end));
                columns.extend(readers.map(|reader| Interval {
                    node,
                    start,
                    end,
                    reader,
                }));
            }
        }
    }
    columns
}

/// Rows in which an interval may have an entry.
fn near<'g>(graph: &'g CheckmateGraph, column: &Interval) -> impl Iterator<Item = Row> + 'g {
    let Interval {
        node, start, end, ..
    } = *column;
    let users = || graph.users[node as usize].iter().copied();
    let needs = users().map(move |reader| Row::Need { node, reader });
    let inputs = users().flat_map(move |user| {
        (start..=end).map(move |stage| Row::Input {
            stage,
            node: user,
            input: node,
        })
    });
    let own = graph.needs[node as usize].iter();
    let own = own.map(move |&input| Row::Input {
        stage: start,
        node,
        input,
    });
    let children = (0..graph.len() as u32)
        .filter(move |k| *k == node || graph.parent[*k as usize] == Some(node))
        .map(move |node| Row::Parent { stage: start, node });
    let memory = (start..=end).flat_map(|stage| {
        (0..=stage).map(move |node| Row::Memory {
            stage,
            node,
            gauge: 0,
        })
    });
    needs.chain(inputs).chain(own).chain(children).chain(memory)
}

fn name(row: &Row) -> String {
    match row {
        Row::Need { node, reader } => format!("need_{node}_{reader}"),
        Row::Input { stage, node, input } => format!("input_{stage}_{node}_{input}"),
        Row::Parent { stage, node } => format!("parent_{stage}_{node}"),
        Row::Memory { stage, node, .. } => format!("memory_{stage}_{node}"),
        // Cuts are not written.
        _ => "cut".into(),
    }
}
