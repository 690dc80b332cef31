//! Adding and deleting rows and columns while keeping the valid parts of basis, weights and
//! factorisation.

use super::Core;
use crate::compressed::Compressed;
use crate::factor::NONE;
use crate::outcome::VarStatus;

impl Core {
    /// Appends rows (already scaled) whose bounds have been pushed to `lower` and `upper`. Their
    /// logicals are basic. Old weights stay exact: the new basis inverse is the old one bordered
    /// from below.
    pub fn add_rows(&mut self, extra: &Compressed) {
        self.restore_bounds();
        self.restore_costs();
        self.wake_all();
        let base = self.m;
        self.m += extra.outer();
        let total = self.total();
        self.at.append(extra);
        self.a.append_inner(extra, base);
        self.cost.resize(total, 0.0);
        self.wc.resize(total, 0.0);
        self.wl.extend_from_slice(&self.lower[self.wl.len()..]);
        self.wu.extend_from_slice(&self.upper[self.wu.len()..]);
        self.status.resize(total, VarStatus::Basic);
        self.basic
            .extend((base..self.m).map(|i| (self.n + i) as u32));
        self.new_rows.extend((base..self.m).map(|i| i as u32));
        let duals = self.dual_valid;
        self.resize();
        self.factored = false;
        self.primal_valid = false;
        // Costs and duals of new rows are zero.
        self.dual_valid = duals;
    }

    /// Appends columns (already scaled), nonbasic at the bound nearest zero.
    pub fn add_cols(&mut self, extra: &Compressed, lower: &[f64], upper: &[f64], cost: &[f64]) {
        self.restore_bounds();
        self.restore_costs();
        let (old, k) = (self.n, extra.outer());
        self.n += k;
        self.append_to_matrix(extra);
        self.at.append_inner(extra, old);
        insert(&mut self.lower, old, lower.iter().copied());
        insert(&mut self.upper, old, upper.iter().copied());
        insert(&mut self.cost, old, cost.iter().copied());
        insert(&mut self.wl, old, lower.iter().copied());
        insert(&mut self.wu, old, upper.iter().copied());
        insert(&mut self.wc, old, cost.iter().copied());
        insert(&mut self.x, old, std::iter::repeat_n(0.0, k));
        insert(&mut self.d, old, std::iter::repeat_n(0.0, k));
        insert(&mut self.mv, old, std::iter::repeat_n(0, k));
        insert(&mut self.devex, old, std::iter::repeat_n(1.0, k));
        insert(
            &mut self.status,
            old,
            std::iter::repeat_n(VarStatus::AtLower, k),
        );
        for v in &mut self.basic {
            if *v as usize >= old {
                *v += k as u32;
            }
        }
        self.resize();
        for j in old..old + k {
            let (l, u) = (self.lower[j], self.upper[j]);
            if u.is_finite() && (!l.is_finite() || u.abs() < l.abs()) {
                self.status[j] = VarStatus::AtUpper;
            }
            self.settle(j);
            self.primal_valid &= self.x[j] == 0.0;
            // A logical's reduced cost is minus its row's dual.
            if self.dual_valid {
                let priced = extra.iter(j - old).map(|(i, v)| v * self.d[self.n + i]);
                self.d[j] = self.cost[j] + priced.sum::<f64>();
            }
        }
    }

    /// Deletes rows. If a row's logical is nonbasic, the basic variable that pivots in the row
    /// leaves the basis with it.
    pub fn delete_rows(&mut self, keep: &[bool], map: &[u32]) {
        self.restore_bounds();
        self.restore_costs();
        let factored = self.factored;
        self.wake_all();
        self.retain_sleepers(keep);
        self.new_rows.retain_mut(|i| {
            *i = map[*i as usize];
            *i != NONE
        });
        let n = self.n;
        let mut removed = 0;
        let mut clean = true;
        // Pair each deleted row with one basic variable to remove: its own logical if basic, else
        // the variable that pivots in it.
        for i in (0..self.m).filter(|&i| !keep[i]) {
            let own = n + i;
            removed += 1;
            if self.status[own] != VarStatus::Basic {
                clean = false;
                let at = if factored { self.factor.position(i) } else { i };
                let v = self.basic[at] as usize;
                let deleted_logical = v >= n && !keep[v - n];
                if !deleted_logical {
                    self.status[v] = VarStatus::AtLower;
                    self.settle(v);
                }
            }
        }
        let weights: Vec<(u32, f64)> = self
            .basic
            .iter()
            .copied()
            .zip(self.dse.iter().copied())
            .collect();
        self.at.retain_outer(keep);
        self.a.remap_inner(map);
        self.m -= removed;
        self.retain_vars(|j| j < n || keep[j - n]);
        let new_index = |v: u32| {
            if (v as usize) < n {
                v
            } else {
                shift(map[v as usize - n], n)
            }
        };
        self.basis_from_status(weights.into_iter().map(|(v, w)| (new_index(v), w)), clean);
    }

