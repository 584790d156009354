//! Tables of leaves on a device, and questions about them: [`warpath_shared::leaf::table`].

mod several;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use warpath_core::error::Error;
use warpath_core::leaves::{First, Grouping, Image, LeafDevice, LeafForm, Numbers, Part, Program, TableRows};
use warpath_shared::kernel::{
    LeafDistinct, LeafDistinctArgs, LeafFirst, LeafFirstArgs, LeafGroup, LeafGroupArgs, LeafGroupFew,
    LeafRankCounts, LeafRankCountsArgs, LeafRanks, LeafRanksArgs, LeafRows, LeafRowsArgs, RANK_BINS,
};
use warpath_shared::leaf::table::{
    Aggregate, AggregateCode, Column, FEW_NUMBERS, Instr, Key, Leaves, MOST_PUSHED, OpCode, Order, SET_WORDS,
};
use warpath_shared::leaf::{Block, LANES};
use warpath_shared::view::{View, ViewMut};

use super::{Accelerator, Downloads, Queues, Slot, launch, stages};
pub(crate) use several::SeveralLeaves;

/// Tables of leaves on a device, with a queue of their own.
pub struct DeviceLeaves<A: Accelerator>(Mutex<State<A>>);

struct State<A: Accelerator> {
    device: A,
    tables: HashMap<u64, Table<A>>,
    /// The number of the next table.
    next: u64,
    program: Slot<A, Instr>,
    codes: Slot<A, u32>,
    rows: Slot<A, u32>,
    counts: Slot<A, u32>,
    keys: Slot<A, Key>,
    aggregates: Slot<A, Aggregate>,
    numbers: Slot<A, u64>,
    bits: Slot<A, u32>,
    sizes: Slot<A, u64>,
    ranks: Slot<A, u64>,
    range: Slot<A, u64>,
    of_ranks: Slot<A, u32>,
    found: Slot<A, u64>,
}

/// Ranks up to a bound.
struct Ranks {
    last: u64,
    /// The number of groups with such ranks.
    count: u64,
}

/// A table on a device.
struct Table<A: Accelerator> {
    columns: Slot<A, Column>,
    blocks: Slot<A, Block>,
    words: Slot<A, u32>,
    sets: Slot<A, u32>,
    /// The lengths of the arrays.
    lens: [usize; 4],
    count: usize,
}

impl<A: Accelerator> Table<A> {
    fn new(device: &A, image: &Image) -> Result<Self, Error> {
        let Image { columns, blocks, words, sets, count } = image;
        let all_sets = sets.len() / (count * SET_WORDS).max(1);
        let column_fits = |column: &Column| {
            column.blocks as usize + count <= blocks.len() && (column.here as usize) < all_sets
        };
        let block_fits = |block: &Block| {
            block.width <= 64 && (block.begin + block.words()) as usize * LANES <= words.len()
        };
        if *count == 0 || all_sets == 0 || !columns.iter().all(column_fits) || !blocks.iter().all(block_fits)
        {
            return Err(Error::Internal("the parts of a table of leaves do not fit together".into()));
        }
        let mut table = Self {
            columns: Slot::default(),
            blocks: Slot::default(),
            words: Slot::default(),
            sets: Slot::default(),
            lens: [columns.len(), blocks.len(), words.len(), sets.len()],
            count: *count,
        };
        device.upload(table.columns.room(device, columns.len())?, 0, columns)?;
        device.upload(table.blocks.room(device, blocks.len())?, 0, blocks)?;
        device.upload(table.words.room(device, words.len())?, 0, words)?;
        device.upload(table.sets.room(device, sets.len())?, 0, sets)?;
        Ok(table)
    }

    fn view<'a>(&'a self, device: &'a A) -> Result<Leaves<'a>, Error> {
        let [columns, blocks, words, sets] = self.lens;
        Ok(Leaves {
            columns: device.view(self.columns.get()?, columns),
            blocks: device.view(self.blocks.get()?, blocks),
            words: device.view(self.words.get()?, words),
            sets: device.view(self.sets.get()?, sets),
            count: self.count as u64,
        })
    }

    fn has(&self, column: u32) -> bool {
        (column as usize) < self.lens[0]
    }

    /// Checks that a kernel may run a program on this table.
    fn check(&self, program: &Program) -> Result<(), Error> {
        let (mut depth, mut is_right) = (0, true);
        for instr in &program.instrs {
            match instr.op() {
                Some(OpCode::Push) => {
                    depth += 1;
                    is_right &= depth <= MOST_PUSHED;
                }
                Some(OpCode::And | OpCode::Or) => {
                    is_right &= depth > 0;
                    depth = depth.saturating_sub(1);
                }
                Some(OpCode::Codes) => {
                    let end = instr.first.saturating_add(instr.last.div_ceil(32));
                    is_right &= self.has(instr.column) && end <= program.codes.len() as u64;
                }
                Some(OpCode::Within | OpCode::Here) => is_right &= self.has(instr.column),
                Some(OpCode::Not) => {}
                None => is_right = false,
            }
        }
        if is_right {
            Ok(())
        } else {
            Err(Error::Internal("a program is not one of its table of leaves".into()))
        }
    }
}

