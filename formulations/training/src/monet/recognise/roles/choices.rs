//! Ways of forward nodes, and in-place steps.

use super::super::shape::Shape;
use super::{ForwardRoles, RoleReader};
use std::collections::HashMap;

impl RoleReader<'_> {
    /// `F`: of forward nodes from stage 1 on; others are left with their covers.
    pub(super) fn alternatives(&mut self) -> Option<()> {
        let stages = self.stages;
        for shape in self.shapes {
            let (x, of) = match shape {
                Shape::Choice { x, of } => (x, of.clone()),
                Shape::Covered { x, cell } => (x, vec![cell.0, cell.1]),
                Shape::Below { x, y } => (x, vec![*y]),
                Shape::Cover(list) if list.iter().all(|c| !self.known.contains(c)) => {
                    self.roles.covers.push(list.clone());
                    continue;
                }
                _ => continue,
            };
            if let Some((t, n)) = self.computed_at.get(x)
                && of.iter().all(|c| !self.known.contains(c))
            {
                let node = &mut self.roles.forward[*n];
                node.ways.resize(stages, Vec::new());
                node.ways[*t] = of;
            }
        }
        // A choice is among as many ways in every stage that may run the node again.
        let alike = |node: &ForwardRoles| {
            let mut later = node.ways.iter().skip(1).map(Vec::len);
            let first = later.next().unwrap_or(0);
            later.all(|count| count == first)
        };
        self.roles.forward.iter().all(alike).then_some(())?;
        // The same way in every stage has the same cost and the same memory.
        let memory = self.memory_of();
        let key = |c: &u32| (self.p.cost[*c as usize], memory.get(c).copied());
        let by_key = |a: &u32, b: &u32| {
            let (a, b) = (key(a), key(b));
            a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal)
        };
        for node in &mut self.roles.forward {
            for ways in &mut node.ways {
                ways.sort_by(by_key);
            }
        }
        for cover in &mut self.roles.covers {
            cover.sort_by(by_key);
        }
        for n in 0..self.roles.forward.len() {
            for (t, ways) in self.roles.forward[n].ways.clone().iter().enumerate() {
                self.known.extend(ways);
                for (way, c) in ways.iter().enumerate() {
                    self.way_needs(n, t, way, *c);
                }
            }
        }
        Some(())
    }

    /// Reads of a single way of a node.
    fn way_needs(&mut self, n: usize, t: usize, way: usize, column: u32) {
        let ways = self.roles.forward[n].ways[t].len();
        self.roles.forward[n].way_needs.resize(ways, Vec::new());
        for shape in self.shapes {
            if let Shape::Covered { x, cell } = shape
                && *x == column
                && let Some((_, u)) = self.input_cell(*cell)
                && !self.roles.forward[n].way_needs[way].contains(&u)
            {
                self.roles.forward[n].way_needs[way].push(u);
            }
        }
    }

    /// Coefficient of each column in the memory row that has it: they order the ways of one
    /// choice, which are in one row.
    fn memory_of(&self) -> HashMap<u32, f64> {
        let rows = self.roles.memory.iter().map(|r| &self.p.rows[*r]);
        let entries = rows.flat_map(|row| row.entries.iter().copied());
        entries.filter(|e| !self.known.contains(&e.0)).collect()
    }

    /// `IP`.
    pub(super) fn in_place_steps(&mut self) -> Option<()> {
        if !self.roles.in_place {
            return Some(());
        }
        let stages = self.stages;
        for node in &mut self.roles.forward {
            node.inside = vec![None; stages];
        }
        let mut over: HashMap<u32, (usize, usize)> = HashMap::new();
        for shape in self.shapes {
            if let Shape::Overwritten { p, i } = shape
                && let Some((t, u)) = self.intact_at.get(p)
            {
                over.insert(*i, (*t, *u));
            }
        }
        for shape in self.shapes {
            if let Shape::Below { x, y } = shape
                && !self.known.contains(x)
                && let Some((t, v)) = self.computed_at.get(y)
            {
                let node = &mut self.roles.forward[*v];
                node.inside[*t] = Some(*x);
                match over.get(x) {
                    Some((k, u)) if k == t && node.over.is_none_or(|other| other == *u) => {
                        node.over = Some(*u);
                    }
                    Some(_) => return None,
                    None => {}
                }
            }
        }
        // All nodes run in stage 0, so that only the overwritten tensor identifies the step.
        for (i, (_, u)) in ordered_by_column(&over).filter(|(_, (t, _))| *t == 0) {
            let mut nodes = self.roles.forward.iter_mut();
            let node = nodes.find(|n| n.over == Some(u) && n.inside[0].is_none())?;
            node.inside[0] = Some(i);
        }
        // A by-product is in place where its parent is.
        for n in 0..self.roles.forward.len() {
            let node = &self.roles.forward[n];
            if let Some(parent) = node.parent
                && node.over.is_none()
                && node.inside.iter().any(Option::is_some)
            {
                self.roles.forward[n].over = Some(parent);
            }
        }
        Some(())
    }
}

fn ordered_by_column(
    over: &HashMap<u32, (usize, usize)>,
) -> impl Iterator<Item = (u32, (usize, usize))> {
    let mut list: Vec<_> = over.iter().map(|(c, at)| (*c, *at)).collect();
    list.sort_unstable();
    list.into_iter()
}
