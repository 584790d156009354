//! Strings as FSST codes: checks a device's decoding against the rule, string by string.

use std::fmt::Debug;

use warpath_device::{Accelerator, CodesFault, DeviceCodes, FsstStage};
use warpath_shared::fsst::{ESCAPE, SPLIT_CODES, Split, Table};
use warpath_store::fsst::Codes;

use crate::random::Rng;

/// Strings as codes, and the strings that they decode to.
#[derive(Debug)]
pub struct Case {
    /// The symbols of the codes.
    pub table: Table,
    /// The codes of all strings.
    pub codes: Vec<u8>,
    /// The offset of each string's first code, and the end of the last.
    pub code_offsets: Vec<u64>,
    /// The bytes of all strings.
    pub text: Vec<u8>,
    /// The offset of each string in `text`, and the end of the last.
    pub offsets: Vec<u64>,
    /// The output offset of each split, and the end of the last.
    pub splits: Vec<Split>,
    /// For each split, the first string that begins in it or after it.
    pub first_strings: Vec<u64>,
}

/// A table of random symbols, of up to `longest` bytes of few letters.
pub fn table(rng: &mut Rng, symbols: usize, longest: usize) -> Table {
    let (mut words, mut lens) = (Vec::new(), Vec::new());
    for _ in 0..symbols {
        let len = 1 + rng.below(longest);
        let bytes: [u8; 8] = std::array::from_fn(|at| if at < len { b'a' + rng.below(26) as u8 } else { 0 });
        words.push(u64::from_le_bytes(bytes));
        lens.push(len as u8);
    }
    Table::new(&words, &lens).unwrap()
}

/// Returns, for each split of `codes` codes, the first string that begins in it or after it.
fn firsts(offsets: &[u64], codes: usize) -> Vec<u64> {
    let begins = (0..codes.div_ceil(SPLIT_CODES)).map(|split| (split * SPLIT_CODES) as u64);
    begins.map(|begin| offsets.partition_point(|offset| *offset < begin) as u64).collect()
}

impl Case {
    /// Decodes strings of codes by the rule, and makes a case of the result.
    ///
    /// # Panics
    /// If the codes are invalid.
    #[must_use]
    pub fn new(table: Table, strings: &[Vec<u8>]) -> Self {
        let mut case = Self {
            table,
            codes: Vec::new(),
            code_offsets: vec![0],
            text: Vec::new(),
            offsets: vec![0],
            splits: Vec::new(),
            first_strings: Vec::new(),
        };
        for codes in strings {
            let mut at = 0;
            while at < codes.len() {
                let (bytes, len, taken) = case.table.step(codes, at).unwrap();
                for code in 0..taken {
                    if (case.codes.len() + code).is_multiple_of(SPLIT_CODES) {
                        // A step whose second code begins a split belongs to the split before.
                        let offset = case.text.len() + if code == 0 { 0 } else { usize::from(len) };
                        case.splits.push(Split::new(offset as u64, code > 0));
                    }
                }
                case.codes.extend_from_slice(&codes[at..at + taken]);
                case.text.extend_from_slice(&bytes.to_le_bytes()[..usize::from(len)]);
                at += taken;
            }
            case.code_offsets.push(case.codes.len() as u64);
            case.offsets.push(case.text.len() as u64);
        }
        case.first_strings = firsts(&case.code_offsets, case.codes.len());
        case.splits.push(Split::new(case.text.len() as u64, false));
        case
    }

    /// A case of random codes. `escapes` of 1000 steps are escapes, of any byte or, often, of 255.
    #[must_use]
    pub fn random(rng: &mut Rng, table: Table, strings: usize, longest: usize, escapes: usize) -> Self {
        let symbols = table.len();
        let one = |rng: &mut Rng| {
            let len = if rng.below(8) == 0 { 0 } else { rng.below(longest + 1) };
            let mut codes = Vec::with_capacity(2 * len);
            for _ in 0..len {
                if symbols == 0 || rng.below(1000) < escapes {
                    codes.push(ESCAPE);
                    codes.push(if rng.below(2) == 0 { 255 } else { rng.below(256) as u8 });
                } else {
                    codes.push(rng.below(symbols) as u8);
                }
            }
            codes
        };
        let strings: Vec<Vec<u8>> = (0..strings).map(|_| one(rng)).collect();
        Self::new(table, &strings)
    }

