//! Costs with decimals, as in measurements: converted to whole numbers in a smaller unit.
//!
//! All arithmetic with costs is exact, in integers. So a document with decimal costs is read in a
//! unit smaller by a power of ten: `3.7` and `12` in `ms` become 3700 and 12000 in `us`.

use crate::document::{Data, Document, Value};
use crate::instance::{CostUnit, TIME_UNITS};

/// Fields of nodes with costs, in all formats.
const COSTS: [&str; 8] = [
    "cost",
    "recompute_cost",
    "cost_delta",
    "cost_cpu",
    "time",
    "runtime",
    "compute",
    "duration",
];

/// Largest sum of all costs in the smaller unit; further digits are rounded.
const LARGEST_SUM: f64 = 1e12;

/// Number of decimal places by which costs were shifted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Decimals {
    places: u32,
}

impl Decimals {
    /// Converts all costs of a document's nodes to whole numbers if one of them has decimals. The
    /// new unit is so much smaller that all costs are whole, or that their sum is 10^12.
    pub fn move_point(document: &mut Document) -> Decimals {
        let mut places = 0;
        let mut sum = 0.0;
        costs(document.root_value(), &mut |data| {
            places = places.max(digits(data));
            sum += number(data).abs();
        });
        if places == 0 {
            return Decimals::default();
        }
        // If the sum is zero, the number of places is limited only by the range of doubles.
        let room = (LARGEST_SUM / sum).log10().floor().clamp(0.0, 300.0) as u32;
        // Prefer microseconds to hundredths of milliseconds.
        let named = TIME_UNITS
            .iter()
            .any(|(name, _)| Some(*name) == unit_name(document));
        let wanted = if named {
            places.next_multiple_of(3)
        } else {
            places
        };
        let places = wanted.min(room);
        let factor = 10f64.powi(places as i32);
        costs(document.root_value(), &mut |data| {
            let whole = (number(data) * factor).round();
            *data = match *data {
                Data::Unsigned(_) | Data::Negative(_) | Data::Float(_) if whole < 0.0 => {
                    Data::Negative(whole as i64)
                }
                Data::Unsigned(_) | Data::Negative(_) | Data::Float(_) => {
                    Data::Unsigned(whole as u64)
                }
                _ => return,
            };
        });
        Decimals { places }
    }

    /// The new unit of costs, given the unit stated in the document.
    pub fn unit(self, stated: CostUnit) -> CostUnit {
        if self.places == 0 {
            return stated;
        }
        let finer = 10f64.powi(self.places as i32);
        let nanoseconds = stated.nanoseconds.map(|length| length / finer);
        let named = TIME_UNITS
            .iter()
            .find(|(_, length)| Some(*length) == nanoseconds);
        CostUnit {
            name: match named {
                Some((name, _)) => (*name).into(),
                None => {
                    let (places, stated) = (self.places as usize, stated.name.as_str());
                    format!("{:.places$} {stated}", 1.0 / finer).into()
                }
            },
            nanoseconds,
        }
    }
}

/// The name of the unit stated in a document.
fn unit_name(document: &mut Document) -> Option<&str> {
    let root = &*document.root_value();
    let stated = root
        .field("cost_unit")
        .or_else(|| root.field("graph")?.field("cost_unit"))?;
    match &stated.data {
        Data::String(name) => Some(name),
        _ => None,
    }
}

/// Calls `show` for each cost of a document's nodes.
fn costs(root: &mut Value, show: &mut dyn FnMut(&mut Data)) {
    let Data::Object(fields) = &mut root.data else {
        return;
    };
    let nodes = fields.iter_mut().filter(|(name, _)| name == "nodes");
    for (_, nodes) in nodes {
        if let Data::Array(nodes) = &mut nodes.data {
            nodes.iter_mut().for_each(|node| costs_of(node, show));
        }
    }
}

