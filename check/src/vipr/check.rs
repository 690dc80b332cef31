//! Checks certificates, line by line.

use super::{Certificate, Claim, Constraint, DerivationReason, Form, ViprSense};
use dashu_ratio::RBig;
use num_traits::{One, Signed, Zero};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Numbers of lines that were checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Derived lines.
    pub derived: usize,
    /// Assumptions: two for each node that was split.
    pub assumptions: usize,
    /// Solutions.
    pub solutions: usize,
}

impl Constraint {
    /// Returns whether no point satisfies it.
    fn is_absurd(&self) -> bool {
        self.form.is_empty()
            && match self.sense {
                ViprSense::Equal => !self.side.is_zero(),
                ViprSense::AtLeast => self.side.is_positive(),
                ViprSense::AtMost => self.side.is_negative(),
            }
    }

    /// Returns whether every point that satisfies this satisfies the other, by a comparison of
    /// their forms and sides.
    fn dominates(&self, other: &Constraint) -> bool {
        if self.is_absurd() {
            return true;
        }
        if !Rc::ptr_eq(&self.form, &other.form) && self.form != other.form {
            return false;
        }
        match (self.sense, other.sense) {
            (ViprSense::Equal, ViprSense::Equal) => self.side == other.side,
            (ViprSense::Equal | ViprSense::AtLeast, ViprSense::AtLeast) => self.side >= other.side,
            (ViprSense::Equal | ViprSense::AtMost, ViprSense::AtMost) => self.side <= other.side,
            _ => false,
        }
    }

    fn holds_at(&self, x: &BTreeMap<usize, &RBig>) -> bool {
        let v = value(&self.form, x);
        match self.sense {
            ViprSense::Equal => v == self.side,
            ViprSense::AtLeast => v >= self.side,
            ViprSense::AtMost => v <= self.side,
        }
    }
}

fn value(form: &Form, x: &BTreeMap<usize, &RBig>) -> RBig {
    form.iter()
        .filter_map(|(j, a)| x.get(j).map(|v| a * *v))
        .fold(RBig::ZERO, |sum, v| sum + v)
}

/// The sum of constraints with multipliers, which must keep one direction.
fn combination(known: &[Constraint], parts: &[(usize, RBig)]) -> Result<Constraint, String> {
    let mut sense = ViprSense::Equal;
    let mut side = RBig::zero();
    let mut sum: BTreeMap<usize, RBig> = BTreeMap::new();
    for (k, f) in parts {
        let c = &known[*k];
        let own = match (c.sense, f.is_negative()) {
            _ if f.is_zero() => continue,
            (ViprSense::Equal, _) => ViprSense::Equal,
            (ViprSense::AtLeast, false) | (ViprSense::AtMost, true) => ViprSense::AtLeast,
            (ViprSense::AtMost, false) | (ViprSense::AtLeast, true) => ViprSense::AtMost,
        };
        match (sense, own) {
            (ViprSense::Equal, own) => sense = own,
            (_, ViprSense::Equal) => {}
            (a, b) if a == b => {}
            _ => return Err(format!("constraint {k} points the other way")),
        }
        side += f * &c.side;
        for (j, a) in c.form.iter() {
            *sum.entry(*j).or_insert_with(RBig::zero) += f * a;
        }
    }
    Ok(Constraint {
        sense,
        side,
        form: Rc::new(sum.into_iter().filter(|(_, v)| !v.is_zero()).collect()),
    })
}

fn integral(form: &Form, integer: &BTreeSet<usize>) -> bool {
    form.iter().all(|(j, a)| a.is_int() && integer.contains(j))
}

fn rounded(mut c: Constraint, integer: &BTreeSet<usize>) -> Result<Constraint, String> {
    if !integral(&c.form, integer) {
        return Err("a sum that need not be an integer is rounded".into());
    }
    c.side = match c.sense {
        ViprSense::AtLeast => c.side.ceil().into(),
        ViprSense::AtMost => c.side.floor().into(),
        ViprSense::Equal => c.side,
    };
    Ok(c)
}

/// Returns whether, at every point with integral values, one of the two holds.
fn leave_no_third(a: &Constraint, b: &Constraint, integer: &BTreeSet<usize>) -> bool {
    let (low, high) = match (a.sense, b.sense) {
        (ViprSense::AtMost, ViprSense::AtLeast) => (a, b),
        (ViprSense::AtLeast, ViprSense::AtMost) => (b, a),
        _ => return false,
    };
    low.form == high.form
        && integral(&low.form, integer)
        && low.side.is_int()
        && high.side.is_int()
        && high.side <= &low.side + RBig::one()
}

