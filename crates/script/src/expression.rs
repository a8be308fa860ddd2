//! What stands between `%{` and `}%`: assertions in a small part of Python's language.
//!
//! Nothing is executed by Python. There are assertions, `print`, assignments, arithmetic,
//! comparisons and a few functions; no loops, definitions or imports.

mod evaluate;
mod parse;
mod scan;
#[cfg(test)]
mod tests;
mod value;

pub use evaluate::{Failed, Names, evaluate};
pub use value::Value;

use crate::position::{Position, Problem};

/// Statements that were read.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// One after the other.
    pub statements: Vec<Statement>,
}

impl Program {
    /// The program in `text`, whose first character stands at `at`.
    pub fn parse(text: &str, at: Position) -> Result<Self, Problem> {
        parse::parse(text, at)
    }
}

/// A statement and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// Its first character.
    pub at: Position,
    /// As written.
    pub text: String,
    /// What it does.
    pub kind: StatementKind,
}

/// What a statement does.
#[derive(Clone, PartialEq, Debug)]
pub enum StatementKind {
    /// `assert condition, message`
    Assert(Expression, Option<Expression>),
    /// `print(a, b)`
    Print(Vec<Expression>),
    /// `name = value`, or with an operator `name += value`.
    Assign(String, Option<Binary>, Expression),
    /// A value that nothing is done with.
    Value(Expression),
    /// `pass`
    Nothing,
}

/// An expression and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Expression {
    /// Its first character, or its operator.
    pub at: Position,
    /// What it is.
    pub kind: ExpressionKind,
}

/// What an expression is.
#[derive(Clone, PartialEq, Debug)]
pub enum ExpressionKind {
    /// A number, a text, `True`, `False` or `None`.
    Constant(Value),
    /// A name.
    Name(String),
    /// `(a, b)`
    Tuple(Vec<Expression>),
    /// `function(a, b)`
    Call(String, Vec<Expression>),
    /// `-a`, `not a` …
    Unary(Unary, Box<Expression>),
    /// `a + b` …
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// `a < b <= c`: the first operand, and each operator with the next.
    Comparison(Box<Expression>, Vec<(Compare, Expression)>),
    /// `a and b and c`
    All(Vec<Expression>),
    /// `a or b or c`
    Any(Vec<Expression>),
}

/// Operators with one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unary {
    /// `-`
    Negate,
    /// `+`
    Plus,
    /// `~`
    Invert,
    /// `not`
    Not,
}

/// Operators with two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binary {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `//`
    FloorDivide,
    /// `%`, which also puts values into text
    Modulo,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
}

/// Comparisons.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compare {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `in`
    In,
    /// `not in`
    NotIn,
}
