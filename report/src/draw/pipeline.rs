//! Passes of a pipeline over time: a lane for each device.

use super::bands::time_axis;
use super::legend::Legend;
use super::style::{
    self, Area, DrawError, FAINT, Frame, GREY, Hover, INK, PALETTE, Words, failed, label,
};
use crate as report;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use remat_instances::instance::CostUnit;
use remat_instances::pipeline::arrangement::{Device, PipelineReplay};
use remat_instances::pipeline::schedule::{Pass, Schedule};
use remat_instances::pipeline::timeline::TimedPass;

/// Colour of forward passes, of backward passes, and of recomputations in them.
const FORWARD: RGBColor = PALETTE[4];
const BACKWARD: RGBColor = PALETTE[2];
const AGAIN: RGBColor = PALETTE[1];
/// Fill of times in which a device is idle.
const IDLE: RGBColor = FAINT;

const WIDTH: u32 = 1180;
/// Pixels of a lane with the gap to the next: most, and least if there are many devices.
const PITCHES: (i32, i32) = (44, 8);
/// Pixels that all lanes together may take before lanes become narrower.
const LANES: i32 = 1200;
/// Size of the numbers in boxes.
const FONT_SIZE: u32 = 13;
/// Largest number of passes that show their texts under the pointer.
const NAMED_PASSES: usize = 4_000;

/// Contents of the pictures of a pipeline.
pub struct PipelinePicture<'a> {
    /// The schedule.
    pub schedule: Schedule,
    /// The devices.
    pub devices: &'a [Device],
    /// Fixed memory of each device in bytes.
    pub fixed_bytes: &'a [u64],
    /// The replay.
    pub replay: &'a PipelineReplay,
    /// Unit of costs.
    pub unit: &'a CostUnit,
    /// Heading.
    pub title: String,
}

impl PipelinePicture<'_> {
    /// Share of the devices' time in which they run no pass.
    pub fn idle_share(&self) -> f64 {
        let timeline = &self.replay.timeline;
        let busy: u64 = (0..timeline.devices.len()).map(|d| timeline.busy(d)).sum();
        let all = timeline.makespan as f64 * timeline.devices.len() as f64;
        1.0 - busy as f64 / all.max(f64::MIN_POSITIVE)
    }

    /// Share of a pass that is recomputation.
    pub fn recomputed_share(&self, pass: &TimedPass) -> f64 {
        let stage = pass.pass.stage;
        let (again, profile) = (&self.replay.recomputed[stage], &self.replay.profiles[stage]);
        let (again, all) = match pass.pass.backward {
            true => (again.backward, profile.backward),
            false => (again.forward, profile.forward),
        };
        again as f64 / all.max(1) as f64
    }
}

/// Name of a pass.
pub(super) fn pass_name(device: usize, pass: &Pass) -> String {
    let way = match pass.backward {
        true => "backward",
        false => "forward",
    };
    let (stage, microbatch) = (pass.stage, pass.microbatch);
    format!("device {device}, stage {stage}, {way} of micro-batch {microbatch}")
}

/// A pass in pixels.
struct Drawn<'p> {
    device: usize,
    pass: &'p TimedPass,
    /// Left, top, right and bottom.
    place: (i32, i32, i32, i32),
    /// Begin of its recomputations.
    again: i32,
}

/// The picture as SVG text.
///
/// # Errors
/// [`DrawError`].
pub fn draw(picture: &PipelinePicture<'_>) -> Result<String, DrawError> {
    let makespan = picture.replay.timeline.makespan;
    let (scale, unit) = time_axis(makespan, picture.unit);
    let devices = picture.schedule.devices();
    let pitch = (LANES / devices as i32).clamp(PITCHES.1, PITCHES.0);
    let height = pitch * devices as i32;
    let frame = Frame {
        pixels: (104, 110, WIDTH as i32 - 30, 110 + height),
        x: (0.0, (makespan as f64 / scale).max(f64::MIN_POSITIVE)),
        y: (devices as f64, 0.0),
        root: false,
    };
    let drawn = drawn(picture, &frame, scale, pitch);
    let paler = match picture.schedule.chunks() {
        1 => "",
        _ => "; later stages of a device are paler",
    };
    let explanation = format!(
        "{} on {}, {}: {} in the replay of all events, {:.1}% of the devices' time idle{paler}",
        picture.schedule.kind(),
        report::counted(devices as u64, "device"),
        report::micro_batches(picture.schedule.microbatches()),
        report::cost(makespan, picture.unit),
        100.0 * picture.idle_share(),
    );
    let words = Words {
        heading: &picture.title,
        explanation: &explanation,
        hovers: hovers(picture, &drawn, scale, &unit),
    };
    style::picture((WIDTH, (110 + height + 66) as u32), &words, |area| {
        lanes(area, &frame, pitch, devices)?;
        frame.time_axis(area, &format!("time in the training step ({unit})"))?;
        for pass in &drawn {
            pass.draw(area, picture.schedule.devices())?;
        }
        let mut legend = Legend::new(area, (frame.pixels.0, 80));
        legend.square("forward", FORWARD.mix(0.75))?;
        legend.square("backward", BACKWARD.mix(0.75))?;
        legend.square("recomputing", AGAIN.mix(0.85))?;
        legend.square("idle", IDLE.mix(1.0))
    })
}

