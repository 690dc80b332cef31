//! Trace events: slices on lanes, counters, and arrows between slices.

use crate::clock::Clock;
use crate::results::VERSION;
use serde_json::{Map, Value, json};

/// A lane: process and thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    /// Process, from 1.
    pub process: usize,
    /// Thread, from 1; threads of a process are shown in their order.
    pub thread: usize,
}

impl Track {
    /// Number of the thread in the file. The thread with the number of its process would be shown
    /// as its main thread.
    fn number(self) -> usize {
        1000 * self.process + self.thread
    }
}

/// A slice of a lane. Times are in units of cost.
pub struct Slice {
    /// The lane.
    pub track: Track,
    /// Label.
    pub name: String,
    /// Category.
    pub category: &'static str,
    /// Begin.
    pub begin: u64,
    /// End.
    pub end: u64,
    /// Arguments that viewers list for the chosen slice.
    pub args: Value,
}

/// A trace while it is written: one event a line.
pub struct Events {
    out: String,
    clock: Clock,
}

impl Events {
    /// An empty trace; `facts` stand beside the events.
    pub fn new(clock: Clock, facts: &[(&str, Value)]) -> Self {
        let mut other = Map::new();
        other.insert("written_by".into(), format!("remat-bb {VERSION}").into());
        other.insert("time".into(), clock.words().into());
        for (key, value) in facts {
            other.insert((*key).into(), value.clone());
        }
        Events {
            out: format!(
                "{{\"displayTimeUnit\": \"ns\",\n\"otherData\": {},\n\"traceEvents\": [",
                Value::Object(other)
            ),
            clock,
        }
    }

    /// The words about times.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Names a process.
    pub fn process(&mut self, process: usize, name: &str, label: &str) {
        let meta = |kind: &str, args: Value| json!({"ph": "M", "pid": process, "name": kind, "args": args});
        self.push(&meta("process_name", json!({"name": name})));
        self.push(&meta("process_sort_index", json!({"sort_index": process})));
        if !label.is_empty() {
            self.push(&meta("process_labels", json!({"labels": label})));
        }
    }

    /// Names a lane.
    pub fn lane(&mut self, track: Track, name: &str) {
        let meta = |kind: &str, args: Value| json!({"ph": "M", "pid": track.process, "tid": track.number(), "name": kind, "args": args});
        self.push(&meta("thread_name", json!({"name": name})));
        let args = json!({"sort_index": track.thread});
        self.push(&meta("thread_sort_index", args));
    }

    /// A slice. Slices of a lane are given in order of time, an outer one before those inside.
    pub fn slice(&mut self, slice: &Slice) {
        let (process, thread) = (slice.track.process, slice.track.number());
        let (begin, end) = self.times(slice.begin, slice.end);
        let event = json!({
            "ph": "X", "pid": process, "tid": thread, "name": slice.name,
            "cat": slice.category, "args": slice.args,
        });
        self.timed(&event, begin, Some(end - begin));
    }

    /// A mark on a lane.
    pub fn mark(&mut self, track: Track, name: &str, time: u64, args: Value) {
        let event = json!({
            "ph": "i", "s": "t", "pid": track.process, "tid": track.number(), "name": name, "args": args,
        });
        let (time, _) = self.times(time, time);
        self.timed(&event, time, None);
    }

    /// A counter of bytes from a time on.
    pub fn counter(&mut self, process: usize, name: &str, time: u64, bytes: u64) {
        let event = json!({"ph": "C", "pid": process, "name": name, "args": {"bytes": bytes}});
        let (time, _) = self.times(time, time);
        self.timed(&event, time, None);
    }

    /// The ends of arrows at a slice that was just given: numbers and names of those that end there,
    /// and of those that begin there.
    pub fn arrows(&mut self, slice: &Slice, ends: &[(usize, &str)], begins: &[(usize, &str)]) {
        let (process, thread) = (slice.track.process, slice.track.number());
        let (time, _) = self.times(slice.begin, slice.begin);
        for (id, name) in ends {
            let event = json!({
                "ph": "f", "bp": "e", "pid": process, "tid": thread, "name": name, "cat": "flow",
                "id": id + 1,
            });
            self.timed(&event, time, None);
        }
        for (id, name) in begins {
            let event = json!({
                "ph": "s", "pid": process, "tid": thread, "name": name, "cat": "flow", "id": id + 1,
            });
            self.timed(&event, time, None);
        }
    }

    /// The file.
    pub fn finish(mut self) -> String {
        self.out += "\n]}\n";
        self.out
    }

    fn times(&self, begin: u64, end: u64) -> (u64, u64) {
        (self.clock.nanoseconds(begin), self.clock.nanoseconds(end))
    }

    fn push(&mut self, event: &Value) {
        let separator = match self.out.ends_with('[') {
            true => "\n",
            false => ",\n",
        };
        self.out += separator;
        self.out += &event.to_string();
    }

    /// An event with its time and length in microseconds, to the nanosecond.
    fn timed(&mut self, event: &Value, nanoseconds: u64, length: Option<u64>) {
        self.push(event);
        self.out.truncate(self.out.len() - 1);
        let decimal = |time: u64| format!("{}.{:03}", time / 1000, time % 1000);
        self.out += &format!(", \"ts\": {}", decimal(nanoseconds));
        if let Some(length) = length {
            self.out += &format!(", \"dur\": {}", decimal(length));
        }
        self.out.push('}');
    }
}
