//! The depth of statements. DataFusion descends into each operator of an expression, and plans it again and
//! again: a chain of 20,000 operators takes minutes, and one of 100,000 more stack than a thread has.

use std::mem;

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::messages::Failure;

/// The most operators on the way from a statement to one of its values.
const MOST: usize = 2000;

/// Kinds of operators, those that bind least first.
#[derive(Clone, Copy)]
enum Binds {
    /// Set operations and joins.
    Queries,
    Or,
    And,
    /// Comparisons, and NOT.
    Compare,
    /// All others.
    Values,
}

/// The operators of each kind that lead to the place that a scan has reached, within one pair of brackets.
type Leading = [usize; 5];

/// What a token is for the depth.
enum Change {
    Operator(Binds),
    /// The next item of a list.
    Next,
    /// A bracket that opens, and the operators that it is.
    In(usize),
    Out,
}

impl Change {
    fn of(token: &Token) -> Option<Self> {
        Some(match token {
            Token::LParen | Token::LBrace => Self::In(0),
            // A subscript is an operator, too.
            Token::LBracket => Self::In(1),
            Token::RParen | Token::RBrace | Token::RBracket => Self::Out,
            Token::Comma => Self::Next,
            Token::Word(word) => match word.keyword {
                Keyword::CASE => Self::In(0),
                Keyword::WHEN | Keyword::THEN | Keyword::ELSE => Self::Next,
                Keyword::END => Self::Out,
                Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::JOIN => {
                    Self::Operator(Binds::Queries)
                }
                Keyword::OR | Keyword::XOR => Self::Operator(Binds::Or),
                Keyword::AND => Self::Operator(Binds::And),
                Keyword::NOT
                | Keyword::IS
                | Keyword::IN
                | Keyword::BETWEEN
                | Keyword::LIKE
                | Keyword::ILIKE
                | Keyword::SIMILAR => Self::Operator(Binds::Compare),
                _ => return None,
            },
            Token::Eq | Token::DoubleEq | Token::Neq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq => {
                Self::Operator(Binds::Compare)
            }
            Token::Number(..)
            | Token::Char(_)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::Whitespace(_)
            | Token::Period
            | Token::SemiColon
            | Token::EOF => return None,
            _ => Self::Operator(Binds::Values),
        })
    }
}

/// Refuses statements that are too deep. Operators are counted before anything is parsed.
///
/// In a chain, an operator has those before it within it: `a OR b OR c` has two levels, and so has
/// `a OR b = c`. An operator begins the count of those that bind more than it anew, and a comma that of all.
/// Those in brackets add to those around the brackets.
///
/// # Errors
/// A statement that is too deep.
pub fn check(text: &str) -> Result<(), Failure> {
    // The parser says what is wrong with a text that has no tokens.
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, text).tokenize() else { return Ok(()) };
    // The operators around each open bracket, beside those around the brackets before it; and their sum.
    let (mut outer, mut around, mut here) = (Vec::<(Leading, usize)>::new(), 0, Leading::default());
    for token in &tokens {
        if *token == Token::SemiColon {
            outer.clear();
            (around, here) = (0, Leading::default());
        }
        match Change::of(token) {
            None => continue,
            Some(Change::Operator(binds)) => {
                here[binds as usize] += 1;
                here[binds as usize + 1..].fill(0);
            }
            Some(Change::Next) => here = Leading::default(),
            Some(Change::In(own)) => {
                let added = here.iter().sum::<usize>() + own;
                around += added;
                here[Binds::Values as usize] += own;
                outer.push((mem::take(&mut here), added));
            }
            Some(Change::Out) => {
                let (leading, added) = outer.pop().unwrap_or_default();
                (here, around) = (leading, around - added);
            }
        }
        if around + here.iter().sum::<usize>() > MOST || outer.len() > MOST {
            let message = format!("a statement has more than {MOST} operators one within the other");
            return Err(Failure::query(message).with_help("IN takes a list of values of any length"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_refused_and_lists_are_not() {
        let many = |item: &str, between: &str| vec![item; 5000].join(between);
        for text in [
            format!("SELECT {}", many("1", "+")),
            format!("SELECT {}1", "- ".repeat(5000)),
            format!("SELECT {}1", "NOT ".repeat(5000)),
            format!("SELECT 1 WHERE {}", many("a", " OR ")),
            format!("SELECT f({}) + 1, 2", many("a", " OR ")),
            format!("SELECT a{}", "[1]".repeat(5000)),
            format!("SELECT a{}", "::int".repeat(5000)),
            many("SELECT 1", " UNION ALL "),
            format!("SELECT * FROM {}", many("t", " JOIN ")),
            format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000)),
            format!("SELECT CASE {} END", many("WHEN 1 THEN 2", " ELSE CASE ")),
        ] {
            assert!(check(&text).is_err(), "{}", &text[..40]);
        }
        for text in [
            format!("SELECT 1 IN ({})", many("1", ",")),
            format!("VALUES {}", many("(-1, 1 + 1)", ", ")),
            format!("SELECT CASE {} END", many("WHEN a = 1 THEN 2", " ")),
            many("SELECT 1 + 1", ";\n"),
            format!("SELECT {}", vec!["(a = 1 AND b = 2)"; 1500].join(" OR ")),
            format!("SELECT {}", vec!["a = 1 + 2 * 3 AND b NOT LIKE 2"; 1500].join(" OR ")),
            format!("SELECT a{}", " JOIN t ON a = b AND c = d + 1".repeat(1500)),
            "SELECT 'it".into(),
        ] {
            check(&text).unwrap();
        }
    }
}
