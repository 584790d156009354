//! A set of rows becomes a program.
//!
//! A set is computed into the accumulator, which has no rows before:
//!
//! ```text
//! some bins          Any (them)                        or: Any (all others), Not
//! a and b and c      a, SkipNone →, Push, b, And, SkipNone →, Push, c, And, →
//! a or b or c        a, SkipAll →, Push, b, Or, SkipAll →, Push, c, Or, →      Any alone where what comes is bins
//! ```
//!
//! `and` begins with what has the fewest rows, so that it skips the rest, and `or` with what has the most; but where that would push more than
//! there is room for, with what needs the most room, so that it needs it first.

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

/// A set, as it is computed.
enum Node {
    /// All rows, or none.
    Constant(bool),
    /// The rows of these bitmaps.
    Any(Vec<Operand>),
    /// All rows but theirs.
    NotAny(Vec<Operand>),
    /// The rows of all of these in this order (`both`), or of any.
    Joined { operands: Vec<Self>, both: bool, room: usize },
}

fn operands(column: usize, bins: impl Iterator<Item = usize>) -> Vec<Operand> {
    bins.map(|bin| Operand::Bin { column, bin }).collect()
}

/// The bins that a formula cuts, where rows in none of these that may be in the answer surely are: so it is if each of its operands must be
/// true, and is a test of a column or leaves nothing undecided.
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

impl Node {
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

    /// Bins as they are, or as all but the others, if those have fewer atoms. Bins that are cut do not count: so what is sure and what is
    /// possible are told by the same bins.
    fn of_bins(bins: &Bins, facts: &Facts<'_>) -> Self {
        let atoms =
            |of: &mut dyn Iterator<Item = usize>| of.map(|bin| (facts.atoms)(bins.column, bin)).sum::<u64>();
        let (all, none) = (atoms(&mut bins.all()), atoms(&mut bins.none()));
        // Those that are sure first, and then those with the most rows: a tile that is full needs no more of them.
        let is_cut = |bin: &usize| bins.cut.binary_search(bin).is_ok();
        let rows = |bin: &usize| Reverse(facts.columns[bins.column].bins[*bin].rows);
        let (mut of, is_inside): (Vec<usize>, bool) =
            if none < all { (bins.outside().collect(), false) } else { (bins.inside().collect(), true) };
        of.sort_by_key(|bin| (is_cut(bin), rows(bin)));
        let of = operands(bins.column, of.into_iter());
        if is_inside { Self::Any(of) } else { Self::NotAny(of) }
    }

    /// How many tiles it has pushed at once.
    fn room(&self) -> usize {
        if let Self::Joined { room, .. } = self { *room } else { 0 }
    }

    /// Calls for each list of bitmaps.
    fn each_list<'a>(&'a self, call: &mut impl FnMut(&'a [Operand])) {
        match self {
            Self::Constant(_) => {}
            Self::Any(list) | Self::NotAny(list) => call(list),
            Self::Joined { operands, .. } => operands.iter().for_each(|of| of.each_list(call)),
        }
    }
}

impl Code {
    /// A program that stores the rows of which a formula is surely true as output 0, and, if `sure` and `possible` differ, those of which it
    /// may be, these among them, as output 1; but rows that are no records, if these are to be left out (`records`). `None` if it would push
    /// more than there is room for.
    pub fn new(
        formula: &Formula,
        [sure, possible]: [&Set; 2],
        facts: &Facts<'_>,
        records: bool,
    ) -> Option<Self> {
        [false, true].into_iter().find_map(|by_room| {
            let mut code = Self::default();
            let node = |set| Node::new(set, facts, by_room);
            if sure == possible {
                code.one(&node(sure), records && *sure != Set::Constant(false));
            } else {
                let cuts = cuts(formula, facts);
                code.both(&node(sure), &node(possible), cuts, records);
            }
            check(&code.program, code.bitmaps.len()).is_ok().then_some(code)
        })
    }

    fn one(&mut self, rows: &Node, records: bool) {
        self.list_all(&[rows]);
        self.records_of(rows, records);
        self.store(0);
    }

    fn both(&mut self, sure: &Node, possible: &Node, cuts: Option<Vec<Operand>>, records: bool) {
        if let Node::Constant(false) = sure {
            self.store(0);
            self.list_all(&[possible]);
            self.records_of(possible, records);
            self.store(1);
            return;
        }
        if let Some(cuts) = cuts {
            // What is sure is what is possible without the rows of bins that are cut.
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
        // It has no row that is not possible; nothing stays pushed.
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

    /// A skip to a place that [`Self::land`] tells.
    fn skip(&mut self, op: OpCode) -> usize {
        self.op(op);
        self.program.len() - 1
    }

    fn land(&mut self, skips: &[usize]) {
        let end = self.program.len() as u32;
        skips.iter().for_each(|skip| self.program[*skip].first = end);
    }

    /// Lists bitmaps one behind the other, if they are not so already, and says where.
    fn list(&mut self, of: &[Operand]) -> u32 {
        let known = self.bitmaps.windows(of.len()).position(|known| known == of);
        let first = known.unwrap_or(self.bitmaps.len());
        if known.is_none() {
            self.bitmaps.extend_from_slice(of);
        }
        first as u32
    }

    /// Lists what sets need, longer lists first: shorter ones may be parts of them.
    fn list_all(&mut self, nodes: &[&Node]) {
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

    /// The rows of a set that are records, where there are none before.
    fn records_of(&mut self, rows: &Node, only_records: bool) {
        match rows {
            Node::Constant(true) if only_records => self.any(&[Operand::Records]),
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

    /// The rows of a set, where there are none before.
    fn set(&mut self, rows: &Node) {
        match rows {
            Node::Constant(false) => {}
            Node::Constant(true) => self.op(OpCode::Not),
            Node::Any(of) => self.any(of),
            Node::NotAny(of) => {
                self.any(of);
                self.op(OpCode::Not);
            }
            Node::Joined { operands, both, .. } => self.joined(operands, *both),
        }
    }

    fn joined(&mut self, operands: &[Node], both: bool) {
        let mut skips = Vec::new();
        for (place, operand) in operands.iter().enumerate() {
            match operand {
                _ if place == 0 => self.set(operand),
                // It looks for itself whether all rows are there.
                Node::Any(of) if !both => self.any(of),
                _ => {
                    skips.push(self.skip(if both { OpCode::SkipNone } else { OpCode::SkipAll }));
                    self.op(OpCode::Push);
                    match operand {
                        Node::NotAny(of) if both => {
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
