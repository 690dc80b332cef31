//! Memory of the devices of a pipeline over time: a panel for each device.

use super::bands::{
    FIXED, Level, RUNNING, SAVED, band, budget_line, outline, peak_mark, time_axis,
};
use super::legend::Legend;
use super::pipeline::{PipelinePicture, pass_name};
use super::style::{self, Area, DrawError, Frame, GREY, Hover, INK, PALETTE, Words, label};
use crate as report;
use plotters::style::text_anchor::HPos;
use remat_instances::budget::format_bytes;
use remat_instances::pipeline::timeline::{MemorySpan, device_memory};

const WIDTH: u32 = 1180;
/// Pixels of a panel, and of the gap below it.
const PANEL: i32 = 150;
const GAP: i32 = 30;
/// Largest number of spans that show their texts under the pointer.
const NAMED_SPANS: usize = 4_000;

/// One device.
struct Panel {
    device: usize,
    frame: Frame,
    spans: Vec<MemorySpan>,
}

/// The picture as SVG text: memory of a pass is its largest, from its begin to its end.
///
/// # Errors
/// [`DrawError`].
pub fn draw(picture: &PipelinePicture<'_>) -> Result<String, DrawError> {
    let replay = picture.replay;
    let (scale, unit) = time_axis(replay.timeline.makespan, picture.unit);
    let budgets = picture.devices.iter().map(|device| device.budget_bytes);
    let highest = budgets.chain(replay.peaks.iter().copied()).max();
    let highest = highest.unwrap_or(0);
    let panels: Vec<Panel> = (0..picture.schedule.devices())
        .map(|device| Panel::of(picture, device, highest, scale))
        .collect();
    let (bytes, byte_name) = style::byte_unit(highest);
    let explanation = format!(
        "peaks of {}; the memory of a pass is its largest",
        peaks(replay.peaks.iter().copied())
    );
    let words = Words {
        heading: &picture.title,
        explanation: &explanation,
        hovers: hovers(picture, &panels, scale, &unit),
    };
    let height = 110 + panels.len() as i32 * (PANEL + GAP) + 36;
    style::picture((WIDTH, height as u32), &words, |area| {
        if let Some(last) = panels.last() {
            let name = format!("time in the training step ({unit})");
            last.frame.time_axis(area, &name)?;
        }
        for panel in &panels {
            let labelled = Frame {
                y: (0.0, panel.frame.y.1 * f64::from(1u32 << 30) / bytes),
                ..panel.frame
            };
            labelled.level_axis(area)?;
            panel.draw(area, picture, scale)?;
        }
        let place = (20, 80);
        label(
            area,
            &format!("memory ({byte_name})"),
            place,
            15,
            GREY,
            HPos::Left,
        )?;
        let mut legend = Legend::new(area, (160, 80));
        legend.edged("the pass that runs", RUNNING, PALETTE[0])?;
        legend.square("waiting micro-batches", SAVED)?;
        legend.square("fixed memory", FIXED)?;
        legend.circle("peak")?;
        legend.dashes("budget", PALETTE[1])
    })
}

/// The smallest and the largest peak.
fn peaks(list: impl Iterator<Item = u64> + Clone) -> String {
    let least = list.clone().min().unwrap_or(0);
    match list.max() {
        Some(most) if most > least => {
            format!("{} to {}", format_bytes(least), format_bytes(most))
        }
        _ => format_bytes(least),
    }
}

impl Panel {
    fn of(picture: &PipelinePicture<'_>, device: usize, highest: u64, scale: f64) -> Self {
        let replay = picture.replay;
        let top = 110 + device as i32 * (PANEL + GAP);
        let longest = replay.timeline.makespan as f64 / scale;
        Panel {
            device,
            frame: Frame {
                pixels: (84, top, WIDTH as i32 - 30, top + PANEL),
                x: (0.0, longest.max(f64::MIN_POSITIVE)),
                y: (0.0, (report::gib(highest) * 1.08).max(f64::MIN_POSITIVE)),
                root: false,
            },
            spans: device_memory(&replay.timeline, device, &replay.profiles),
        }
    }

    fn draw(
        &self,
        area: &Area<'_>,
        picture: &PipelinePicture<'_>,
        scale: f64,
    ) -> Result<(), DrawError> {
        let frame = &self.frame;
        let fixed = picture.fixed_bytes[self.device];
        let levels = |bytes: fn(&MemorySpan) -> u64| -> Vec<Level> {
            let spans = self.spans.iter();
            spans.map(|span| (span.end, fixed + bytes(span))).collect()
        };
        let all = levels(MemorySpan::bytes);
        band(area, frame, &all, scale, RUNNING)?;
        band(
            area,
            frame,
            &levels(|span| span.waiting_bytes),
            scale,
            SAVED,
        )?;
        band(area, frame, &levels(|_| 0), scale, FIXED)?;
        outline(area, frame, &all, scale, PALETTE[0], 1)?;
        budget_line(area, frame, picture.devices[self.device].budget_bytes)?;
        let peak = picture.replay.peaks[self.device];
        let name = format!("device {}: peak {}", self.device, format_bytes(peak));
        let (left, top, ..) = frame.pixels;
        label(area, &name, (left, top - 9), 14, INK, HPos::Left)?;
        let mut spans = self.spans.iter();
        match spans.find(|span| fixed + span.bytes() == peak) {
            Some(span) => peak_mark(area, frame, (span.start.midpoint(span.end), peak), scale),
            None => Ok(()),
        }
    }
}

/// Texts of the spans.
fn hovers(picture: &PipelinePicture<'_>, panels: &[Panel], scale: f64, unit: &str) -> Vec<Hover> {
    let count: usize = panels.iter().map(|panel| panel.spans.len()).sum();
    if count > NAMED_SPANS {
        return Vec::new();
    }
    let mut list = Vec::new();
    for panel in panels {
        let device = panel.device;
        for span in &panel.spans {
            let name = match &span.pass {
                Some(pass) => pass_name(device, pass),
                None => format!("device {device}, idle"),
            };
            let (start, end) = (span.start as f64 / scale, span.end as f64 / scale);
            let (_, top, _, bottom) = panel.frame.pixels;
            list.push(Hover {
                place: (
                    panel.frame.across(start),
                    top,
                    panel.frame.across(end),
                    bottom,
                ),
                text: format!(
                    "{name}, until {end:.3} {unit}: {} running, {} waiting, {} fixed",
                    format_bytes(span.running_bytes),
                    format_bytes(span.waiting_bytes),
                    format_bytes(picture.fixed_bytes[device]),
                ),
            });
        }
    }
    list
}
