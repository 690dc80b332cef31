//! Proofs of bounds, as text (`remat-proof/2`, `docs/theory/proof.md`) that can be checked without
//! the solver: the same for every program whose columns are stretches of lives, or trips.

use remat_instances::instance::{Instance, NodeId};
use remat_search::{BoundProof, BytePrice};
use remat_solver::price::{Branch, Program, ProvenNode, TreeProof};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The moment whose memory a row limits.
pub(crate) struct Limited {
    /// Number of the node whose first computation ends the stage.
    pub stage: u32,
    /// Number of the node whose turn it is.
    pub node: u32,
    /// Growth of the right side for a byte more of memory. A row that counts whole tensors grows in
    /// proportion.
    pub growth: f64,
}

impl Limited {
    /// A row whose right side is in bytes.
    pub fn by_bytes(stage: u32, node: u32) -> Limited {
        Limited {
            stage,
            node,
            growth: 1.0,
        }
    }

    /// A row that lets tensors weigh at most `most` in `room` bytes.
    pub fn by_weights(stage: u32, node: u32, most: u32, room: i64) -> Limited {
        Limited {
            stage,
            node,
            growth: f64::from(most) / room.max(1) as f64,
        }
    }
}

/// A program that the proof checker knows: its rows and quantities have words.
pub(crate) trait Proven: Program {
    /// Name of the program.
    const NAME: &'static str;

    /// Duals in fixed point with so many bits behind the point, as for
    /// [`Pricing::lagrangian_bound`](remat_solver::price::Pricing::lagrangian_bound); `None` if
    /// they prove no bound.
    fn multipliers(&self, rows: &[Self::Row], duals: &[f64]) -> Option<(u32, Vec<i128>)>;
    /// A cost above which a bound means that the program is infeasible.
    fn beyond(&self) -> u64 {
        self.cost_upper_bound()
    }
    /// Writes further data of the program, beside instance and budget, in lines.
    fn write_terms(&self, _: &Instance, _: &mut String) {}

    /// Returns whether a proof can leave out a row: an equation that every life, or every choice,
    /// satisfies, so that its multiplier cancels.
    fn is_left_out(&self, _: &Self::Row) -> bool {
        false
    }
    /// The moment whose memory a row limits; `None` for other rows.
    fn limited(&self, row: &Self::Row) -> Option<Limited>;
    /// Writes a row.
    fn write_row(&self, row: &Self::Row, text: &mut String);
    /// Writes the quantity of a branching.
    fn write_quantity(&self, quantity: &Self::Quantity, text: &mut String);
}

/// The proof of a bound that needs no rows: the cost of the runs that every schedule has, each in
/// the cheapest way that fits by itself.
pub(crate) fn trivial<P: Proven>(instance: &Instance, budget_bytes: u64, bound: u64) -> BoundProof {
    let mut text = head::<P>(instance, budget_bytes, &format!("bound {bound}"));
    text.push_str("rows 0\nnodes 1\nroot 0 0\n");
    BoundProof::new(text, Some(bound))
}

/// The proof that no schedule fits: a node does not fit beside the memory that it has in every
/// schedule.
pub(crate) fn too_small<P: Proven>(
    instance: &Instance,
    budget_bytes: u64,
    node: NodeId,
) -> BoundProof {
    let claim = format!("too-small {}", node.0);
    BoundProof::new(head::<P>(instance, budget_bytes, &claim), None)
}

