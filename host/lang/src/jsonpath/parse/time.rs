//! The function `time`, which is Warpath's own: its arguments, and the comparisons that it may be in.

use warpath_core::diagnostic::{Diagnostic, DiagnosticKind, Span};

use super::super::ast::{
    Comparable, ComparableKind, Comparison, FunctionKind, Literal, LiteralKind, TimeCall, TimeFormat,
};
use super::filter::{Function, Operand, ValueFor};
use super::{Parsed, Parser};

impl Parser<'_> {
    /// Returns the call of `time` with one or two arguments.
    pub(super) fn time(&self, arguments: Vec<Operand>) -> Parsed<FunctionKind> {
        let mut arguments = arguments.into_iter();
        let path = match arguments.next() {
            Some(Operand::Query(query)) => self.singular(query, ValueFor::Argument(Function::Time))?,
            other => {
                let span = other.map_or_else(Span::default, |other| other.span());
                let message = "`time` takes the path of a value";
                let error = Diagnostic::new(DiagnosticKind::Type, span, message);
                return Err(error.with_help("a constant needs no call: `time($.a) >= \"2026-01-31\"`"));
            }
        };
        let Some(format) = arguments.next() else {
            return Ok(FunctionKind::Time(TimeCall { path, format: None }));
        };
        let Operand::Literal(Literal { kind: LiteralKind::String(text), span }) = format else {
            let message = "the format of `time` is a string";
            return Err(Diagnostic::new(DiagnosticKind::Type, format.span(), message)
                .with_help("such as `time($.a, 'ms')` or `time($.a, '%d/%b/%Y:%H:%M:%S %z')`"));
        };
        match TimeFormat::new(&text) {
            Ok(format) => Ok(FunctionKind::Time(TimeCall { path, format: Some(format) })),
            Err(error) => {
                let message = format!("this is not a format of time: {error}");
                Err(Diagnostic::new(DiagnosticKind::Type, span, message))
            }
        }
    }

    /// Refuses a comparison of an instant with anything but a literal.
    pub(super) fn check_time(&self, comparison: &Comparison) -> Parsed<()> {
        let is_time = |of: &Comparable| matches!(&of.kind, ComparableKind::Function(call) if matches!(call.kind, FunctionKind::Time(_)));
        let is_literal = |of: &Comparable| matches!(of.kind, ComparableKind::Literal(_));
        let other = match (is_time(&comparison.left), is_time(&comparison.right)) {
            (false, false) => return Ok(()),
            (true, _) => &comparison.right,
            (false, true) => &comparison.left,
        };
        if is_literal(other) {
            return Ok(());
        }
        let message = "`time` is compared with a constant";
        Err(Diagnostic::new(DiagnosticKind::Type, other.span, message)
            .with_help("such as `time($.a) >= \"2026-01-31\"`"))
    }
}
