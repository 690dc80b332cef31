//! Recognition of MONeT's published program in a model of unknown origin: by its structure, not by
//! its names or the order of its rows and columns.
//!
//! First, short rows fix or identify columns ([`light`]). The forms of the remaining rows reveal
//! the roles of columns ([`roles`]):
//!
//! - Products `z = a b` with a factor from a row `1 <= a + a'` are `Z[t,i,p] = M[t,p] S[t+1,i]`:
//!   they group the columns of a stage.
//! - Columns without a cost in many memory rows are `S`. `S[t+1,i] <= S[t,i] + P[t,i]` chains the
//!   `S` columns of a tensor; places in the chain are stages.
//! - `P[t,i] <= R[t,i]`, or they are equal; `x <= R[t,u] + S[t,u]` says that `x` reads `u`, and
//!   `M[t,p] <= P[t,u] + S[t+1,u]` that the backward node of stage `t` does.
//!
//! Memory rows contain sizes, workspaces and the room of each stage ([`memory`]). A stored tensor
//! is charged as `S[t,i]` up to its turn and as `S[t+1,i]` from then on, which orders the nodes.
//!
//! Finally, the program of the resulting instance is written anew, and each of its rows is looked
//! up in the model ([`verify`]). So the model may have further rows: answers are checked against
//! them.

mod instance;
mod light;
mod memory;
mod roles;
mod shape;
mod verify;

use super::MonetFormulation;
use super::original::{Decision, LocalBound, MonetParts};
use instance::{Builder, Units};
use memory::Memory;
use remat_instances::Instance;
use remat_instances::schedule::MonetSchedule;
use remat_lp::Model;
use remat_search::SolveError;
use remat_search::recognise::{Objective, Recognised, integers_below};
use roles::Roles;
use verify::ColumnPlace;

/// Columns up to which a model is examined.
const COLUMN_LIMIT: usize = 1 << 24;

/// A model that is MONeT's program.
#[derive(Clone, Debug)]
pub struct RecognisedMonet {
    /// The instance that the model states, nodes named by their positions; sizes and costs in
    /// integers. Backward nodes have the memory of their stage as fixed memory.
    pub instance: Instance,
    /// The budget in the unit of the instance's sizes.
    pub budget_bytes: u64,
    parts: MonetParts,
    /// For each published column.
    places: Vec<ColumnPlace>,
    /// For each column of the model: a value, or a published column.
    columns: Vec<ModelColumn>,
    objective: Objective,
}

#[derive(Clone, Copy, Debug)]
enum ModelColumn {
    Known(bool),
    Published(u32),
}

impl Recognised for RecognisedMonet {
    type Formulation = MonetFormulation;
    const NAME: &'static str = "monet";

    fn formulation(&self) -> Result<MonetFormulation, SolveError> {
        MonetFormulation::new(self.instance.clone())
    }

    fn nodes(&self) -> usize {
        self.instance.len()
    }

    fn budget_bytes(&self) -> u64 {
        self.budget_bytes
    }

    fn point(&self, schedule: &MonetSchedule) -> Vec<f64> {
        let x = self.parts.point(schedule);
        let value = |column: &ModelColumn| match *column {
            ModelColumn::Known(one) => f64::from(u8::from(one)),
            ModelColumn::Published(at) => x[at as usize],
        };
        self.columns.iter().map(value).collect()
    }

    fn schedule(&self, point: &[f64]) -> Option<MonetSchedule> {
        (point.len() == self.columns.len()).then_some(())?;
        let value = |place: &ColumnPlace| match *place {
            ColumnPlace::Known(one) => f64::from(u8::from(one)),
            ColumnPlace::Column(c) => point[c as usize],
            ColumnPlace::Nowhere => 0.0,
        };
        let x: Vec<f64> = self.places.iter().map(value).collect();
        Some(self.parts.schedule(&x))
    }

    fn objective(&self, cost: u64) -> f64 {
        self.objective.of(cost)
    }
}

