//! Subscription files and documents of any bytes. A subscription that is accepted means the same to every
//! evaluator, and one that is not accepted is reported.

use warpath::twig::Subscriptions;
use warpath_cpu::twig::{json, xml};
use warpath_lang::twig::Twig;

use crate::twig_evaluator::{Both, Evaluator};

/// Takes bytes as a file of subscriptions, up to a zero, and after it as documents of XML, of JSON and of
/// lines. A second evaluator reads the documents too. Returns the number of good documents.
///
/// # Panics
/// If anything does not hold that has to.
pub fn fuzz_one<E: Evaluator>(bytes: &[u8]) -> usize {
    let zero = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (file, document) =
        (String::from_utf8_lossy(&bytes[..zero]), bytes.get(zero + 1..).unwrap_or_default());
    let mut subscriptions = add(&file);
    let mut second = E::default();
    for number in 0..subscriptions.len() {
        let query = subscriptions.query(number).expect("one of them");
        second.add(&Twig::parse(query).expect("it was added"));
    }
    let (mut matcher, mut run) = (subscriptions.matcher(), second.run());
    let mut good = 0;
    let mut agree = |read: &mut dyn FnMut(&mut Both<'_, _, _>) -> bool| {
        matcher.reset();
        E::reset(&mut run);
        if read(&mut Both(&mut matcher, &mut run)) {
            let found: Vec<usize> = matcher.found().collect();
            assert_eq!(found, E::matches(&mut run));
            good += 1;
        }
    };
    if let Ok(text) = str::from_utf8(document) {
        // The verdict does not depend on the receiver.
        let is_good = xml::read(text, &mut Subscriptions::default().matcher()).is_ok();
        agree(&mut |both| match xml::read(text, both) {
            Ok(()) => {
                assert!(is_good);
                true
            }
            Err(error) => {
                assert!(!is_good, "{error}");
                assert!(error.at <= text.len() as u64, "{error} at {} of {}", error.at, text.len());
                false
            }
        });
    }
    agree(&mut |both| match json::read(document, both) {
        Ok(()) => true,
        Err(fault) => {
            assert!(fault.at <= document.len());
            false
        }
    });
    good += lines(&subscriptions, document);
    let ids: Vec<String> = subscriptions.ids().map(str::to_owned).collect();
    for id in &ids {
        assert!(subscriptions.remove(id) && !subscriptions.remove(id));
    }
    let size = subscriptions.set().size();
    assert!(subscriptions.is_empty() && size.twigs == 0 && size.bits == 0, "{size:?}");
    good
}

/// Adds the lines of a file. Each line is added or reported.
fn add(file: &str) -> Subscriptions {
    let mut subscriptions = Subscriptions::default();
    let errors = subscriptions.add_file(file);
    let lines: Vec<&str> = file.lines().collect();
    let meant = |(at, line): (usize, &&str)| {
        let line = if at == 0 { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
        !line.trim_ascii().is_empty() && !line.starts_with('#')
    };
    let meant = lines.iter().enumerate().filter(|line| meant((line.0, line.1))).count();
    assert_eq!(subscriptions.len() + errors.len(), meant);
    for error in errors {
        let line = lines[error.line - 1];
        assert!((1..=line.chars().count() + 1).contains(&error.column), "{error:?}: {line}");
    }
    subscriptions
}

/// Lines are what each is by itself.
fn lines(subscriptions: &Subscriptions, text: &[u8]) -> usize {
    let (mut together, mut alone) = (subscriptions.matcher(), subscriptions.matcher());
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let mut good = 0;
    json::LineReader::default().read(text, &mut together, |together, number, ended| {
        alone.reset();
        let read = json::read(lines[number], &mut alone);
        // Scalars and the contents of strings are not checked in lines.
        assert!(ended.is_ok() || read.is_err(), "line {number}: {read:?}, {ended:?}");
        if read.is_ok() {
            assert!(together.found().eq(alone.found()));
            good += 1;
        }
        together.reset();
    });
    good
}