/// Copies elements to the start of an array.
fn copy<A: Accelerator, T: super::Plain>(device: &A, slot: &mut Slot<A, T>, all: &[T]) -> Result<(), Error> {
    let buffer = slot.room(device, all.len())?;
    if all.is_empty() { Ok(()) } else { device.upload(buffer, 0, all) }
}

impl<A: Accelerator> State<A> {
    fn table(&self, table: u64) -> Result<&Table<A>, Error> {
        self.tables.get(&table).ok_or_else(|| Error::Internal("a device has no such table of leaves".into()))
    }

    /// Finds the rows of a condition. They stay on the device. Does not wait.
    fn find(&mut self, table: u64, program: &Program) -> Result<(), Error> {
        self.table(table)?.check(program)?;
        copy(&self.device, &mut self.program, &program.instrs)?;
        copy(&self.device, &mut self.codes, &program.codes)?;
        let Self { device, tables, program: instrs, codes, rows, counts, .. } = self;
        let table = &tables[&table];
        let words = table.count * SET_WORDS;
        launch::<A, stages::Rows, LeafRows>(
            device,
            &LeafRowsArgs {
                leaves: table.view(device)?,
                program: device.view(instrs.get()?, program.instrs.len()),
                codes: device.view(codes.get()?, program.codes.len()),
                rows: device.view_mut(rows.room(device, words)?, words),
                counts: device.view_mut(counts.room(device, table.count)?, table.count),
            },
        )
    }

    /// Adds the rows of a part that were found to their groups. Does not wait.
    fn add(&mut self, part: &Part, grouping: &Grouping, numbers: usize, bits: usize) -> Result<(), Error> {
        let table = self.table(part.table)?;
        let columns =
            part.keys.iter().map(|key| key.column).chain(part.aggregates.iter().map(|of| of.column));
        let fits = |aggregate: &Aggregate| match aggregate.op() {
            Some(AggregateCode::Distinct) => {
                aggregate.at + grouping.groups.saturating_mul(aggregate.words) <= bits as u64
            }
            Some(_) => aggregate.at + grouping.groups <= numbers as u64,
            None => false,
        };
        let is_right = columns.into_iter().all(|column| table.has(column) || table.lens[0] == 0)
            && part.aggregates.iter().all(fits)
            && part.keys.iter().all(|key| key.divide != 0);
        if !is_right {
            return Err(Error::Internal("a grouping is not one of its table of leaves".into()));
        }
        copy(&self.device, &mut self.keys, &part.keys)?;
        copy(&self.device, &mut self.aggregates, &part.aggregates)?;
        let Self { device, tables, keys, aggregates, rows, numbers: all, bits: sets, .. } = self;
        let table = &tables[&part.table];
        let args = LeafGroupArgs {
            leaves: table.view(device)?,
            rows: device.view(rows.get()?, table.count * SET_WORDS),
            keys: device.view(keys.get()?, part.keys.len()),
            aggregates: device.view(aggregates.get()?, part.aggregates.len()),
            numbers: device.view_mut(all.get_mut()?, numbers),
            bits: device.view_mut(sets.get_mut()?, bits),
            groups: grouping.groups,
        };
        if numbers <= FEW_NUMBERS {
            launch::<A, stages::Groups, LeafGroupFew>(device, &args)
        } else {
            launch::<A, stages::Groups, LeafGroup>(device, &args)
        }
    }

    /// Counts the bits of all sets. Does not wait.
    fn count_bits(&mut self, grouping: &Grouping) -> Result<(), Error> {
        let groups = grouping.groups as usize;
        let Self { device, bits, sizes, .. } = self;
        let wanted = groups * grouping.sets.len();
        let all = device.view_mut(sizes.room(device, wanted)?, wanted);
        let bits = device.view(bits.get()?, groups * grouping.sets.iter().sum::<u64>() as usize);
        let mut first = 0;
        for (number, words) in grouping.sets.iter().enumerate() {
            let len = groups * *words as usize;
            // SAFETY: the ranges lie within these views: the sets of one aggregate, and their sizes.
            let (bits, counts) = unsafe {
                (
                    View::from_raw(bits.at(first, len), len),
                    ViewMut::from_raw(all.at(number * groups, groups), groups),
                )
            };
            launch::<A, stages::Groups, LeafDistinct>(
                device,
                &LeafDistinctArgs { bits, counts, words: *words },
            )?;
            first += len;
        }
        Ok(())
    }
}

