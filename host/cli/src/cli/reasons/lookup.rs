//! Paths and conditions followed through the schema of some records.

use warpath::schema::{JsonType, SchemaNode, Step};
use warpath::{Predicate, Query};
use warpath_core::decimal::Decimal;
use warpath_lang::jsonpath::{
    Comparable, ComparableKind, Comparison, ComparisonOp, FilterQuery, FunctionKind, Literal, LiteralKind,
    LogicalExpr, LogicalExprKind, QueryRoot, Segment, SegmentKind, Selector, SelectorKind, SingularQuery,
    SingularStepKind, ValueTestKind,
};
use warpath_store::schema::step_text;
use warpath_terminal::messages::nearest;

use super::why::Why;

/// The schema that is looked through.
#[derive(Clone, Copy)]
pub struct Lookup<'t> {
    root: SchemaNode<'t>,
}

/// The end of a path.
enum Led<T> {
    To(T),
    /// Unknown from the schema.
    Unknown,
    Nowhere(Why),
}

/// Some nodes, and the path to them.
#[derive(Clone)]
struct PathNodes<'t> {
    nodes: Vec<SchemaNode<'t>>,
    path: String,
    segments: usize,
}

/// A class of values that are compared with each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Class {
    const ALL: [(JsonType, Self); 10] = [
        (JsonType::Null, Self::Null),
        (JsonType::Bool, Self::Bool),
        (JsonType::Int64, Self::Number),
        (JsonType::BigInt, Self::Number),
        (JsonType::Float64, Self::Number),
        (JsonType::String, Self::String),
        (JsonType::Time, Self::String),
        (JsonType::Date, Self::String),
        (JsonType::Array, Self::Array),
        (JsonType::Object, Self::Object),
    ];

    fn of(literal: &Literal) -> Self {
        match literal.kind {
            LiteralKind::Number(_) => Self::Number,
            // Only an instant is compared with `now()`, and its class is not known.
            LiteralKind::String(_) | LiteralKind::Now(_) => Self::String,
            LiteralKind::Bool(_) => Self::Bool,
            LiteralKind::Null => Self::Null,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Null => "`null`",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// The classes of some nodes, in order, each once.
fn classes(nodes: &[SchemaNode<'_>]) -> Vec<Class> {
    let has = |kind: JsonType| nodes.iter().any(|node| node.count(kind) > 0);
    let mut classes: Vec<Class> =
        Class::ALL.iter().filter(|(kind, _)| has(*kind)).map(|(_, class)| *class).collect();
    classes.dedup();
    classes
}

fn names(classes: &[Class]) -> String {
    let mut classes = classes.to_vec();
    classes.sort_unstable();
    classes.dedup();
    classes.iter().map(|class| class.name()).collect::<Vec<_>>().join(" or ")
}

fn member(name: &str) -> String {
    step_text(&Step::Name(name.as_bytes().into()))
}

/// A value in a comparison.
struct Value {
    text: String,
    classes: Vec<Class>,
}

impl<'t> Lookup<'t> {
    pub fn new(root: SchemaNode<'t>) -> Self {
        Self { root }
    }

    /// The reason why a query leads nowhere; `None` if it may lead somewhere.
    pub fn nowhere(&self, query: &Query) -> Option<Why> {
        let found = match self.segments(&query.ast().segments, self.start()) {
            Led::To(found) => found,
            Led::Unknown => return None,
            Led::Nowhere(why) => return Some(why),
        };
        let found = PathNodes { path: "@".to_owned(), ..found };
        self.never_of(query.condition()?.expr(), &found)
    }

    /// The reason why an expression is never true; `None` if it may be true.
    pub fn never(&self, expr: &LogicalExpr) -> Option<Why> {
        self.never_of(expr, &self.start())
    }

    fn start(&self) -> PathNodes<'t> {
        PathNodes { nodes: vec![self.root], path: "$".to_owned(), segments: 0 }
    }

    /// Follows segments.
    fn segments(&self, segments: &[Segment], from: PathNodes<'t>) -> Led<PathNodes<'t>> {
        let mut place = from;
        for segment in segments {
            let (mut nodes, mut path, mut why) = (Vec::new(), String::new(), None);
            for selector in &segment.selectors {
                match self.selector(&place, segment, selector) {
                    Led::To(next) => {
                        path = next.path;
                        nodes.extend(next.nodes);
                    }
                    Led::Unknown => return Led::Unknown,
                    Led::Nowhere(reason) => why = why.or(Some(reason)),
                }
            }
            match (nodes.is_empty(), why) {
                (true, Some(why)) => return Led::Nowhere(why),
                (true, None) => return Led::Unknown,
                _ => {}
            }
            if segment.selectors.len() > 1 {
                path = format!("{}{segment}", place.path);
            }
            place = PathNodes { nodes, path, segments: place.segments + 1 };
        }
        Led::To(place)
    }

    fn selector(&self, place: &PathNodes<'t>, segment: &Segment, selector: &Selector) -> Led<PathNodes<'t>> {
        let is_descendant = segment.kind == SegmentKind::Descendant;
        let from = if is_descendant {
            PathNodes { nodes: below(&place.nodes), ..place.clone() }
        } else {
            place.clone()
        };
        if from.nodes.iter().any(|node| node.values().is_some()) {
            // The names of the members are not known.
            return Led::Unknown;
        }
        let children = |path: String| PathNodes {
            nodes: from.nodes.iter().flat_map(|node| node.children()).collect(),
            path,
            segments: place.segments,
        };
        match &selector.kind {
            SelectorKind::Name(name) if is_descendant => self.anywhere(&from, name),
            SelectorKind::Name(name) => self.name(&from, name),
            SelectorKind::Wildcard => some(children(format!("{}[*]", place.path)), &from),
            SelectorKind::Index(index) => elements(&from, &format!("[{index}]")),
            SelectorKind::Slice { .. } => elements(&from, &format!("[{selector}]")),
            SelectorKind::Filter(filter) => {
                let tested = match some(children("@".to_owned()), &from) {
                    Led::To(tested) => tested,
                    other => return other,
                };
                match self.never_of(filter, &tested) {
                    Some(why) => Led::Nowhere(of_children(why, place)),
                    None => Led::To(PathNodes { path: format!("{}[{selector}]", place.path), ..tested }),
                }
            }
        }
    }

    /// Follows a name.
    fn name(&self, from: &PathNodes<'t>, name: &str) -> Led<PathNodes<'t>> {
        let (path, segments) = (format!("{}{}", from.path, member(name)), from.segments + 1);
        let nodes = named(&from.nodes, name);
        if !nodes.is_empty() {
            return Led::To(PathNodes { nodes, path, segments: from.segments });
        }
        let classes = classes(&from.nodes);
        let elements: Vec<SchemaNode<'t>> = from.nodes.iter().filter_map(|node| node.elements()).collect();
        let has_elements = !named(&elements, name).is_empty();
        // The tested children of a value are often of all kinds.
        if classes.contains(&Class::Object) || from.path == "@" && !has_elements {
            let near = near(&from.nodes, name).map(|near| format!("{}{}", from.path, member(&near)));
            let meant = near.or_else(|| self.path_to(name).filter(|_| from.path.starts_with('$')));
            return Led::Nowhere(Why::Lacks { path, meant, segments });
        }
        let so = if has_elements {
            format!("whose elements have `{name}`")
        } else {
            format!("which has no member `{name}`")
        };
        Led::Nowhere(Why::Is {
            path: from.path.clone(),
            is: names(&classes),
            so,
            meant: has_elements.then(|| format!("{}[*]{}", from.path, member(name))),
        })
    }

    /// Follows a name among descendants.
    fn anywhere(&self, from: &PathNodes<'t>, name: &str) -> Led<PathNodes<'t>> {
        let step = member(name);
        let path = format!("{}..{}", from.path, step.trim_start_matches('.'));
        let nodes = named(&from.nodes, name);
        if !nodes.is_empty() {
            return Led::To(PathNodes { nodes, path, segments: from.segments });
        }
        let meant = near(&from.nodes, name)
            .map(|near| format!("{}..{}", from.path, member(&near).trim_start_matches('.')));
        Led::Nowhere(Why::Lacks { path, meant, segments: from.segments + 1 })
    }

    /// The shortest path to a member of this name, at any depth.
    fn path_to(&self, name: &str) -> Option<String> {
        let mut level = vec![(self.root, "$".to_owned())];
        while !level.is_empty() {
            let mut next = Vec::new();
            for (node, path) in level {
                for child in node.children() {
                    let path = format!("{path}{}", step_text(child.step()));
                    if child.name().as_deref() == Some(name) {
                        return Some(path);
                    }
                    next.push((child, path));
                }
            }
            level = next;
        }
        None
    }

    fn query(&self, query: &FilterQuery, current: &PathNodes<'t>) -> Led<PathNodes<'t>> {
        self.segments(&query.segments, self.from(query.root, current))
    }

    fn singular(&self, query: &SingularQuery, current: &PathNodes<'t>) -> Led<PathNodes<'t>> {
        let mut place = self.from(query.root, current);
        for step in &query.steps {
            if place.nodes.iter().any(|node| node.values().is_some()) {
                return Led::Unknown;
            }
            let next = match &step.kind {
                SingularStepKind::Name(name) => self.name(&place, name),
                SingularStepKind::Index(index) => elements(&place, &format!("[{index}]")),
            };
            match next {
                Led::To(next) => place = PathNodes { segments: place.segments + 1, ..next },
                other => return other,
            }
        }
        Led::To(place)
    }

    fn from(&self, root: QueryRoot, current: &PathNodes<'t>) -> PathNodes<'t> {
        match root {
            QueryRoot::Record => self.start(),
            QueryRoot::Current => PathNodes { segments: 0, ..current.clone() },
        }
    }

    /// The reason why an expression is never true. `current` is the value of `@`.
    fn never_of(&self, expr: &LogicalExpr, current: &PathNodes<'t>) -> Option<Why> {
        match &expr.kind {
            LogicalExprKind::Or(exprs) => {
                let never: Option<Vec<Why>> = exprs.iter().map(|expr| self.never_of(expr, current)).collect();
                never?.into_iter().next()
            }
            LogicalExprKind::And(exprs) => exprs.iter().find_map(|expr| self.never_of(expr, current)),
            LogicalExprKind::Not(_) => None,
            LogicalExprKind::Comparison(test) => self.never_equal(test, current),
            LogicalExprKind::Exists(query) => match self.query(query, current) {
                Led::Nowhere(why) => Some(why),
                _ => None,
            },
            LogicalExprKind::Pattern(test) => self.never_string(&test.subject, test.kind.name(), current),
            LogicalExprKind::String(test) => self.never_string(&test.subject, test.kind.name(), current),
            LogicalExprKind::Value(test) if test.not => None,
            LogicalExprKind::Value(test) => {
                let (wanted, what): (Vec<Class>, _) = match &test.kind {
                    ValueTestKind::In(values) => (values.iter().map(Class::of).collect(), "in"),
                    ValueTestKind::Between(from, to) => (vec![Class::of(from), Class::of(to)], "between"),
                    ValueTestKind::Is(_) => return None,
                };
                match self.value(&test.subject, current) {
                    Led::Nowhere(why) => Some(why),
                    Led::To(value) if !wanted.iter().any(|class| value.classes.contains(class)) => {
                        let so = format!("and `{what}` compares it with {}", names(&wanted));
                        Some(Why::Is { is: names(&value.classes), path: value.text, so, meant: None })
                    }
                    _ => None,
                }
            }
        }
    }

    /// The reason why a value is never a string, which a function is about.
    fn never_string(&self, subject: &Comparable, function: &str, current: &PathNodes<'t>) -> Option<Why> {
        match self.value(subject, current) {
            Led::Nowhere(why) => Some(why),
            Led::To(value) if !value.classes.contains(&Class::String) => {
                let so = format!("and `{function}` is about strings");
                Some(Why::Is { is: names(&value.classes), path: value.text, so, meant: None })
            }
            _ => None,
        }
    }

    fn never_equal(&self, test: &Comparison, current: &PathNodes<'t>) -> Option<Why> {
        let literal = |side: &Comparable| match &side.kind {
            ComparableKind::Literal(literal) => Some(literal.clone()),
            _ => None,
        };
        // Two values that are both missing are equal, so one side has to be a literal.
        let (side, op, literal) = match (literal(&test.left), literal(&test.right)) {
            (None, Some(literal)) => (&test.left, test.op, literal),
            (Some(literal), None) => (&test.right, test.op.flipped(), literal),
            _ => return None,
        };
        if op == ComparisonOp::Ne {
            return None;
        }
        let value = match self.value(side, current) {
            Led::To(value) => value,
            Led::Unknown => return None,
            Led::Nowhere(why) => return Some(why),
        };
        let class = Class::of(&literal);
        if value.classes.is_empty() || value.classes.contains(&class) {
            return None;
        }
        let mut so = format!("and `{op} {literal}` compares it with {}", class.name());
        if class == Class::Number && value.classes == [Class::String] && op != ComparisonOp::Eq {
            // As a string, the literal would be compared letter by letter: "99" > "200".
            so.push_str(
                "; a column `n:float64(string)=PATH` of `select -o FILE.parquet` makes numbers of strings",
            );
            return Some(Why::Is { is: names(&value.classes), path: value.text, so, meant: None });
        }
        let meant =
            other_notation(&value.classes, &literal).map(|text| format!("{} {op} {text}", value.text));
        let meant =
            meant.filter(|meant| Predicate::parse(meant).is_ok() || Predicate::of_value(meant).is_ok());
        Some(Why::Is { is: names(&value.classes), path: value.text, so, meant })
    }

    fn value(&self, value: &Comparable, current: &PathNodes<'t>) -> Led<Value> {
        let of = |led| match led {
            Led::To(PathNodes { nodes, path, .. }) => Led::To(Value { text: path, classes: classes(&nodes) }),
            Led::Unknown => Led::Unknown,
            Led::Nowhere(why) => Led::Nowhere(why),
        };
        match &value.kind {
            ComparableKind::Query(query) => of(self.singular(query, current)),
            ComparableKind::Function(call) => match &call.kind {
                FunctionKind::Value(query) => of(self.query(query, current)),
                FunctionKind::Length(inner) => match self.value(inner, current) {
                    Led::Nowhere(why) => Led::Nowhere(why),
                    _ => Led::Unknown,
                },
                FunctionKind::Time(call) => match self.singular(&call.path, current) {
                    Led::Nowhere(why) => Led::Nowhere(why),
                    _ => Led::Unknown,
                },
                FunctionKind::Count(_) => Led::Unknown,
            },
            ComparableKind::Literal(_) | ComparableKind::Column(_) => Led::Unknown,
        }
    }
}

/// The text of a literal as a value of the class that all values have: `500` for `"500"`.
fn other_notation(classes: &[Class], literal: &Literal) -> Option<String> {
    match (classes, &literal.kind) {
        ([Class::Number], LiteralKind::String(text)) => {
            Decimal::read(text.as_bytes()).is_some().then(|| text.clone())
        }
        ([Class::Bool], LiteralKind::String(text)) => {
            matches!(text.as_str(), "true" | "false").then(|| text.clone())
        }
        ([Class::String], LiteralKind::Number(_) | LiteralKind::Bool(_)) => Some(format!("\"{literal}\"")),
        _ => None,
    }
}

/// The name of a member of some nodes that is nearest to a misspelt one, if one is near.
fn near(nodes: &[SchemaNode<'_>], name: &str) -> Option<String> {
    let members: Vec<String> =
        nodes.iter().flat_map(|node| node.members()).filter_map(SchemaNode::name).collect();
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    nearest(name, &members).map(str::to_owned)
}

/// The members of some nodes that have a name.
fn named<'t>(nodes: &[SchemaNode<'t>], name: &str) -> Vec<SchemaNode<'t>> {
    let members = nodes.iter().flat_map(|node| node.members());
    members.filter(|member| member.name().as_deref() == Some(name)).collect()
}

/// Some nodes, and all nodes below them.
fn below<'t>(nodes: &[SchemaNode<'t>]) -> Vec<SchemaNode<'t>> {
    let mut all = nodes.to_vec();
    let mut at = 0;
    while at < all.len() {
        let children = all[at].children();
        all.extend(children);
        at += 1;
    }
    all
}

/// Follows an index or a slice.
fn elements<'t>(from: &PathNodes<'t>, selector: &str) -> Led<PathNodes<'t>> {
    let nodes: Vec<SchemaNode<'t>> = from.nodes.iter().filter_map(|node| node.elements()).collect();
    let place = PathNodes { nodes, path: format!("{}{selector}", from.path), segments: from.segments };
    if !place.nodes.is_empty() {
        return Led::To(place);
    }
    let classes = classes(&from.nodes);
    let (is, so) = match classes.contains(&Class::Array) {
        true => ("an empty array".to_owned(), format!("in which `{selector}` selects nothing")),
        false => (names(&classes), format!("and `{selector}` selects elements of arrays")),
    };
    Led::Nowhere(Why::Is { path: from.path.clone(), is, so, meant: None })
}

/// The children of some nodes, if there are any.
fn some<'t>(children: PathNodes<'t>, from: &PathNodes<'t>) -> Led<PathNodes<'t>> {
    if !children.nodes.is_empty() {
        return Led::To(children);
    }
    let classes = classes(&from.nodes);
    let is = match classes.iter().any(|class| matches!(class, Class::Array | Class::Object)) {
        true => "empty".to_owned(),
        false => names(&classes),
    };
    let so = "so there is nothing in it to select from".to_owned();
    Led::Nowhere(Why::Is { path: from.path.clone(), is, so, meant: None })
}

/// The reason why a filter of children is never true. If these lack a member that the value has itself, the
/// value was probably meant.
fn of_children(why: Why, place: &PathNodes<'_>) -> Why {
    let Why::Lacks { path, segments: 1, .. } = &why else { return why };
    let has_own = |name: &String| path == &format!("@{}", member(name));
    let own = place.nodes.iter().flat_map(|node| node.members()).filter_map(SchemaNode::name).find(has_own);
    match own {
        Some(member) => Why::Children { value: place.path.clone(), member, segment: place.segments },
        None => why,
    }
}
