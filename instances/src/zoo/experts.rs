//! Operators of a mixture of experts: routes of tokens, rows sorted by expert, and one product for
//! all experts.
//!
//! No token is dropped, and experts are not padded to a capacity (Gale et al., "MegaBlocks", MLSys
//! 2023): with k experts per position, each position has k rows, for any choice of experts.

use super::ZooError;
use super::builder::{Network, OutputSize, Tensor};
use super::op::{Op, misfit};
use super::tensor::format_shape;

impl Network {
    /// The `top_k` experts of each position by `scores` `[batch, positions, experts]`, and their
    /// weights; both are `[batch, positions, top_k]`.
    ///
    /// Adds the nodes `name.route`, with 8 bytes per choice (the expert, and the place in the order
    /// by experts, 4 bytes each), `name.chosen` and `name.softmax`. Weights are the softmax of the
    /// chosen scores (Jiang et al., "Mixtral of Experts", 2024, section 2.1). The weight of a
    /// single expert is its share in the softmax of all scores (Fedus et al., "Switch
    /// Transformers", JMLR 2022, equation 2), because otherwise it would always be one.
    pub fn gate(
        &mut self,
        name: &str,
        scores: Tensor,
        top_k: u64,
    ) -> Result<(Tensor, Tensor), ZooError> {
        let mut shape = self.shape(scores).to_vec();
        if shape.len() != 3 || top_k == 0 || shape[2] < top_k {
            let problem = format!("there is no choice of {top_k} experts");
            let remedy = "give scores of batch, positions and at least as many experts";
            return Err(misfit(name, &shape, problem, remedy));
        }
        shape[2] = top_k;
        let layout = OutputSize {
            shape: shape.clone(),
            element_bytes: 8,
            extra_bytes: 0,
        };
        let route = format!("{name}.route");
        let routes = self.push_sized(&route, Op::Route { top_k }, &[scores], layout, vec![])?;
        let [chosen, softmax] = ["chosen", "softmax"].map(|what| format!("{name}.{what}"));
        let choose = |net: &mut Network, x| {
            net.push(
                &chosen,
                Op::ChosenScores,
                &[x, routes],
                shape.clone(),
                vec![],
            )
        };
        let weights = match top_k {
            1 => {
                let shares = self.softmax(&softmax, scores)?;
                choose(self, shares)?
            }
            _ => {
                let scores = choose(self, scores)?;
                self.softmax(&softmax, scores)?
            }
        };
        Ok((routes, weights))
    }

    /// A row of `x` `[batch, positions, features]` for each choice in `routes`
    /// `[batch, positions, k]`, sorted by expert: `[batch x positions x k, features]`.
    pub fn dispatch(&mut self, name: &str, x: Tensor, routes: Tensor) -> Result<Tensor, ZooError> {
        let (shape, choices) = (self.shape(x), self.shape(routes));
        if shape.len() != 3 || choices.len() != 3 || choices[..2] != shape[..2] {
            let problem = format!("routes {} are for others", format_shape(choices));
            let remedy = "give those of its batch and positions";
            return Err(misfit(name, shape, problem, remedy));
        }
        let out = vec![self.value(routes).elements, shape[2]];
        self.push(name, Op::Dispatch, &[x, routes], out, vec![])
    }

    /// Linear map of each row by the matrix of its expert: `[rows, in]` to `[rows, features]`, all
    /// experts in one kernel.
    pub fn grouped_linear(
        &mut self,
        name: &str,
        rows: Tensor,
        routes: Tensor,
        experts: u64,
        features: u64,
    ) -> Result<Tensor, ZooError> {
        let inner = self.row_features(name, rows, routes)?;
        let weight = self.parameter(name, &[experts, features, inner])?;
        let out = vec![self.shape(rows)[0], features];
        self.push(
            name,
            Op::GroupedLinear,
            &[rows, routes],
            out,
            vec![weight.0],
        )
    }

    /// Sum of the rows of each position, with weights `[batch, positions, k]`: back to
    /// `[batch, positions, features]`.
    pub fn combine(
        &mut self,
        name: &str,
        rows: Tensor,
        weights: Tensor,
        routes: Tensor,
    ) -> Result<Tensor, ZooError> {
        let features = self.row_features(name, rows, routes)?;
        self.same_shape(name, weights, routes)?;
        let mut out = self.shape(routes).to_vec();
        out[2] = features;
        self.push(name, Op::Combine, &[rows, weights, routes], out, vec![])
    }

    /// Number of features of a row; checks that there is one row for each choice.
    fn row_features(&self, name: &str, rows: Tensor, routes: Tensor) -> Result<u64, ZooError> {
        match *self.shape(rows) {
            [count, features]
                if count == self.value(routes).elements && self.shape(routes).len() == 3 =>
            {
                Ok(features)
            }
            _ => {
                let choices = format_shape(self.shape(routes));
                let problem = format!("it is not one row for each of the choices {choices}");
                let remedy = "give rows that were dispatched by the same routes";
                Err(misfit(name, self.shape(rows), problem, remedy))
            }
        }
    }
}
