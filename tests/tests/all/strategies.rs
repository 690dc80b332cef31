//! The table of strategies, and pictures of it.

use remat_formulations::AnyFormulation;
use remat_formulations::offload::CopyPhase;
use remat_formulations::offload::nodes::Linked;
use remat_formulations::solve::Baselines;
use remat_report::draw::style::PALETTE;

#[test]
fn every_strategy_has_a_colour_of_its_own() {
    let mut colours: Vec<_> = PALETTE.iter().map(|c| (c.0, c.1, c.2)).collect();
    colours.sort_unstable();
    colours.dedup();
    let instance = remat_formulations::zoo::build(&"zoo:chain?n=3".parse().unwrap()).unwrap();
    let linked = Linked::new(AnyFormulation::suiting(&instance), CopyPhase::Any);
    assert!(colours.len() >= Baselines::of(linked).names().len());
}
