//! Least memory between two executed sets, by a minimum cut.
//!
//! The memory of an executed set is `[a maker has run] - [all users have run]`, summed over
//! storages with their sizes. It is submodular, so a minimum over sets between two is a minimum cut
//! (Picard 1976 for closures). The executed side is the source's. An arc from an operator to one
//! before it, and from a storage's second vertex to its users, cannot be cut. A storage's size is
//! cut if a maker has run and a user has not.

use super::bits;
use super::side::{Side, SideRun};
use crate::max_flow::{FlowNetwork, UNLIMITED};

const SOURCE: usize = 0;
const SINK: usize = 1;
/// Number of vertices that belong to no operator.
const ENDS: usize = 2;

/// Vertex of an operator that is not free.
const NONE: u32 = u32::MAX;

/// Part of a network that one storage makes.
#[derive(Clone, Debug)]
struct Piece {
    storage: u32,
    /// The edge that has the size as its capacity.
    sized: usize,
    /// Edges to users, by operator; empty if the sized edge leads to the only user.
    to_users: Vec<(u32, usize)>,
    /// User that the sized edge leads to.
    only_user: Option<u32>,
    /// Edges from makers, by operator; empty if the sized edge comes from the only maker.
    from_makers: Vec<(u32, usize)>,
    /// Maker that the sized edge comes from.
    only_maker: Option<u32>,
}

/// Flow through a storage: from a maker, or the source, to a user, or the sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub storage: u32,
    pub from: Option<u32>,
    pub to: Option<u32>,
    pub bytes: u64,
}

/// A network with its answer.
pub(super) struct Least {
    /// Least memory of a set between, in bytes.
    pub bytes: u64,
    /// The network, its flow maximal.
    network: FlowNetwork,
    free: Vec<u32>,
    /// Storages that free operators touch.
    pieces: Vec<Piece>,
    /// Edges of precedence: (operator, the one before it, edge).
    precedence: Vec<(u32, u32, usize)>,
    /// Storages that stay in memory for every choice of free operators, and that the run did not
    /// count.
    certain: Vec<u32>,
}

impl Least {
    /// The free operators that have run in the largest set with the least memory.
    pub fn executed(&self) -> impl Iterator<Item = u32> + '_ {
        let sink = self.network.sink_side(SINK);
        let free = self.free.iter().enumerate();
        free.filter(move |(k, _)| !sink[ENDS + k]).map(|(_, v)| *v)
    }

    /// The flow through storages, including certain ones: it proves the least memory.
    pub fn streams(&self, side: &Side) -> Vec<Stream> {
        let certain = self.certain.iter().map(|t| Stream {
            storage: *t,
            from: None,
            to: None,
            bytes: side.bytes[*t as usize],
        });
        let mut streams: Vec<Stream> = certain.collect();
        for piece in &self.pieces {
            let flow = |edge: &usize| self.network.flow(*edge);
            let sized = flow(&piece.sized);
            let ends = |only: Option<u32>, edges: &[(u32, usize)]| -> Vec<(Option<u32>, u64)> {
                match edges {
                    [] => vec![(only, sized)],
                    several => several.iter().map(|(v, e)| (Some(*v), flow(e))).collect(),
                }
            };
            let mut from = ends(piece.only_maker, &piece.from_makers);
            for (to, mut wanted) in ends(piece.only_user, &piece.to_users) {
                while wanted > 0 {
                    let Some((maker, left)) = from.iter_mut().find(|(_, left)| *left > 0) else {
                        break;
                    };
                    let bytes = wanted.min(*left);
                    (wanted, *left) = (wanted - bytes, *left - bytes);
                    streams.push(Stream {
                        storage: piece.storage,
                        from: *maker,
                        to,
                        bytes,
                    });
                }
            }
        }
        streams
    }

    /// The flow from operators to those before them.
    pub fn precedence(&self) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        let edges = self.precedence.iter();
        let flows = edges.map(|(v, u, edge)| (*v, *u, self.network.flow(*edge)));
        flows.filter(|(.., flow)| *flow > 0)
    }
}

/// Scratch space for cuts of one problem.
#[derive(Clone, Debug)]
pub(super) struct Valley {
    vertex: Vec<u32>,
    seen: Vec<bool>,
}

impl Valley {
    /// Space for problems of so many operators and storages.
    pub fn new(operators: usize, storages: usize) -> Self {
        Valley {
            vertex: vec![NONE; operators],
            seen: vec![false; storages],
        }
    }

