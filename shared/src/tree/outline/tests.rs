//! Searches and sums, compared with a search of everything.

use std::vec::Vec;

use super::*;

/// Depths of stretches, and of groups of them, without a text.
struct Depths([Vec<Depth>; GROUP_LEVELS + 1]);

impl Depths {
    fn of(stretches: Vec<Depth>) -> Self {
        let group = |of: &[Depth]| -> Vec<Depth> {
            of.chunks(FAN_OUT).map(|group| *group.iter().min().unwrap()).collect()
        };
        let first = group(&stretches);
        let second = group(&first);
        Self([stretches, first, second])
    }
}

impl Outline for Depths {
    fn words(&self) -> usize {
        self.0[0].len() * STRETCH_WORDS
    }
    fn word(&self, _: usize) -> TapeWord {
        TapeWord::default()
    }
    fn before(&self, _: usize) -> StretchSum {
        StretchSum::default()
    }
    fn least(&self, level: usize, group: usize) -> Depth {
        self.0[level][group]
    }
}

/// The greatest distance of stretches in a partition: a gigabyte.
#[test]
fn stretches_far_away() {
    let mut stretches = std::vec![100; 500_000];
    let low = [0, 31, 32, 1023, 1024, 1055, 32_767, 32_768, 33_000, 65_535, 99_999, 131_072, 400_000];
    for (i, at) in low.into_iter().enumerate() {
        stretches[at] = 10 + i as Depth;
    }
    let depths = Depths::of(stretches);
    for from in low.into_iter().flat_map(|at| [at + 1, at + 2, at + 33]).chain([499_999]) {
        for depth in 11..=10 + low.len() as Depth {
            let before = depths.0[0][..from].iter().rposition(|least| *least < depth).unwrap();
            assert_eq!(stretch_before(&depths, from, depth), before, "{depth} before {from}");
        }
    }
}

#[test]
fn least_depths_of_words() {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state ^ state >> 29
    };
    for round in 0..20_000 {
        let mut bracket = random();
        bracket |= if round % 3 == 0 { random() } else { 0 };
        bracket &= if round % 3 == 1 { random() & random() } else { !0 };
        let word = TapeWord { bracket, node: random(), ..TapeWord::default() };
        let (mut depth, mut least) = (0, 0);
        for bit in 0..64 {
            least = least.min(depth);
            depth += (word.open() >> bit & 1) as Depth - (word.close() >> bit & 1) as Depth;
        }
        assert_eq!(word.least(), least, "{word:?}");
        assert_eq!(word.net(), depth, "{word:?}");
    }
}
