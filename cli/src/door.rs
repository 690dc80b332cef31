//! Files for another command: their kind, and the command that takes them.

use crate::failure::Failure;
use crate::files::Input;
use remat_instances::document;
use remat_instances::order::ORDER_SCHEMA;
use std::path::Path;

/// The kind of a file, by its name and content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Weights,
    Onnx,
    Program,
    Instance,
    Plan,
    Graph,
    Lives,
}

/// Endings of file names, without `.gz`, and their kinds.
const ENDINGS: [(&str, Kind); 9] = [
    ("pt", Kind::Weights),
    ("pth", Kind::Weights),
    ("pt2", Kind::Weights),
    ("ckpt", Kind::Weights),
    ("safetensors", Kind::Weights),
    ("onnx", Kind::Onnx),
    ("mps", Kind::Program),
    ("lp", Kind::Program),
    ("csv", Kind::Lives),
];

impl Kind {
    fn of(path: &Path, input: &Input) -> Option<Kind> {
        let name = path.to_string_lossy().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let by_name = ENDINGS.iter().find(|(known, _)| *known == ending);
        let by_name = by_name.map(|(_, kind)| *kind);
        // The schema of a JSON object decides, not its name. Large programs are not parsed as JSON.
        let packed = input.bytes.starts_with(&[0x1f, 0x8b]) && by_name != Some(Kind::Program);
        let first = input.bytes.iter().find(|b| !b.is_ascii_whitespace());
        if !packed && first != Some(&b'{') {
            return by_name;
        }
        match document::schema(&input.name, &input.bytes) {
            Ok(schema) => Kind::of_schema(schema.as_deref()),
            Err(_) => by_name,
        }
    }

    fn of_schema(schema: Option<&str>) -> Option<Kind> {
        match schema {
            Some(ORDER_SCHEMA) => Some(Kind::Graph),
            Some(schema) if schema.starts_with("remat-plan/") => Some(Kind::Plan),
            Some(schema) if schema.starts_with("remat-schedule/") => Some(Kind::Plan),
            Some(schema) if schema.starts_with("remat-instance/") => Some(Kind::Instance),
            Some(_) => None,
            // A node-link graph has no schema.
            None => Some(Kind::Instance),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Kind::Weights => "weights",
            Kind::Onnx => "an ONNX model",
            Kind::Program => "a linear or integer program",
            Kind::Instance => "a training graph",
            Kind::Plan => "a plan or a schedule",
            Kind::Graph => "a graph whose operators may run in another order",
            Kind::Lives => "a table of lives",
        }
    }

    /// The command that takes the file.
    fn remedy(self, file: &str) -> String {
        match self {
            Kind::Weights => "in Python, plan the model itself: \
                 remat_bb.torch.compile(model, budget=\"60%\")"
                .into(),
            Kind::Onnx => format!(
                "in Python, read it first: remat_bb.onnx.load({file:?}).save(\"graph.json\")"
            ),
            Kind::Program => format!("solve it: remat-bb mip {file}"),
            Kind::Instance => format!("plan it: remat-bb solve {file} --budget 60%"),
            Kind::Plan => format!("check it: remat-bb verify INSTANCE {file}"),
            Kind::Graph => format!("order it: remat-bb order {file}"),
            Kind::Lives => format!("place it: remat-bb place {file}"),
        }
    }

    fn wrong(self, file: &str, wanted: &str) -> Failure {
        Failure::Usage {
            problem: format!("{file} holds {}, not {wanted}", self.words()),
            remedy: self.remedy(file),
        }
    }
}

/// The failure for a file that is no training graph, with the command that takes it; `None` if the
/// file may be one.
pub fn instance(path: &Path, input: &Input) -> Option<Failure> {
    match Kind::of(path, input)? {
        // The reader of instances has words and a position for plans.
        Kind::Instance | Kind::Plan => None,
        kind => Some(kind.wrong(&input.name, "a training graph")),
    }
}

/// The failure for a file that is no linear or integer program, with the command that takes it;
/// `None` if the file may be one.
pub fn program(path: &Path, input: &Input) -> Option<Failure> {
    match Kind::of(path, input)? {
        Kind::Program => None,
        kind => Some(kind.wrong(&input.name, "a linear or integer program")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lead_to_their_commands() {
        for (name, bytes, command) in [
            ("model.pt", &b"PK\x03\x04"[..], "remat_bb.torch.compile"),
            ("model.safetensors", b"\x00", "remat_bb.torch.compile"),
            ("net.onnx", b"\x08\x07", "remat_bb.onnx.load(\"net.onnx\")"),
            ("p.MPS", b"NAME x", "remat-bb mip p.MPS"),
            ("p.lp.gz", b"\x1f\x8b", "remat-bb mip p.lp.gz"),
            (
                "o.json",
                br#"{"schema":"remat-order/1"}"#,
                "remat-bb order o.json",
            ),
            (
                "lives.csv",
                b"id,lower,upper,size",
                "remat-bb place lives.csv",
            ),
        ] {
            let input = Input {
                name: name.into(),
                bytes: bytes.into(),
            };
            let failure = instance(Path::new(name), &input).unwrap();
            let Failure::Usage { remedy, .. } = failure else {
                panic!("{name}: {failure}")
            };
            assert!(remedy.contains(command), "{name}: {remedy}");
        }
        for (name, text) in [
            ("graph.json", r#"{"schema":"remat-instance/1"}"#),
            ("graph.mps", r#"{"nodes":[],"links":[]}"#),
            ("graph.json", "{"),
        ] {
            let input = Input {
                name: name.into(),
                bytes: text.into(),
            };
            assert!(instance(Path::new(name), &input).is_none(), "{name}");
        }
    }
}
