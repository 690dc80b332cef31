//! The evidence of a proof: rows, and a tree that is checked node by node, for any theory
//! (`docs/theory/proof/tree.md`, `docs/theory/proof/exclusions.md`).

use super::claim::Claim;
use super::text::ProofLines;
use super::theory::{QuantityBranch, Theory, read_branch};

/// Limit on the passes of exclusions at a node; they end earlier if a pass changes no exclusion.
const PASSES: usize = 6;

/// Numbers of rows and nodes that were checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows with a multiplier at some node.
    pub rows: usize,
    /// Nodes of the tree.
    pub nodes: usize,
    /// Leaves among them.
    pub leaves: usize,
}

/// Place of a node in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place<Q> {
    /// The root.
    Root,
    /// Below another node, without a branching.
    Again(u32),
    /// Below another node, with a branching.
    Below(u32, QuantityBranch<Q>),
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node<Q> {
    /// Its place in the tree.
    pub place: Place<Q>,
    /// Multipliers are multiples of 2^-bits.
    pub bits: u32,
    /// Rows and their multipliers, at least 0.
    pub multipliers: Vec<(u32, i128)>,
}

/// Rows of a program, and a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence<R, Q> {
    /// Rows.
    pub rows: Vec<R>,
    /// The tree, each node behind its parent.
    pub nodes: Vec<Node<Q>>,
}

impl<R, Q> Evidence<R, Q> {
    /// Reads rows and nodes. [`Claim::TooSmall`] has neither.
    ///
    /// # Errors
    /// The faulty line, and the expected text.
    pub(super) fn read<P: Theory<Row = R, Quantity = Q>>(
        lines: &mut ProofLines<'_>,
        claim: Claim,
    ) -> Result<Self, String> {
        let mut evidence = Evidence {
            rows: Vec::new(),
            nodes: Vec::new(),
        };
        if let Claim::TooSmall(_) = claim {
            return Ok(evidence);
        }
        let rows: usize = lines.headed("rows", "how many rows there are")?;
        for _ in 0..rows {
            let mut line = lines.next()?;
            evidence.rows.push(P::read_row(&mut line)?);
            line.end()?;
        }
        let nodes: usize = lines.headed("nodes", "how many nodes there are")?;
        for number in 0..nodes {
            evidence.nodes.push(read_node::<P>(lines, number, rows)?);
        }
        Ok(evidence)
    }
}

/// Reads a node of the tree. Its multipliers refer to `rows` rows.
fn read_node<P: Theory>(
    lines: &mut ProofLines<'_>,
    number: usize,
    rows: usize,
) -> Result<Node<P::Quantity>, String> {
    let mut line = lines.next()?;
    let place = match line.word("root, again or below")? {
        "root" => Place::Root,
        "again" => Place::Again(line.number("a node of the tree")?),
        "below" => Place::Below(
            line.number("a node of the tree")?,
            read_branch(&mut line, P::read_quantity)?,
        ),
        other => return line.refuse(other, "root, again or below"),
    };
    match &place {
        Place::Root if number == 0 => {}
        Place::Again(above) | Place::Below(above, _) if (*above as usize) < number => {}
        _ => {
            return line.refuse(
                number,
                "the root first, and every node behind the one it hangs at",
            );
        }
    }
    let bits: u32 = line.number("how many bits multipliers have behind the point")?;
    if bits > 100 {
        return line.refuse(bits, "at most 100 bits behind the point");
    }
    let count: usize = line.last_number("how many multipliers there are")?;
    let mut multipliers = Vec::new();
    for _ in 0..count {
        let mut line = lines.next()?;
        let row: u32 = line.number("a row")?;
        let value: i128 = line.last_number("a multiplier")?;
        if row as usize >= rows {
            return line.refuse(row, &format!("a row below {rows}"));
        }
        if value < 0 {
            return line.refuse(value, "a multiplier that is at least 0");
        }
        multipliers.push((row, value));
    }
    Ok(Node {
        place,
        bits,
        multipliers,
    })
}

/// The verdict on a claim that a node does not fit.
///
/// # Errors
/// The node fits.
pub(super) fn check_too_small(is_too_small: bool, node: u32) -> Result<Counts, String> {
    match is_too_small {
        true => Ok(Counts::default()),
        false => Err(format!("node {node} fits within the budget")),
    }
}

/// Checks that the leaves of a tree reach a claim and cover all schedules of a program.
pub(super) fn check_tree<P: Theory>(
    program: &P,
    claim: Claim,
    evidence: &Evidence<P::Row, P::Quantity>,
) -> Result<Counts, String> {
    let target = match claim {
        Claim::Bound(cost) => cost,
        _ => program.beyond(),
    };
    let mut below: Vec<Vec<u32>> = vec![Vec::new(); evidence.nodes.len()];
    for (number, node) in evidence.nodes.iter().enumerate() {
        if let Place::Again(above) | Place::Below(above, _) = node.place {
            below[above as usize].push(number as u32);
        }
    }
    if evidence.nodes.is_empty() {
        return Err("the tree has no node".into());
    }
    let mut checker = Checker {
        program,
        evidence,
        below,
        target,
        used: vec![false; evidence.rows.len()],
        leaves: 0,
    };
    checker.run()?;
    Ok(Counts {
        rows: checker.used.iter().filter(|u| **u).count(),
        nodes: evidence.nodes.len(),
        leaves: checker.leaves,
    })
}