    /// Deletes columns. A logical replaces each deleted basic column.
    pub fn delete_cols(&mut self, keep: &[bool], map: &[u32]) {
        self.restore_bounds();
        self.restore_costs();
        let old = self.n;
        let nonbasic_only = (0..old).all(|j| keep[j] || self.status[j] != VarStatus::Basic);
        let values_zero = (0..old).all(|j| keep[j] || self.x[j] == 0.0);
        if !nonbasic_only {
            self.wake_all();
        }
        self.retain_in_matrix(keep);
        self.at.remap_inner(map);
        self.n = self.a.outer();
        self.retain_vars(|j| j >= old || keep[j]);
        let (n, gone) = (self.n, old - self.n);
        let new_index = |v: u32| {
            if (v as usize) < old {
                map[v as usize]
            } else {
                v - gone as u32
            }
        };
        if nonbasic_only {
            for v in &mut self.basic {
                *v = new_index(*v);
            }
            self.resize();
            self.primal_valid &= values_zero;
        } else {
            debug_assert!(n <= old);
            let weights: Vec<(u32, f64)> = self
                .basic
                .iter()
                .zip(&self.dse)
                .map(|(&v, &w)| (new_index(v), w))
                .collect();
            self.basis_from_status(weights.into_iter(), false);
        }
    }

    /// Removes variables (columns and logicals) from every array indexed by variables.
    fn retain_vars(&mut self, keep_var: impl Fn(usize) -> bool + Copy) {
        for v in [
            &mut self.lower,
            &mut self.upper,
            &mut self.cost,
            &mut self.wl,
            &mut self.wu,
            &mut self.wc,
        ] {
            retain_by(v, keep_var);
        }
        for v in [&mut self.x, &mut self.d, &mut self.devex] {
            retain_by(v, keep_var);
        }
        retain_by(&mut self.mv, keep_var);
        retain_by(&mut self.status, keep_var);
    }

    /// Rebuilds `basic` from the statuses, completed with logicals, and restores the weights of the
    /// remaining variables.
    fn basis_from_status(&mut self, weights: impl Iterator<Item = (u32, f64)>, clean: bool) {
        let total = self.total();
        let (duals, dse_valid) = (self.dual_valid, self.dse_valid);
        let values_known = *self.values_known();
        let status = std::mem::take(&mut self.status);
        self.by_var.clear();
        self.by_var.resize(total, 1.0);
        for (v, w) in weights {
            if v != NONE {
                self.by_var[v as usize] = w;
            }
        }
        let by_var = std::mem::take(&mut self.by_var);
        self.status.resize(total, VarStatus::AtLower);
        for v in [&mut self.x, &mut self.d, &mut self.devex] {
            v.truncate(total);
        }
        self.mv.truncate(total);
        for v in [&mut self.xb, &mut self.bl, &mut self.bu, &mut self.dse] {
            v.truncate(self.m);
        }
        self.basic.truncate(self.m);
        self.by_var = by_var;
        self.resize();
        self.install_basis(&status);
        *self.values_known() = values_known;
        for i in 0..self.m {
            self.dse[i] = self.by_var[self.basic[i] as usize];
        }
        self.dse_valid = clean && dse_valid;
        self.dual_valid = clean && duals;
        self.settle_nonbasic();
    }
}

fn shift(mapped: u32, n: usize) -> u32 {
    if mapped == NONE {
        NONE
    } else {
        mapped + n as u32
    }
}

fn insert<T>(v: &mut Vec<T>, at: usize, items: impl IntoIterator<Item = T>) {
    v.splice(at..at, items);
}

fn retain_by<T>(v: &mut Vec<T>, keep: impl Fn(usize) -> bool) {
    let mut k = 0;
    v.retain(|_| {
        k += 1;
        keep(k - 1)
    });
}
