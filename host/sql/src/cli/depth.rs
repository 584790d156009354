//! The depth of statements. DataFusion descends into each operator of an expression, and plans it again and
//! again: a chain of 20,000 operators takes minutes, and one of 100,000 more stack than a thread has.

use std::mem;

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::messages::Failure;

/// The most operators on the way from a statement to one of its values.
const MOST: usize = 2000;

/// What a token is for the depth.
enum Change {
    Operator,
    /// The next item of a list.
    Next,
    /// A bracket that opens, and the operators that it is.
    In(usize),
    Out,
}

/// Refuses statements that are too deep. Operators are counted before anything is parsed: those of a list
/// begin anew after each comma, and those in brackets add to those around them.
///
/// # Errors
/// A statement that is too deep.
pub fn check(text: &str) -> Result<(), Failure> {
    // The parser says what is wrong with a text that has no tokens.
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, text).tokenize() else { return Ok(()) };
    // The operators before each open bracket, beside those of the brackets around it, and their sum.
    let (mut outer, mut around, mut here) = (Vec::new(), 0, 0);
    for token in &tokens {
        let change = match token {
            Token::LParen | Token::LBrace => Change::In(0),
            // A subscript is an operator, too.
            Token::LBracket => Change::In(1),
            Token::RParen | Token::RBrace | Token::RBracket => Change::Out,
            Token::Comma => Change::Next,
            Token::SemiColon => {
                outer.clear();
                (around, here) = (0, 0);
                continue;
            }
            Token::Word(word) => match word.keyword {
                Keyword::CASE => Change::In(0),
                Keyword::WHEN | Keyword::THEN | Keyword::ELSE => Change::Next,
                Keyword::END => Change::Out,
                Keyword::AND
                | Keyword::OR
                | Keyword::NOT
                | Keyword::XOR
                | Keyword::IS
                | Keyword::IN
                | Keyword::BETWEEN
                | Keyword::LIKE
                | Keyword::ILIKE
                | Keyword::SIMILAR
                | Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT
                | Keyword::JOIN => Change::Operator,
                _ => continue,
            },
            Token::Number(..)
            | Token::Char(_)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::Whitespace(_)
            | Token::Period
            | Token::EOF => continue,
            _ => Change::Operator,
        };
        match change {
            Change::Operator => here += 1,
            Change::Next => here = 0,
            Change::In(own) => {
                outer.push(here + own);
                around += mem::take(&mut here) + own;
            }
            Change::Out => {
                here = outer.pop().unwrap_or(0);
                around -= here.min(around);
            }
        }
        if around + here > MOST || outer.len() > MOST {
            let message = format!("a statement with more than {MOST} operators in one expression is refused");
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
            "SELECT 'it".into(),
        ] {
            check(&text).unwrap();
        }
    }
}