/// The passes that are at least in part in a column of pixels of their own.
fn drawn<'p>(
    picture: &PipelinePicture<'p>,
    frame: &Frame,
    scale: f64,
    pitch: i32,
) -> Vec<Drawn<'p>> {
    let gap = (pitch / 6).max(1);
    let mut list = Vec::new();
    for (device, passes) in picture.replay.timeline.devices.iter().enumerate() {
        let top = frame.pixels.1 + device as i32 * pitch + gap;
        let bottom = top + pitch - 2 * gap;
        let mut filled = frame.pixels.0;
        for pass in passes {
            let left = frame.across(pass.start as f64 / scale);
            let right = frame.across(pass.end as f64 / scale).max(left + 1);
            if right <= filled {
                continue;
            }
            filled = right;
            let share = picture.recomputed_share(pass);
            list.push(Drawn {
                device,
                pass,
                place: (left, top, right, bottom),
                again: right - (share * f64::from(right - left)).round() as i32,
            });
        }
    }
    list
}

impl Drawn<'_> {
    /// Draws the box, paler for later stages of the device, with its micro-batch's number.
    fn draw(&self, area: &Area<'_>, devices: usize) -> Result<(), DrawError> {
        let (left, top, right, bottom) = self.place;
        let pass = &self.pass.pass;
        let strength = 0.75 / (1.0 + 0.5 * (pass.stage / devices) as f64);
        let colour = match pass.backward {
            true => BACKWARD,
            false => FORWARD,
        };
        let fill = |corners: [(i32, i32); 2], colour: RGBAColor| {
            area.draw(&Rectangle::new(corners, colour.filled()))
                .map_err(failed)
        };
        let corners = [(left, top), (right, bottom)];
        fill(corners, WHITE.mix(1.0))?;
        fill([(left, top), (self.again, bottom)], colour.mix(strength))?;
        if self.again < right {
            fill([(self.again, top), (right, bottom)], AGAIN.mix(0.85))?;
        }
        // A white line separates boxes that touch.
        if right - left > 3 {
            let edge = vec![(left, top), (left, bottom)];
            area.draw(&PathElement::new(edge, WHITE.stroke_width(1)))
                .map_err(failed)?;
        }
        let number = pass.microbatch.to_string();
        if style::width(&number, FONT_SIZE) + 4 > right - left || bottom - top < 12 {
            return Ok(());
        }
        let middle = ((left + right) / 2, (top + bottom) / 2);
        label(area, &number, middle, FONT_SIZE, INK, HPos::Center)
    }
}

/// Texts of the passes.
fn hovers(
    picture: &PipelinePicture<'_>,
    drawn: &[Drawn<'_>],
    scale: f64,
    unit: &str,
) -> Vec<Hover> {
    if drawn.len() > NAMED_PASSES {
        return Vec::new();
    }
    let hover = |of: &Drawn<'_>| {
        let (start, end) = (of.pass.start as f64 / scale, of.pass.end as f64 / scale);
        let again = match picture.recomputed_share(of.pass) {
            share if share > 0.0 => format!(", {:.1}% recomputing", 100.0 * share),
            _ => String::new(),
        };
        Hover {
            place: of.place,
            text: format!(
                "{}: {start:.3} to {end:.3} {unit}{again}",
                pass_name(of.device, &of.pass.pass)
            ),
        }
    };
    drawn.iter().map(hover).collect()
}

/// Lanes in the colour of idle times, with the names of their devices.
fn lanes(area: &Area<'_>, frame: &Frame, pitch: i32, devices: usize) -> Result<(), DrawError> {
    let (left, top, right, _) = frame.pixels;
    let gap = (pitch / 6).max(1);
    // Names need 18 pixels each.
    let every = (18 / pitch).max(0) as usize + 1;
    for device in 0..devices {
        let above = top + device as i32 * pitch;
        let corners = [(left, above + gap), (right, above + pitch - gap)];
        area.draw(&Rectangle::new(corners, IDLE.filled()))
            .map_err(failed)?;
        if device % every == 0 {
            let place = (left - 10, above + pitch / 2);
            label(
                area,
                &format!("device {device}"),
                place,
                15,
                GREY,
                HPos::Right,
            )?;
        }
    }
    Ok(())
}
