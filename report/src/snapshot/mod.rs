//! Plans as PyTorch memory snapshots, in the form of `torch.cuda.memory._dump_snapshot`.
//!
//! | module | concept |
//! |---|---|
//! | `pickle` | the file format of Python objects |
//! | `first_fit` | addresses for plans without addresses |
//! | `plan` | [`of_plan`]: plans of a training step |
//! | `lives` | [`of_order`], [`of_lives`]: orders, memory plans and tables of lives |
//! | `pipeline` | [`of_pipeline`]: pipelines |

mod first_fit;
mod lives;
mod pickle;
mod pipeline;
mod plan;

pub use lives::{of_lives, of_order};
pub use pipeline::of_pipeline;
pub use plan::of_plan;

use crate::results::VERSION;
use pickle::Pickle;

/// Address of the first device; the next one begins a whole number of these behind it. All are
/// exact in the double-precision numbers of viewers.
const BASE: u64 = 1 << 44;

/// Category that viewers expect among others.
const UNKNOWN: &str = "unknown";

/// A line of the stack of an allocation, the innermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    /// In the place of the function: an operator, a pass, a reason.
    name: String,
    /// In the place of the file: a node, a module, a graph.
    file: String,
    /// In the place of the line: a statement.
    line: u64,
}

impl Frame {
    fn new(name: impl Into<String>, file: impl Into<String>, line: usize) -> Self {
        Frame {
            name: name.into(),
            file: file.into(),
            line: line as u64,
        }
    }
}

/// A block of memory with one content.
#[derive(Clone, Debug)]
struct Block {
    /// Moment of its allocation.
    begin: usize,
    /// Moment of its release; `None` for a block that is in use at the end.
    end: Option<usize>,
    /// Address, from the begin of the device's memory.
    offset: u64,
    bytes: u64,
    category: &'static str,
    frames: Vec<Frame>,
}

/// Memory of one device.
#[derive(Clone, Debug)]
struct DeviceMemory {
    blocks: Vec<Block>,
    /// Microseconds at the begin of each moment, and at the end.
    times: Vec<u64>,
}

/// A file: the devices, and settings for readers.
struct Snapshot {
    devices: Vec<DeviceMemory>,
    /// Settings of the allocator as texts.
    settings: Vec<(&'static str, String)>,
}

/// An event of a block.
struct Event {
    moment: usize,
    allocates: bool,
    block: usize,
}

impl DeviceMemory {
    fn bytes(&self) -> u64 {
        let ends = self.blocks.iter().map(|block| block.offset + block.bytes);
        ends.max().unwrap_or(0)
    }

    /// Events in order of time; at one moment, releases come first.
    fn events(&self) -> Vec<Event> {
        let mut events = Vec::with_capacity(2 * self.blocks.len());
        for (block, of) in self.blocks.iter().enumerate() {
            let event = |moment, allocates| Event {
                moment,
                allocates,
                block,
            };
            events.push(event(of.begin, true));
            events.extend(of.end.map(|end| event(end, false)));
        }
        events.sort_by_key(|event| (event.moment, event.allocates, event.block));
        events
    }

    fn time(&self, moment: usize) -> u64 {
        let last = self.times.last().copied().unwrap_or(0);
        self.times.get(moment).copied().unwrap_or(last)
    }