/// This many groups are not bounded further.
const FEW_GROUPS: u64 = 1024;

impl<A: Accelerator> State<A> {
    /// Bounds the ranks of the first groups. `None` if most groups are among them.
    fn ranks(&mut self, grouping: &Grouping, first: &First) -> Result<Option<Ranks>, Error> {
        let (groups, First { count: wanted, order, rows }) = (grouping.groups as usize, *first);
        let aggregates = grouping.numbers.len() as u64;
        let is_one = |at: u64| at.is_multiple_of(grouping.groups) && at / grouping.groups < aggregates;
        let subtracts = order.minus == Order::NOTHING || is_one(order.minus);
        if rows >= aggregates || !is_one(order.value) || !subtracts || order.divide == 0 || wanted == 0 {
            return Err(Error::Internal("an order is not one of its groups".into()));
        }
        let Self { device, numbers, ranks, range, of_ranks, .. } = self;
        device.zero(range.room(device, 2)?, 0, 2)?;
        launch::<A, stages::First, LeafRanks>(
            device,
            &LeafRanksArgs {
                numbers: device.view(numbers.get()?, groups * grouping.numbers.len()),
                order,
                rows: rows * grouping.groups,
                ranks: device.view_mut(ranks.room(device, groups)?, groups),
                range: device.view_mut(range.get_mut()?, 2),
            },
        )?;
        let mut of_all = [0; 2];
        let mut downloads = Downloads::new(device);
        downloads.add(range, 0, &mut of_all)?;
        downloads.run()?;
        let (mut begin, mut end) = (!of_all[1], of_all[0]);
        let (mut before, mut counts) = (0, vec![0; RANK_BINS]);
        // Without rows there is no range.
        while begin <= end && end < u64::MAX {
            let span_bits = u64::BITS - (end - begin).leading_zeros();
            let shift = span_bits.saturating_sub(RANK_BINS.ilog2());
            device.zero(of_ranks.room(device, RANK_BINS)?, 0, RANK_BINS)?;
            launch::<A, stages::First, LeafRankCounts>(
                device,
                &LeafRankCountsArgs {
                    ranks: device.view(ranks.get()?, groups),
                    first: begin,
                    last: end,
                    shift,
                    counts: device.view_mut(of_ranks.get_mut()?, RANK_BINS),
                },
            )?;
            let mut downloads = Downloads::new(device);
            downloads.add(of_ranks, 0, &mut counts)?;
            downloads.run()?;
            let mut all = before;
            let part = counts.iter().position(|count| {
                before = all;
                all += u64::from(*count);
                all >= wanted
            });
            let Some(part) = part else { break };
            // The last part may reach beyond the greatest number.
            let first = begin + ((part as u64) << shift);
            let last = first.saturating_add((1 << shift) - 1).min(end);
            if shift == 0 || all <= FEW_GROUPS.max(wanted.saturating_mul(2)) {
                let is_part = all <= grouping.groups / 2;
                return Ok(is_part.then_some(Ranks { last, count: all }));
            }
            (begin, end) = (first, last);
        }
        Ok(None)
    }

    /// The numbers of groups by their ranks.
    fn first(&mut self, grouping: &Grouping, bound: &Ranks) -> Result<Numbers, Error> {
        let (groups, count) = (grouping.groups as usize, bound.count as usize);
        let Self { device, numbers, sizes, ranks, of_ranks, found, .. } = self;
        let lists = 1 + grouping.numbers.len() + grouping.sets.len();
        device.zero(of_ranks.room(device, 1)?, 0, 1)?;
        sizes.room(device, groups * grouping.sets.len())?;
        launch::<A, stages::First, LeafFirst>(
            device,
            &LeafFirstArgs {
                ranks: device.view(ranks.get()?, groups),
                last: bound.last,
                numbers: device.view(numbers.get()?, groups * grouping.numbers.len()),
                sizes: device.view(sizes.get()?, groups * grouping.sets.len()),
                found: device.view_mut(found.room(device, count * lists)?, count * lists),
                count: bound.count,
                taken: device.view_mut(of_ranks.get_mut()?, 1),
            },
        )?;
        let (mut all, mut taken) = (vec![0; count * lists], [0]);
        let mut downloads = Downloads::new(device);
        downloads.add(found, 0, &mut all)?;
        downloads.add(of_ranks, 0, &mut taken)?;
        downloads.run()?;
        if u64::from(taken[0]) != bound.count {
            return Err(Error::Internal("a device found another number of first groups".into()));
        }
        // They come in any order.
        let (of_groups, lists) = all.split_at(count);
        let mut sorted: Vec<usize> = (0..count).collect();
        sorted.sort_unstable_by_key(|at| of_groups[*at]);
        let list = |list: &[u64]| sorted.iter().map(|at| list[*at]).collect::<Vec<_>>();
        let mut lists: Vec<Vec<u64>> = lists.chunks(count).map(list).collect();
        let sizes = lists.split_off(grouping.numbers.len());
        Ok(Numbers { groups: Some(list(of_groups)), numbers: lists, sizes, bits: Vec::new() })
    }
}

