//! Files with the state of a search: a header with version, model and checksum, then the packed
//! state.
//!
//! A new file is written under another name, flushed to the disk, and renamed to replace the old
//! one. At any moment, one of the two is complete.

use crate::mip::outcome::SolveError;
use remat_lp::waiting::Waiting;
use remat_lp::{ColId, Model, RowId, whole_file};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::Read;
use std::path::Path;

const MAGIC: &[u8; 8] = b"rematbbS";

/// Version of the format; it increases with every change of a state's contents.
const VERSION: u32 = 9;

const HEADER: usize = 8 + 4 + 8 + 8 + 4;

/// A number that differs between models with overwhelming probability (FNV-1a over all data).
pub(crate) fn fingerprint(model: &Model) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325u64;
    let mut eat = |v: u64| {
        for b in v.to_le_bytes() {
            h = (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    eat(model.num_cols() as u64);
    eat(model.num_rows() as u64);
    eat(model.sense().sign().to_bits());
    eat(model.offset().to_bits());
    for j in 0..model.num_cols() {
        eat(model.costs()[j].to_bits());
        eat(model.col_lower()[j].to_bits());
        eat(model.col_upper()[j].to_bits());
        eat(u64::from(model.is_integer(ColId(j as u32))));
    }
    for i in 0..model.num_rows() {
        eat(model.row_lower()[i].to_bits());
        eat(model.row_upper()[i].to_bits());
        for (j, v) in model.row(RowId(i as u32)) {
            eat(u64::from(j.0));
            eat(v.to_bits());
        }
    }
    h
}

/// Writes a state.
pub(crate) fn write(path: &Path, model: &Model, state: &impl Serialize) -> Result<(), SolveError> {
    let body = postcard::to_stdvec(state).map_err(|e| SolveError::file(path, e))?;
    let mut header = Vec::with_capacity(HEADER);
    header.extend(MAGIC);
    header.extend(VERSION.to_le_bytes());
    header.extend(fingerprint(model).to_le_bytes());
    header.extend((body.len() as u64).to_le_bytes());
    header.extend(crc32fast::hash(&body).to_le_bytes());
    whole_file::write(path, &[&header, &body]).map_err(|e| SolveError::file(path, e))
}

/// Reads a state of this model.
pub(crate) fn read<T: DeserializeOwned>(path: &Path, model: &Model) -> Result<T, SolveError> {
    let waiting = Waiting::begin();
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|mut f| f.read_to_end(&mut bytes))
        .map_err(|e| SolveError::file(path, e))?;
    drop(waiting);
    if bytes.len() < HEADER || &bytes[..8] != MAGIC {
        return Err(SolveError::file(path, "not a state file"));
    }
    let word = |at: usize, n: usize| {
        let mut w = [0u8; 8];
        w[..n].copy_from_slice(&bytes[at..at + n]);
        u64::from_le_bytes(w)
    };
    let version = word(8, 4);
    if version != u64::from(VERSION) {
        return Err(SolveError::file(
            path,
            format!("version {version}; this program writes and reads version {VERSION}"),
        ));
    }
    if word(12, 8) != fingerprint(model) {
        return Err(SolveError::file(path, "written for another model"));
    }
    let body = &bytes[HEADER..];
    if word(20, 8) != body.len() as u64 || word(28, 4) != u64::from(crc32fast::hash(body)) {
        return Err(SolveError::file(
            path,
            "damaged: length or checksum do not fit",
        ));
    }
    postcard::from_bytes(body).map_err(|e| SolveError::file(path, e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_lp::{ModelBuilder, Sense};

    fn model(cost: f64) -> Model {
        let mut b = ModelBuilder::new(Sense::Minimise);
        b.add_col(cost, 0.0..=1.0);
        b.build().unwrap()
    }

    #[test]
    fn damage_and_other_models_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let state = (vec![1.5f64, f64::INFINITY], "x".to_string());
        write(&path, &model(1.0), &state).unwrap();
        let back: (Vec<f64>, String) = read(&path, &model(1.0)).unwrap();
        assert_eq!(back, state);
        let said = |r: Result<(Vec<f64>, String), SolveError>| r.unwrap_err().to_string();
        assert!(said(read(&path, &model(2.0))).contains("another model"));
        let whole = std::fs::read(&path).unwrap();
        for cut in [0, 7, 20, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(
                read::<(Vec<f64>, String)>(&path, &model(1.0)).is_err(),
                "{cut}"
            );
        }
        for at in 0..whole.len() {
            let mut bad = whole.clone();
            bad[at] ^= 4;
            std::fs::write(&path, &bad).unwrap();
            assert!(
                read::<(Vec<f64>, String)>(&path, &model(1.0)).is_err(),
                "{at}"
            );
        }
        assert!(!folder.path().join("state.part").exists());
    }
}
