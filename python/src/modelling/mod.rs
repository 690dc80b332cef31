//! Expressions over the columns of a program, in the style of modelling languages: variables, sums,
//! products, relations, and the model that takes them.
//!
//! | module | concept |
//! |---|---|
//! | [`home`] | the model behind variables: program, answer, starts |
//! | [`terms`] | linear and quadratic terms, without Python |
//! | [`operand`] | objects on either side of an operator |
//! | [`var`], [`linear`], [`quadratic`], [`relation`], [`constr`] | the classes of expressions |
//! | [`attribute`] | attributes of variables and constraints by name |
//! | [`general`] | special constraints and products |
//! | [`sum`] | sums over many objects |
//! | [`model`] | rows and columns from expressions |
//! | [`trouble`] | errors of `remat_bb.gurobi` |

pub mod attribute;
pub mod constr;
pub mod general;
pub mod home;
pub mod linear;
pub mod model;
pub mod operand;
pub mod quadratic;
pub mod relation;
pub mod sum;
pub mod terms;
pub mod trouble;
pub mod var;
