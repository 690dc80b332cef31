//! Nodes in the format of files: steps and bases shared by nodes are written once.

use crate::mip::extend::Decision;
use crate::mip::relaxation::{BasisSnapshot, ExtraRow};
use crate::mip::tree::{Branched, PathLink, TreeNode};
use remat_lp::{Basis, Bounds, ColId, VarStatus};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An interval of a linear expression.
type PackedRow = (Vec<(u32, f64)>, f64, f64);

#[derive(Serialize, Deserialize)]
struct PackedLink {
    /// Position of the parent, which precedes it.
    parent: Option<u32>,
    bounds: Vec<(u32, f64, f64)>,
    decided: Vec<PackedRow>,
    rows: Vec<Arc<ExtraRow>>,
}

/// A basis, with four statuses in a byte.
#[derive(Serialize, Deserialize)]
pub(crate) struct PackedBasis {
    cols: u64,
    rows: u64,
    statuses: Vec<u8>,
    tags: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
struct PackedNode {
    id: u64,
    depth: u32,
    bound: f64,
    estimate: f64,
    link: Option<u32>,
    basis: Option<u32>,
    branched: Option<Branched>,
}

/// A collection of nodes.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct PackedNodes {
    links: Vec<PackedLink>,
    bases: Vec<PackedBasis>,
    nodes: Vec<PackedNode>,
}

impl PackedBasis {
    pub fn new(basis: &Basis, tags: &[u64]) -> PackedBasis {
        let all: Vec<VarStatus> = basis.cols.iter().chain(&basis.rows).copied().collect();
        let code = |s: &VarStatus| match s {
            VarStatus::Basic => 0u8,
            VarStatus::AtLower => 1,
            VarStatus::AtUpper => 2,
            VarStatus::Free => 3,
        };
        let pack = |four: &[VarStatus]| {
            let codes = four.iter().enumerate();
            codes.fold(0u8, |byte, (k, s)| byte | code(s) << (2 * k))
        };
        PackedBasis {
            cols: basis.cols.len() as u64,
            rows: basis.rows.len() as u64,
            statuses: all.chunks(4).map(pack).collect(),
            tags: tags.to_vec(),
        }
    }

    pub fn unpack(&self) -> Basis {
        let at = |k: u64| {
            let byte = self.statuses.get((k / 4) as usize).copied().unwrap_or(0);
            match (byte >> (2 * (k % 4))) & 3 {
                0 => VarStatus::Basic,
                1 => VarStatus::AtLower,
                2 => VarStatus::AtUpper,
                _ => VarStatus::Free,
            }
        };
        Basis {
            cols: (0..self.cols).map(at).collect(),
            rows: (self.cols..self.cols + self.rows).map(at).collect(),
        }
    }
}

fn packed_row((entries, b): &(Vec<(ColId, f64)>, Bounds)) -> PackedRow {
    let entries = entries.iter().map(|(j, v)| (j.0, *v)).collect();
    (entries, b.lower, b.upper)
}

fn unpacked_row((entries, lower, upper): PackedRow) -> (Vec<(ColId, f64)>, Bounds) {
    let entries = entries.into_iter().map(|(j, v)| (ColId(j), v)).collect();
    (entries, Bounds::new(lower, upper))
}

