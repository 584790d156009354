//! Predicates made of predicates, and the parts of a predicate.

use warpath_core::diagnostic::{Diagnostic, QueryError, Span};
use warpath_core::error::Error;

use super::{Predicate, column_of};
use crate::cache::Cache;
use crate::jsonpath::visit::{PartMut, visit_mut};
use crate::jsonpath::{LogicalExpr, LogicalExprKind, MAX_DEPTH};

/// The most expressions in each other. It bounds the stack of every walk over the tree.
const MOST_DEPTH: usize = 2 * MAX_DEPTH;

impl Predicate {
    /// Returns the predicate that is true of the records of which both are true. Its text has both texts.
    ///
    /// ```
    /// use warpath_lang::predicate::Predicate;
    ///
    /// # fn main() -> Result<(), warpath_core::error::Error> {
    /// let (errors, slow) = (Predicate::parse("$.level = 'error' or $.fatal")?, Predicate::parse("$.ms > 9")?);
    /// let both = errors.and(&slow)?;
    /// assert_eq!(both.text(), "($.level = 'error' or $.fatal) and ($.ms > 9)");
    /// assert_eq!(both.expr().to_string(), "($['level'] == 'error' || $['fatal']) && $['ms'] > 9");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] for predicates that are nested too deep. [`Error::Usage`] if one is about a
    /// record, and the other about a value.
    pub fn and(&self, other: &Self) -> Result<Self, Error> {
        self.joined(other, "and", LogicalExpr::all)
    }

    /// Returns the predicate that is true of the records of which one or both are true.
    ///
    /// # Errors
    /// As for [`and`](Self::and).
    pub fn or(&self, other: &Self) -> Result<Self, Error> {
        self.joined(other, "or", LogicalExpr::any)
    }

    /// Returns the predicate that is true of the records of which this one is false or unknown.
    ///
    /// # Errors
    /// As for [`and`](Self::and).
    pub fn negated(&self) -> Result<Self, Error> {
        const BEFORE: &str = "not (";
        let text = [BEFORE, &self.text, ")"].concat();
        let mut expr = self.expr.clone();
        shift(&mut expr, BEFORE.len());
        Self::made(text, expr.negated(), self.of_value)
    }

    /// Returns the predicate that an expression about the record is. Its text is the canonical one.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an expression that is nested too deep.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn of_expr(expr: LogicalExpr) -> Result<Self, Error> {
        Self::made(String::new(), expr, false).map(|made| Self { text: made.expr.to_string(), ..made })
    }

    /// Returns the parts of the predicate about columns and about paths.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn parts(&self) -> Parts {
        Parts::of(&self.expr, false)
    }

    fn joined(
        &self,
        other: &Self,
        word: &str,
        join: fn(Vec<LogicalExpr>) -> Option<LogicalExpr>,
    ) -> Result<Self, Error> {
        if self.of_value != other.of_value {
            let message =
                format!("one predicate is about a record and one about a value: no `{word}` joins them");
            return Err(Error::Usage(message));
        }
        let (mut left, mut right) = (self.expr.clone(), other.expr.clone());
        // The spans stay those of the texts, for the messages of later stages.
        let before = ["(", &self.text, ") ", word, " ("].concat();
        shift(&mut left, 1);
        shift(&mut right, before.len());
        let text = [&before, &*other.text, ")"].concat();
        match join(vec![left, right]) {
            Some(expr) => Self::made(text, expr, self.of_value),
            None => Ok(self.clone()),
        }
    }

    fn made(text: String, expr: LogicalExpr, of_value: bool) -> Result<Self, Error> {
        if expr.depth() > MOST_DEPTH {
            let message = format!("more than {MOST_DEPTH} conditions in each other");
            let error = Diagnostic::too_large(Span::new(0, text.len()), message);
            return Err(Error::Unsupported(QueryError::new(&text, error)));
        }
        Ok(Self { text, expr, of_value, cache: Cache::default() })
    }
}

/// Moves all spans of an expression.
fn shift(expr: &mut LogicalExpr, by: usize) {
    visit_mut(expr, &mut |part| {
        if let PartMut::Span(span) = part {
            *span = Span::new(span.start + by, span.end + by);
        }
    });
}

/// A predicate in parts of columns alone and of paths alone. A complement is a part of the leaves: bins of an
/// index may widen the set of a leaf, and never that of its complement.
#[derive(Clone, Debug, PartialEq)]
pub enum Parts {
    /// Tests of columns.
    Columns(LogicalExpr),
    /// Tests of paths.
    Paths(LogicalExpr),
    /// All of the parts (`true`), or any of them.
    Joined(bool, Vec<Self>),
}

