//! Operators on sequences: embeddings, positions, attention.

use super::ZooError;
use super::builder::{Network, OutputSize, SharedParameter, Tensor};
use super::op::{Heads, Op, misfit};
use super::tensor::{elements, format_shape};

impl Network {
    /// Rows of a table with `features` columns, one for each id.
    pub fn embedding(
        &mut self,
        name: &str,
        ids: Tensor,
        table: SharedParameter,
        features: u64,
    ) -> Result<Tensor, ZooError> {
        let mut out = self.shape(ids).to_vec();
        if features == 0 || !self.parameters[table.0].elements.is_multiple_of(features) {
            let problem = format!("the table has no rows of {features} features");
            return Err(misfit(name, &out, problem, "give the table's row length"));
        }
        out.push(features);
        self.push(name, Op::Embedding, &[ids], out, vec![table.0])
    }

    /// Adds a parameter of the given shape, broadcast over the batch (position and type
    /// embeddings).
    pub fn add_parameter(
        &mut self,
        name: &str,
        x: Tensor,
        parameter: &[u64],
    ) -> Result<Tensor, ZooError> {
        let parameters = self.parameter_list(name, &[parameter])?;
        let shape = self.shape(x).to_vec();
        self.push(name, Op::AddParameter, &[x], shape, parameters)
    }

    /// Inserts a parameter vector before the first position: `[batch, positions, features]` grows
    /// by one position.
    pub fn prepend_parameter(&mut self, name: &str, x: Tensor) -> Result<Tensor, ZooError> {
        let mut shape = self.shape(x).to_vec();
        if shape.len() != 3 {
            let problem = "prepending needs batch, positions and features";
            return Err(misfit(name, &shape, problem, "give three axes"));
        }
        let parameters = self.parameter_list(name, &[&[shape[2]]])?;
        shape[1] = shape[1].saturating_add(1);
        self.push(name, Op::PrependParameter, &[x], shape, parameters)
    }

    /// Rotary position embedding; sines and cosines are computed on the fly.
    pub fn rotary(&mut self, name: &str, x: Tensor) -> Result<Tensor, ZooError> {
        self.push(name, Op::Rotary, &[x], self.shape(x).to_vec(), vec![])
    }

    /// Attention of `query` `[batch, positions, query heads x d]` to `key`
    /// `[batch, positions, key heads x d]` and `value` `[batch, positions, key heads x v]`: the
    /// output is `[batch, positions, query heads x v]`.
    ///
    /// Fused (`flash`): one node `name`, which also keeps the logarithm of each row's normaliser, 4
    /// bytes per query and head (Dao et al., FlashAttention, NeurIPS 2022, section 3.1). The fused
    /// node draws its dropout inside. Plain: nodes `name.scores`, `name.softmax`, with `dropout`
    /// also `name.dropout` and its mask, and `name.context`; scaling and masking are part of the
    /// products and the softmax.
    pub fn attention(
        &mut self,
        name: &str,
        [query, key, value]: [Tensor; 3],
        heads: Heads,
        flash: bool,
        dropout: bool,
    ) -> Result<Tensor, ZooError> {
        let mut shape = self.shape(query).to_vec();
        let [kv, values] = [key, value].map(|x| self.shape(x).to_vec());
        let fits = heads.key_value > 0
            && heads.query > 0
            && heads.query.is_multiple_of(heads.key_value)
            && shape.len() == 3
            && shape[2].is_multiple_of(heads.query)
            && kv.len() == 3
            && kv[0] == shape[0]
            && values.len() == 3
            && values[..2] == kv[..2]
            && values[2].is_multiple_of(heads.key_value)
            && (shape[2] / heads.query).checked_mul(heads.key_value) == Some(kv[2]);
        if !fits {
            let problem = format!(
                "{} query and {} key heads do not fit keys of shape {} and values of shape {}",
                heads.query,
                heads.key_value,
                format_shape(&kv),
                format_shape(&values)
            );
            return Err(misfit(
                name,
                &shape,
                problem,
                "let the key heads divide the query heads, and these the features",
            ));
        }
        let (batch, positions, keys) = (shape[0], shape[1], kv[1]);
        shape[2] = values[2] / heads.key_value * heads.query;
        if flash {
            let rows = elements(&[4, batch, heads.query, positions]);
            let rows = rows.ok_or_else(|| ZooError::TooLarge {
                at: name.into(),
                what: "output",
            })?;
            let layout = OutputSize {
                shape,
                element_bytes: self.precision.activations.bytes(),
                extra_bytes: rows,
            };
            let op = Op::FlashAttention(heads);
            return self.push_sized(name, op, &[query, key, value], layout, vec![]);
        }
        let square = vec![batch, heads.query, positions, keys];
        let scores = self.push(
            &format!("{name}.scores"),
            Op::AttentionScores(heads),
            &[query, key],
            square,
            vec![],
        )?;
        let mut weights = self.softmax(&format!("{name}.softmax"), scores)?;
        if dropout {
            weights = self.dropout(&format!("{name}.dropout"), weights)?;
        }
        let context = format!("{name}.context");
        self.push(
            &context,
            Op::AttentionContext(heads),
            &[weights, value],
            shape,
            vec![],
        )
    }
}
