//! The tests of strings by constants, which are Warpath's own: `contains`, `starts_with`, `ends_with`,
//! `like`, their forms that ignore case, and `cidr`.

use warpath_core::diagnostic::{Diagnostic, DiagnosticKind, Span};

use super::super::ast::{
    Comparable, ComparableKind, FunctionKind, Literal, LiteralKind, LogicalExpr, LogicalExprKind, StringTest,
    StringTestKind, TextFunction, TextTest,
};
use super::super::function::Function;
use super::super::hint::Context;
use super::super::words::{member_path, quote};
use super::filter::{Operand, ValueFor, literal_noun};
use super::{Parsed, Parser};
use crate::addresses::{Block, BlockError};
use crate::like::LikeError;

impl Parser<'_> {
    /// Returns the test of a subject for a text, which is a function or an operator with one argument.
    pub(super) fn text_test(
        &self,
        (function, ignores_case): (TextFunction, bool),
        subject: Comparable,
        argument: Operand,
        span: Span,
    ) -> Parsed<StringTest> {
        let name = function.name(ignores_case);
        let (literal, text) =
            string(argument, |found| format!("expected a string as text of `{name}`, found {found}"))
                .map_err(|error| error.with_help("the text is a constant, such as `\"bot\"`"))?;
        match function.pattern(&text) {
            Ok(pattern) => {
                let test = TextTest { function, ignores_case, literal, pattern };
                Ok(StringTest { subject, kind: StringTestKind::Text(test), span })
            }
            Err(error) => {
                let message = match error {
                    LikeError::EscapesNothing(_) => {
                        format!("the pattern of `{name}` ends in a lone backslash")
                    }
                    LikeError::EscapesOther(_) => {
                        format!("a backslash in the pattern of `{name}` must precede `%`, `_` or a backslash")
                    }
                };
                Err(Diagnostic::new(DiagnosticKind::Argument, literal.span, message)
                    .with_help(r"in a string, `\\%` is the character `%`, and `\\\\` is one backslash"))
            }
        }
    }

    /// Returns the call of `cidr` with some blocks.
    pub(super) fn cidr(&self, subject: Operand, arguments: Vec<Operand>, span: Span) -> Parsed<StringTest> {
        let subject = self.value(subject, ValueFor::Argument(Function::Cidr))?;
        let (mut literals, mut blocks) = (Vec::new(), Vec::new());
        for argument in arguments {
            let (literal, text) =
                string(argument, |found| format!("expected a string as block of `cidr`, found {found}"))
                    .map_err(|error| error.with_help("a block is a constant, such as `\"10.0.0.0/8\"`"))?;
            blocks.push(Block::parse(&text).map_err(|error| no_block(&text, literal.span, &error))?);
            literals.push(literal);
        }
        Ok(StringTest { subject, kind: StringTestKind::Cidr { literals, blocks }, span })
    }

    // The rest of a value-test with `like` or `ilike`, after the word.
    #[inline(never)]
    pub(super) fn like(
        &mut self,
        start: usize,
        subject: Comparable,
        not: bool,
        ignores_case: bool,
    ) -> Parsed<LogicalExpr> {
        let name = TextFunction::Like.name(ignores_case);
        match &subject.kind {
            ComparableKind::Column(column) => {
                let message = format!("`{name}` tests a path, and `{column}` is a column");
                let error = Diagnostic::new(DiagnosticKind::Argument, column.span, message);
                return Err(error.with_help(match member_path(&column.name) {
                    Some(path) => format!("write the path of a member: `{path}`"),
                    None => "write the path of a member, which begins with `$`".to_owned(),
                }));
            }
            ComparableKind::Function(call) if matches!(call.kind, FunctionKind::Time(_)) => {
                let message = format!("`{name}` tests a string, and the result of `time` is none");
                return Err(Diagnostic::new(DiagnosticKind::Argument, call.span, message)
                    .with_help("compare an instant: `time($.a) >= \"2026-01-31\"`"));
            }
            _ => {}
        }
        self.lexer.blank();
        let context = Context::Value { of_column: false, equal: None };
        let expected = format!("a string after `{name}`");
        let argument = self.operand(context, &expected)?;
        if !matches!(&argument, Operand::Literal(Literal { kind: LiteralKind::String(_), .. })) {
            self.lexer.rewind(argument.span().start);
            return Err(self.unexpected(context, &expected));
        }
        let span = self.lexer.span_from(start);
        let test = self.text_test((TextFunction::Like, ignores_case), subject, argument, span)?;
        let test = LogicalExpr { kind: LogicalExprKind::String(Box::new(test)), span };
        Ok(if not { test.negated() } else { test })
    }
}

/// Returns an argument that is a string, and the string.
fn string(argument: Operand, message: impl FnOnce(&str) -> String) -> Parsed<(Literal, String)> {
    let span = argument.span();
    let found = match argument {
        Operand::Literal(Literal { kind: LiteralKind::String(text), span }) => {
            return Ok((Literal { kind: LiteralKind::String(text.clone()), span }, text));
        }
        Operand::Literal(literal) => literal_noun(&literal),
        Operand::Query(_) => "a path",
        Operand::Column(_) => "a column",
        Operand::Call(_) | Operand::Pattern(_) | Operand::String(_) => "a function call",
    };
    Err(Diagnostic::new(DiagnosticKind::Argument, span, message(found)))
}

/// Returns the error for a literal that is not a block.
fn no_block(text: &str, span: Span, error: &BlockError) -> Diagnostic {
    let found = if text.is_empty() { "an empty string".to_owned() } else { quote(text) };
    let message = format!("{found} is not a block of IP addresses: {error}");
    let help = match error {
        BlockError::NotFirst(block) => format!("write `\"{block}\"`"),
        _ => "such as `\"10.0.0.0/8\"`, `\"fe80::/10\"` or `\"127.0.0.1\"`".to_owned(),
    };
    Diagnostic::new(DiagnosticKind::Argument, span, message).with_help(help)
}
