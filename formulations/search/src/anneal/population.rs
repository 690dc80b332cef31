//! Good schedules that differ, and their children.

use super::chain::Found;
use remat_instances::schedule::BitMatrix;
use remat_lp::random::Xoshiro256;

/// Limit on the schedules. Twice as many do no better on networks in a minute.
const SIZE: usize = 16;
/// Schedules are much alike if they differ in less than one of so many retained tensors and stages.
/// With 32 the annealing of U-Net at 6 GiB ended in worse valleys (`bench/results/monet_60s.txt`).
const ALIKE: usize = 8;

/// The best schedules found so far, each of another cost, the cheapest first.
///
/// Runs from scratch end in one of many valleys, and longer ones hardly in better ones. Valleys
/// differ by decisions far apart in time or in the graph, which no series of moves changes at once.
/// Two ends have good parts each. Their combination, annealed at a low temperature until it fits,
/// is better than both.
#[derive(Clone, Debug, Default)]
pub struct Population {
    members: Vec<Found>,
}

impl Population {
    /// The cheapest one.
    pub fn best(&self) -> Option<&Found> {
        self.members.first()
    }

    /// One of the cheapest, counted from 0; the most expensive if there are not so many.
    pub fn member(&self, number: usize) -> Option<&Found> {
        self.members.get(number).or(self.members.last())
    }

    /// Returns whether there is no schedule yet.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns whether a new schedule would replace another.
    pub fn is_full(&self) -> bool {
        self.members.len() == SIZE
    }

    /// Inserts a schedule if there is room or it beats the most expensive member, unless another
    /// member has the same cost. If it is much like a member, it must be cheaper, and replaces that
    /// member.
    pub fn admit(&mut self, found: Found) {
        if let Some(like) = alike(&self.members, &found) {
            if self.members[like].cost <= found.cost {
                return;
            }
            self.members.remove(like);
        }
        let at = self.members.partition_point(|m| m.cost < found.cost);
        if self.members.get(at).is_none_or(|m| m.cost > found.cost) {
            self.members.insert(at, found);
            self.members.truncate(SIZE);
        }
    }

    /// The schedules, the cheapest first.
    pub fn into_members(self) -> impl Iterator<Item = Found> {
        self.members.into_iter()
    }

    /// Crosses two members. A single member gives its own retained sets; `None` if there is no
    /// member.
    pub fn child(&self, random: &mut Xoshiro256) -> Option<BitMatrix> {
        if self.is_empty() {
            return None;
        }
        let many = self.members.len() as u32;
        let first = random.below(many);
        // Any other member; the first itself if there is no other.
        let second = (first + 1 + random.below(many - 1)) % many;
        let of = |k: u32| &self.members[k as usize].retained;
        Some(cross(of(first).clone(), of(second), random))
    }
}

/// Index of the schedule that is most like another one, if it is much like it.
fn alike(schedules: &[Found], other: &Found) -> Option<usize> {
    let most = other.retained.count_ones() / ALIKE;
    let distances = schedules
        .iter()
        .map(|s| s.retained.distance(&other.retained));
    let (like, distance) = distances.enumerate().min_by_key(|d| d.1)?;
    (distance < most).then_some(like)
}

/// Puts parts of `other` in place of a schedule's own: a stretch of stages, or of tensors, or half
/// of the tensors.
fn cross(mut child: BitMatrix, other: &BitMatrix, random: &mut Xoshiro256) -> BitMatrix {
    let (rows, columns) = (child.rows(), child.columns());
    let mut stretch = |of: usize| {
        let (a, b) = (random.below(of as u32), random.below(of as u32));
        a.min(b) as usize..=a.max(b) as usize
    };
    let (stages, tensors) = (stretch(rows), stretch(columns));
    match random.below(3) {
        0 => stages.for_each(|t| child.row_mut(t).copy_from_slice(other.row(t))),
        1 => tensors.for_each(|j| take_column(&mut child, other, j)),
        _ => {
            for j in 0..columns {
                if random.one_in(2) {
                    take_column(&mut child, other, j);
                }
            }
        }
    }
    child
}

fn take_column(child: &mut BitMatrix, other: &BitMatrix, column: usize) {
    for t in 0..child.rows() {
        child.set(t, column, other.get(t, column));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(cost: u64, fill: bool) -> Found {
        let mut retained = BitMatrix::new(5, 70);
        for t in 0..5 {
            (0..70).for_each(|j| retained.set(t, j, fill));
        }
        Found { cost, retained }
    }

    #[test]
    fn members_differ_and_the_dearest_gives_way() {
        let mut population = Population::default();
        for cost in (0..40).rev().chain([7, 3]) {
            let mut found = found(cost, false);
            found.retained.set(cost as usize % 5, cost as usize, true);
            population.admit(found);
        }
        let costs: Vec<u64> = population.members.iter().map(|m| m.cost).collect();
        assert_eq!(costs, (0..SIZE as u64).collect::<Vec<_>>());
        assert!(population.is_full());
        assert_eq!(population.best().map(|f| f.cost), Some(0));
    }

    #[test]
    fn children_have_parts_of_two() {
        let mut population = Population::default();
        let mut random = Xoshiro256::new(0, 0);
        assert!(population.child(&mut random).is_none());
        population.admit(found(1, false));
        let alone = population.child(&mut random).map(|c| c.count_ones());
        assert_eq!(alone, Some(0));
        population.admit(found(2, true));
        population.admit(found(3, true));
        assert_eq!(population.members.len(), 2);
        let shares: Vec<usize> = (0..50)
            .filter_map(|_| population.child(&mut random))
            .map(|c| c.count_ones())
            .collect();
        assert_eq!(shares.len(), 50);
        let mixed = shares.iter().filter(|&&s| 0 < s && s < 5 * 70).count();
        assert!(mixed > 40, "{shares:?}");
    }
}
