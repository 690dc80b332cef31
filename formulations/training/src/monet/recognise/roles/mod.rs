//! Decision of each column of a program, read from the forms of its rows.

mod choices;

use super::light::Light;
use super::shape::Shape;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A forward node by its columns; stages count from 0.
#[derive(Clone, Debug, Default)]
pub(super) struct ForwardRoles {
    /// `R[t,i]`.
    pub computed: Vec<Option<u32>>,
    /// `P[t,i]`: the same column as `R` in programs without in-place steps.
    pub intact: Vec<Option<u32>>,
    /// `S[t+1,i]`.
    pub stored: Vec<u32>,
    /// Nodes that every computation reads.
    pub needs: Vec<usize>,
    /// The node that it is a by-product of.
    pub parent: Option<usize>,
    /// `F[t,i,.]`; empty without a choice.
    pub ways: Vec<Vec<u32>>,
    /// Nodes that only some ways read, by way.
    pub way_needs: Vec<Vec<usize>>,
    /// The node that it may overwrite.
    pub over: Option<usize>,
    /// `IP[t,i]`.
    pub inside: Vec<Option<u32>>,
}

/// The backward node of a stage by its columns.
#[derive(Clone, Debug, Default)]
pub(super) struct BackwardRoles {
    /// `M[t,.]` where there are several ways; empty with one.
    pub ways: Vec<u32>,
    /// Forward nodes that each way reads; one list without several ways.
    pub needs: Vec<Vec<usize>>,
    /// `Z[t,i,p]` by forward node and way.
    pub products: BTreeMap<(usize, usize), u32>,
}

/// Columns by their decisions.
pub(super) struct Roles {
    /// Forward nodes, not in their order.
    pub forward: Vec<ForwardRoles>,
    /// By stage; stage 0 is the loss and has no columns.
    pub backward: Vec<BackwardRoles>,
    /// True if there are in-place steps, and with them `P` columns.
    pub in_place: bool,
    /// Stage and forward node of each `S`, the stage being the one before the storage.
    pub stored_at: HashMap<u32, (usize, usize)>,
    /// Rows that are not of whole numbers, as indices of the rows.
    pub memory: Vec<usize>,
    /// Choices of stage 0 or of a backward node: `F` columns whose place is found from their
    /// memory.
    pub covers: Vec<Vec<u32>>,
}

/// Reads the roles; `None` if the forms of the rows do not fit together.
pub(super) fn read(p: &Light) -> Option<Roles> {
    let shapes: Vec<Shape> = p.rows.iter().map(Shape::of).collect();
    let mut reader = RoleReader::new(p, &shapes)?;
    reader.choices_of_stages();
    reader.chains()?;
    reader.computations()?;
    reader.cells()?;
    while reader.nodes_without_size()? {
        reader.cells()?;
    }
    reader.alternatives()?;
    reader.in_place_steps()?;
    Some(reader.roles)
}

struct RoleReader<'a> {
    p: &'a Light,
    shapes: &'a [Shape],
    /// Columns that each column is at most.
    above: HashMap<u32, Vec<u32>>,
    /// `(a, b, z)` with `z = a b`.
    products: Vec<(u32, u32, u32)>,
    /// `M` columns: number of their group, and place in it.
    choice: HashMap<u32, (usize, usize)>,
    groups: Vec<Vec<u32>>,
    /// Stage and node of `R` and of `P`.
    computed_at: HashMap<u32, (usize, usize)>,
    intact_at: HashMap<u32, (usize, usize)>,
    /// Columns with any role.
    known: HashSet<u32>,
    stages: usize,
    roles: Roles,
}

