//! Writing MiniMalloc's tables of buffers.

use super::csv::written;
use super::{Gap, Lives, Placement};

/// The table of buffers, readable by [`read_lives`](super::read_lives) and MiniMalloc. Optional
/// columns are included if a buffer needs them. The capacity belongs in the file's name.
///
/// ```
/// use remat_instances::place::{Buffer, Lives, write_lives};
/// let lives = Lives::new(vec![Buffer::new("x,y", 0, 2, 8)])?;
/// assert_eq!(write_lives(&lives), "id,lower,upper,size\n\"x,y\",0,2,8\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_lives(lives: &Lives) -> String {
    let fixed = lives.buffers().iter().any(|buffer| buffer.offset.is_some());
    let offset = |index: usize| match lives.buffers()[index].offset {
        Some(offset) => offset.to_string(),
        None => String::new(),
    };
    table(lives, fixed.then_some(&offset))
}

/// The table of buffers with their offsets in bytes, in MiniMalloc's format of solutions.
pub fn write_placement(lives: &Lives, placement: &Placement) -> String {
    let offset = |index: usize| placement.offsets()[index].to_string();
    table(lives, Some(&offset))
}

fn table(lives: &Lives, offset: Option<&dyn Fn(usize) -> String>) -> String {
    let buffers = lives.buffers();
    let aligned = buffers.iter().any(|buffer| buffer.alignment != 1);
    let gapped = buffers.iter().any(|buffer| !buffer.gaps.is_empty());
    let mut text = String::from("id,lower,upper,size");
    for (_, name) in [
        (aligned, ",alignment"),
        (gapped, ",gaps"),
        (offset.is_some(), ",offset"),
    ]
    .iter()
    .filter(|(is_there, _)| *is_there)
    {
        text += name;
    }
    text.push('\n');
    for (index, buffer) in buffers.iter().enumerate() {
        let [lower, upper] = [buffer.lower, buffer.upper].map(|moment| lives.time(moment));
        let size = buffer.size;
        text += &format!("{},{lower},{upper},{size}", written(&buffer.id));
        if aligned {
            text += &format!(",{}", buffer.alignment);
        }
        if gapped {
            let gaps: Vec<_> = buffer.gaps.iter().map(|one| gap(lives, one)).collect();
            text += &format!(",{}", gaps.join(" "));
        }
        if let Some(offset) = offset {
            text += &format!(",{}", offset(index));
        }
        text.push('\n');
    }
    text
}

/// A gap in MiniMalloc's notation.
fn gap(lives: &Lives, gap: &Gap) -> String {
    let [lower, upper] = [gap.lower, gap.upper].map(|moment| lives.time(moment));
    match gap.window {
        Some((start, end)) => format!("{lower}-{upper}@{start}:{end}"),
        None => format!("{lower}-{upper}"),
    }
}
