//! XML that a device reads, emulated: held to the reader and the matcher on the CPU.

use warpath::device::{Accelerator as _, TwigXmlStage};
use warpath::twig::TwigSet;
use warpath::twig::encode::Compiled;
use warpath::twig::names::Names;
use warpath_tests::emulated::Emulated;
use warpath_tests::random::Rng;
use warpath_tests::xml::{self, BIBLIOGRAPHY};

fn stage(set: &TwigSet) -> TwigXmlStage<Emulated> {
    let device = Emulated::default().queue().unwrap();
    TwigXmlStage::new(device, &Compiled::of(set), &Names::of(set)).unwrap()
}

/// Documents with all that XML has, and what is left of them when bytes are changed.
#[test]
fn documents_are_read_as_the_cpu_reads_them() {
    let tally = xml::suite(&Emulated::default(), 1, 12, (30, 300)).unwrap();
    println!("{tally:?}");
    assert!(tally.fit > tally.documents / 4 && tally.fit < tally.good, "{tally:?}");
    assert!(tally.matches > tally.fit, "{tally:?}");
}

/// Where nothing is out of the ordinary, nothing is left to the host.
#[test]
fn ordinary_documents_are_not_left_to_the_host() {
    let mut rng = Rng::new(3);
    let set = xml::set(BIBLIOGRAPHY).unwrap();
    let documents: Vec<String> =
        (0..60).map(|number| xml::bibliography(&mut rng, [1, 3, 10, 40][number % 4])).collect();
    let (tally, unfit) = xml::check(&mut stage(&set), &set, &documents).unwrap();
    assert_eq!((tally.fit, unfit.len()), (documents.len(), 0));
    assert!(tally.matches > 200, "{tally:?}");
}
