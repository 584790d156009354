//! Connections in a network that is attacked, like those of the KDD Cup of 1999: 41 attributes and the name
//! of the attack.
//!
//! Assumed: connections come in stretches of one kind, shuffled. Each kind has as many as in that data (smurf
//! 2,807,886, neptune 1,072,017, normal 972,781 …). Floods repeat the same connection. In other traffic,
//! counters and rates keep their bin for some hundreds of connections. An attribute like the length of a
//! transfer goes from 0 to 10⁹. Lloyd's algorithm gives nearly all its rows the same bin, and its other bins
//! are rare. Attributes with few values have a bin for each, the others have 10, 11 or 25, 475 together.

use std::ops::Range;

use super::{BLOCK_ROWS, DataSet, Source, Weighted, random};

/// The way in which an attribute's bin changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changes {
    /// The bin is the kind of the stretch.
    Kind,
    /// In nearly all rows it is the first.
    Rare,
    /// Each kind has its own, which is left now and then.
    Slow,
    /// Each kind has its own, which is left often.
    Often,
}

use Changes::{Kind, Often, Rare, Slow};

/// Names, bins, and how they change.
const ATTRIBUTES: [(&str, usize, Changes); 42] = [
    ("duration", 11, Rare),
    ("protocol_type", 3, Slow),
    ("service", 70, Often),
    ("flag", 11, Often),
    ("src_bytes", 11, Rare),
    ("dst_bytes", 11, Rare),
    ("land", 2, Rare),
    ("wrong_fragment", 3, Rare),
    ("urgent", 6, Rare),
    ("hot", 11, Rare),
    ("num_failed_logins", 6, Rare),
    ("logged_in", 2, Slow),
    ("num_compromised", 11, Rare),
    ("root_shell", 2, Rare),
    ("su_attempted", 3, Rare),
    ("num_root", 11, Rare),
    ("num_file_creations", 10, Rare),
    ("num_shells", 3, Rare),
    ("num_access_files", 10, Rare),
    ("num_outbound_cmds", 1, Rare),
    ("is_host_login", 2, Rare),
    ("is_guest_login", 2, Rare),
    ("count", 25, Often),
    ("srv_count", 25, Often),
    ("serror_rate", 10, Slow),
    ("srv_serror_rate", 10, Slow),
    ("rerror_rate", 10, Slow),
    ("srv_rerror_rate", 10, Slow),
    ("same_srv_rate", 10, Often),
    ("diff_srv_rate", 10, Often),
    ("srv_diff_host_rate", 10, Often),
    ("dst_host_count", 25, Often),
    ("dst_host_srv_count", 25, Often),
    ("dst_host_same_srv_rate", 10, Often),
    ("dst_host_diff_srv_rate", 10, Often),
    ("dst_host_same_src_port_rate", 10, Often),
    ("dst_host_srv_diff_host_rate", 10, Often),
    ("dst_host_serror_rate", 10, Slow),
    ("dst_host_srv_serror_rate", 10, Slow),
    ("dst_host_rerror_rate", 10, Slow),
    ("dst_host_srv_rerror_rate", 10, Slow),
    ("label", 23, Kind),
];

/// Kinds of connections: how many there are, and about how many follow each other. The first two are floods.
const KINDS: [(u32, u32); 23] = [
    (2_807_886, 30_000),
    (1_072_017, 15_000),
    (972_781, 8_000),
    (15_892, 2_000),
    (12_481, 1_000),
    (10_413, 1_000),
    (2_316, 1_000),
    (2_203, 1_000),
    (1_020, 100),
    (979, 100),
    (264, 50),
    (53, 53),
    (30, 5),
    (21, 5),
    (20, 5),
    (12, 12),
    (10, 2),
    (9, 2),
    (8, 2),
    (7, 2),
    (4, 1),
    (3, 1),
    (2, 1),
];
const FLOODS: usize = 2;

pub(super) struct Kdd {
    seed: u64,
    /// The end of each stretch, and its kind.
    stretches: Vec<(u64, usize)>,
    /// For each attribute, the bins that replace the usual one: 1 for the next.
    others: Vec<Weighted>,
}

