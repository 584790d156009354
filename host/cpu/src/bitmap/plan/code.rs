//! Compilation of a set of rows to a program.
//!
//! A set is computed into the accumulator, which is empty before:
//!
//! ```text
//! some bins          Any (these bins)                    or: Any (all other bins), Not
//! a and b and c      a, SkipNone →, Push, b, And, SkipNone →, Push, c, And, →
//! a or b or c        a, SkipAll →, Push, b, Or, SkipAll →, Push, c, Or, →
//! a or some bins     a, Any (these bins)
//! ```
//!
//! An `and` begins with the operand that has the fewest rows, so that it can skip the others. An `or` begins
//! with the operand that has the most rows. If this order pushes more tiles than the stack has room for, the
//! operand that needs the most room comes first.

use std::cmp::Reverse;

use warpath_shared::bitmap::{Instr, OpCode, check};

use super::formula::Formula;
use super::sets::{Bins, Set};
use super::{Facts, Operand};

/// A program and its bitmaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Code {
    pub bitmaps: Vec<Operand>,
    pub program: Vec<Instr>,
}

/// A set, in the form in which it is computed.
enum SetExpr {
    /// All rows, or no row.
    Constant(bool),
    /// The rows of these bitmaps.
    Any(Vec<Operand>),
    /// All rows except those of these bitmaps.
    NotAny(Vec<Operand>),
    /// The rows that all operands have (`both`), or that any of them has. Operands are in the order of
    /// evaluation.
    Joined { operands: Vec<Self>, both: bool, room: usize },
}

fn operands(column: usize, bins: impl Iterator<Item = usize>) -> Vec<Operand> {
    bins.map(|bin| Operand::Bin { column, bin }).collect()
}

/// The bins that a formula cuts, if every possible row outside them is surely in the result. Otherwise
/// `None`. The condition holds for a test of a column, for a formula that leaves no row undecided, and for an
/// `and` of these.
fn cuts(formula: &Formula, facts: &Facts<'_>) -> Option<Vec<Operand>> {
    match formula {
        Formula::Leaf { column, choice } => {
            let bins = Bins::new(*column, choice, facts.columns, true);
            Some(operands(*column, bins.cut.into_iter()))
        }
        Formula::And(all) => {
            all.iter().map(|of| cuts(of, facts)).collect::<Option<Vec<_>>>().map(|all| all.concat())
        }
        of => (Set::new(of, facts, true) == Set::new(of, facts, false)).then(Vec::new),
    }
}

impl SetExpr {
    fn new(set: &Set, facts: &Facts<'_>, by_room: bool) -> Self {
        let (all, both) = match set {
            Set::Constant(value) => return Self::Constant(*value),
            Set::Bins(bins) => return Self::of_bins(bins, facts),
            Set::And(all) => (all, true),
            Set::Or(all) => (all, false),
        };
        let mut operands: Vec<_> =
            all.iter().map(|set| (set.rows(facts), Self::new(set, facts, by_room))).collect();
        operands.sort_by_key(|(rows, _)| if both { *rows } else { u64::MAX - rows });
        if by_room {
            operands.sort_by_key(|(_, node)| Reverse(node.room()));
        }
        let operands: Vec<Self> = operands.into_iter().map(|(_, node)| node).collect();
        let room = |(place, node): (usize, &Self)| match node {
            Self::Any(_) if !both => 0,
            _ => node.room() + usize::from(place > 0),
        };
        let room = operands.iter().enumerate().map(room).max().unwrap_or(0);
        Self::Joined { operands, both, room }
    }

    /// Makes a node from bins, or from all but the other bins if those have fewer atoms. Cut bins do not
    /// count for this choice, so that the sure and the possible rows use the same bins.
    fn of_bins(bins: &Bins, facts: &Facts<'_>) -> Self {
        let atoms =
            |of: &mut dyn Iterator<Item = usize>| of.map(|bin| (facts.atoms)(bins.column, bin)).sum::<u64>();
        let (all, none) = (atoms(&mut bins.all()), atoms(&mut bins.none()));
        // Sure bins come first, and then bins with the most rows, because a full tile needs no more bins.
        let is_cut = |bin: &usize| bins.cut.binary_search(bin).is_ok();
        let rows = |bin: &usize| Reverse(facts.columns[bins.column].bins[*bin].rows);
        let (mut of, is_inside): (Vec<usize>, bool) =
            if none < all { (bins.outside().collect(), false) } else { (bins.inside().collect(), true) };
        of.sort_by_key(|bin| (is_cut(bin), rows(bin)));
        let of = operands(bins.column, of.into_iter());
        if is_inside { Self::Any(of) } else { Self::NotAny(of) }
    }

    /// The number of tiles that its evaluation has pushed at once.
    fn room(&self) -> usize {
        if let Self::Joined { room, .. } = self { *room } else { 0 }
    }

    /// Calls `call` for each list of bitmaps.
    fn each_list<'a>(&'a self, call: &mut impl FnMut(&'a [Operand])) {
        match self {
            Self::Constant(_) => {}
            Self::Any(list) | Self::NotAny(list) => call(list),
            Self::Joined { operands, .. } => operands.iter().for_each(|of| of.each_list(call)),
        }
    }
}

