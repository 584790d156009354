//! The rows of which a condition is true, from leaves alone: comparisons of packed numbers without decoding
//! them, and of strings once for each code.

use std::cmp::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::{HashMap, HashSet};
use warpath_core::comparison::{Comparison, Condition, Constant, Test, integers};
use warpath_core::key;
use warpath_core::number::nearest;
use warpath_core::rows::RowSet;
use warpath_part::group::Layout;
use warpath_shared::leaf::{of_double, of_integer};

use crate::dictionary::Dictionary;
use crate::segment::{Leaf, Member, Segment};
use crate::table::Class;

/// A condition that is evaluated on segments. What it says of the strings of a dictionary is found once.
#[derive(Debug)]
pub struct Question {
    condition: Box<Condition>,
    /// For a dictionary and a test, by their addresses: the codes of which the test is true.
    passing: Mutex<HashMap<(usize, usize), Arc<RowSet>>>,
}

impl Question {
    /// A question for a condition. If results come from leaves alone, the condition must be exact.
    #[must_use]
    pub fn new(condition: Condition) -> Self {
        Self { condition: condition.into(), passing: Mutex::default() }
    }

    /// The condition.
    pub(crate) fn condition(&self) -> &Condition {
        &self.condition
    }

    /// The rows of a segment of which the condition is true. `None` if its leaves do not decide.
    #[must_use]
    pub fn rows(&self, segment: &Segment) -> Option<RowSet> {
        self.of(&self.condition, segment)
    }

    fn of(&self, condition: &Condition, segment: &Segment) -> Option<RowSet> {
        match condition {
            Condition::Is(comparison) => self.compare(comparison, segment),
            Condition::All(all) => {
                let mut rows = segment.records().clone();
                for condition in all {
                    rows &= &self.of(condition, segment)?;
                }
                Some(rows)
            }
            Condition::Any(any) => {
                let mut rows = RowSet::none(segment.rows().into());
                for condition in any {
                    rows |= &self.of(condition, segment)?;
                }
                Some(rows)
            }
        }
    }

    fn compare(&self, comparison: &Comparison, segment: &Segment) -> Option<RowSet> {
        let member = segment.member(&comparison.path)?;
        self.test(&comparison.test, member, segment)
    }

    fn test(&self, test: &Test, member: Option<&Member>, segment: &Segment) -> Option<RowSet> {
        if let Test::Not(test) = test {
            let mut rows = segment.records().clone();
            rows -= &self.test(test, member, segment)?;
            return Some(rows);
        }
        let mut rows = RowSet::none(segment.rows().into());
        let Some(member) = member else { return Some(rows) };
        for kind in &member.kinds {
            let here = segment.set(&kind.rows);
            rows |= &match test {
                Test::Exists => here,
                test => {
                    let mut passing = self.passing(test, &kind.leaf, &here)?;
                    passing &= &here;
                    passing
                }
            };
        }
        if passes_null(test) {
            rows |= &segment.set(&member.nulls);
        }
        Some(rows)
    }

    /// The rows of a leaf that pass a test, and some of those that have no value.
    fn passing(&self, test: &Test, leaf: &Leaf, here: &RowSet) -> Option<RowSet> {
        let none = || RowSet::none(here.rows());
        let ranges = |ranges: Option<Vec<(u64, u64)>>, packed: &crate::packed::Packed| {
            let mut rows = none();
            for (least, greatest) in ranges? {
                rows |= &packed.within(least, greatest);
            }
            Some(rows)
        };
        match leaf {
            Leaf::Booleans(is_true) => {
                let mut rows = none();
                for (value, _) in boolean_ranges(test) {
                    rows |= &if value == 1 { is_true.clone() } else { !is_true.clone() };
                }
                Some(rows)
            }
            Leaf::Integers(packed) => ranges(integer_ranges(test), packed),
            Leaf::Doubles { packed, .. } => ranges(double_ranges(test), packed),
            Leaf::Codes { numbers, codes, dictionary } => {
                let passing = self.codes(test, dictionary);
                let is_in: Vec<bool> = codes.iter().map(|code| passing.get((*code).into())).collect();
                let mut true_ones =
                    is_in.iter().enumerate().filter(|(_, is_in)| **is_in).map(|(at, _)| at as u64);
                let Some(first) = true_ones.next() else { return Some(none()) };
                let last = true_ones.next_back().unwrap_or(first);
                let count = is_in.iter().filter(|is_in| **is_in).count() as u64;
                if count == last - first + 1 {
                    return Some(numbers.within(first, last));
                }
                let mut rows = Vec::with_capacity(numbers.rows() as usize);
                numbers.each_block(|block| rows.extend(block.iter().map(|number| is_in[*number as usize])));
                Some(rows.into_iter().collect())
            }
            // Objects and arrays are equal to no constant, and have no order.
            Leaf::Whole(Layout::Struct | Layout::List) => Some(none()),
            Leaf::Whole(_) => None,
        }
    }