    /// Least memory over the sets that consist of the executed operators and some of the `free`
    /// ones, with all predecessors of these. Storages in `born` count as if a maker had run.
    /// Operators that are neither executed nor free stay behind.
    pub fn least(&mut self, run: &SideRun<'_>, free: &[u32], born: &[u32]) -> Least {
        for (k, v) in free.iter().enumerate() {
            self.vertex[*v as usize] = (ENDS + k) as u32;
        }
        let side = run.side;
        let mut touched = Vec::new();
        let lists = free
            .iter()
            .flat_map(|v| [side.makes.row(*v), side.uses.row(*v)]);
        for t in lists.flatten().chain(born) {
            if !std::mem::replace(&mut self.seen[*t as usize], true) {
                touched.push(*t);
            }
        }
        let mut build = Build {
            vertices: ENDS + free.len(),
            edges: Vec::new(),
            certain_bytes: 0,
            pieces: Vec::new(),
            certain: Vec::new(),
        };
        let mut counted = 0;
        for &t in &touched {
            self.seen[t as usize] = false;
            if run.is_there(t) {
                counted += side.bytes[t as usize];
            }
            self.storage(run, t, born.contains(&t), &mut build);
        }
        let mut precedence = Vec::new();
        for &v in free {
            for &u in side.before.row(v) {
                let (v_vertex, u_vertex) = (self.vertex[v as usize], self.vertex[u as usize]);
                if u_vertex != NONE {
                    let edge = build.add(v_vertex as usize, u_vertex as usize, UNLIMITED);
                    precedence.push((v, u, edge));
                }
            }
        }
        for v in free {
            self.vertex[*v as usize] = NONE;
        }
        let mut network = FlowNetwork::new(build.vertices);
        for (from, to, capacity) in build.edges {
            network.add_edge(from, to, capacity);
        }
        let flow = network.maximise(SOURCE, SINK);
        Least {
            bytes: run.bytes - counted + build.certain_bytes + flow,
            network,
            free: free.to_vec(),
            pieces: build.pieces,
            precedence,
            certain: build.certain,
        }
    }

    /// Adds the part of a storage.
    fn storage(&self, run: &SideRun<'_>, t: u32, born: bool, build: &mut Build) {
        let side = run.side;
        let size = side.bytes[t as usize];
        let free = |list: &[u32]| -> Vec<u32> {
            let list = list.iter().copied();
            list.filter(|v| self.vertex[*v as usize] != NONE).collect()
        };
        let vertex = |v: &u32| self.vertex[*v as usize] as usize;
        let users = free(side.users.row(t));
        let may_go = run.left_of(t) as usize == users.len();
        let makers = match run.is_born(t) || born {
            true => Vec::new(),
            false => free(side.makers.row(t)),
        };
        let mut piece = Piece {
            storage: t,
            sized: 0,
            to_users: Vec::new(),
            only_user: None,
            from_makers: Vec::new(),
            only_maker: None,
        };
        let from = match (run.is_born(t) || born, makers.as_slice()) {
            (true, _) if !may_go => {
                build.certain_bytes += size;
                return build.certain.push(t);
            }
            // Gone already.
            (true, _) if users.is_empty() => return,
            (true, _) => SOURCE,
            // Out of reach.
            (false, []) => return,
            (false, [maker]) => {
                piece.only_maker = Some(*maker);
                vertex(maker)
            }
            (false, several) => {
                let taken = build.vertex();
                for maker in several {
                    let edge = build.add(vertex(maker), taken, UNLIMITED);
                    piece.from_makers.push((*maker, edge));
                }
                taken
            }
        };
        match users.as_slice() {
            _ if !may_go => piece.sized = build.add(from, SINK, size),
            [user] => {
                piece.sized = build.add(from, vertex(user), size);
                piece.only_user = Some(*user);
            }
            several => {
                let held = build.vertex();
                piece.sized = build.add(from, held, size);
                for user in several {
                    let edge = build.add(held, vertex(user), UNLIMITED);
                    piece.to_users.push((*user, edge));
                }
            }
        }
        build.pieces.push(piece);
    }
}

/// A network under construction.
struct Build {
    vertices: usize,
    edges: Vec<(usize, usize, u64)>,
    certain_bytes: u64,
    pieces: Vec<Piece>,
    certain: Vec<u32>,
}

impl Build {
    fn vertex(&mut self) -> usize {
        self.vertices += 1;
        self.vertices - 1
    }

    fn add(&mut self, from: usize, to: usize, capacity: u64) -> usize {
        self.edges.push((from, to, capacity));
        self.edges.len() - 1
    }
}

/// The members of `high` that are not in `low`.
pub(super) fn between(low: &[u64], high: &[u64]) -> Vec<u32> {
    let words: Vec<u64> = low.iter().zip(high).map(|(l, h)| h & !l).collect();
    bits::ones(&words).collect()
}
