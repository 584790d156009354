//! The oracle: expressions and programs, evaluated row by row.

use std::cmp::Ordering;

use warpath_lang::jsonpath::{
    Comparable, ComparableKind, ComparisonOp, Literal, LiteralKind, LogicalExprKind, ValueTestKind,
};
use warpath_store::bitmap::value::State;

use super::expressions::tenths;
use super::*;

pub(super) fn oracle(expr: &LogicalExpr, table: &Table, row: usize) -> bool {
    match &expr.kind {
        LogicalExprKind::And(all) => all.iter().all(|of| oracle(of, table, row)),
        LogicalExprKind::Or(all) => all.iter().any(|of| oracle(of, table, row)),
        LogicalExprKind::Not(of) => !oracle(of, table, row),
        _ => passes(expr, table, row),
    }
}

fn cell_of<'a>(subject: &Comparable, table: &'a Table, row: usize) -> &'a Cell {
    let ComparableKind::Column(name) = &subject.kind else { panic!("{subject:?} is no column") };
    let (_, cells) = table.columns.iter().find(|(column, _)| column.name == name.name).unwrap();
    &cells[row]
}

fn passes(test: &LogicalExpr, table: &Table, row: usize) -> bool {
    if let LogicalExprKind::Comparison(comparison) = &test.kind {
        let ComparableKind::Literal(literal) = &comparison.right.kind else { panic!("{test:?}") };
        let Cell::Value(value) = cell_of(&comparison.left, table, row) else { return false };
        let order = compared(value, literal);
        return match comparison.op {
            ComparisonOp::Eq => order.is_eq(),
            ComparisonOp::Ne => order.is_ne(),
            ComparisonOp::Lt => order.is_lt(),
            ComparisonOp::Le => order.is_le(),
            ComparisonOp::Gt => order.is_gt(),
            ComparisonOp::Ge => order.is_ge(),
        };
    }
    let LogicalExprKind::Value(test) = &test.kind else { panic!("{test:?}") };
    let cell = cell_of(&test.subject, table, row);
    let is = match (&test.kind, cell) {
        (ValueTestKind::Is(state), _) => match state {
            State::Missing => *cell == Cell::Missing,
            State::Null => *cell == Cell::Null,
            State::Other => *cell == Cell::Other,
            State::NaN => *cell == Cell::NaN,
            State::Value => matches!(cell, Cell::Value(_)),
        },
        (ValueTestKind::Between(least, greatest), Cell::Value(value)) => {
            compared(value, least).is_ge() && compared(value, greatest).is_le()
        }
        (ValueTestKind::In(values), Cell::Value(value)) => {
            values.iter().any(|literal| compared(value, literal).is_eq())
        }
        _ => return false,
    };
    is != test.not
}

fn compared(value: &Scalar, literal: &Literal) -> Ordering {
    match (value, &literal.kind) {
        (Scalar::Int(value), LiteralKind::Number(text)) => {
            // Multiply both by the power of ten that makes the literal an integer.
            let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
            let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
            let digits: i128 = format!("{whole}{fraction}").parse().unwrap();
            let scale = exponent.parse::<i32>().unwrap() - fraction.len() as i32;
            let ten = 10_i128.pow(scale.unsigned_abs());
            let value = i128::from(*value);
            if scale < 0 { (value * ten).cmp(&digits) } else { value.cmp(&(digits * ten)) }
        }
        (Scalar::Float(value), LiteralKind::Number(text)) => {
            value.partial_cmp(&text.parse::<f64>().unwrap()).unwrap()
        }
        (Scalar::Text(value), LiteralKind::String(text)) => value.as_bytes().cmp(text.as_bytes()),
        (Scalar::Time(value), LiteralKind::String(text)) => (i128::from(*value) * 10).cmp(&tenths(text)),
        (Scalar::Bool(value), LiteralKind::Bool(literal)) => value.cmp(literal),
        other => panic!("{other:?}"),
    }
}

/// Interprets a program over one tile of rows: a `bool` per row.
fn interpreted(program: &[Instr], bitmaps: &[Vec<bool>], rows: std::ops::Range<usize>) -> [Vec<bool>; 2] {
    let mut outputs = [vec![], vec![]];
    let (mut stack, mut part, mut at) = (Vec::new(), vec![false; rows.len()], 0);
    while let Some(instr) = program.get(at) {
        at += 1;
        let (first, count) = (instr.first as usize, instr.count as usize);
        match instr.op().unwrap() {
            OpCode::Any => {
                for bitmap in &bitmaps[first..first + count] {
                    part.iter_mut().zip(&bitmap[rows.clone()]).for_each(|(part, one)| *part |= one);
                }
            }
            OpCode::Push => stack.push(std::mem::replace(&mut part, vec![false; rows.len()])),
            op @ (OpCode::And | OpCode::Or | OpCode::AndNot) => {
                assert!(stack.len() <= MAX_STACK);
                for (part, pushed) in part.iter_mut().zip(stack.pop().unwrap()) {
                    *part = match op {
                        OpCode::And => pushed && *part,
                        OpCode::Or => pushed || *part,
                        _ => pushed && !*part,
                    };
                }
            }
            OpCode::Not => part.iter_mut().for_each(|part| *part = !*part),
            OpCode::Store => outputs[first] = part.clone(),
            OpCode::SkipNone if part.iter().all(|one| !one) => at = first,
            OpCode::SkipAll if part.iter().all(|one| *one) => at = first,
            OpCode::SkipNone | OpCode::SkipAll => {}
        }
    }
    outputs
}

/// Interprets a program over all rows, one tile of `tile` rows after the other.
pub(super) fn interpreted_by(
    program: &[Instr],
    bitmaps: &[Vec<bool>],
    rows: usize,
    tile: usize,
) -> [Vec<bool>; 2] {
    let mut all = [vec![], vec![]];
    for first in (0..rows).step_by(tile) {
        let outputs = interpreted(program, bitmaps, first..rows.min(first + tile));
        for (all, output) in all.iter_mut().zip(outputs) {
            all.extend(output);
        }
    }
    all
}