    /// The codes of a dictionary whose strings pass a test.
    pub(crate) fn codes(&self, test: &Test, dictionary: &Arc<Dictionary>) -> Arc<RowSet> {
        let key = (Arc::as_ptr(dictionary) as usize, std::ptr::from_ref(test) as usize);
        let known =
            |this: &Self| this.passing.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = known(self) {
            return known;
        }
        let strings = dictionary.read();
        let codes = strings.end() as u64;
        let set = match test {
            Test::Equal(constants) => {
                let mut set = RowSet::none(codes);
                let texts = constants.iter().filter_map(text_of);
                texts.filter_map(|text| strings.find(text)).for_each(|code| set.insert(code.into()));
                set
            }
            test => {
                let passes = string_test(test);
                (0..codes as u32).map(|code| passes(strings.get(code))).collect()
            }
        };
        let set = Arc::new(set);
        self.passing.lock().unwrap_or_else(PoisonError::into_inner).insert(key, set.clone());
        set
    }
}

fn text_of(constant: &Constant) -> Option<&[u8]> {
    if let Constant::String(text) = constant { Some(text.as_bytes()) } else { None }
}

/// True if a null passes a test.
pub(crate) fn passes_null(test: &Test) -> bool {
    let is_null = |constant: &Constant| *constant == Constant::Null;
    match test {
        Test::Exists => true,
        Test::Equal(all) => all.iter().any(is_null),
        Test::AtMost(constant) | Test::AtLeast(constant) => is_null(constant),
        Test::Less(_) | Test::Greater(_) | Test::Matches(_) | Test::Not(_) => false,
    }
}

/// A test of one string.
type StringTest<'a> = Box<dyn Fn(&[u8]) -> bool + 'a>;

fn string_test(test: &Test) -> StringTest<'_> {
    if let Test::Matches(pattern) = test {
        return Box::new(|string| (pattern.holds)(string));
    }
    let (constants, wanted) = test.constants();
    let texts: HashSet<&[u8]> = constants.iter().filter_map(text_of).collect();
    match test {
        Test::Equal(_) => Box::new(move |string| texts.contains(string)),
        _ => Box::new(move |string| texts.iter().any(|text| wanted(string.cmp(*text)))),
    }
}

/// The ranges of the values of a class that pass a test; none of codes, which [`Question::codes`] finds.
/// `None` if a constant is a number whose size is not known.
pub(crate) fn ranges_of(test: &Test, class: Class) -> Option<Vec<(u64, u64)>> {
    match class {
        Class::Booleans => Some(boolean_ranges(test)),
        Class::Integers => integer_ranges(test),
        Class::Doubles => double_ranges(test),
        Class::Codes | Class::Nulls | Class::Containers | Class::InLines => Some(Vec::new()),
    }
}

/// The truth values that pass a test, as ranges of 0 and 1. They have no order, but are equal to themselves.
fn boolean_ranges(test: &Test) -> Vec<(u64, u64)> {
    let (constants, wanted) = test.constants();
    let value = |constant: &Constant| match constant {
        Constant::Bool(value) if wanted(Ordering::Equal) => Some((u64::from(*value), u64::from(*value))),
        _ => None,
    };
    constants.iter().filter_map(value).collect()
}

/// The ranges of integers that pass a test. `None` if a constant is a number whose size is not known.
fn integer_ranges(test: &Test) -> Option<Vec<(u64, u64)>> {
    let (constants, wanted) = test.constants();
    let mut ranges = Vec::new();
    for constant in constants {
        if let Constant::Number(number) = constant {
            let range = integers(number, wanted)?;
            if !range.is_empty() {
                ranges.push((of_integer(*range.start()), of_integer(*range.end())));
            }
        }
    }
    Some(ranges)
}

/// The ranges of doubles that pass a test. `None` if a constant is a number whose size is not known.
///
/// A double of a leaf means the decimal number with the fewest digits that is nearest to it. Rounding
/// keeps the order, so only the double that is nearest to the constant needs a look at the digits.
fn double_ranges(test: &Test) -> Option<Vec<(u64, u64)>> {
    let (constants, wanted) = test.constants();
    let mut ranges = Vec::new();
    for constant in constants {
        let Constant::Number(number) = constant else { continue };
        let middle = nearest(number.as_bytes())? + 0.0;
        if !middle.is_finite() {
            return None;
        }
        let key = |number: &[u8]| {
            let mut key = Vec::new();
            key::encode(number, &mut key);
            key
        };
        // Keys are in the order of numbers.
        let order = key(format!("{middle:e}").as_bytes()).cmp(&key(number.as_bytes()));
        let at = of_double(middle);
        if wanted(Ordering::Less) {
            ranges.push((0, at - 1));
        }
        if wanted(order) {
            ranges.push((at, at));
        }
        if wanted(Ordering::Greater) {
            ranges.push((at + 1, u64::MAX));
        }
    }
    Some(ranges)
}