    /// Blocks in use at the end, and the gaps between them, by address.
    fn at_the_end(&self) -> Vec<(u64, u64, Option<usize>)> {
        let stays = |(_, block): &(usize, &Block)| block.end.is_none();
        let staying = self.blocks.iter().enumerate().filter(stays);
        let mut staying: Vec<usize> = staying.map(|(k, _)| k).collect();
        staying.sort_by_key(|&k| self.blocks[k].offset);
        let mut list = Vec::new();
        let mut address = 0;
        for k in staying {
            let block = &self.blocks[k];
            if block.offset > address {
                list.push((address, block.offset - address, None));
            }
            list.push((block.offset, block.bytes, Some(k)));
            address = block.offset + block.bytes;
        }
        let all = self.bytes();
        if all > address {
            list.push((address, all - address, None));
        }
        list
    }
}

impl Snapshot {
    fn write(&self) -> Vec<u8> {
        let longest = self.devices.iter().map(DeviceMemory::bytes).max();
        let pitch = BASE.max(longest.unwrap_or(0).next_multiple_of(BASE));
        let base = |device: usize| BASE + device as u64 * pitch;
        let mut first = 0;
        let devices: Vec<(usize, u64, usize, &DeviceMemory)> = (self.devices.iter().enumerate())
            .map(|(k, device)| {
                let mark = first;
                first += device.blocks.len();
                (k, base(k), mark, device)
            })
            .collect();
        Pickle::of(|out| {
            out.dict(|out| {
                out.list("segments", &devices, |out, (device, base, mark, memory)| {
                    segment(out, *device, *base, *mark, memory);
                });
                out.list("device_traces", &devices, |out, (_, base, mark, memory)| {
                    trace(out, *base, *mark, memory);
                });
                out.list("external_annotations", &[] as &[u8], |_, _| {});
                out.settings(&self.settings);
            });
        })
    }
}

impl Pickle {
    fn settings(&mut self, settings: &[(&'static str, String)]) {
        self.entries("allocator_settings", |out| {
            out.words("written_by", &format!("remat-bb {VERSION}"));
            for (key, value) in settings {
                out.words(key, value);
            }
        });
    }

    fn frames(&mut self, mark: usize, frames: &[Frame]) {
        self.shared_list("frames", mark, frames, |out, frame| {
            out.dict(|out| {
                out.words("name", &frame.name);
                out.words("filename", &frame.file);
                out.number("line", frame.line);
            });
        });
    }
}

/// The one segment of a device: all its memory.
fn segment(out: &mut Pickle, device: usize, base: u64, mark: usize, memory: &DeviceMemory) {
    let blocks = memory.at_the_end();
    let used = blocks.iter().filter(|(_, _, block)| block.is_some());
    let used = used.map(|(_, bytes, _)| bytes).sum();
    out.dict(|out| {
        out.number("device", device as u64);
        out.number("address", base);
        out.number("total_size", memory.bytes());
        out.number("allocated_size", used);
        out.number("active_size", used);
        out.number("requested_size", used);
        out.number("stream", 0);
        out.words("segment_type", "large");
        out.list("segment_pool_id", &[0u64, 0], |out, zero| out.int(*zero));
        out.flag("is_expandable", false);
        out.list("frames", &[] as &[u8], |_, _| {});
        out.list("blocks", &blocks, |out, (offset, bytes, block)| {
            out.dict(|out| {
                out.number("address", base + offset);
                out.number("size", *bytes);
                out.number("requested_size", *bytes);
                match block {
                    Some(k) => {
                        out.words("state", "active_allocated");
                        out.frames(mark + k, &memory.blocks[*k].frames);
                    }
                    None => {
                        out.words("state", "inactive");
                        out.list("frames", &[] as &[u8], |_, _| {});
                    }
                }
            });
        });
    });
}

/// The events of a device.
fn trace(out: &mut Pickle, base: u64, mark: usize, memory: &DeviceMemory) {
    enum Entry {
        Segment,
        Block(&'static str, usize, u64),
        Snapshot,
    }
    let mut entries = vec![Entry::Segment];
    for event in memory.events() {
        let time = memory.time(event.moment);
        let entry = |action| Entry::Block(action, event.block, time);
        match event.allocates {
            true => entries.push(entry("alloc")),
            false => entries.extend(["free_requested", "free_completed"].map(entry)),
        }
    }
    entries.push(Entry::Snapshot);
    let first = memory.times.first().copied().unwrap_or(0);
    let last = memory.times.last().copied().unwrap_or(0);
    out.items(&entries, |out, entry| {
        out.dict(|out| match entry {
            Entry::Segment => {
                out.words("action", "segment_alloc");
                out.number("addr", base);
                out.number("size", memory.bytes());
                out.number("stream", 0);
                out.number("time_us", first);
                out.list("frames", &[] as &[u8], |_, _| {});
            }
            Entry::Block(action, k, time) => {
                let block = &memory.blocks[*k];
                out.words("action", action);
                out.number("addr", base + block.offset);
                out.number("size", block.bytes);
                out.number("stream", 0);
                out.number("time_us", *time);
                if *action == "alloc" {
                    out.words("category", block.category);
                }
                out.frames(mark + k, &block.frames);
            }
            // Viewers look for the category `unknown` as soon as there are others.
            Entry::Snapshot => {
                out.words("action", "snapshot");
                out.number("addr", 0);
                out.number("size", 0);
                out.number("stream", 0);
                out.number("time_us", last);
                out.words("category", UNKNOWN);
                out.list("frames", &[] as &[u8], |_, _| {});
            }
        });
    });
}
