//! Questions about tables of leaves by the kernels, in the emulator. The results are compared with the
//! host's.

use std::sync::Arc;

use anyhow::{Context, Result};
use warpath::aggregate::DEFAULT_MEMORY;
use warpath::{Engine, Predicate, Query, Source};
use warpath_answer::backend::Backend;
use warpath_core::leaves::{LeafDevice, LeafForm};
use warpath_cpu::Cpu;
use warpath_device::{DeviceLeaves, Together};
use warpath_part::text::Shredder;
use warpath_resident::aggregate::{Aggregate, First, GroupColumn, group_on};
use warpath_resident::{DeviceTable, Dictionaries, Question, Segment};
use warpath_tests::emulated::Emulated;
use warpath_tests::leaves::{lines, suite, suite_in};
use warpath_tests::random::Rng;

#[test]
fn the_kernels_answer_as_the_host() -> Result<()> {
    suite(&Emulated::default(), 1, 8, 300)?;
    suite(&Emulated::default(), 2, 1, 3000)
}

/// The number of first groups by `user` that the emulated device finds among lines with `user` and `at`. The
/// aggregates are the least and the greatest `at`.
fn first_groups(text: &str, question: Option<&Question>, first: &First) -> Result<usize> {
    let mut shredder = Shredder::new();
    let group = shredder.shred(text.as_bytes())?;
    let segment = Segment::of(shredder.tree(), &group, text.as_bytes(), &Dictionaries::default())?;
    let device: Arc<dyn LeafDevice> = Arc::new(DeviceLeaves::new(Emulated::default()));
    let segments = [&segment];
    let table = DeviceTable::load(&device, &segments)?.context("a table")?;
    let path = |name: &str| vec![name.as_bytes().to_vec()];
    let columns = [GroupColumn { path: path("user"), derive: None, unit: None }];
    let extremes = [Aggregate::Least(path("at")), Aggregate::Greatest(path("at"))];
    let found = group_on(&[(&table, &segments)], question, &columns, &extremes, Some(first))?;
    Ok(found.context("the device has the groups")?.len)
}

/// The first groups of values that are as far from each other as integers can be.
#[test]
fn the_first_groups_of_far_values_are_found() -> Result<()> {
    let line = |user: i128| {
        let at = i128::from(i64::MIN) + 10 + user * i128::from(i64::MAX / 50);
        format!("{{\"user\":\"u{user}\",\"at\":{at}}}\n")
    };
    // The last of the hundred values is the one before the greatest.
    let mut text: String = (0..99).map(line).collect();
    text += &format!("{{\"user\":\"u99\",\"at\":{}}}\n", i64::MAX - 1);
    let text = text.repeat(3);
    let some = "$.user in ('u0', 'u7', 'u50', 'u99')";
    let question = Question::new(Predicate::parse(some)?.exact_condition().context("a condition")?);
    for (count, is_descending) in [(1, false), (4, false), (3, true), (4, true)] {
        let first = First { count, value: 0, minus: None, divide: 1, is_descending };
        let found = first_groups(&text, Some(&question), &first)?;
        assert!((count as usize..=4).contains(&found), "{count}: {found}");
    }
    Ok(())
}

/// Differences for which integers of 64 bits have no room are left to the host, which reports them.
#[test]
fn differences_without_room_choose_no_groups() -> Result<()> {
    let first = First { count: 1, value: 1, minus: Some(0), divide: 1, is_descending: true };
    for (least, found) in [(i64::MIN, 1_000), (0, 1)] {
        // The difference of each user is its number, but for one user.
        let lines = |user: i64| {
            let (low, high) = if user == 5 { (least, i64::MAX - 1) } else { (7, 7 + user) };
            [low, high].map(|at| format!("{{\"user\":\"u{user}\",\"at\":{at}}}\n")).concat()
        };
        let text: String = (0..1_000).map(lines).collect();
        assert_eq!(first_groups(&text, None, &first)?, found, "{least}");
    }
    Ok(())
}

