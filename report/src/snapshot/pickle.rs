//! Python's pickle format, protocol 2: dictionaries, lists, texts and numbers.
//!
//! Texts and marked lists are written once and then fetched from the memo. PyTorch's viewer in the
//! browser has a reader of its own, which knows few opcodes; all of those here are among them.

use std::collections::HashMap;

/// Longest list that one opcode extends, as in Python; readers put it on a stack.
const BATCH: usize = 1000;

/// A pickle while it is written.
pub struct Pickle {
    out: Vec<u8>,
    texts: HashMap<String, u32>,
    shared: HashMap<usize, u32>,
    memo: u32,
}

impl Pickle {
    /// A pickle with the object that `fill` writes.
    pub fn of(fill: impl FnOnce(&mut Pickle)) -> Vec<u8> {
        let mut pickle = Pickle {
            out: vec![0x80, 2],
            texts: HashMap::new(),
            shared: HashMap::new(),
            memo: 0,
        };
        fill(&mut pickle);
        pickle.out.push(b'.');
        pickle.out
    }

    /// A dictionary; `fill` writes its entries.
    pub fn dict(&mut self, fill: impl FnOnce(&mut Pickle)) {
        self.out.extend(b"}(");
        fill(self);
        self.out.push(b'u');
    }

    /// An entry of a dictionary with a number.
    pub fn number(&mut self, key: &str, value: u64) {
        self.text(key);
        self.int(value);
    }

    /// An entry with a text.
    pub fn words(&mut self, key: &str, value: &str) {
        self.text(key);
        self.text(value);
    }

    /// An entry with a list; `each` writes an item.
    pub fn list<T>(&mut self, key: &str, items: &[T], each: impl FnMut(&mut Pickle, &T)) {
        self.text(key);
        self.items(items, each);
    }

    /// An entry with a list that other entries may repeat under the same `mark`.
    pub fn shared_list<T>(
        &mut self,
        key: &str,
        mark: usize,
        items: &[T],
        each: impl FnMut(&mut Pickle, &T),
    ) {
        self.text(key);
        if let Some(&known) = self.shared.get(&mark) {
            return self.get(known);
        }
        self.items(items, each);
        let index = self.put();
        self.shared.insert(mark, index);
    }

    /// A list.
    pub fn items<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Pickle, &T)) {
        self.out.push(b']');
        for batch in items.chunks(BATCH) {
            self.out.push(b'(');
            batch.iter().for_each(|item| each(self, item));
            self.out.push(b'e');
        }
    }

    /// An entry with true or false.
    pub fn flag(&mut self, key: &str, value: bool) {
        self.text(key);
        self.out.push(if value { 0x88 } else { 0x89 });
    }

    /// An entry with a dictionary; `fill` writes its entries.
    pub fn entries(&mut self, key: &str, fill: impl FnOnce(&mut Pickle)) {
        self.text(key);
        self.dict(fill);
    }

    /// A number.
    pub fn int(&mut self, value: u64) {
        match value {
            0..=0xff => self.out.extend([b'K', value as u8]),
            0x100..=0xffff => {
                self.out.push(b'M');
                self.out.extend((value as u16).to_le_bytes());
            }
            0x1_0000..=0x7fff_ffff => {
                self.out.push(b'J');
                self.out.extend((value as u32).to_le_bytes());
            }
            // Little-endian two's complement; a ninth byte keeps the largest numbers positive.
            _ => {
                let length = 8 - value.leading_zeros() as usize / 8;
                let length = length + usize::from(value >> (8 * length - 1) & 1 == 1);
                self.out.extend([0x8a, length as u8]);
                let bytes = u128::from(value).to_le_bytes();
                self.out.extend(&bytes[..length]);
            }
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(&known) = self.texts.get(text) {
            return self.get(known);
        }
        self.out.push(b'X');
        self.out.extend((text.len() as u32).to_le_bytes());
        self.out.extend(text.as_bytes());
        let index = self.put();
        self.texts.insert(text.into(), index);
    }

    fn put(&mut self) -> u32 {
        let index = self.memo;
        self.memo += 1;
        match u8::try_from(index) {
            Ok(small) => self.out.extend([b'q', small]),
            Err(_) => {
                self.out.push(b'r');
                self.out.extend(index.to_le_bytes());
            }
        }
        index
    }

    fn get(&mut self, index: u32) {
        match u8::try_from(index) {
            Ok(small) => self.out.extend([b'h', small]),
            Err(_) => {
                self.out.push(b'j');
                self.out.extend(index.to_le_bytes());
            }
        }
    }
}
