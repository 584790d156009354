//! Tables of leaves on several devices. Each table is on one of them. Groups are counted on each device, and
//! their numbers are joined on the host.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use warpath_core::error::Error;
use warpath_core::leaves::{Grouping, Image, LeafDevice, Numbers, Part, Program, TableRows};
use warpath_core::pool;
use warpath_shared::leaf::table::AggregateCode;

/// Several devices with tables.
pub struct SeveralLeaves {
    devices: Vec<Box<dyn LeafDevice>>,
    tables: Mutex<Tables>,
}

#[derive(Default)]
struct Tables {
    /// The device of each table, and the table's number there.
    places: HashMap<u64, (usize, u64)>,
    /// The number of the next table.
    next: u64,
}

impl SeveralLeaves {
    /// At least one device, without tables.
    pub fn new(devices: Vec<Box<dyn LeafDevice>>) -> Self {
        Self { devices, tables: Mutex::default() }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        // Nobody panics between two changes.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self, table: u64) -> Result<(usize, u64), Error> {
        let place = self.tables().places.get(&table).copied();
        place.ok_or_else(|| Error::Internal("no device has such a table of leaves".into()))
    }
}

impl LeafDevice for SeveralLeaves {
    fn name(&self) -> String {
        self.devices.iter().map(|device| device.name()).collect::<Vec<_>>().join(", ")
    }

    fn free_memory(&self) -> Result<u64, Error> {
        self.devices.iter().try_fold(0, |most, device| Ok(device.free_memory()?.max(most)))
    }

    /// The table goes to the device with the most free memory.
    fn load(&self, image: &Image) -> Result<u64, Error> {
        let (mut at, mut most) = (0, 0);
        for (number, device) in self.devices.iter().enumerate() {
            let free = device.free_memory()?;
            if free > most {
                (at, most) = (number, free);
            }
        }
        let there = self.devices[at].load(image)?;
        let mut tables = self.tables();
        let number = tables.next;
        tables.next += 1;
        tables.places.insert(number, (at, there));
        Ok(number)
    }

    fn remove(&self, table: u64) {
        if let Some((at, number)) = self.tables().places.remove(&table) {
            self.devices[at].remove(number);
        }
    }

    fn rows(&self, table: u64, program: &Program, has_words: bool) -> Result<TableRows, Error> {
        let (at, number) = self.place(table)?;
        self.devices[at].rows(number, program, has_words)
    }

    fn group(&self, grouping: &Grouping) -> Result<Numbers, Error> {
        let mut of_devices: Vec<Vec<Part>> = vec![Vec::new(); self.devices.len()];
        for part in &grouping.parts {
            let (at, table) = self.place(part.table)?;
            of_devices[at].push(Part { table, ..part.clone() });
        }
        let parts = of_devices.into_iter().enumerate().filter(|(_, parts)| !parts.is_empty());
        let parts: Vec<(usize, Vec<Part>)> = parts.collect();
        if let [(at, parts)] = &parts[..] {
            return self.devices[*at].group(&Grouping { parts: parts.clone(), ..grouping.clone() });
        }
        // Groups of one device alone have no order, and sizes of sets cannot be joined.
        let has_bits = grouping.has_bits || !grouping.sets.is_empty();
        let found = pool::map(parts, |(at, parts)| {
            self.devices[at].group(&Grouping { parts, first: None, has_bits, ..grouping.clone() })
        });
        let mut found = found.into_iter();
        let mut all = found.next().unwrap_or_else(|| Ok(Numbers::default()))?;
        for other in found {
            join(&mut all, &other?, grouping);
        }
        if has_bits && !grouping.has_bits {
            all.sizes = sizes(&all.bits, grouping);
            all.bits = Vec::new();
        }
        Ok(all)
    }
}

/// Adds the numbers of another device.
fn join(all: &mut Numbers, other: &Numbers, grouping: &Grouping) {
    for ((numbers, others), op) in all.numbers.iter_mut().zip(&other.numbers).zip(&grouping.numbers) {
        let is_extreme = matches!(op, AggregateCode::Least | AggregateCode::Greatest);
        for (number, other) in numbers.iter_mut().zip(others) {
            *number = if is_extreme { (*number).max(*other) } else { *number + other };
        }
    }
    for (word, other) in all.bits.iter_mut().zip(&other.bits) {
        *word |= other;
    }
}

/// The sizes of the sets of all groups, for each aggregate.
fn sizes(bits: &[u32], grouping: &Grouping) -> Vec<Vec<u64>> {
    let mut rest = bits;
    let of_aggregate = |words: &u64| {
        let (of_this, others) = rest.split_at((words * grouping.groups) as usize);
        rest = others;
        let size = |set: &[u32]| set.iter().map(|word| u64::from(word.count_ones())).sum();
        of_this.chunks_exact(*words as usize).map(size).collect()
    };
    grouping.sets.iter().map(of_aggregate).collect()
}