/// The proof of a tree's bound; `program` is the program of the instance for the budget.
pub(crate) fn of_tree<P: Proven>(
    instance: &Instance,
    budget_bytes: u64,
    program: &P,
    tree: &TreeProof<P>,
) -> BoundProof {
    let proven = tree.bound().max(program.base_cost());
    let bound = (proven <= program.beyond()).then_some(proven);
    let claim = bound.map_or("infeasible".into(), |b| format!("bound {b}"));
    let mut text = head::<P>(instance, budget_bytes, &claim);
    program.write_terms(instance, &mut text);
    let mut count = 0;
    let number = |row: &P::Row| {
        let is_in = !program.is_left_out(row);
        count += u32::from(is_in);
        is_in.then(|| count - 1)
    };
    let numbers: Vec<Option<u32>> = tree.rows.iter().map(number).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "rows {count}");
    for (row, _) in tree.rows.iter().zip(&numbers).filter(|r| r.1.is_some()) {
        program.write_row(row, &mut text);
        text.push('\n');
    }
    let _ = writeln!(text, "nodes {}", tree.nodes.len());
    for node in &tree.nodes {
        match &node.above {
            None => text.push_str("root"),
            Some((above, None)) => {
                let _ = write!(text, "again {above}");
            }
            Some((above, Some(branch))) => {
                let _ = write!(text, "below {above} ");
                write_branch(program, branch, &mut text);
            }
        }
        let rows: Vec<P::Row> = node
            .duals
            .iter()
            .map(|d| tree.rows[d.0 as usize].clone())
            .collect();
        let duals: Vec<f64> = node.duals.iter().map(|d| d.1).collect();
        let (bits, fixed) = program.multipliers(&rows, &duals).unwrap_or_default();
        let used = node.duals.iter().zip(fixed);
        let used = used.filter_map(|(d, y)| Some((numbers[d.0 as usize]?, y)));
        let used: Vec<(u32, i128)> = used.filter(|d| d.1 != 0).collect();
        let _ = writeln!(text, " {bits} {}", used.len());
        for (row, multiplier) in used {
            // Multipliers of memory rows are written as prices of a byte.
            let _ = writeln!(text, "{row} {}", multiplier.abs());
        }
    }
    BoundProof::new(text, bound).with_prices(byte_prices(program, tree))
}

/// Prices of memory at the root: duals of memory rows, and of cuts made from them.
fn byte_prices<P: Proven>(program: &P, tree: &TreeProof<P>) -> Vec<BytePrice> {
    // The root may come again with duals that prove more.
    let is_root = |node: &ProvenNode<P::Quantity>| match &node.above {
        None => true,
        Some((above, branch)) => *above == 0 && branch.is_none(),
    };
    let roots = tree.nodes.iter().filter(|node| is_root(node));
    let Some(root) = roots.max_by_key(|node| node.bound) else {
        return Vec::new();
    };
    let mut prices: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for (row, dual) in &root.duals {
        if let Some(at) = program.limited(&tree.rows[*row as usize]) {
            *prices.entry((at.stage, at.node)).or_default() += dual.abs() * at.growth;
        }
    }
    let prices = prices.into_iter().filter(|price| price.1 > 0.0);
    let price = |((stage, node), per_byte)| BytePrice {
        stage: NodeId(stage),
        node: NodeId(node),
        per_byte,
    };
    prices.map(price).collect()
}

/// The first lines, up to the claim.
pub(crate) fn head<P: Proven>(instance: &Instance, budget_bytes: u64, claim: &str) -> String {
    format!(
        "remat-proof/2\nprogram {}\ninstance {}\nbudget {budget_bytes}\nclaim {claim}\n",
        P::NAME,
        instance.name()
    )
}

/// Writes a list behind a word: its length, then its items.
pub(crate) fn write_list<T: std::fmt::Display>(
    list: impl ExactSizeIterator<Item = T>,
    text: &mut String,
) {
    let _ = write!(text, " {}", list.len());
    for item in list {
        let _ = write!(text, " {item}");
    }
}

/// Writes a list of pairs behind a word.
pub(crate) fn write_pairs<T: std::fmt::Display>(
    list: impl ExactSizeIterator<Item = (u32, T)>,
    text: &mut String,
) {
    write_list(list.map(|(a, b)| format!("{a} {b}")), text);
}

/// Writes a branching.
pub(crate) fn write_branch<P: Proven>(
    program: &P,
    branch: &Branch<P::Quantity>,
    text: &mut String,
) {
    program.write_quantity(&branch.quantity, text);
    let sense = if branch.at_least { ">=" } else { "<=" };
    let _ = write!(text, " {sense} {}", branch.count);
}