impl<'a> RoleReader<'a> {
    fn new(p: &'a Light, shapes: &'a [Shape]) -> Option<RoleReader<'a>> {
        let mut below = HashSet::new();
        let mut above: HashMap<u32, Vec<u32>> = HashMap::new();
        for shape in shapes {
            if let Shape::Below { x, y } = *shape {
                below.insert((x, y));
                above.entry(x).or_default().push(y);
            }
        }
        let product = |shape: &Shape| match *shape {
            Shape::Product { a, b, z } => {
                (below.contains(&(z, a)) && below.contains(&(z, b))).then_some((a, b, z))
            }
            _ => None,
        };
        let products = shapes.iter().filter_map(product).collect();
        let is_memory = |row: &usize| shapes[*row] == Shape::Other;
        Some(RoleReader {
            p,
            shapes,
            above,
            products,
            choice: HashMap::new(),
            groups: Vec::new(),
            computed_at: HashMap::new(),
            intact_at: HashMap::new(),
            known: HashSet::new(),
            stages: 0,
            roles: Roles {
                forward: Vec::new(),
                backward: Vec::new(),
                in_place: false,
                stored_at: HashMap::new(),
                memory: (0..shapes.len()).filter(is_memory).collect(),
                covers: Vec::new(),
            },
        })
    }

    /// `M`: covers all of whose columns are factors, each of as many products.
    fn choices_of_stages(&mut self) {
        let mut partners: HashMap<u32, usize> = HashMap::new();
        for (a, b, _) in &self.products {
            *partners.entry(*a).or_default() += 1;
            *partners.entry(*b).or_default() += 1;
        }
        for shape in self.shapes {
            let Shape::Cover(list) = shape else { continue };
            let first = partners.get(&list[0]);
            let alike = list.iter().all(|c| partners.get(c) == first);
            if first.is_some() && alike && list.iter().all(|c| !self.choice.contains_key(c)) {
                for (way, c) in list.iter().enumerate() {
                    self.choice.insert(*c, (self.groups.len(), way));
                    self.known.insert(*c);
                }
                self.groups.push(list.clone());
            }
        }
        for (a, b, z) in &self.products {
            if self.choice.contains_key(a) != self.choice.contains_key(b) {
                self.known.insert(*z);
            }
        }
    }

    /// `S` of tensors that take memory: without a cost, and in several memory rows. Stages by
    /// `S[t+1,i] <= S[t,i] + P[t,i]`.
    fn chains(&mut self) -> Option<()> {
        let mut rows = vec![0u32; self.p.cost.len()];
        for r in &self.roles.memory {
            for (c, _) in &self.p.rows[*r].entries {
                rows[*c as usize] += 1;
            }
        }
        let mut stored: HashSet<u32> = HashSet::new();
        for (c, count) in rows.iter().enumerate() {
            let c = c as u32;
            if *count >= 2 && self.p.cost[c as usize] == 0.0 && !self.known.contains(&c) {
                stored.insert(c);
            }
        }
        for (a, b, _) in &self.products {
            for (m, s) in [(a, b), (b, a)] {
                if self.choice.contains_key(m) {
                    stored.insert(*s);
                }
            }
        }
        let mut next: HashMap<u32, (u32, Option<u32>)> = HashMap::new();
        let mut first: BTreeMap<u32, Option<u32>> = stored.iter().map(|s| (*s, None)).collect();
        let mut later: HashSet<u32> = HashSet::new();
        let mut stored_once: Vec<u32> = Vec::new();
        for shape in self.shapes {
            let (x, negative) = match shape {
                Shape::Below { x, y } => (x, [Some(*y), None]),
                Shape::Covered { x, cell } => (x, [Some(cell.0), Some(cell.1)]),
                _ => continue,
            };
            if !stored.contains(x) {
                continue;
            }
            let negative = negative.iter().flatten();
            let (s, p): (Vec<u32>, Vec<u32>) = negative.partition(|c| stored.contains(c));
            match (&s[..], &p[..]) {
                ([s], _) => {
                    next.insert(*s, (*x, p.first().copied()));
                    later.insert(*x);
                }
                ([], [p]) => {
                    first.insert(*x, Some(*p));
                }
                // In a single memory row, and identified by its cost.
                ([], [a, b]) => {
                    let free = |c: u32| self.p.cost[c as usize] == 0.0;
                    let (s, p) = match (free(*a), free(*b)) {
                        (true, false) => (*a, *b),
                        (false, true) => (*b, *a),
                        _ => return None,
                    };
                    stored_once.push(s);
                    next.insert(s, (*x, Some(p)));
                    later.insert(*x);
                }
                _ => return None,
            }
        }
        first.extend(stored_once.into_iter().map(|s| (s, None)));
        for (s, p0) in first.iter().filter(|(s, _)| !later.contains(s)) {
            let mut node = ForwardRoles {
                stored: vec![*s],
                intact: vec![*p0],
                ..ForwardRoles::default()
            };
            let mut at = *s;
            while let Some((s, p)) = next.get(&at) {
                node.stored.push(*s);
                node.intact.push(*p);
                at = *s;
                if node.stored.len() > first.len() {
                    return None;
                }
            }
            self.roles.forward.push(node);
        }
        let lengths = self.roles.forward.iter().map(|n| n.stored.len());
        self.stages = lengths.max()?;
        self.last_storage();
        let alike = |n: &ForwardRoles| n.stored.len() == self.stages;
        (self.stages >= 2 && self.roles.forward.iter().all(alike)).then_some(())?;
        self.roles.backward = vec![BackwardRoles::default(); self.stages];
        for i in 0..self.roles.forward.len() {
            self.place(i)?;
        }
        Some(())
    }

    /// `S` of the last tensor behind the last stage, which is in one memory row at most.
    fn last_storage(&mut self) {
        let short: HashMap<u32, usize> = self
            .roles
            .forward
            .iter()
            .enumerate()
            .filter(|(_, node)| node.stored.len() + 1 == self.stages)
            .filter_map(|(i, node)| Some((*node.stored.last()?, i)))
            .collect();
        // Runs have costs, and P is at most R.
        let mut found: BTreeMap<usize, (bool, u32, u32)> = BTreeMap::new();
        for shape in self.shapes {
            let Shape::Covered { x, cell } = shape else {
                continue;
            };
            for (s, p) in [*cell, (cell.1, cell.0)] {
                if let Some(i) = short.get(&s)
                    && self.p.cost[*x as usize] == 0.0
                {
                    let here = (!self.above.contains_key(&p), *x, p);
                    let best = found.entry(*i).or_insert(here);
                    *best = here.min(*best);
                }
            }
        }
        for (i, (_, s, p)) in found {
            self.roles.forward[i].stored.push(s);
            self.roles.forward[i].intact.push(Some(p));
        }
    }

    /// Notes a node's columns.
    fn place(&mut self, i: usize) -> Option<()> {
        let node = &self.roles.forward[i];
        for (t, s) in node.stored.iter().enumerate() {
            self.known.insert(*s);
            if self.roles.stored_at.insert(*s, (t, i)).is_some() {
                return None;
            }
        }
        for (t, p) in node.intact.iter().enumerate() {
            if let Some(p) = p {
                self.known.insert(*p);
                if self.intact_at.insert(*p, (t, i)).is_some() {
                    return None;
                }
            }
        }
        Some(())
    }

    /// `R`, from `P <= R`; the same columns if no `P` is at most another column.
    fn computations(&mut self) -> Option<()> {
        // A by-product's R is at most its parent's.
        let is_run = |y: &u32| !self.intact_at.contains_key(y);
        let intact = self.roles.forward.iter().flat_map(|node| &node.intact);
        self.roles.in_place = intact.flatten().any(|p| {
            let above = self.above.get(p);
            above.is_some_and(|list| list.iter().any(is_run))
        });
        for i in 0..self.roles.forward.len() {
            self.computations_of(i)?;
        }
        Some(())
    }

    fn computations_of(&mut self, i: usize) -> Option<()> {
        let in_place = self.roles.in_place;
        let of = |p: &Option<u32>| match (*p, in_place) {
            (p, false) => Some(p),
            (None, true) => Some(None),
            (Some(p), true) => match self.above.get(&p).map(|list| &list[..]) {
                None => Some(None),
                Some([r]) => Some(Some(*r)),
                Some(_) => None,
            },
        };
        let computed: Option<Vec<_>> = self.roles.forward[i].intact.iter().map(of).collect();
        let computed = computed?;
        for (t, r) in computed.iter().enumerate() {
            // From stage 1 on every node may run.
            match r {
                None if t > 0 => return None,
                None => {}
                Some(r) => {
                    self.known.insert(*r);
                    if self.computed_at.insert(*r, (t, i)).is_some() {
                        return None;
                    }
                }
            }
        }
        self.roles.forward[i].computed = computed;
        Some(())
    }

    /// Stage and node of `{R[t,i], S[t,i]}`.
    fn input_cell(&self, cell: (u32, u32)) -> Option<(usize, usize)> {
        self.cell(cell, &self.computed_at, 1)
    }

    /// Stage and node of `{P[t,i], S[t+1,i]}`.
    fn output_cell(&self, cell: (u32, u32)) -> Option<(usize, usize)> {
        self.cell(cell, &self.intact_at, 0)
    }

    fn cell(
        &self,
        cell: (u32, u32),
        runs: &HashMap<u32, (usize, usize)>,
        before: usize,
    ) -> Option<(usize, usize)> {
        for (r, s) in [cell, (cell.1, cell.0)] {
            if let (Some((t, i)), Some((k, j))) = (runs.get(&r), self.roles.stored_at.get(&s))
                && (*t, i) == (k + before, j)
            {
                return Some((*t, *i));
            }
        }
        None
    }

    /// Reads of forward nodes, and of backward nodes in each way.
    fn cells(&mut self) -> Option<()> {
        for group in 0..self.groups.len() {
            self.group(group)?;
        }
        for shape in self.shapes {
            match shape {
                Shape::Covered { x, cell } => {
                    if let Some((t, u)) = self.input_cell(*cell)
                        && let Some((at, v)) = self.computed_at.get(x)
                        && *at == t
                        && !self.roles.forward[*v].needs.contains(&u)
                    {
                        self.roles.forward[*v].needs.push(u);
                    }
                    if let Some((t, u)) = self.output_cell(*cell)
                        && let Some((_, way)) = self.choice.get(x)
                    {
                        let list = self.roles.backward[t].needs.get_mut(*way)?;
                        if !list.contains(&u) {
                            list.push(u);
                        }
                    }
                }
                Shape::Cover(list) => {
                    if let [a, b] = list[..]
                        && let Some((t, u)) = self.output_cell((a, b))
                    {
                        let needs = &mut self.roles.backward[t].needs;
                        if needs.is_empty() {
                            needs.push(Vec::new());
                        }
                        if !needs[0].contains(&u) {
                            needs[0].push(u);
                        }
                    }
                }
                Shape::Below { x, y } => {
                    if let (Some((t, q)), Some((k, i))) =
                        (self.computed_at.get(x), self.computed_at.get(y))
                        && t == k
                    {
                        let parent = &mut self.roles.forward[*q].parent;
                        if parent.is_some_and(|other| other != *i) {
                            return None;
                        }
                        *parent = Some(*i);
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    /// The stage of a group of `M`, by the `S` that they are multiplied with.
    fn group(&mut self, group: usize) -> Option<()> {
        let ways = self.groups[group].clone();
        let mut stage = None;
        let mut products = BTreeMap::new();
        for (a, b, z) in &self.products {
            for (m, s) in [(a, b), (b, a)] {
                if let Some((g, way)) = self.choice.get(m)
                    && *g == group
                    && let Some((t, i)) = self.roles.stored_at.get(s)
                {
                    if stage.is_some_and(|other| other != *t) {
                        return None;
                    }
                    stage = Some(*t);
                    products.insert((*i, *way), *z);
                }
            }
        }
        let backward = &mut self.roles.backward[stage?];
        if !backward.ways.is_empty() && backward.ways != ways {
            return None;
        }
        if backward.needs.is_empty() {
            backward.needs = vec![Vec::new(); ways.len()];
        }
        backward.ways = ways;
        backward.products = products;
        Some(())
    }

    /// Finds nodes whose outputs take no memory: unknown columns that read a known node. Returns
    /// whether there are any.
    fn nodes_without_size(&mut self) -> Option<bool> {
        let mut stage: BTreeMap<u32, usize> = BTreeMap::new();
        let mut options: HashSet<u32> = HashSet::new();
        for shape in self.shapes {
            match shape {
                Shape::Covered { x, cell } if !self.known.contains(x) => {
                    if let Some((t, _)) = self.input_cell(*cell) {
                        stage.insert(*x, t);
                    }
                }
                Shape::Choice { of, .. } => options.extend(of),
                _ => {}
            }
        }
        // P of an unknown R.
        let mut intact: HashMap<u32, (u32, usize)> = HashMap::new();
        for (r, t) in &stage {
            if !self.roles.in_place {
                intact.insert(*r, (*r, *t));
            }
        }
        for shape in self.shapes {
            if let Shape::Below { x, y } = shape
                && self.roles.in_place
                && let Some(t) = stage.get(y)
            {
                intact.insert(*x, (*y, *t));
            }
        }
        // S[t+1] <= S[t] + P[t].
        let mut links: BTreeMap<u32, (u32, u32, usize)> = BTreeMap::new();
        let mut heads: BTreeMap<u32, u32> = BTreeMap::new();
        for shape in self.shapes {
            let Shape::Covered { x, cell } = shape else {
                continue;
            };
            for (p, s) in [*cell, (cell.1, cell.0)] {
                if let Some((_, t)) = intact.get(&p)
                    && !self.known.contains(x)
                    && !options.contains(x)
                    && !stage.contains_key(x)
                    && !self.known.contains(&s)
                {
                    links.insert(s, (*x, p, *t));
                    if *t == 1 {
                        heads.insert(s, p);
                    }
                }
            }
        }
        let mut found = false;
        for s in heads.keys() {
            let mut node = ForwardRoles {
                stored: vec![*s],
                intact: vec![None],
                ..ForwardRoles::default()
            };
            let mut at = *s;
            while let Some((s, p, t)) = links.get(&at) {
                if *t != node.stored.len() {
                    return None;
                }
                node.stored.push(*s);
                node.intact.push(Some(*p));
                at = *s;
            }
            if node.stored.len() != self.stages {
                continue;
            }
            // `P[0]`, if there are such columns.
            let first = self.above.get(s).map(|list| &list[..]);
            node.intact[0] = match first {
                Some([p]) => Some(*p),
                _ => None,
            };
            self.roles.forward.push(node);
            let i = self.roles.forward.len() - 1;
            self.place(i)?;
            self.computations_of(i)?;
            found = true;
        }
        Some(found)
    }
}
