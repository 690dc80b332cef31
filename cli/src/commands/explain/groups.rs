//! Tensors that are recomputed in the same way, told in one paragraph.

use super::{Teller, are};
use remat_instances::budget::format_bytes;
use remat_instances::explain::{Absence, Story};
use remat_report::counted;
use std::fmt::Write;

/// Names of a group that are shown.
const NAMES: usize = 6;

/// Tensors of one operator, size and cost that the same moment keeps out, each recomputed once.
pub(super) struct Group<'a>(Vec<&'a Story>);

impl<'a> Group<'a> {
    /// The cost of all recomputations.
    pub fn cost(&self) -> u64 {
        self.0.iter().map(|story| story.cost).sum()
    }

    /// The number of tensors.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The only absence of a story that is recomputed once.
    fn absence(story: &'a Story) -> Option<&'a Absence> {
        match &story.absences[..] {
            [absence] if story.recomputations == 1 => Some(absence),
            _ => None,
        }
    }
}

impl Teller<'_> {
    /// The stories in groups, the most expensive group first.
    pub(super) fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for story in &self.told.stories {
            let like = |group: &&mut Group<'_>| self.is_like(group.0[0], story);
            match groups.iter_mut().find(like) {
                Some(group) => group.0.push(story),
                None => groups.push(Group(vec![story])),
            }
        }
        groups.sort_by_key(|group| std::cmp::Reverse(group.cost()));
        groups
    }

    fn is_like(&self, a: &Story, b: &Story) -> bool {
        let (Some(of_a), Some(of_b)) = (Group::absence(a), Group::absence(b)) else {
            return false;
        };
        let node = |story: &Story| self.instance.node(story.node);
        let (fullest_a, fullest_b) = (of_a.fullest, of_b.fullest);
        node(a).op == node(b).op
            && node(a).output_bytes == node(b).output_bytes
            && a.cost == b.cost
            && fullest_a.map(|(_, bytes)| bytes) == fullest_b.map(|(_, bytes)| bytes)
            && fullest_a.map(|(at, _)| self.told.order[at])
                == fullest_b.map(|(at, _)| self.told.order[at])
    }

    /// A paragraph about a group.
    pub(super) fn group(&self, text: &mut String, group: &Group<'_>) {
        let first = group.0[0];
        let Some(absence) = Group::absence(first).filter(|_| group.len() > 1) else {
            return self.story(text, first);
        };
        let node = self.instance.node(first.node);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\n  {} of {} each, computed again once: {} together ({:.2}%)",
            counted(
                group.len() as u64,
                format!("{} tensor", node.op).trim_start()
            ),
            format_bytes(node.output_bytes),
            self.cost(group.cost()),
            self.share(group.cost())
        );
        let mut names: Vec<String> = (group.0.iter().take(NAMES))
            .map(|story| self.name(story.node).to_string())
            .collect();
        if group.len() > NAMES {
            names.push(format!("and {} more", group.len() - NAMES));
        }
        let _ = writeln!(text, "    {}", names.join(", "));
        let lengths = group.0.iter().filter_map(|story| Group::absence(story));
        let lengths = lengths.map(|absence| absence.to - absence.from);
        let (least, most) = (lengths.clone().min(), lengths.max());
        let range = match (least, most) {
            (Some(0), Some(0)) => "no computation".into(),
            (Some(least), Some(most)) if least < most => format!("{least} to {most} computations"),
            (least, _) => counted(least.unwrap_or(0) as u64, "computation"),
        };
        let _ = writeln!(
            text,
            "    each is free during {range}{}",
            self.fullest(absence.fullest, absence.bytes)
        );
    }

    /// The sentence in front of groups that are left out.
    pub(super) fn rest(&self, text: &mut String, groups: &[Group<'_>], hint: &str) {
        let tensors: usize = groups.iter().map(Group::len).sum();
        let cost = groups.iter().map(Group::cost).sum();
        let _ = writeln!(
            text,
            "\n... {} computed again for {} ({hint}).",
            are(tensors, "more tensor"),
            self.cost(cost)
        );
    }
}