struct Checker<'a, P: Theory> {
    program: &'a P,
    evidence: &'a Evidence<P::Row, P::Quantity>,
    /// Children of each node.
    below: Vec<Vec<u32>>,
    /// Cost that every leaf must reach.
    target: u64,
    used: Vec<bool>,
    leaves: usize,
}

/// A node that is still to be checked, with the branchings and exclusions above it.
struct OpenNode<P: Theory> {
    node: u32,
    exclusions: P::Exclusions,
    branches: Vec<QuantityBranch<P::Quantity>>,
    /// True if the node above reaches the target by itself.
    closed: bool,
}

impl<P: Theory> Checker<'_, P> {
    fn run(&mut self) -> Result<(), String> {
        let mut open = vec![OpenNode {
            node: 0,
            exclusions: self.program.excluded_at_first(),
            branches: Vec::new(),
            closed: false,
        }];
        while let Some(at) = open.pop() {
            open.extend(self.visit(at)?);
        }
        Ok(())
    }

    /// Checks that a row holds at every schedule below a node, unless that is known.
    fn check_row(
        &mut self,
        row: u32,
        branches: &[QuantityBranch<P::Quantity>],
    ) -> Result<(), String> {
        let statement = &self.evidence.rows[row as usize];
        if let Some(branch) = P::branch(statement)
            && !branches.contains(branch)
        {
            return Err("no branching above the node says so".into());
        }
        match std::mem::replace(&mut self.used[row as usize], true) {
            true => Ok(()),
            false => self.program.check_row(statement),
        }
    }

    /// Checks a node and returns its children.
    fn visit(&mut self, at: OpenNode<P>) -> Result<Vec<OpenNode<P>>, String> {
        let OpenNode {
            node: number,
            mut exclusions,
            branches,
            closed,
        } = at;
        let evidence = self.evidence;
        let node = &evidence.nodes[number as usize];
        for &(row, _) in &node.multipliers {
            self.check_row(row, &branches)
                .map_err(|e| format!("row {row}, at node {number}: {e}"))?;
        }
        let one = 1i128 << node.bits;
        let rows = node.multipliers.iter();
        let rows = rows.map(|&(row, y)| (&evidence.rows[row as usize], y));
        let too_large = || {
            format!("node {number}: the multipliers are too large for whole numbers of 128 bits")
        };
        let prices = self.program.prices(rows, one).ok_or_else(too_large)?;
        let sound = self.program.check_prices(&prices);
        sound.map_err(|e| format!("node {number}: {e}"))?;
        let reach = self.program.lagrangian_bound(&prices, &exclusions);
        // The largest bound that is less than the target: costs are whole numbers. Its sums with
        // other costs must not overflow.
        let most = (i128::from(self.target) - 1).checked_mul(one);
        let most = most.filter(|most| *most < i128::MAX / 4);
        let most = most.ok_or_else(too_large)?;
        let closed = closed || reach.is_none_or(|reach| reach > most);
        let below = std::mem::take(&mut self.below[number as usize]);
        if below.is_empty() {
            self.leaves += 1;
            return match (closed, reach) {
                (false, Some(reach)) => Err(format!(
                    "node {number}: its multipliers prove {}, less than {}",
                    reach.div_euclid(one) + i128::from(reach.rem_euclid(one) > 0),
                    self.target
                )),
                _ => Ok(Vec::new()),
            };
        }
        for _ in 0..PASSES {
            let before = P::count(&exclusions);
            self.program.exclude(&prices, most, &mut exclusions);
            if P::count(&exclusions) == before {
                break;
            }
        }
        let places: Vec<Option<QuantityBranch<P::Quantity>>> = below
            .iter()
            .map(|&b| match &evidence.nodes[b as usize].place {
                Place::Below(_, branch) => Some(branch.clone()),
                _ => None,
            })
            .collect();
        let complete = match &places[..] {
            [None] => true,
            [Some(a), Some(b)] => a.completes(b),
            _ => false,
        };
        if !complete {
            return Err(format!(
                "the nodes below node {number} do not cover what is below it"
            ));
        }
        let open = below
            .into_iter()
            .zip(places)
            .map(|(node, branch)| OpenNode {
                node,
                exclusions: exclusions.clone(),
                branches: branches.iter().cloned().chain(branch).collect(),
                closed,
            });
        Ok(open.collect())
    }
}
