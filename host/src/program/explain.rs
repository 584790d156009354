//! Programs as text.

use std::fmt::{self, Display, Formatter};

use warpath_shared::ir::{ABSENT, Instr, LiteralKind, Op, Test};

use super::Program;

const OPS: [(Op, &str); 7] = [
    (Op::Return, "return"),
    (Op::Emit, "emit"),
    (Op::Name, "name"),
    (Op::Index, "index"),
    (Op::Slice, "slice"),
    (Op::Wildcard, "wildcard"),
    (Op::Filter, "filter"),
];

impl Program {
    fn text(&self, (offset, len): (u32, u32)) -> String {
        let (offset, len) = (offset as usize, len as usize);
        let bytes = self.literals.get(offset..offset + len).unwrap_or(b"?");
        format!("{:?}", String::from_utf8_lossy(bytes))
    }

    fn write_test(&self, f: &mut Formatter<'_>, test: &Test) -> fmt::Result {
        f.write_str("@")?;
        for step in self.instrs[test.path as usize..].iter().take_while(|step| step.op != Op::Return as u32) {
            if step.op == Op::Name as u32 {
                write!(f, "[{}]", self.text(step.name()))?;
            } else {
                write!(f, "[{}]", step.a)?;
            }
        }
        let text = || self.text((test.offset, test.len));
        f.write_str(" == ")?;
        match test.kind {
            kind if kind == LiteralKind::Null as u32 => f.write_str("null"),
            kind if kind == LiteralKind::False as u32 => f.write_str("false"),
            kind if kind == LiteralKind::True as u32 => f.write_str("true"),
            kind if kind == LiteralKind::Number as u32 && test.len == 0 => f.write_str("0"),
            kind if kind == LiteralKind::Number as u32 => {
                let sign = if test.negative != 0 { "-" } else { "" };
                write!(f, "{sign}0.{}e{}", text().trim_matches('"'), test.exponent)
            }
            _ => f.write_str(&text()),
        }
    }

    fn write_instr(&self, f: &mut Formatter<'_>, at: usize, instr: &Instr) -> fmt::Result {
        let name = OPS.iter().find(|(op, _)| *op as u32 == instr.op).map_or("?", |(_, name)| name);
        write!(f, "{at:>4}  {name:<9}")?;
        let bound = |bound: i64| if bound == ABSENT { String::new() } else { bound.to_string() };
        match instr.op {
            op if op == Op::Emit as u32 => write!(f, "path {}", instr.target)?,
            op if op == Op::Name as u32 => f.write_str(&self.text(instr.name()))?,
            op if op == Op::Index as u32 => write!(f, "{}", instr.a)?,
            op if op == Op::Slice as u32 => {
                write!(f, "{}:{}:{}", bound(instr.a), bound(instr.b), instr.c)?;
            }
            op if op == Op::Filter as u32 => self.write_test(f, &self.tests[instr.a as usize])?,
            _ => {}
        }
        let enters = ![Op::Return as u32, Op::Emit as u32].contains(&instr.op);
        if enters { writeln!(f, "  -> {}", instr.target) } else { writeln!(f) }
    }
}

impl Display for Program {
    /// One instruction a line: its number, its name, what it selects and the block it enters. Filters' paths
    /// are shown where they are used.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let paths = if self.paths == 1 { "path" } else { "paths" };
        let levels = if self.levels == 1 { "level" } else { "levels" };
        let singular = if self.singular { ", singular" } else { "" };
        writeln!(f, "{} {paths}, {} {levels}{singular}", self.paths, self.levels)?;
        let blocks = self.tests.iter().map(|test| test.path as usize).min().unwrap_or(self.instrs.len());
        let mut lines: Vec<String> = Vec::new();
        for (at, instr) in self.instrs[..blocks].iter().enumerate() {
            struct Line<'a>(&'a Program, usize, &'a Instr);
            impl Display for Line<'_> {
                fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                    self.0.write_instr(f, self.1, self.2)
                }
            }
            lines.push(Line(self, at, instr).to_string());
        }
        lines.iter().try_for_each(|line| f.write_str(line.trim_end()).and_then(|()| f.write_str("\n")))
    }
}