impl Code {
    /// Makes a program that stores the rows for which a formula is surely true as output 0. If `sure` and
    /// `possible` differ, the program also stores the rows for which the formula may be true as output 1,
    /// which contains output 0. With `records`, rows that are not records are removed. Returns `None` if the
    /// program would push more than the stack has room for.
    pub fn new(
        formula: &Formula,
        [sure, possible]: [&Set; 2],
        facts: &Facts<'_>,
        records: bool,
    ) -> Option<Self> {
        [false, true].into_iter().find_map(|by_room| {
            let mut code = Self::default();
            let node = |set| SetExpr::new(set, facts, by_room);
            if sure == possible {
                code.one(&node(sure), records && *sure != Set::Constant(false));
            } else {
                let cuts = cuts(formula, facts);
                code.both(&node(sure), &node(possible), cuts, records);
            }
            check(&code.program, code.bitmaps.len()).is_ok().then_some(code)
        })
    }

    fn one(&mut self, rows: &SetExpr, records: bool) {
        self.list_all(&[rows]);
        self.records_of(rows, records);
        self.store(0);
    }

    fn both(&mut self, sure: &SetExpr, possible: &SetExpr, cuts: Option<Vec<Operand>>, records: bool) {
        if let SetExpr::Constant(false) = sure {
            self.store(0);
            self.list_all(&[possible]);
            self.records_of(possible, records);
            self.store(1);
            return;
        }
        if let Some(cuts) = cuts {
            // The sure rows are the possible rows without the rows of cut bins.
            self.list_all(&[possible]);
            self.records_of(possible, records);
            self.store(1);
            let skip = self.skip(OpCode::SkipNone);
            self.op(OpCode::Push);
            self.any(&cuts);
            self.op(OpCode::AndNot);
            self.land(&[skip]);
            self.store(0);
            return;
        }
        self.list_all(&[possible, sure]);
        self.records_of(possible, records);
        self.store(1);
        let skip = self.skip(OpCode::SkipNone);
        self.op(OpCode::Push);
        self.records_of(sure, records);
        // Every sure row is possible, so this changes no row. It empties the stack.
        self.op(OpCode::And);
        self.land(&[skip]);
        self.store(0);
    }

    fn op(&mut self, op: OpCode) {
        self.program.push(Instr::new(op, 0, 0));
    }

    fn store(&mut self, output: u32) {
        self.program.push(Instr::new(OpCode::Store, output, 0));
    }

    /// Appends a skip, whose target [`Self::land`] sets later.
    fn skip(&mut self, op: OpCode) -> usize {
        self.op(op);
        self.program.len() - 1
    }

    fn land(&mut self, skips: &[usize]) {
        let end = self.program.len() as u32;
        skips.iter().for_each(|skip| self.program[*skip].first = end);
    }

    /// Lists bitmaps consecutively, unless they are listed so already. Returns the index of the first.
    fn list(&mut self, of: &[Operand]) -> u32 {
        let known = self.bitmaps.windows(of.len()).position(|known| known == of);
        let first = known.unwrap_or(self.bitmaps.len());
        if known.is_none() {
            self.bitmaps.extend_from_slice(of);
        }
        first as u32
    }

    /// Lists the bitmaps of sets, longer lists first, because shorter ones may be parts of them.
    fn list_all(&mut self, nodes: &[&SetExpr]) {
        let mut lists = Vec::new();
        nodes.iter().for_each(|node| node.each_list(&mut |list| lists.push(list)));
        lists.sort_by_key(|list| Reverse(list.len()));
        for list in lists {
            self.list(list);
        }
    }

    fn any(&mut self, of: &[Operand]) {
        let first = self.list(of);
        self.program.push(Instr::new(OpCode::Any, first, of.len() as u32));
    }

    /// Computes the rows of a set that are records, into an empty accumulator.
    fn records_of(&mut self, rows: &SetExpr, only_records: bool) {
        match rows {
            SetExpr::Constant(true) if only_records => self.any(&[Operand::Records]),
            _ if !only_records => self.set(rows),
            _ => {
                self.set(rows);
                let skip = self.skip(OpCode::SkipNone);
                self.op(OpCode::Push);
                self.any(&[Operand::Records]);
                self.op(OpCode::And);
                self.land(&[skip]);
            }
        }
    }

    /// Computes the rows of a set, into an empty accumulator.
    fn set(&mut self, rows: &SetExpr) {
        match rows {
            SetExpr::Constant(false) => {}
            SetExpr::Constant(true) => self.op(OpCode::Not),
            SetExpr::Any(of) => self.any(of),
            SetExpr::NotAny(of) => {
                self.any(of);
                self.op(OpCode::Not);
            }
            SetExpr::Joined { operands, both, .. } => self.joined(operands, *both),
        }
    }

    fn joined(&mut self, operands: &[SetExpr], both: bool) {
        let mut skips = Vec::new();
        for (place, operand) in operands.iter().enumerate() {
            match operand {
                _ if place == 0 => self.set(operand),
                // `Any` itself stops when all rows are set.
                SetExpr::Any(of) if !both => self.any(of),
                _ => {
                    skips.push(self.skip(if both { OpCode::SkipNone } else { OpCode::SkipAll }));
                    self.op(OpCode::Push);
                    match operand {
                        SetExpr::NotAny(of) if both => {
                            self.any(of);
                            self.op(OpCode::AndNot);
                        }
                        _ => {
                            self.set(operand);
                            self.op(if both { OpCode::And } else { OpCode::Or });
                        }
                    }
                }
            }
        }
        self.land(&skips);
    }
}