/// Checks a certificate.
///
/// # Errors
/// The first fault, in words. Lines are numbered as in the certificate, from 0 and constraints
/// first.
pub fn check(c: &Certificate) -> Result<LineCounts, String> {
    let best = check_solutions(c)?;
    let mut known = c.constraints.clone();
    let mut assumes: Vec<Rc<BTreeSet<usize>>> = vec![Rc::default(); known.len()];
    let mut assumed = BTreeSet::new();
    for (line, reason) in &c.derived {
        let k = known.len();
        let fail = |what: String| Err(format!("line {k}: {what}"));
        let of_parts = |parts: &[(usize, RBig)]| -> Rc<BTreeSet<usize>> {
            let mut all = BTreeSet::new();
            for (p, _) in parts {
                all.extend(assumes[*p].iter().copied());
            }
            Rc::new(all)
        };
        let rests_on = match reason {
            DerivationReason::Assumption => {
                assumed.insert(k);
                Rc::new(BTreeSet::from([k]))
            }
            DerivationReason::Linear(parts) | DerivationReason::Rounded(parts) => {
                let sum = combination(&known, parts);
                let sum = match reason {
                    DerivationReason::Rounded(_) => sum.and_then(|s| rounded(s, &c.integer)),
                    _ => sum,
                };
                match sum {
                    Ok(sum) if sum.dominates(line) => of_parts(parts),
                    Ok(_) => return fail("does not follow from the constraints it names".into()),
                    Err(e) => return fail(e),
                }
            }
            DerivationReason::Unsplit([(a, case_a), (b, case_b)]) => {
                if !assumed.contains(case_a) || !assumed.contains(case_b) {
                    return fail("a case is not an assumption".into());
                }
                if !leave_no_third(&known[*case_a], &known[*case_b], &c.integer) {
                    return fail("the two cases leave a third".into());
                }
                if !known[*a].dominates(line) || !known[*b].dominates(line) {
                    return fail("does not hold in both cases".into());
                }
                let mut all = BTreeSet::new();
                all.extend(assumes[*a].iter().copied().filter(|x| x != case_a));
                all.extend(assumes[*b].iter().copied().filter(|x| x != case_b));
                Rc::new(all)
            }
            DerivationReason::Solution => {
                let sense = if c.maximise {
                    ViprSense::AtLeast
                } else {
                    ViprSense::AtMost
                };
                let proven = best.as_ref().map(|v| Constraint {
                    sense,
                    side: v.clone(),
                    form: c.objective.clone(),
                });
                if !proven.is_some_and(|p| p.dominates(line)) {
                    return fail("no solution is that good".into());
                }
                Rc::default()
            }
        };
        known.push(line.clone());
        assumes.push(rests_on);
    }
    let last = known.last().zip(assumes.last());
    let free = last.filter(|(_, a)| a.is_empty()).map(|(l, _)| l);
    check_claim(c, free, best.as_ref())?;
    Ok(LineCounts {
        derived: c.derived.len(),
        assumptions: assumed.len(),
        solutions: c.solutions.len(),
    })
}

/// The best objective of the solutions, all of which must be feasible.
fn check_solutions(c: &Certificate) -> Result<Option<RBig>, String> {
    let mut best: Option<RBig> = None;
    for (k, s) in c.solutions.iter().enumerate() {
        let x: BTreeMap<usize, &RBig> = s.iter().map(|(j, v)| (*j, v)).collect();
        if let Some((j, v)) = s.iter().find(|(j, v)| c.integer.contains(j) && !v.is_int()) {
            return Err(format!("solution {k}: {} is {v}", c.names[*j]));
        }
        if let Some(i) = c.constraints.iter().position(|r| !r.holds_at(&x)) {
            return Err(format!("solution {k}: constraint {i} does not hold"));
        }
        let v = value(&c.objective, &x);
        let better = |b: &RBig| if c.maximise { v > *b } else { v < *b };
        if best.as_ref().is_none_or(better) {
            best = Some(v);
        }
    }
    Ok(best)
}