    /// The codes in the form that a device takes.
    #[must_use]
    pub fn codes(&self) -> Codes<'_> {
        Codes {
            table: &self.table,
            codes: &self.codes,
            splits: &self.splits,
            first_strings: &self.first_strings,
            offsets: &self.code_offsets,
            len: self.text.len() as u64,
        }
    }
}

/// Decodes a case in every way, and compares each output with the case.
///
/// # Errors
/// An error of the device.
///
/// # Panics
/// If an output differs.
pub fn check<A: Accelerator>(
    stage: &mut FsstStage<A>,
    on_device: &mut DeviceCodes<A>,
    case: &Case,
    name: &str,
) -> anyhow::Result<()> {
    on_device.load(stage.device(), &case.codes())?;
    // Vary the number of splits that a block decodes.
    stage.set_block_splits(1 + case.codes.len() as u64 % 4);
    let same = |(text, offsets): (Vec<u8>, Vec<u64>), way: &dyn Debug, has_offsets: bool| {
        let differs = text.iter().zip(&case.text).position(|(have, want)| have != want);
        assert_eq!((differs, text.len()), (None, case.text.len()), "{name}, {way:?}: bytes");
        assert!(!has_offsets || offsets == case.offsets, "{name}, {way:?}: offsets");
    };
    stage.decode(on_device)?;
    assert_eq!(stage.fault()?, None, "{name}");
    same(stage.download()?, &"splits", true);
    // Decode the codes again as one text.
    stage.set_block_splits(1 + case.text.len() as u64 % 4);
    on_device.load(stage.device(), &Codes { offsets: &[], first_strings: &[], ..case.codes() })?;
    stage.decode(on_device)?;
    assert_eq!(stage.fault()?, None, "{name}, as a text");
    assert_eq!(stage.download()?.0, case.text, "{name}, as a text");
    Ok(())
}

/// Checks that every fault in the codes is reported. If a split is at fault, nothing is written beyond its
/// output.
///
/// # Errors
/// An error of the device.
///
/// # Panics
/// If a fault is not reported.
pub fn check_faults<A: Accelerator>(stage: &mut FsstStage<A>, rng: &mut Rng) -> anyhow::Result<()> {
    let mut on_device = DeviceCodes::default();
    let table = table(rng, 200, 8);
    let case = Case::random(rng, table, 300, 40, 30);
    let mut tell = |codes: &[u8], splits: &[Split], offsets: &[u64], len| -> anyhow::Result<_> {
        let firsts = if offsets.is_empty() { Vec::new() } else { firsts(offsets, codes.len()) };
        let codes = Codes { table: &case.table, codes, splits, first_strings: &firsts, offsets, len };
        on_device.load(stage.device(), &codes)?;
        stage.decode(&on_device)?;
        Ok(stage.fault()?)
    };
    let (codes, splits, offsets, len) =
        (&case.codes[..], &case.splits[..], &case.code_offsets[..], case.text.len() as u64);
    assert_eq!(tell(codes, splits, offsets, len)?, None);
    // A code of no symbol, at the first symbol, in the middle, and at the last.
    let is_symbol = |at: &usize| codes[*at] != ESCAPE && case.table.decoded_len(&codes[..*at]).is_ok();
    let symbols: Vec<usize> = (0..codes.len()).filter(is_symbol).collect();
    for at in [symbols[0], symbols[symbols.len() / 2], symbols[symbols.len() - 1]] {
        let mut altered = codes.to_vec();
        altered[at] = 230;
        let told = tell(&altered, splits, offsets, len)?;
        assert_eq!(told, Some(CodesFault::Unknown), "code {at} of {}", codes.len());
    }
    // An escape as the last code of all, and as the last code of a string.
    let mut altered = codes.to_vec();
    let last = altered.len() - 1;
    if case.table.decoded_len(&codes[..last]).is_ok() {
        altered[last] = ESCAPE;
        assert!(tell(&altered, splits, offsets, len)?.is_some());
    }
    let escape =
        (0..codes.len() - 1).find(|at| codes[*at] == ESCAPE && case.table.decoded_len(&codes[..*at]).is_ok());
    let mut moved = offsets.to_vec();
    let string = moved.partition_point(|offset| *offset <= escape.unwrap() as u64);
    moved[string] = escape.unwrap() as u64 + 1;
    moved[..string].iter_mut().for_each(|offset| *offset = (*offset).min(escape.unwrap() as u64 + 1));
    assert_eq!(tell(codes, splits, &moved, len)?, Some(CodesFault::Escape));
    // A wrong length.
    assert_eq!(tell(codes, splits, offsets, len - 1)?, Some(CodesFault::Splits));
    for at in 0..splits.len() {
        let bits = splits[at].0;
        for altered in [bits ^ 1 << 63, bits + 1, bits.wrapping_sub(1), bits + (1 << 40), u64::MAX, 1 << 63] {
            let mut splits = splits.to_vec();
            splits[at] = Split(altered);
            for offsets in [offsets, &[]] {
                if altered != bits {
                    // With a wrong split, an escaped byte may be read as a symbol, and a symbol as an escaped
                    // byte.
                    let told = tell(codes, &splits, offsets, len)?;
                    assert!(told.is_some(), "split {at}: {altered:x}");
                }
            }
        }
    }
    // Splits of only 255s: each split says whether its first code is an escape.
    let many = Case::new(case.table, &[vec![ESCAPE; 40 << 11]]);
    let told = tell(&many.codes, &many.splits, &many.code_offsets, many.text.len() as u64)?;
    assert_eq!(told, None);
    Ok(())
}

