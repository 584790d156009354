//! Writers that end at any operation of the storage, for example because there is no space.

use warpath_folder::{Change, Field, Folder, Millis, Schema, Type};
use warpath_random::Rng;

use crate::memory::{Failing, Fails, Memory, input, numbers};

const MODES: [Fails; 4] = [Fails::Before, Fails::After, Fails::Once, Fails::Again];

/// One random change of a folder, and the rows after it.
fn change(random: &mut Rng, memory: &Memory, folder: &Folder, next: &mut u64) -> (Change, Vec<u64>) {
    let snapshot = folder.snapshot();
    let parts: Vec<_> = snapshot.parts().cloned().collect();
    let rows_of = |name: &str| numbers(&memory.get(name));
    let name = format!("part-{next}-{}.parquet", random.next_u64());
    if parts.len() >= 2 && random.below(3) == 0 {
        // Some neighbours become one part, with or without their first row.
        let from = random.below(parts.len() - 1);
        let to = from + 2 + random.below(parts.len() - from - 1);
        let same_rows = random.below(2) == 0;
        let drop = usize::from(!same_rows);
        let rows: Vec<u64> = parts[from..to].iter().flat_map(|part| rows_of(&part.name)).skip(drop).collect();
        let after = parts.iter().enumerate().flat_map(|(index, part)| match index {
            _ if index == from => rows.clone(),
            _ if (from..to).contains(&index) => Vec::new(),
            _ => rows_of(&part.name),
        });
        let removed = parts[from..to].iter().map(|part| part.name.clone()).collect();
        let change =
            Change { removed, added: vec![memory.part(&name, &rows)], same_rows, ..Change::default() };
        (change, after.collect())
    } else {
        let rows: Vec<u64> = (*next..).take(1 + random.below(3)).collect();
        *next += rows.len() as u64;
        let before = parts.iter().flat_map(|part| rows_of(&part.name));
        let schema = Schema { fields: vec![Field::new(format!("f{}", random.below(5)), Type::Double)] };
        let change = Change {
            added: vec![memory.part(&name, &rows)],
            inputs: vec![input(&name, 1)],
            schema: (random.below(4) == 0).then_some(schema),
            ..Change::default()
        };
        (change, before.chain(rows.clone()).collect())
    }
}

#[test]
fn a_thousand_crashes_lose_nothing() {
    let mut random = Rng::new(31);
    let (mut done, mut undone) = (0, 0);
    for round in 0..1000 {
        let memory = Memory::default();
        memory.create();
        let (mut acknowledged, mut next) = (Vec::new(), 0);
        // The same folder goes through several crashes.
        for _ in 0..3 {
            let fails = random.pick(&MODES);
            let storage = Failing::new(&memory, random.below(25), fails);
            let mut pending = None;
            if let Ok(mut folder) = Folder::open(storage) {
                for _ in 0..10 {
                    let (change, after) = change(&mut random, &memory, &folder, &mut next);
                    if folder.commit(change, Millis(1)).is_err() {
                        pending = Some(after);
                        break;
                    }
                    acknowledged = after;
                }
            }
            let rows = memory.rows();
            if rows == acknowledged {
                undone += usize::from(pending.is_some());
            } else {
                // The last change may be there, whole.
                assert_eq!(Some(&rows), pending.as_ref(), "round {round}, {fails:?}");
                assert_eq!(fails, Fails::After);
                acknowledged = rows;
                done += 1;
            }
            // Files that no version names disappear, and nothing else.
            memory.open().unwrap().vacuum(Millis(i64::MAX), &|_| true).unwrap();
            assert_eq!(memory.rows(), acknowledged);
        }
    }
    assert!(done > 100 && undone > 100, "{done} {undone}");
}

#[test]
fn a_failed_change_can_be_tried_again_at_each_operation() {
    for fails in MODES {
        let mut failures = 0;
        for operation in 0.. {
            let memory = Memory::default();
            let mut other = memory.create();
            let storage = Failing::new(&memory, operation, fails);
            let mut folder = match Folder::open(storage.clone()) {
                Ok(folder) => folder,
                Err(_) => memory.open().unwrap(),
            };
            // The first attempt meets a version by another writer.
            other.append(vec![memory.part("part-0.parquet", &[0])], Vec::new(), Millis(1)).unwrap();
            let change = || Change {
                added: vec![memory.part("part-1.parquet", &[1])],
                inputs: vec![input("a", 1)],
                ..Change::default()
            };
            if folder.commit(change(), Millis(1)).is_err() {
                failures += 1;
                // Another process tries it again; it sees that the change is there, if it is.
                let mut again = memory.open().unwrap();
                let is_there = again.snapshot().input("a").is_some();
                assert_eq!(again.commit(change(), Millis(2)).is_err(), is_there);
                assert!(fails == Fails::After || !is_there);
            }
            assert_eq!(memory.rows(), [0, 1], "{fails:?} at {operation}");
            // No operation has failed.
            if storage.left.load(std::sync::atomic::Ordering::SeqCst) > 1 {
                break;
            }
        }
        assert_eq!(failures > 0, fails != Fails::Again, "{fails:?}");
    }
}
