//! The size of statements. DataFusion descends into each operator of an expression, and plans it again and
//! again: a chain of 20,000 operators takes minutes, and one of 100,000 more stack than a thread has. The
//! same holds for joins, and for names of queries (WITH) that stand for twice as much as the name before.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::ops::ControlFlow;

use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::{ObjectName, Query, Select, TableFactor, Visit, Visitor};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::messages::Failure;

/// The most operators on the way from a statement to one of its values.
const MOST_LEVELS: usize = 2000;
/// The most words of SQL and operators of a statement.
const MOST_WORDS: usize = 20_000;
/// The most tables of a statement. The name of a query (WITH) counts as the tables of the query.
const MOST_TABLES: usize = 1000;
/// The most tables of a FROM.
const MOST_JOINED: usize = 200;

/// Parses statements, and refuses those that are too large to be planned.
///
/// # Errors
/// The error of the text, and a statement that is too large.
pub fn parsed(text: &str) -> Result<VecDeque<Statement>, Failure> {
    tokens(text)?;
    let parser = DFParserBuilder::new(text).with_dialect(&GenericDialect {}).build();
    let statements = parser.and_then(|mut parser| parser.parse_statements());
    let statements = statements.map_err(|error| Failure::of_query(error, text))?;
    statements.iter().try_for_each(tables)?;
    Ok(statements)
}

fn refused(most: usize, of: &str) -> Failure {
    Failure::query(format!("a statement has more than {most} {of}"))
}

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

/// The effect of a token on the depth.
enum Change {
    Operator(Binds),
    /// The next item of a list.
    Next,
    In,
    Out,
}

impl Change {
    fn of(token: &Token) -> Option<Self> {
        Some(match token {
            Token::LParen | Token::LBrace => Self::In,
            Token::RParen | Token::RBrace | Token::RBracket => Self::Out,
            Token::Comma => Self::Next,
            Token::Word(word) => match word.keyword {
                Keyword::CASE => Self::In,
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
                Keyword::NoKeyword => return None,
                // Such as INTERVAL and AT TIME ZONE, of which the next one may be an operand.
                _ => Self::Operator(Binds::Values),
            },
            Token::Eq | Token::DoubleEq | Token::Neq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq => {
                Self::Operator(Binds::Compare)
            }
            token if is_word(token) => Self::Operator(Binds::Values),
            _ => return None,
        })
    }
}

/// True for operators, and for words that are not names.
fn is_word(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.keyword != Keyword::NoKeyword,
        Token::Number(..)
        | Token::Char(_)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::Whitespace(_)
        | Token::Period
        | Token::Comma
        | Token::LParen
        | Token::RParen
        | Token::LBrace
        | Token::RBrace
        | Token::RBracket
        | Token::SemiColon
        | Token::EOF => false,
        _ => true,
    }
}

/// The expressions between two brackets, up to the token that a scan has reached.
#[derive(Default)]
struct Level {
    /// The height of the expression so far, as the left operand of an operator of each kind.
    heights: [usize; 5],
    /// The height of the last value.
    value: usize,
    /// The greatest height of the items before, in a list.
    items: usize,
}

impl Level {
    /// The height of the expression so far: of its operators that bind more than one kind, or of all.
    fn height(&self, above: Option<Binds>) -> usize {
        let kinds = &self.heights[above.map_or(0, |above| above as usize + 1)..];
        kinds
            .iter()
            .rev()
            .fold(self.value, |inner, own| if *own > 0 { inner.max(*own - 1) + 1 } else { inner })
    }

    fn operator(&mut self, binds: Binds) {
        let left = self.height(Some(binds));
        let own = &mut self.heights[binds as usize];
        *own = 1 + left.max(*own);
        self.heights[binds as usize + 1..].fill(0);
        self.value = 0;
    }

    fn next(&mut self) {
        self.items = self.items.max(self.height(None));
        // The items of a SELECT are on one side of a UNION.
        self.heights[Binds::Or as usize..].fill(0);
        self.value = 0;
    }
}

/// Counts words and levels before anything is parsed.
fn tokens(text: &str) -> Result<(), Failure> {
    // The parser says what is wrong with a text that has no tokens.
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, text).tokenize() else { return Ok(()) };
    let (mut outer, mut here, mut words) = (Vec::new(), Level::default(), 0);
    let mut is_member = false;
    for token in &tokens {
        if *token == Token::SemiColon {
            outer.clear();
            (here, words) = (Level::default(), 0);
        }
        // A word after a period is a name.
        let is_name = mem::replace(&mut is_member, *token == Token::Period);
        if is_name && matches!(token, Token::Word(_)) {
            continue;
        }
        words += usize::from(is_word(token));
        match Change::of(token) {
            None => {}
            Some(Change::Operator(binds)) => here.operator(binds),
            Some(Change::Next) => here.next(),
            Some(Change::In) => outer.push(mem::take(&mut here)),
            Some(Change::Out) => {
                let inner = here.items.max(here.height(None)) + 1;
                here = outer.pop().unwrap_or_default();
                here.value = here.value.max(inner);
            }
        }
        // A subscript is an operator, too.
        if *token == Token::LBracket {
            outer.push(mem::take(&mut here));
        }
        if here.height(None) > MOST_LEVELS || outer.len() > MOST_LEVELS {
            let help = "IN takes a list of values of any length";
            return Err(refused(MOST_LEVELS, "operators one within the other").with_help(help));
        }
        if words > MOST_WORDS {
            return Err(refused(MOST_WORDS, "words and operators"));
        }
    }
    Ok(())
}