impl Kdd {
    pub(super) fn new(seed: u64) -> Self {
        // Attributes beyond the last are of no rows.
        let mut random = random(DataSet::Kdd, seed, ATTRIBUTES.len(), 0);
        let mut stretches = Vec::new();
        for (kind, (count, mean)) in KINDS.iter().enumerate() {
            let mut left = *count;
            while left > 0 {
                let length = random.between(1, 2 * mean).min(left);
                stretches.push((u64::from(length), kind));
                left -= length;
            }
        }
        for at in (1..stretches.len()).rev() {
            stretches.swap(at, random.below(at as u32 + 1) as usize);
        }
        let mut end = 0;
        for (length, _) in &mut stretches {
            end += *length;
            *length = end;
        }
        let weights = |bins: usize| (1..bins.max(2)).map(|rank| 1.0 / rank as f64);
        let others = ATTRIBUTES.iter().map(|(_, bins, _)| Weighted::new(weights(*bins))).collect();
        Self { seed, stretches, others }
    }

    /// The stretches of some rows: the number of rows in each, and its kind. After the last row of the set
    /// they repeat.
    fn stretches(&self, rows: Range<u64>) -> impl Iterator<Item = (usize, usize)> {
        let whole = DataSet::Kdd.rows();
        let mut at = rows.start;
        std::iter::from_fn(move || {
            if at >= rows.end {
                return None;
            }
            let (round, within) = (at / whole, at % whole);
            let (end, kind) = self.stretches[self.stretches.partition_point(|(end, _)| *end <= within)];
            let until = rows.end.min(round * whole + end);
            let count = until - at;
            at = until;
            Some((count as usize, kind))
        })
    }
}

impl Source for Kdd {
    fn bins(&self) -> Vec<usize> {
        ATTRIBUTES.iter().map(|(_, bins, _)| *bins).collect()
    }

    fn fill(&self, attribute: usize, block: usize, numbers: &mut [u8]) {
        let (_, bins, changes) = ATTRIBUTES[attribute];
        let mut draw = random(DataSet::Kdd, self.seed, attribute, block);
        let first = (block * BLOCK_ROWS) as u64;
        let mut left = numbers;
        for (count, kind) in self.stretches(first..first + left.len() as u64) {
            let (mut now, rest) = left.split_at_mut(count);
            left = rest;
            let usual = match changes {
                Kind => kind,
                Rare => 0,
                // What is usual of a kind does not depend on the seed: it is what the attack is.
                Slow | Often => random(DataSet::Kdd, 0, attribute, kind).below(bins as u32) as usize,
            };
            // About how many rows have the usual bin, and how many then have another.
            let (usually, else_) = match (changes, kind < FLOODS) {
                (Kind, _) => (u32::MAX / 2, 1),
                (Rare, true) => (200_000, 2),
                (Rare, false) => (5_000, 3),
                (Slow, true) => (50_000, 2),
                (Slow, false) => (2_000, 40),
                (Often, true) => (20_000, 2),
                (Often, false) => (500, 100),
            };
            while !now.is_empty() {
                for (bin, mean) in [(usual, usually), (usual + 1 + self.other(attribute, draw.bits()), else_)]
                {
                    let length = draw.between(1, 2 * mean - 1).min(now.len() as u32) as usize;
                    let (run, rest) = now.split_at_mut(length);
                    run.fill((bin % bins) as u8);
                    now = rest;
                }
            }
        }
    }
}

impl Kdd {
    /// The distance of another bin from the bin after the usual one.
    fn other(&self, attribute: usize, bits: u64) -> usize {
        usize::from(self.others[attribute].pick((bits >> 32) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_have_the_rows_of_their_kinds() {
        let kdd = Kdd::new(1);
        let mut counts = [0; KINDS.len()];
        for (count, kind) in kdd.stretches(0..DataSet::Kdd.rows()) {
            counts[kind] += count as u32;
        }
        assert_eq!(counts, KINDS.map(|(count, _)| count));
        let (start, end) = (DataSet::Kdd.rows() - 10, DataSet::Kdd.rows() + 10);
        assert_eq!(kdd.stretches(start..end).map(|(count, _)| count).sum::<usize>(), 20);
    }
}
