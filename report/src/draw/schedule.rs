//! Nodes computed and tensors kept in each stage: the matrices R and S of a plan in one picture.

use super::style::{self, Area, DrawError, GREY, Hover, INK, PALETTE, Words, failed, label};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use remat_instances::Instance;
use remat_instances::plan::{Plan, StageSpans};

/// Colour of tensors on the host; tensors that are also kept are drawn over it.
const ON_HOST: RGBColor = PALETTE[2];

/// The picture as SVG text.
///
/// # Errors
/// [`DrawError`].
pub fn draw(instance: &Instance, plan: &Plan, title: &str) -> Result<String, DrawError> {
    let n = instance.len();
    let stages = StageSpans::new(plan, n);
    let side = (900 / n.max(1)).clamp(1, 24) as i32;
    let side = if n > 900 {
        1.0
    } else {
        f64::from(side).max(700.0 / n as f64)
    };
    let extent = (side * n as f64).ceil() as i32;
    let down = (side * stages.count as f64).ceil() as i32;
    let (left, top) = (84, 128);
    let size = (
        (left + extent + 40).max(620) as u32,
        (top + down + 30) as u32,
    );
    let explanation = format!(
        "{n} nodes; {} are computed again, {} times in all",
        plan.computations(n).iter().filter(|c| **c > 1).count(),
        stages.again.len()
    );
    let at = |k: usize| (k as f64 * side).round() as i32;
    let place = |from: (usize, usize), to: (usize, usize), least: i32| {
        // (stage, node) corners, both included, with a minimum of pixels each way.
        let (x0, y0) = (left + at(from.1), top + at(from.0));
        let x1 = (left + at(to.1 + 1)).max(x0 + least);
        let y1 = (top + at(to.0 + 1)).max(y0 + least);
        (x0, y0, x1, y1)
    };
    let name = |node: usize| &instance.nodes()[node].name;
    let kept = stages.kept.iter().map(|(node, from, to)| Hover {
        place: place((*from, *node), (*to, *node), 1),
        text: format!("{} kept, stages {from} to {to}", name(*node)),
    });
    let first = stages.first.iter().map(|(stage, node)| Hover {
        place: place((*stage, *node), (*stage, *node), 1),
        text: format!("{} first computed, stage {stage}", name(*node)),
    });
    let again = stages.again.iter().map(|(stage, node)| Hover {
        place: place((*stage, *node), (*stage, *node), 4),
        text: format!("{} computed again, stage {stage}", name(*node)),
    });
    let on_host = stages.on_host.iter().map(|(node, from, to)| Hover {
        place: place((*from, *node), (*to, *node), 1),
        text: format!("{} on the host, stages {from} to {to}", name(*node)),
    });
    let words = Words {
        heading: title,
        explanation: &explanation,
        hovers: on_host.chain(kept).chain(first).chain(again).collect(),
    };
    style::picture(size, &words, |area| {
        legend(area, left, !stages.on_host.is_empty())?;
        let cell = |from: (usize, usize), to: (usize, usize), least: i32, colour: RGBColor| {
            let (x0, y0, x1, y1) = place(from, to, least);
            area.draw(&Rectangle::new([(x0, y0), (x1, y1)], colour.filled()))
                .map_err(failed)
        };
        for (node, from, to) in &stages.on_host {
            cell((*from, *node), (*to, *node), 1, ON_HOST)?;
        }
        for (node, from, to) in &stages.kept {
            cell((*from, *node), (*to, *node), 1, PALETTE[4])?;
        }
        for (stage, node) in &stages.first {
            cell((*stage, *node), (*stage, *node), 1, PALETTE[0])?;
        }
        for (stage, node) in &stages.again {
            // The most important cells are few and small, so they have a visible minimum size.
            cell((*stage, *node), (*stage, *node), 4, PALETTE[1])?;
        }
        frame(area, instance, &stages, (left, top), (extent, down), side)
    })
}

fn frame(
    area: &Area<'_>,
    instance: &Instance,
    stages: &StageSpans,
    (left, top): (i32, i32),
    (extent, down): (i32, i32),
    side: f64,
) -> Result<(), DrawError> {
    let (right, bottom) = (left + extent, top + down);
    let grey = GREY.stroke_width(1);
    let line = |points: Vec<(i32, i32)>| area.draw(&PathElement::new(points, grey)).map_err(failed);
    line(vec![
        (left, top),
        (right, top),
        (right, bottom),
        (left, bottom),
        (left, top),
    ])?;
    let n = instance.len();
    let step = style::step(n as f64, (extent / 80).max(2) as usize).max(1.0) as usize;
    for k in (0..n).step_by(step) {
        let x = left + ((k as f64 + 0.5) * side).round() as i32;
        line(vec![(x, top - 5), (x, top)])?;
        label(area, &k.to_string(), (x, top - 14), 14, INK, HPos::Center)?;
    }
    for k in (0..stages.count).step_by(step) {
        let y = top + ((k as f64 + 0.5) * side).round() as i32;
        line(vec![(left - 5, y), (left, y)])?;
        label(area, &k.to_string(), (left - 9, y), 14, INK, HPos::Right)?;
    }
    label(
        area,
        "node",
        ((left + right) / 2, top - 34),
        16,
        INK,
        HPos::Center,
    )?;
    let upright = style::text(16, INK)
        .transform(FontTransform::Rotate270)
        .pos(plotters::style::text_anchor::Pos::new(
            HPos::Center,
            plotters::style::text_anchor::VPos::Center,
        ));
    area.draw_text("stage", &upright, (22, (top + bottom) / 2))
        .map_err(failed)?;
    // The backward pass begins after the loss.
    let loss = instance.loss().map(|l| l.index());
    let stage = loss.and_then(|l| stages.first.iter().find(|f| f.1 == l));
    if let (Some(loss), Some((stage, _))) = (loss, stage) {
        let x = left + ((loss as f64 + 1.0) * side).round() as i32;
        let y = top + ((*stage as f64 + 1.0) * side).round() as i32;
        line(vec![(x, top), (x, bottom)])?;
        line(vec![(left, y), (right, y)])?;
        let room = right - x;
        if room > style::width("backward", 15) + 12 {
            label(
                area,
                "backward",
                (right - 6, top + 12),
                15,
                GREY,
                HPos::Right,
            )?;
        }
        if x - left > style::width("forward", 15) + 30 {
            label(area, "forward", (x - 6, top + 12), 15, GREY, HPos::Right)?;
        }
    }
    Ok(())
}

fn legend(area: &Area<'_>, left: i32, has_copies: bool) -> Result<(), DrawError> {
    let entries = [
        ("first computation", PALETTE[0]),
        ("computed again", PALETTE[1]),
        ("kept", PALETTE[4]),
        ("on the host alone", ON_HOST),
    ];
    let mut x = left;
    for (name, colour) in entries.into_iter().take(3 + usize::from(has_copies)) {
        let y = 74;
        area.draw(&Rectangle::new(
            [(x, y - 7), (x + 22, y + 7)],
            colour.filled(),
        ))
        .map_err(failed)?;
        label(area, name, (x + 30, y), 15, INK, HPos::Left)?;
        x += 30 + style::width(name, 15) + 26;
    }
    Ok(())
}
