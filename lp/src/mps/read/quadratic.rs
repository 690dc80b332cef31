//! Lines of QUADOBJ and QMATRIX: entries of the matrix `Q` of an objective `c x + 1/2 x'Qx`.

use super::MpsReader;
use super::fields::finite;
use crate::model::ModelError;
use crate::quadratic::Quadratic;
use crate::text_file::shown;

impl MpsReader {
    /// Reads two columns and an entry. QUADOBJ has one triangle, QMATRIX the `whole` matrix.
    pub(super) fn product(&mut self, fields: &[&str], whole: bool) -> Result<(), String> {
        let [first, second, entry] = fields else {
            return Err("a line of a quadratic objective is two columns and an entry".into());
        };
        let (a, b) = (self.col_ref(first)?, self.col_ref(second)?);
        let value = finite(entry)?;
        let place = || format!("the product of {} and {}", shown(first), shown(second));
        self.held(entry, value, place);
        let mirrored = !whole && a != b && self.curved.contains_key(&(b, a));
        if mirrored || self.curved.insert((a, b), value).is_some() {
            let triangle = if whole {
                ""
            } else {
                "; QUADOBJ holds one triangle"
            };
            return Err(format!("{} is given twice{triangle}", place()));
        }
        // Both sections become the whole matrix.
        if !whole && a != b {
            self.curved.insert((b, a), value);
        }
        Ok(())
    }

    /// The quadratic part of the objective, if there is one.
    pub(super) fn quadratic(&mut self) -> Result<Option<Quadratic>, ModelError> {
        let entries = std::mem::take(&mut self.curved).into_iter();
        let products = entries.map(|((a, b), v)| (a, b, 0.5 * v));
        let quadratic = Quadratic::of_products(self.builder.num_cols(), products)?;
        Ok((!quadratic.is_empty()).then_some(quadratic))
    }
}