/// Recognises MONeT's published program ([`super::original`], with the plain bound on local memory)
/// in a model, in any naming, order and scale; additional rows are left aside. `None` if the model
/// is another program, lacks rows, or has nodes that are never recomputed.
pub fn recognise(model: &Model) -> Option<RecognisedMonet> {
    if model.num_cols() > COLUMN_LIMIT {
        return None;
    }
    let p = light::read(model)?;
    let roles = roles::read(&p)?;
    let memory = memory::read(&p, &roles)?;
    let builder = Builder {
        cost_scale: integers_below(&p.cost.iter().map(|c| c.abs()).collect::<Vec<_>>())?.scale,
        units: Units::new(&memory),
        p: &p,
        roles: &roles,
        memory: &memory,
    };
    let (instance, budget_bytes) = builder.instance(model.name())?;
    let parts = MonetParts::new(&instance, budget_bytes, 1.0, LocalBound::Plain).ok()?;
    let places = places(&parts, &roles, &memory);
    verify::rows(&p, &parts, &places)?;
    let cost_scale = builder.cost_scale;
    let shift = verify::costs(&p, &parts, &places, cost_scale)?;
    let mut published = vec![None; model.num_cols()];
    for (at, place) in places.iter().enumerate() {
        if let ColumnPlace::Column(c) = place {
            published[*c as usize].get_or_insert(at as u32);
        }
    }
    let column = |c: usize| match p.value[c] {
        Some(one) => Some(ModelColumn::Known(one)),
        None => published[p.same[c] as usize].map(ModelColumn::Published),
    };
    let columns: Option<Vec<_>> = (0..model.num_cols()).map(column).collect();
    Some(RecognisedMonet {
        columns: columns?,
        instance,
        budget_bytes,
        parts,
        places,
        objective: Objective {
            sense: model.sense(),
            scale: cost_scale,
            shift,
        },
    })
}

/// Places of the published columns in the model.
fn places(parts: &MonetParts, roles: &Roles, memory: &Memory) -> Vec<ColumnPlace> {
    let forward = |node: usize| &roles.forward[memory.order[node]];
    let mut places = vec![ColumnPlace::Nowhere; parts.columns()];
    let slots = parts.slots();
    let found = |column: Option<u32>| column.map_or(ColumnPlace::Nowhere, ColumnPlace::Column);
    let stored = |stage: usize, node: usize| match stage {
        0 => ColumnPlace::Known(false),
        t => found(forward(node).stored.get(t - 1).copied()),
    };
    let backward = |stage: usize, way: usize| match &roles.backward[stage].ways[..] {
        [] => ColumnPlace::Known(way == 0),
        ways => ways
            .get(way)
            .map_or(ColumnPlace::Known(false), |m| ColumnPlace::Column(*m)),
    };
    for (at, place) in places.iter_mut().enumerate() {
        *place = match parts.decision(at) {
            Decision::Computed { stage, node } => {
                found(forward(node).computed.get(stage).copied().flatten())
            }
            Decision::Intact { stage, node } => {
                found(forward(node).intact.get(stage).copied().flatten())
            }
            Decision::Stored { stage, node } => stored(stage, node),
            Decision::Backward { stage, way } => backward(stage, way),
            Decision::Product { stage, node, way } => match backward(stage, way) {
                ColumnPlace::Known(true) => stored(stage + 1, node),
                ColumnPlace::Known(false) => ColumnPlace::Known(false),
                _ => {
                    let products = &roles.backward[stage].products;
                    found(products.get(&(memory.order[node], way)).copied())
                }
            },
            Decision::Algorithm {
                stage,
                slot,
                algorithm,
            } => {
                let node = slots[slot];
                let list = if node < memory.order.len() {
                    let role = forward(node);
                    match (stage, memory.first_choice.get(&memory.order[node])) {
                        (0, Some(k)) => Some(&roles.covers[*k]),
                        (0, None) => None,
                        _ => role.ways.get(stage),
                    }
                } else {
                    let t = node + 1 - memory.order.len();
                    let k = memory.backward_choice.get(&t).filter(|_| t == stage);
                    k.map(|k| &roles.covers[*k])
                };
                match list {
                    Some(list) => list
                        .get(algorithm)
                        .map_or(ColumnPlace::Known(false), |f| ColumnPlace::Column(*f)),
                    None => ColumnPlace::Known(stage == 0 && algorithm == 0),
                }
            }
            Decision::InPlace { stage, node } => {
                let role = forward(node);
                match role.over {
                    None => ColumnPlace::Known(false),
                    Some(_) => found(role.inside.get(stage).copied().flatten()),
                }
            }
        };
    }
    // Forward nodes other than by-products run in stage 0.
    parts.each_fixing(&mut |column, value| {
        places[column as usize] = ColumnPlace::Known(value > 0.5)
    });
    if !roles.in_place {
        for node in 0..memory.order.len() {
            for stage in 0..roles.backward.len() {
                let run = parts.position(Decision::Computed { stage, node });
                let intact = parts.position(Decision::Intact { stage, node });
                places[intact] = places[run];
            }
        }
    }
    places
}