impl<A: Accelerator> DeviceLeaves<A> {
    /// No tables are on the device yet.
    pub fn new(device: A) -> Self {
        Self(Mutex::new(State {
            device,
            tables: HashMap::new(),
            next: 0,
            program: Slot::default(),
            codes: Slot::default(),
            rows: Slot::default(),
            counts: Slot::default(),
            keys: Slot::default(),
            aggregates: Slot::default(),
            numbers: Slot::default(),
            bits: Slot::default(),
            sizes: Slot::default(),
            ranks: Slot::default(),
            range: Slot::default(),
            of_ranks: Slot::default(),
            found: Slot::default(),
        }))
    }

    /// Calls a function with the queue, between questions.
    pub fn with_queue<R>(&self, call: impl FnOnce(&A) -> R) -> R {
        call(&self.state().device)
    }

    fn state(&self) -> MutexGuard<'_, State<A>> {
        // A question that panicked left its arrays as they were; the next one fills them again.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Accelerator> LeafDevice for DeviceLeaves<A> {
    fn name(&self) -> String {
        self.state().device.name()
    }

    fn free_memory(&self) -> Result<u64, Error> {
        self.state().device.free_memory()
    }

    fn load(&self, image: &Image) -> Result<u64, Error> {
        let mut state = self.state();
        let table = Table::new(&state.device, image)?;
        let number = state.next;
        state.next += 1;
        state.tables.insert(number, table);
        Ok(number)
    }

    fn remove(&self, table: u64) {
        self.state().tables.remove(&table);
    }

    fn rows(&self, table: u64, program: &Program, has_words: bool) -> Result<TableRows, Error> {
        let mut state = self.state();
        state.find(table, program)?;
        let count = state.table(table)?.count;
        let mut found = TableRows {
            counts: vec![0; count],
            words: if has_words { vec![0; count * SET_WORDS] } else { Vec::new() },
        };
        let mut downloads = Downloads::new(&state.device);
        downloads.add(&state.counts, 0, &mut found.counts)?;
        downloads.add(&state.rows, 0, &mut found.words)?;
        downloads.run()?;
        Ok(found)
    }

    fn group(&self, grouping: &Grouping) -> Result<Numbers, Error> {
        let mut state = self.state();
        let groups = grouping.groups as usize;
        let numbers = groups * grouping.numbers.len();
        let bits = groups * grouping.sets.iter().sum::<u64>() as usize;
        {
            let State { device, numbers: all, bits: sets, .. } = &mut *state;
            device.zero(all.room(device, numbers)?, 0, numbers)?;
            device.zero(sets.room(device, bits)?, 0, bits)?;
        }
        for part in &grouping.parts {
            state.find(part.table, &part.program)?;
            state.add(part, grouping, numbers, bits)?;
        }
        let has_sizes = !grouping.sets.is_empty() && !grouping.has_bits;
        if has_sizes {
            state.count_bits(grouping)?;
        }
        if let Some(first) = &grouping.first
            && !grouping.has_bits
            && let Some(ranks) = state.ranks(grouping, first)?
        {
            return state.first(grouping, &ranks);
        }
        let zeros = |count: usize| (0..count).map(|_| vec![0; groups]).collect::<Vec<_>>();
        let sizes = zeros(if has_sizes { grouping.sets.len() } else { 0 });
        let all_bits = vec![0; if grouping.has_bits { bits } else { 0 }];
        let numbers = zeros(grouping.numbers.len());
        let mut found = Numbers { groups: None, numbers, sizes, bits: all_bits };
        let mut downloads = Downloads::new(&state.device);
        for (number, to) in found.numbers.iter_mut().enumerate() {
            downloads.add(&state.numbers, number * groups, to)?;
        }
        for (number, to) in found.sizes.iter_mut().enumerate() {
            downloads.add(&state.sizes, number * groups, to)?;
        }
        downloads.add(&state.bits, 0, &mut found.bits)?;
        downloads.run()?;
        Ok(found)
    }
}

impl<A: Accelerator> LeafForm for Queues<A> {
    fn room(&self) -> Result<Box<dyn LeafDevice>, Error> {
        Ok(Box::new(DeviceLeaves::new(self.0.queue()?)))
    }
}