/// Counts tables.
fn tables(statement: &Statement) -> Result<(), Failure> {
    match statement {
        Statement::Statement(statement) => match statement.visit(&mut Tables::default()) {
            ControlFlow::Break(failure) => Err(failure),
            ControlFlow::Continue(()) => Ok(()),
        },
        Statement::Explain(explained) => tables(&explained.statement),
        _ => Ok(()),
    }
}

/// Counts the tables of a statement.
#[derive(Default)]
struct Tables {
    /// The tables of each named query so far. Equal names in several queries count as one.
    named: HashMap<String, usize>,
    /// The tables so far, those of named queries apart.
    all: usize,
}

impl Tables {
    fn of(&self, name: &ObjectName) -> usize {
        self.named.get(&name.to_string().to_lowercase()).copied().unwrap_or(1)
    }

    /// The tables of a query, where names stand for those of the queries before.
    fn within(&self, query: &Query) -> usize {
        struct Sum<'a>(&'a Tables, usize);
        impl Visitor for Sum<'_> {
            type Break = ();
            fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
                self.1 = self.1.saturating_add(self.0.of(name));
                ControlFlow::Continue(())
            }
        }
        let mut sum = Sum(self, 0);
        // Nothing breaks it.
        let _ = query.visit(&mut sum);
        sum.1
    }

    fn checked(&self) -> ControlFlow<Failure> {
        match self.all > MOST_TABLES {
            true => ControlFlow::Break(refused(MOST_TABLES, "tables, those of its named queries included")),
            false => ControlFlow::Continue(()),
        }
    }
}

impl Visitor for Tables {
    type Break = Failure;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Failure> {
        for named in query.with.iter().flat_map(|with| &with.cte_tables) {
            let tables = self.within(&named.query).max(1);
            self.named.insert(named.alias.name.to_string().to_lowercase(), tables);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Failure> {
        let joined: usize = select.from.iter().map(|table| 1 + table.joins.len()).sum();
        match joined > MOST_JOINED {
            true => ControlFlow::Break(refused(MOST_JOINED, "tables in one FROM")),
            false => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<Failure> {
        let tables = match table {
            TableFactor::Table { name, .. } => self.of(name),
            _ => 1,
        };
        self.all = self.all.saturating_add(tables);
        self.checked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if a text is refused for its size; false for other errors.
    fn is_refused(text: &str) -> bool {
        parsed(text).is_err_and(|failure| failure.message.starts_with("a statement has more than "))
    }

    #[test]
    fn chains_are_refused_and_lists_are_not() {
        let with = |query: fn(usize) -> String, names: usize| {
            let rest: String = (1..names).map(|at| format!(", c{at} AS ({})", query(at))).collect();
            format!("WITH c0 AS (SELECT 1 AS a){rest} SELECT count(*) FROM c{}", names - 1)
        };
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
            format!("SELECT 1 FROM {}", many("(VALUES (1)) AS t", ", ")),
            format!("SELECT 1 FROM {}", vec!["t"; 300].join(", ")),
            many("SELECT 1, 1", " UNION ALL "),
            format!("SELECT now(){}", " AT TIME ZONE 'UTC'".repeat(5000)),
            format!("SELECT {}'1 day'", "INTERVAL ".repeat(10_000)),
            format!("{}SELECT 1", "EXPLAIN ".repeat(10_000)),
            format!("SELECT {}1{}", "(".repeat(9), ")+1".repeat(9).replace("+1", &"+a".repeat(300))),
            with(|at| format!("SELECT a FROM c{0} UNION ALL SELECT a FROM C{0}", at - 1), 40),
            with(|at| format!("SELECT a FROM c{} JOIN c{} USING (a)", at - 1, at - 1), 40),
            format!(
                "SELECT * FROM ({}) AS t",
                with(|at| format!("SELECT a FROM c{0}, c{0} AS d", at - 1), 40)
            ),
            format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000)),
            format!("SELECT CASE {} END", many("WHEN 1 THEN 2", " ELSE CASE ")),
        ] {
            assert!(is_refused(&text), "{}", &text[..40]);
        }
        for text in [
            format!("SELECT 1 IN ({})", many("1", ",")),
            format!("VALUES {}", many("(-1, 1 + 1)", ", ")),
            format!("SELECT CASE {} END", many("WHEN a = 1 THEN 2", " ")),
            many("SELECT 1 + 1", ";\n"),
            format!("SELECT {}", vec!["(a = 1 AND b = 2)"; 1500].join(" OR ")),
            format!("SELECT {}", vec!["a = 1 + 2 * 3 AND b NOT LIKE 2"; 1500].join(" OR ")),
            format!("SELECT 1 FROM t{}", " JOIN t ON a = b AND c = d + 1".repeat(150)),
            vec!["SELECT a, b FROM t WHERE a = 1"; 500].join(" UNION ALL "),
            with(|at| format!("SELECT a + 1 AS a FROM c{}", at - 1), 200),
            "SELECT t.end, x.case, t.\"end\" FROM t, x".into(),
            "SELECT 'it".into(),
        ] {
            assert!(!is_refused(&text), "{}", &text[..text.len().min(40)]);
        }
    }
}