/// Decodes the strings of [`cases`] in every way, and checks that faults are reported.
///
/// # Errors
/// An error of the device.
///
/// # Panics
/// If a way differs from the rule.
pub fn suite<A: Accelerator>(stage: &mut FsstStage<A>, seed: u64, rounds: usize) -> anyhow::Result<()> {
    let (rng, mut on_device) = (&mut Rng::new(seed), DeviceCodes::default());
    cases(rng, rounds, |case, name| check(stage, &mut on_device, case, name))?;
    check_faults(stage, rng)
}

/// Makes cases of random strings of several shapes. Calls `each` with each case and its name.
///
/// # Errors
/// Those of `each`.
pub fn cases(
    rng: &mut Rng,
    rounds: usize,
    mut each: impl FnMut(&Case, &str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for round in 0..rounds {
        let (symbols, longest) = ([0, 1, 2, 100, 254, 255][rng.below(6)], 1 + rng.below(8));
        let table = table(rng, symbols, longest);
        let (strings, length) = match round % 4 {
            0 => (1 + rng.below(600), 1 + rng.below(60)),
            1 => (1 + rng.below(3), rng.below(9000)),
            2 => (rng.below(40), 1 + rng.below(20)),
            _ => (2000 + rng.below(100), 2),
        };
        let escapes = [0, 5, 300, 1000][rng.below(4)];
        let case = Case::random(rng, table, strings, length, escapes);
        let name = format!(
            "round {round}: {symbols} symbols of up to {longest}, {strings} strings of up to {length}, {escapes} escapes"
        );
        each(&case, &name)?;
    }
    // Lengths around the codes of a lane, a warp and a block: of short codes, of long codes, and of escapes
    // only.
    let symbols = Table::new(&[u64::from_le_bytes(*b"abcdefgh"), u64::from(b'x')], &[8, 1])?;
    for codes in
        [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 511, 512, 513, 2047, 2048, 2049, 4095, 4096, 4097, 6145]
    {
        for unit in [&[0][..], &[1], &[255, 255], &[255, 7], &[1, 255, 255], &[0, 255, 255, 255, 255]] {
            let mut string: Vec<u8> = unit.iter().copied().cycle().take(codes).collect();
            if symbols.decoded_len(&string).is_err() {
                string.pop();
            }
            let (first, second) = string.split_at(string.len() / 3 / unit.len() * unit.len());
            let case = Case::new(symbols, &[first.to_vec(), Vec::new(), second.to_vec(), Vec::new()]);
            each(&case, &format!("{codes} codes of {unit:?}"))?;
        }
    }
    Ok(())
}