/// Tables on several devices have the groups of one.
#[test]
fn several_devices_answer_as_the_host() -> Result<()> {
    let backends = (0..3).map(|_| Emulated::default().backend()).collect();
    let together = Together::new(backends)?;
    let room = || {
        let form = together.forms().get::<dyn LeafForm>().context("devices that hold leaves")?;
        Ok(Arc::from(form.room()?))
    };
    suite_in(&room, 3, 4, 300).map(drop)
}

/// The results of an engine over loaded records: counts, groups, and lines.
fn results(engine: &Engine, lines: &str) -> Result<Vec<String>> {
    let half = lines[..lines.len() / 2].rfind('\n').map_or(0, |at| at + 1);
    let (first, second) = lines.split_at(half);
    let source = |name: &str, text: &str| Source::Bytes(name.into(), text.to_owned().into());
    let loaded = engine.load(vec![source("first", first), source("second", second)])?;
    let mut all = Vec::new();
    for predicate in ["$.kind == 'commit'", "$.n > 0 or $.x < 0", "$.user in ('u1', 'u2')", "$.none", "$.n"] {
        let matching =
            || Ok::<_, anyhow::Error>(loaded.input(engine).matching(&Predicate::parse(predicate)?));
        let (user, n) = (Query::compile("$.user")?, Query::compile("$.n")?);
        all.push(format!("{predicate}: {}", matching()?.count(&user)?));
        all.push(format!("{}", matching()?.distinct(&[user, n], DEFAULT_MEMORY)?.distinct()?));
        for paths in [&["$.user"][..], &["$.n", "$.is"], &["$.kind"], &["$.x"], &["$.none", "$.user"]] {
            let paths = paths.iter().map(|path| Query::compile(path)).collect::<Result<Vec<_>, _>>()?;
            for counted in matching()?.count_by(&paths, DEFAULT_MEMORY)?.by_count(None)? {
                all.push(format!("{:?}", counted?));
            }
        }
        for record in matching()?.query(&Query::compile("$")?)? {
            all.push(String::from_utf8(record?.text().as_bytes().to_vec())?);
        }
    }
    Ok(all)
}

/// An engine with a device keeps leaves there, and has the results of one without.
#[test]
fn loaded_inputs_are_on_the_device() -> Result<()> {
    let lines = lines(&mut Rng::new(5), 4000, 30);
    let emulated = Emulated::default();
    let on_device = Engine::builder().backend(emulated.backend()).build()?;
    let on_host = Engine::builder().backend(Arc::new(Cpu)).build()?;
    assert_eq!(results(&on_device, &lines)?, results(&on_host, &lines)?);
    let launches = emulated.take_launches();
    assert!(["leaf_rows", "leaf_group_few"].iter().all(|kernel| launches.contains(kernel)), "{launches:?}");
    let source = || vec![Source::Bytes("lines".into(), lines.clone().into())];
    let (name, bytes) = on_device.load(source())?.device().unwrap();
    assert!(name == emulated.backend().name() && bytes > 4000, "{bytes} bytes on {name}");
    assert!(on_host.load(source())?.device().is_none());
    // What was loaded is gone from the device when nobody uses it.
    let used = emulated.used();
    let loaded = on_device.load(source())?;
    assert!(emulated.used() > used);
    drop(loaded);
    assert_eq!(emulated.used(), used);
    Ok(())
}

#[test]
fn leaves_that_do_not_fit_are_an_error() -> Result<()> {
    let lines = lines(&mut Rng::new(6), 40_000, 20_000);
    let small = Emulated::with_memory(1 << 19);
    let engine = Engine::builder().backend(small.backend()).build()?;
    let error = engine.load(vec![Source::Bytes("lines".into(), lines.into())]).unwrap_err().to_string();
    assert!(error.starts_with("device memory: an index that is kept there needs "), "{error}");
    assert_eq!(small.used(), 0);
    Ok(())
}