/// Calls `show` for each cost of a node or of a part of it.
fn costs_of(part: &mut Value, show: &mut dyn FnMut(&mut Data)) {
    match &mut part.data {
        Data::Object(fields) => {
            for (name, value) in fields {
                match COSTS.contains(&name.as_str()) {
                    true => show(&mut value.data),
                    false => costs_of(value, show),
                }
            }
        }
        Data::Array(list) => list.iter_mut().for_each(|entry| costs_of(entry, show)),
        _ => {}
    }
}

fn number(data: &Data) -> f64 {
    match *data {
        Data::Unsigned(number) => number as f64,
        Data::Negative(number) => number as f64,
        Data::Float(number) => number,
        _ => 0.0,
    }
}

/// Decimal places of a number, in its shortest notation.
fn digits(data: &Data) -> u32 {
    match data {
        Data::Float(number) if number.fract() != 0.0 => {
            let text = number.to_string();
            text.split_once('.')
                .map_or(0, |(_, places)| places.len() as u32)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use crate::Instance;
    use crate::read_bytes;

    fn read(unit: &str, costs: [&str; 3]) -> Instance {
        let [a, b, c] = costs;
        let text = format!(
            r#"{{"schema": "remat-instance/1", {unit} "nodes": [
                {{"name": "a", "cost": {a}, "output_bytes": 4}},
                {{"name": "b", "needs": ["a"], "output_bytes": 4, "implementations": [
                    {{"cost": {b}, "recompute_cost": {c}}}]}}]}}"#
        );
        read_bytes("x.json", text.as_bytes()).unwrap()
    }

    fn costs(instance: &Instance) -> [u64; 3] {
        let [a, b] = instance.nodes() else {
            panic!("two nodes");
        };
        [a.cost(), b.cost(), b.implementations[0].recompute_cost]
    }

    #[test]
    fn decimals_are_counted_in_a_smaller_unit() {
        let time = read(r#""cost_unit": "ms","#, ["3.7", "12", "0.25"]);
        assert_eq!(costs(&time), [3700, 12000, 250]);
        assert_eq!(
            (time.cost_unit().name.as_str(), time.cost_unit().nanoseconds),
            ("us", Some(1e3))
        );
        let other = read("", ["3.7", "12", "0.25"]);
        assert_eq!(costs(&other), [370, 1200, 25]);
        assert_eq!(other.cost_unit().name, "0.01 unit");
        assert_eq!(other.cost_unit().amount(370), "3.7 unit");
        let whole = read(r#""cost_unit": "ms","#, ["3.0", "12", "1e2"]);
        assert_eq!(costs(&whole), [3, 12, 100]);
        assert_eq!(whole.cost_unit().name, "ms");
    }

    #[test]
    fn endless_decimals_are_rounded_to_twelve_digits_of_their_sum() {
        let thirds = read(r#""cost_unit": "s","#, ["0.3333333333333333", "1", "0"]);
        let [a, b, c] = costs(&thirds);
        assert_eq!((a, b, c), (33_333_333_333, 100_000_000_000, 0));
        let length = thirds.cost_unit().nanoseconds.unwrap();
        assert!((length - 1e-2).abs() < 1e-12, "{length}");
    }

    #[test]
    fn graphs_of_networkx_have_decimals_and_a_unit() {
        let text =
            br#"{"graph": {"cost_unit": "s"}, "links": [{"source": 0, "target": 1}], "nodes": [
            {"id": 0, "time": 0.0025, "size": 8}, {"id": 1, "time": 1, "size": 4}]}"#;
        let instance = read_bytes("graph.json", text).unwrap();
        assert_eq!(instance.base_cost(), 1_002_500);
        assert_eq!(instance.cost_unit().name, "us");
    }

    #[test]
    fn a_negative_cost_is_refused_as_it_is_written() {
        let text = br#"{"nodes": [{"id": 0, "time": -0.5, "size": 8}], "links": []}"#;
        let error = read_bytes("graph.json", text).unwrap_err().to_string();
        assert!(
            error.contains("negative") && error.contains("-0.5"),
            "{error}"
        );
    }
}