impl Parts {
    /// The parts of an expression, or of its complement.
    fn of(expr: &LogicalExpr, complement: bool) -> Self {
        let (all, both) = match &expr.kind {
            LogicalExprKind::And(all) => (all, !complement),
            LogicalExprKind::Or(all) => (all, complement),
            LogicalExprKind::Not(of) => return Self::of(of, !complement),
            _ => {
                let leaf = if complement { expr.clone().negated() } else { expr.clone() };
                return if column_of(expr).is_some() { Self::Columns(leaf) } else { Self::Paths(leaf) };
            }
        };
        let (mut columns, mut paths, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for of in all {
            match Self::of(of, complement) {
                Self::Columns(of) => columns.push(of),
                Self::Paths(of) => paths.push(of),
                mixed => parts.push(mixed),
            }
        }
        let join = if both { LogicalExpr::all } else { LogicalExpr::any };
        parts.extend(join(columns).map(Self::Columns));
        parts.extend(join(paths).map(Self::Paths));
        Self::joined(both, parts)
    }

    fn joined(both: bool, mut parts: Vec<Self>) -> Self {
        match parts.pop() {
            Some(only) if parts.is_empty() => only,
            last => {
                parts.extend(last);
                Self::Joined(both, parts)
            }
        }
    }

    /// Takes out the tests of paths that are true of all results: a query evaluates them.
    #[must_use]
    pub fn without_rest(self) -> (Option<Self>, Option<LogicalExpr>) {
        match self {
            Self::Paths(rest) => (None, Some(rest)),
            Self::Joined(true, parts) => {
                let (mut rest, mut others) = (None, Vec::new());
                for part in parts {
                    match part {
                        Self::Paths(of) => rest = Some(of),
                        part => others.push(part),
                    }
                }
                ((!others.is_empty()).then(|| Self::joined(true, others)), rest)
            }
            part => (Some(part), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonpath::visit::{Subexpression, visit};

    fn predicate(text: &str) -> Predicate {
        Predicate::parse(text).expect(text)
    }

    /// A joined predicate is what its text says, and its spans are those of its text.
    #[test]
    fn made_predicates_are_those_of_their_texts() {
        let texts = [
            "$.a",
            "$.a == 1 or not ($.b in ('x', 'y'))",
            "$.a && $.b.c >= -1.5 && length($.d) > 2",
            "n between 1 and 2 and `odd name` is not missing",
            "match($.a, 'x.*') || $.list[?@.a == 'b' && count(@.*) > 1]",
            "time($.at) >= '2026-01-01' and time($.at, '%d.%m.%Y') < '2026-02-01'",
            "$.a is null or value($..b) = 'é' or $['ü'][-1] != $.c",
            "icontains($.ua, 'bot') and $.ua not like 'x%' or cidr($.ip, '10.0.0.0/8', '::1')",
        ];
        // The texts of all paths, by their spans.
        let paths = |predicate: &Predicate| {
            let mut texts = Vec::new();
            visit(predicate.expr(), &mut |part| {
                if let Subexpression::Path { span, .. } = part {
                    texts.push(predicate.text()[span.start..span.end].to_owned());
                }
            });
            texts
        };
        // A parser keeps parentheses as groups, and an algebra opens those of its own kind.
        fn opened(expr: &LogicalExpr) -> LogicalExpr {
            let all = |exprs: &[LogicalExpr]| exprs.iter().map(opened).collect();
            match &expr.kind {
                LogicalExprKind::And(exprs) => LogicalExpr::all(all(exprs)).unwrap(),
                LogicalExprKind::Or(exprs) => LogicalExpr::any(all(exprs)).unwrap(),
                LogicalExprKind::Not(of) => opened(of).negated(),
                _ => expr.clone(),
            }
        }
        let flat = |predicate: &Predicate| opened(predicate.expr()).to_string();
        for left in texts {
            let left = predicate(left);
            let negated = left.negated().unwrap();
            assert_eq!(negated.expr().to_string(), predicate(negated.text()).expr().to_string());
            assert_eq!(paths(&negated), paths(&left));
            for right in texts {
                let right = predicate(right);
                for made in [left.and(&right), left.or(&right)] {
                    let made = made.unwrap();
                    assert_eq!(flat(&made), flat(&predicate(made.text())));
                    assert_eq!(paths(&made), [paths(&left), paths(&right)].concat());
                }
            }
        }
    }

    #[test]
    fn parts_are_columns_and_paths() {
        let parts = |text: &str| {
            let (parts, rest) = predicate(text).parts().without_rest();
            (parts, rest.map(|rest| rest.to_string()))
        };
        let (columns, rest) = parts("n > 1 and $.a and n < 9 and $.b");
        assert!(matches!(columns, Some(Parts::Columns(of)) if of.to_string() == "n > 1 && n < 9"));
        assert_eq!(rest.as_deref(), Some("$['a'] && $['b']"));
        let (columns, rest) = parts("not (n > 1 or $.a)");
        assert!(matches!(columns, Some(Parts::Columns(of)) if of.to_string() == "!(n > 1)"));
        assert_eq!(rest.as_deref(), Some("!$['a']"));
        assert!(matches!(parts("n > 1 or $.a"), (Some(Parts::Joined(false, of)), None) if of.len() == 2));
        assert!(matches!(parts("$.a"), (None, Some(_))));
    }

    #[test]
    fn depth_is_bounded() {
        let (mut deep, one) = (predicate("$.a"), predicate("$.b"));
        let error = loop {
            match deep.or(&one).and_then(|either| either.and(&one)) {
                Ok(deeper) => deep = deeper,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Unsupported(_)));
        assert!(deep.expr().depth() > MAX_DEPTH);
        // Conditions side by side are not in each other.
        let many = (0..1000).try_fold(predicate("$.a"), |all, _| all.and(&one)).unwrap();
        assert_eq!(many.expr().depth(), 1);
    }
}
