//! Generations of schedules: when one stagnates, the next begins without its schedules.

use super::chain::Found;
use super::population::Population;

/// The best schedules of a search, and a younger generation that does not know them.
///
/// A population that has found its valley has members of that valley alone, and crosses only them.
/// A second generation stands for another seed: it takes turns with the elder one, and begins with
/// the same schedules as the first one did. When it stagnates too, it joins the elder one.
#[derive(Clone, Debug, Default)]
pub struct Generations {
    /// Initial schedules of each generation.
    ancestors: Population,
    elder: Aged,
    young: Option<Aged>,
    /// True if the young generation is at work.
    turn: bool,
}

impl Generations {
    /// The population at work.
    pub fn at_work(&mut self) -> &mut Population {
        &mut self.aged().population
    }

    fn aged(&mut self) -> &mut Aged {
        match &mut self.young {
            Some(young) if self.turn => young,
            _ => &mut self.elder,
        }
    }

    /// Adds initial schedules of every generation.
    pub fn begin(&mut self, known: impl IntoIterator<Item = Found>) {
        known.into_iter().for_each(|f| self.ancestors.admit(f));
        self.elder = Aged::of(self.ancestors.clone());
    }

    /// Admits a schedule that the generation at work did not find to the elder generation.
    pub fn admit(&mut self, found: Found) {
        self.elder.population.admit(found);
    }

    /// The cheapest schedule of all generations.
    pub fn best(&self) -> Option<&Found> {
        let both = std::iter::once(&self.elder).chain(&self.young);
        let best = both.filter_map(|aged| aged.population.best());
        best.min_by_key(|found| found.cost)
    }

    /// Records moves of the generation at work; the other one is at work next. A generation
    /// stagnates if it has found no better schedule for as long as it took to find its best, and
    /// for `least` moves.
    pub fn note(&mut self, moves: u64, least: u64) {
        let is_old = self.aged().note(moves, least);
        self.turn = !self.turn;
        match self.young.take() {
            // The young generation was at work.
            Some(young) if is_old && !self.turn => {
                let members = young.population.into_members();
                members.for_each(|f| self.elder.population.admit(f));
                let population = std::mem::take(&mut self.elder.population);
                self.elder = Aged::of(population);
            }
            None if is_old => {
                self.young = Some(Aged::of(self.ancestors.clone()));
                self.turn = true;
            }
            young => self.young = young,
        }
    }
}

/// A population, and its age.
#[derive(Clone, Debug, Default)]
struct Aged {
    population: Population,
    /// Moves in total, and moves until the best was found.
    moves: u64,
    found_at: u64,
    best: Option<u64>,
}

impl Aged {
    fn of(population: Population) -> Self {
        Aged {
            best: population.best().map(|found| found.cost),
            population,
            ..Aged::default()
        }
    }

    /// Records moves; returns whether the population stagnates.
    fn note(&mut self, moves: u64, least: u64) -> bool {
        self.moves += moves;
        let best = self.population.best().map(|found| found.cost);
        if best != self.best {
            (self.best, self.found_at) = (best, self.moves);
        }
        self.moves - self.found_at > self.found_at.max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_instances::schedule::BitMatrix;

    /// Schedules of the same mark are alike.
    fn found(cost: u64, mark: usize) -> Found {
        let mut retained = BitMatrix::new(4, 64);
        (0..4).for_each(|t| (0..8).for_each(|j| retained.set(t, 8 * mark + j, true)));
        Found { cost, retained }
    }

    fn at_work(generations: &mut Generations) -> Vec<u64> {
        let members = generations.at_work().clone().into_members();
        members.map(|found| found.cost).collect()
    }

    #[test]
    fn a_generation_of_its_own_begins_where_the_elder_find_nothing_and_joins_them() {
        let mut generations = Generations::default();
        generations.begin([found(100, 0)]);
        // The generation stays while it finds better schedules, and for as long after as that took.
        generations.note(5, 10);
        generations.at_work().admit(found(90, 1));
        generations.note(30, 10);
        generations.note(35, 10);
        assert_eq!(at_work(&mut generations), [90, 100]);
        generations.note(1, 10);
        assert_eq!(at_work(&mut generations), [100], "without what was found");
        assert_eq!(generations.best().map(|f| f.cost), Some(90));
        generations.at_work().admit(found(80, 2));
        assert_eq!(generations.best().map(|f| f.cost), Some(80));
        // The generations take turns. A schedule that is admitted does not join the young one.
        generations.note(20, 10);
        generations.admit(found(89, 4));
        assert_eq!(at_work(&mut generations), [89, 90, 100]);
        generations.note(20, 10);
        assert_eq!(at_work(&mut generations), [80, 100]);
        // The young one has found no better schedule for longer than it took to find its best.
        generations.note(21, 10);
        assert_eq!(at_work(&mut generations), [80, 89, 90, 100]);
        // The least number of moves counts if no better schedule was found since.
        generations.note(10, 10);
        assert_eq!(at_work(&mut generations), [80, 89, 90, 100]);
        generations.note(1, 10);
        assert_eq!(at_work(&mut generations), [100]);
    }
}