/// Checks the claim. `last` is the last line if it rests on no assumption.
fn check_claim(
    c: &Certificate,
    last: Option<&Constraint>,
    best: Option<&RBig>,
) -> Result<(), String> {
    let proves = |sense, side: &RBig| {
        let goal = Constraint {
            sense,
            side: side.clone(),
            form: c.objective.clone(),
        };
        last.is_some_and(|l| l.dominates(&goal))
    };
    match &c.claim {
        Claim::Infeasible if last.is_some_and(Constraint::is_absurd) => Ok(()),
        Claim::Infeasible => Err("the last line is no contradiction without assumptions".into()),
        Claim::Range(low, high) => {
            let (dual, primal, sense) = if c.maximise {
                (high, low, ViprSense::AtMost)
            } else {
                (low, high, ViprSense::AtLeast)
            };
            if dual.as_ref().is_some_and(|b| !proves(sense, b)) {
                return Err("the last line does not show the bound without assumptions".into());
            }
            let reached = |p: &RBig| best.is_some_and(|b| if c.maximise { b >= p } else { b <= p });
            if primal.as_ref().is_some_and(|p| !reached(p)) {
                return Err("no solution is as good as the range says".into());
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    /// min x + y, 2x + 2y >= 3, both 0 to 5 and integer: 2, by a split on x (and by rounding
    /// alone).
    const PROOF: &str = "% a comment\nVER 1.1\nVAR 2\nx y\nINT 2\n0 1\nOBJ min\n2 0 1 1 1\nCON 3 2\n\
        r G 3 2 0 2 1 2\nbx G 0 1 0 1\nby G 0 1 1 1\nRTP range 2 2\nSOL 1\nbest 2 0 1 1 1\nDER 6\n\
        a1 L 0 1 0 1 { asm } -1\n\
        l1 G 2 OBJ { rnd 1 0 1/2 } -1\n\
        a2 G 1 1 0 1 { asm } -1\n\
        l2 G 2 OBJ { rnd 1 0 1/2 } -1\n\
        u G 2 OBJ { uns 4 3 6 5 } -1\n\
        end G 2 OBJ { lin 1 7 1 } -1\n";

    #[test]
    fn a_proof_holds_and_its_forgeries_do_not() {
        let counts = check(&parse(PROOF).unwrap()).unwrap();
        assert_eq!(
            (counts.derived, counts.assumptions, counts.solutions),
            (6, 2, 1)
        );
        let forgeries = [
            ("RTP range 2 2", "RTP range 3 3"),
            ("RTP range 2 2", "RTP range 2 1"),
            ("RTP range 2 2", "RTP infeas"),
            ("best 2 0 1 1 1", "best 1 0 1"),
            ("best 2 0 1 1 1", "best 2 0 1/2 1 2"),
            ("l1 G 2 OBJ { rnd", "l1 G 2 OBJ { lin"),
            ("l1 G 2 OBJ { rnd 1 0 1/2", "l1 G 3 OBJ { rnd 1 0 1/2"),
            ("l1 G 2 OBJ { rnd 1 0 1/2", "l1 G 2 OBJ { rnd 1 0 1/4"),
            ("rnd 1 0 1/2", "rnd 2 0 1/2 1 -1"),
            ("a2 G 1 1 0 1", "a2 G 2 1 0 1"),
            ("{ uns 4 3 6 5 }", "{ uns 4 4 6 5 }"),
            ("{ uns 4 3 6 5 }", "{ asm }"),
            ("INT 2\n0 1", "INT 1\n0"),
        ];
        for (from, to) in forgeries {
            let text = PROOF.replacen(from, to, 1);
            assert_ne!(text, PROOF);
            let verdict = parse(&text).and_then(|c| check(&c));
            assert!(verdict.is_err(), "{to}");
        }
        // A line that rests on an assumption proves no claim.
        let text = PROOF.replacen("{ rnd 1 0 1/2 }", "{ lin 2 0 0 3 0 }", 1);
        assert!(parse(&text).and_then(|c| check(&c)).is_err());
        for cut in [10, 60, 150, PROOF.len() - 4] {
            assert!(parse(&PROOF[..cut]).is_err());
        }
    }

    #[test]
    fn infeasibility_needs_a_contradiction() {
        let proof = "VER 1.1 VAR 1 x INT 1 0 OBJ min 0 CON 2 0 a G 1 1 0 2 b L 1 1 0 2 RTP infeas SOL 0 DER 3 \
            c G 1 1 0 1 { rnd 1 0 1/2 } -1 d L 0 1 0 1 { rnd 1 1 1/2 } -1 e G 1 0 { lin 2 2 1 3 -1 } -1";
        assert!(check(&parse(proof).unwrap()).is_ok());
        let short = proof
            .replace("DER 3", "DER 2")
            .replace(" e G 1 0 { lin 2 2 1 3 -1 } -1", "");
        assert!(check(&parse(&short).unwrap()).is_err());
    }
}
