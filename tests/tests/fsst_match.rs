//! Patterns over compressed strings by the kernel, in the emulator. The results are compared with the CPU's
//! and with the decoded strings.

use anyhow::Result;
use warpath_device::Accelerator;
use warpath_shared::fsst::automaton::{MAX_LIVE, NO_FAULT, Verdict, fault_word};
use warpath_shared::kernel::{FsstMatch, FsstMatchArgs, Kernel};
use warpath_shared::view::{View, ViewMut};
use warpath_store::fsst::{CodeAutomaton, Pattern};
use warpath_tests::emulated::Emulated;
use warpath_tests::fsst_match::{Column, check, launch, suite, table};

#[test]
fn the_kernel_answers_as_the_cpu_and_as_decoded_strings() -> Result<()> {
    suite(&Emulated::default(), 1, 60, 700)?;
    suite(&Emulated::default(), 2, 2, 5000)
}

/// Strings that begin and end anywhere in words of codes, and go through many of them.
#[test]
fn strings_begin_and_end_anywhere_in_words() -> Result<()> {
    let table = table(&[b"a".to_vec(), b"b".to_vec(), b"ab".to_vec()]);
    for begin in 0..9 {
        let mut column = Column { codes: vec![99; begin], offsets: vec![begin as u64] };
        for len in (0..40).chain([1000, 0, 0, 7, 8, 9]) {
            column.codes.extend((0..len).map(|at| if at + 1 == len { 2 } else { (at % 7 / 6) as u8 }));
            column.offsets.push(column.codes.len() as u64);
        }
        for pattern in ["%ab", "a%", "%ba%", "%aaaaaab%", "_", ""] {
            check(&Emulated::default(), &table, &Pattern::like(pattern, None)?, &column)?;
        }
    }
    Ok(())
}

#[test]
fn the_most_states_fit() -> Result<()> {
    let pattern = Pattern::Contains((0..MAX_LIVE).map(|at| at as u8).collect());
    let symbols: Vec<Vec<u8>> = (0..MAX_LIVE as u8).map(|byte| vec![byte]).collect();
    let all: Vec<u8> = (0..MAX_LIVE as u8).collect();
    let column = Column {
        codes: [&[3][..], &all, &all[1..], &[255, 0], &all[1..]].concat(),
        offsets: vec![0, 63, 124, 187],
    };
    check(&Emulated::default(), &table(&symbols), &pattern, &column)?;
    let automaton = CodeAutomaton::new(&pattern, &table(&symbols))?;
    assert_eq!(
        launch(&Emulated::default(), &automaton, &column.codes, &column.offsets)?,
        (vec![0b101], NO_FAULT)
    );
    Ok(())
}

/// Offsets are not looked at by the host of a launch: whatever they are, nothing else than codes is read.
#[test]
fn wrong_offsets_read_nothing_but_codes() -> Result<()> {
    let device = Emulated::default();
    let table = table(&[b"a".to_vec(), b"b".to_vec()]);
    let automaton = CodeAutomaton::new(&Pattern::like("%a", None)?, &table)?;
    let codes = [1, 0, 0];
    let offsets = [0, u64::MAX, 1, 1 << 63, 2, 3, 2, 100, 99];
    // bab… cut to `baa`; nothing; `aa`; nothing; `a`; nothing; `a`; nothing.
    assert_eq!(launch(&device, &automaton, &codes, &offsets)?, (vec![0b0101_0101], NO_FAULT));
    // No codes at all, so that there is no word to be read either.
    assert_eq!(launch(&device, &automaton, &[], &[0, 0, 5])?, (vec![0], NO_FAULT));
    Ok(())
}

#[test]
fn the_first_fault_is_told_whatever_the_order() -> Result<()> {
    let table = table(&[b"a".to_vec()]);
    let automaton = CodeAutomaton::new(&Pattern::Contains(b"b".to_vec()), &table)?;
    let device = Emulated::default();
    for (first, codes, verdict) in [(3, [0, 255], Verdict::Escape), (700, [1, 0], Verdict::Unknown)] {
        let mut strings = vec![[0, 0]; 2000];
        strings[first] = codes;
        strings[first + 1..].iter_mut().step_by(90).for_each(|string| *string = [200, 255]);
        let offsets: Vec<u64> = (0..=2000).map(|at| 2 * at).collect();
        // Each launch goes through blocks in another order.
        for _ in 0..4 {
            let (words, fault) = launch(&device, &automaton, &strings.concat(), &offsets)?;
            assert_eq!(fault, fault_word(first as u64, verdict));
            assert!(words.iter().all(|word| *word == 0));
        }
    }
    Ok(())
}

#[test]
fn sizes_that_do_not_agree_are_refused() -> Result<()> {
    let automaton = CodeAutomaton::new(&Pattern::like("%a", None)?, &table(&[b"a".to_vec()]))?;
    let (codes, offsets, mut words, mut fault) = ([0; 2], [0, 9], [0; 1], [0; 1]);
    // SAFETY: borrowed for as long as the views are, and nothing is launched.
    let (words, fault) =
        unsafe { (ViewMut::from_raw(words.as_mut_ptr(), 1), ViewMut::from_raw(fault.as_mut_ptr(), 1)) };
    let good = FsstMatchArgs {
        automaton: automaton.on(View::from_slice(automaton.rows())),
        codes: View::from_slice(&codes),
        offsets: View::from_slice(&offsets),
        matches: words,
        fault,
        codes_len: 9,
    };
    FsstMatch::check(&good)?;
    let refusal = |args: FsstMatchArgs<'_>| FsstMatch::check(&args).unwrap_err().relation;
    assert_eq!(refusal(FsstMatchArgs { codes_len: 17, ..good }), "8 × code words = codes");
    assert_eq!(refusal(FsstMatchArgs { offsets: View::from_slice(&[0]), ..good }), "offsets ≥ 2");
    assert_eq!(
        refusal(FsstMatchArgs { offsets: View::from_slice(&[0; 66]), ..good }),
        "64 × match words = strings"
    );
    let rows = |bytes| FsstMatchArgs { automaton: automaton.on(bytes), ..good };
    assert_eq!(refusal(rows(View::from_slice(&[0; 512]))), "rows ≥ 3");
    assert_eq!(refusal(rows(View::from_slice(&[0; 129 * 256]))), "128 ≥ rows");
    assert_eq!(refusal(rows(View::from_slice(&[0; 1000]))), "rows = whole rows");
    assert_eq!(refusal(rows(View::from_slice(&[0; 768]))), "rows > start");
    // The device checks the arguments before it launches.
    let device = Emulated::default();
    // SAFETY: it is refused.
    let refused = unsafe { device.launch::<FsstMatch>(&FsstMatchArgs { codes_len: 0, ..good }) };
    assert!(refused.unwrap_err().to_string().contains("`fsst_match`"));
    Ok(())
}
