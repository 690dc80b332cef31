//! Interface of a program whose root of many layers starts from the root of a few.

use super::map::Beside;
use remat_instances::Semantics;
use remat_instances::instance::Instance;
use remat_search::Formulation;
use remat_solver::price::Program;
use std::sync::Arc;

/// A program for an instance and a budget, whose rows and columns are carried over from a network
/// of few layers (`small`) to one of many (`self`).
///
/// Any row or column may be left out, but carried rows must be valid. A Lagrangian bound takes any
/// duals, but only of rows that every schedule of the large network satisfies.
pub trait Layered: Program {
    /// Semantics by which nodes are alike, and which gives the peak without recomputation.
    const SEMANTICS: Semantics;
    /// The formulation, which finds plans of few layers.
    type Formulation: Formulation;

    /// The program of an instance for a budget in bytes.
    fn of(instance: &Instance, budget_bytes: u64) -> Option<Self>;
    /// The program of an instance of few layers, without families of rows whose duals cannot be
    /// carried.
    fn of_few(instance: &Instance, budget_bytes: u64) -> Option<Self> {
        Self::of(instance, budget_bytes)
    }
    /// The program with the plans that another one covers, if it has several scopes.
    fn like(self, _: &Self) -> Self {
        self
    }
    /// The formulation for an instance.
    fn formulation(instance: Arc<Instance>) -> Option<Self::Formulation>;
    /// Returns whether no schedule fits a budget, if that is seen at once.
    fn is_too_small(instance: &Instance, budget_bytes: u64) -> bool;

    /// Nodes of a row that anchor it, at the layer of the first node that is in one.
    fn anchors_of_row(&self, row: &Self::Row) -> Vec<u32>;
    /// Nodes of a column that anchor it.
    fn anchors_of_column(&self, column: &Self::Column) -> Vec<u32>;
    /// The row that a row of a small network becomes, checked to be one of this program.
    fn carried_row(&self, small: &Self, row: &Self::Row, beside: &Beside<'_>) -> Option<Self::Row>;
    /// The column that a column of a small network becomes, checked to be one of this program.
    fn carried_column(
        &self,
        small: &Self,
        column: &Self::Column,
        beside: &Beside<'_>,
    ) -> Option<Self::Column>;

    /// The tensor of a column.
    fn tensor(column: &Self::Column) -> u32;
    /// Columns of a schedule.
    fn columns_of(
        &self,
        schedule: &<Self::Formulation as Formulation>::Schedule,
    ) -> Vec<Self::Column>;
    /// Returns whether a column's tensor is held when the stage of a node begins.
    fn is_held(&self, column: &Self::Column, stage_of: u32) -> bool;
    /// Recomputation cost of a column.
    fn cost_again(&self, column: &Self::Column) -> u64;
}