impl PackedNodes {
    pub fn new<'a>(nodes: impl Iterator<Item = &'a TreeNode>) -> PackedNodes {
        let mut out = PackedNodes::default();
        // Shared objects are recognised by their address.
        let mut links: BTreeMap<usize, u32> = BTreeMap::new();
        let mut bases: BTreeMap<usize, u32> = BTreeMap::new();
        for n in nodes {
            let link = n.path.as_ref().map(|p| out.add_path(p, &mut links));
            let basis = n.basis.as_ref().map(|b| {
                *bases.entry(Arc::as_ptr(b) as usize).or_insert_with(|| {
                    out.bases.push(PackedBasis::new(&b.basis, &b.tags));
                    out.bases.len() as u32 - 1
                })
            });
            out.nodes.push(PackedNode {
                id: n.id,
                depth: n.depth,
                bound: n.bound,
                estimate: n.estimate,
                link,
                basis,
                branched: n.branched,
            });
        }
        out
    }

    /// Adds the missing steps of a path. Iterative, because recursion would overflow the stack in
    /// deep trees.
    fn add_path(&mut self, path: &Arc<PathLink>, known: &mut BTreeMap<usize, u32>) -> u32 {
        let mut fresh = Vec::new();
        let mut at = Some(path);
        let mut parent = None;
        while let Some(link) = at {
            if let Some(&k) = known.get(&(Arc::as_ptr(link) as usize)) {
                parent = Some(k);
                break;
            }
            fresh.push(link);
            at = link.parent.as_ref();
        }
        for link in fresh.into_iter().rev() {
            self.links.push(PackedLink {
                parent,
                bounds: (link.decision.bounds.iter())
                    .map(|(j, b)| (j.0, b.lower, b.upper))
                    .collect(),
                decided: link.decision.rows.iter().map(packed_row).collect(),
                rows: link.rows.clone(),
            });
            let k = self.links.len() as u32 - 1;
            known.insert(Arc::as_ptr(link) as usize, k);
            parent = Some(k);
        }
        // The path has at least one step, which is known by now.
        parent.unwrap_or(0)
    }

    /// Unpacks the nodes; `None` if they are inconsistent.
    pub fn unpack(self) -> Option<Vec<TreeNode>> {
        let mut links: Vec<Arc<PathLink>> = Vec::with_capacity(self.links.len());
        for l in self.links {
            let parent = match l.parent {
                Some(k) => Some(links.get(k as usize)?.clone()),
                None => None,
            };
            links.push(Arc::new(PathLink {
                parent,
                decision: Decision {
                    bounds: (l.bounds.into_iter())
                        .map(|(j, a, b)| (ColId(j), Bounds::new(a, b)))
                        .collect(),
                    rows: l.decided.into_iter().map(unpacked_row).collect(),
                },
                rows: l.rows,
            }));
        }
        let bases: Vec<Arc<BasisSnapshot>> = (self.bases.iter())
            .map(|b| {
                Arc::new(BasisSnapshot {
                    basis: b.unpack(),
                    tags: b.tags.clone(),
                })
            })
            .collect();
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for n in self.nodes {
            let path = match n.link {
                Some(k) => Some(links.get(k as usize)?.clone()),
                None => None,
            };
            let basis = match n.basis {
                Some(k) => Some(bases.get(k as usize)?.clone()),
                None => None,
            };
            nodes.push(TreeNode {
                id: n.id,
                depth: n.depth,
                bound: n.bound,
                estimate: n.estimate,
                path,
                basis,
                branched: n.branched,
            });
        }
        Some(nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(parent: Option<Arc<PathLink>>, col: u32) -> Arc<PathLink> {
        Arc::new(PathLink {
            parent,
            decision: Decision::at_most(ColId(col), f64::from(col)),
            rows: Vec::new(),
        })
    }

    #[test]
    fn nodes_come_back_with_what_they_share() {
        let root = step(None, 1);
        let (a, b) = (step(Some(root.clone()), 2), step(Some(root), 3));
        let statuses = [
            VarStatus::Basic,
            VarStatus::AtLower,
            VarStatus::AtUpper,
            VarStatus::Free,
            VarStatus::AtUpper,
        ];
        let basis = Arc::new(BasisSnapshot {
            basis: Basis {
                cols: statuses[..3].to_vec(),
                rows: statuses[3..].to_vec(),
            },
            tags: vec![7],
        });
        let node = |id, path: &Arc<PathLink>| TreeNode {
            id,
            depth: 2,
            bound: f64::NEG_INFINITY,
            estimate: 1.0,
            path: Some(path.clone()),
            basis: Some(basis.clone()),
            branched: None,
        };
        let nodes = [node(1, &a), node(2, &b), node(3, &a)];
        let bytes = postcard::to_stdvec(&PackedNodes::new(nodes.iter())).unwrap();
        let packed: PackedNodes = postcard::from_bytes(&bytes).unwrap();
        assert_eq!((packed.links.len(), packed.bases.len()), (3, 1));
        let back = packed.unpack().unwrap();
        for (n, m) in nodes.iter().zip(&back) {
            assert_eq!((n.id, n.bound), (m.id, m.bound));
            let decisions =
                |n: &TreeNode| -> Vec<_> { n.steps().iter().map(|s| s.decision.clone()).collect() };
            assert_eq!(decisions(n), decisions(m));
            let (x, y) = (n.basis.as_ref().unwrap(), m.basis.as_ref().unwrap());
            assert_eq!((&x.basis, &x.tags), (&y.basis, &y.tags));
        }
        let shared = |n: &TreeNode| n.path.as_ref().map(Arc::as_ptr);
        assert_eq!(shared(&back[0]), shared(&back[2]));
    }
}
