//! Tokens to statements.

use super::scan::{Kind, Token, scan};
use super::{Binary, Compare, Expression, ExpressionKind, Program, Statement, StatementKind};
use super::{Unary, Value};
use crate::position::{Position, Problem, excerpt};

/// Deepest nesting of brackets and operators.
const MAX_DEPTH: u32 = 50;
/// Most operators in a statement: each is a level of the tree that evaluating walks down.
const MAX_OPERATORS: u32 = 200;

/// Words of Python that begin what is not supported here.
const REFUSED: [&str; 20] = [
    "if", "elif", "else", "for", "while", "def", "class", "import", "from", "with", "try",
    "except", "raise", "return", "lambda", "global", "del", "yield", "is", "exec",
];

/// Operators with two operands that bind alike, weakest first.
const LEVELS: [&[(&str, Binary)]; 6] = [
    &[("|", Binary::Or)],
    &[("^", Binary::Xor)],
    &[("&", Binary::And)],
    &[("<<", Binary::ShiftLeft), (">>", Binary::ShiftRight)],
    &[("+", Binary::Add), ("-", Binary::Subtract)],
    &[
        ("*", Binary::Multiply),
        ("/", Binary::Divide),
        ("//", Binary::FloorDivide),
        ("%", Binary::Modulo),
    ],
];

/// Assignments with an operator.
const ASSIGNMENTS: [(&str, Option<Binary>); 11] = [
    ("=", None),
    ("+=", Some(Binary::Add)),
    ("-=", Some(Binary::Subtract)),
    ("*=", Some(Binary::Multiply)),
    ("/=", Some(Binary::Divide)),
    ("//=", Some(Binary::FloorDivide)),
    ("%=", Some(Binary::Modulo)),
    ("&=", Some(Binary::And)),
    ("|=", Some(Binary::Or)),
    ("<<=", Some(Binary::ShiftLeft)),
    (">>=", Some(Binary::ShiftRight)),
];

/// The program in `text`, whose first character stands at `at`.
pub fn parse(text: &str, at: Position) -> Result<Program, Problem> {
    let mut parser =
        Parser { text, tokens: scan(text, at)?, next: 0, depth: 0, operators: 0, end: at };
    parser.end = parser.tokens.last().map_or(at, |token| token.at);
    let mut statements = Vec::new();
    while parser.next < parser.tokens.len() {
        if parser.peek() == Some(&Kind::End) {
            parser.next += 1;
        } else {
            statements.push(parser.statement()?);
        }
    }
    Ok(Program { statements })
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    next: usize,
    depth: u32,
    operators: u32,
    end: Position,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Kind> {
        self.tokens.get(self.next).map(|token| &token.kind)
    }

    fn at(&self) -> Position {
        self.tokens.get(self.next).map_or(self.end, |token| token.at)
    }

    fn unexpected(&self, wanted: &str) -> Problem {
        let found = match self.tokens.get(self.next) {
            None => "the end of the code".to_owned(),
            Some(Token { kind: Kind::End, .. }) => "the end of the statement".to_owned(),
            Some(token) => format!("\"{}\"", excerpt(&self.text[token.span.0..token.span.1])),
        };
        Problem::new(self.at(), format!("expected {wanted}, found {found}"))
    }

    fn accept(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Kind::Sign(found)) if *found == sign);
        self.next += usize::from(is_next);
        is_next
    }

    fn accept_name(&mut self, name: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Kind::Name(found)) if found == name);
        self.next += usize::from(is_next);
        is_next
    }

    fn is_at_end(&self) -> bool {
        matches!(self.peek(), None | Some(Kind::End))
    }

    fn statement(&mut self) -> Result<Statement, Problem> {
        let at = self.at();
        let first = self.next;
        self.operators = 0;
        let kind = self.statement_kind()?;
        if !self.is_at_end() {
            return Err(self.unexpected("the end of the statement, a ; or a new line"));
        }
        let span = (self.tokens[first].span.0, self.tokens[self.next - 1].span.1);
        Ok(Statement { at, text: excerpt(&self.text[span.0..span.1]), kind })
    }

    fn statement_kind(&mut self) -> Result<StatementKind, Problem> {
        if self.accept_name("assert") {
            let condition = self.expression()?;
            let message = if self.accept(",") { Some(self.expression()?) } else { None };
            return Ok(StatementKind::Assert(condition, message));
        }
        if self.accept_name("print") {
            let mut values = if self.is_at_end() { Vec::new() } else { self.list()? };
            // As a function (Python 3), what is in its brackets.
            if let [Expression { kind: ExpressionKind::Tuple(inside), .. }] = values.as_mut_slice()
            {
                values = std::mem::take(inside);
            }
            return Ok(StatementKind::Print(values));
        }
        if self.accept_name("pass") {
            return Ok(StatementKind::Nothing);
        }
        if let Some(Kind::Name(name)) = self.peek().cloned() {
            let assignment = match self.tokens.get(self.next + 1).map(|token| &token.kind) {
                Some(Kind::Sign(sign)) => ASSIGNMENTS.iter().find(|(text, _)| text == sign),
                _ => None,
            };
            if let Some((_, operator)) = assignment {
                self.next += 2;
                return Ok(StatementKind::Assign(name, *operator, self.expression()?));
            }
        }
        Ok(StatementKind::Value(self.expression()?))
    }

    /// `a, b`
    fn list(&mut self) -> Result<Vec<Expression>, Problem> {
        let mut found = vec![self.expression()?];
        while self.accept(",") {
            if self.is_at_end() || self.peek() == Some(&Kind::Sign(")")) {
                break;
            }
            found.push(self.expression()?);
        }
        Ok(found)
    }

    fn expression(&mut self) -> Result<Expression, Problem> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = "this expression is nested too deeply; split it with assignments";
            return Err(Problem::new(self.at(), message));
        }
        let found = self.either();
        self.depth -= 1;
        found
    }

    fn either(&mut self) -> Result<Expression, Problem> {
        let at = self.at();
        let mut found = vec![self.both()?];
        while self.accept_name("or") {
            found.push(self.both()?);
        }
        Ok(joined(at, found, ExpressionKind::Any))
    }

    fn both(&mut self) -> Result<Expression, Problem> {
        let at = self.at();
        let mut found = vec![self.negation()?];
        while self.accept_name("and") {
            found.push(self.negation()?);
        }
        Ok(joined(at, found, ExpressionKind::All))
    }

    fn negation(&mut self) -> Result<Expression, Problem> {
        let at = self.at();
        let mut times = 0_u32;
        while self.accept_name("not") {
            times += 1;
        }
        let found = self.comparison()?;
        let negated =
            |found| Expression { at, kind: ExpressionKind::Unary(Unary::Not, Box::new(found)) };
        Ok(match times {
            0 => found,
            n if n % 2 == 1 => negated(found),
            _ => negated(negated(found)),
        })
    }

    fn comparison(&mut self) -> Result<Expression, Problem> {
        let at = self.at();
        let first = self.level(0)?;
        let mut rest = Vec::new();
        while let Some(compare) = self.compare()? {
            rest.push((compare, self.level(0)?));
        }
        Ok(if rest.is_empty() {
            first
        } else {
            Expression { at, kind: ExpressionKind::Comparison(Box::new(first), rest) }
        })
    }

    fn compare(&mut self) -> Result<Option<Compare>, Problem> {
        for (sign, compare) in [
            ("==", Compare::Equal),
            ("!=", Compare::NotEqual),
            ("<", Compare::Less),
            ("<=", Compare::LessOrEqual),
            (">", Compare::Greater),
            (">=", Compare::GreaterOrEqual),
        ] {
            if self.accept(sign) {
                return Ok(Some(compare));
            }
        }
        if self.accept_name("in") {
            return Ok(Some(Compare::In));
        }
        if self.accept_name("not") {
            let problem = self.unexpected("`in` behind `not`");
            return if self.accept_name("in") { Ok(Some(Compare::NotIn)) } else { Err(problem) };
        }
        Ok(None)
    }

    /// Operators of a level and of those that bind stronger.
    fn level(&mut self, level: usize) -> Result<Expression, Problem> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        loop {
            let at = self.at();
            let found = operators.iter().find(|(sign, _)| self.accept(sign));
            let Some((_, operator)) = found else { return Ok(left) };
            self.operators += 1;
            if self.operators > MAX_OPERATORS {
                let message = "too many operators in one statement; split it with assignments";
                return Err(Problem::new(at, message));
            }
            let right = self.level(level + 1)?;
            let kind = ExpressionKind::Binary(*operator, Box::new(left), Box::new(right));
            left = Expression { at, kind };
        }
    }

    fn unary(&mut self) -> Result<Expression, Problem> {
        let at = self.at();
        for (sign, operator) in [("-", Unary::Negate), ("+", Unary::Plus), ("~", Unary::Invert)] {
            if self.accept(sign) {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(Problem::new(at, "too many signs in a row; write one"));
                }
                let operand = self.unary()?;
                self.depth -= 1;
                return Ok(Expression {
                    at,
                    kind: ExpressionKind::Unary(operator, Box::new(operand)),
                });
            }
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Expression, Problem> {
        let at = self.at();
        let constant = |value| Ok(Expression { at, kind: ExpressionKind::Constant(value) });
        let Some(kind) = self.peek().cloned() else { return Err(self.unexpected("a value")) };
        match kind {
            Kind::Integer(number) => {
                self.next += 1;
                constant(Value::Integer(number))
            }
            Kind::Real(number) => {
                self.next += 1;
                constant(Value::Real(number))
            }
            Kind::Text(text) => {
                self.next += 1;
                constant(Value::Text(text))
            }
            Kind::Name(name) => {
                if REFUSED.contains(&name.as_str()) {
                    let message = format!(
                        "`{name}` is not supported: there are assert, print, assignments and \
                         expressions"
                    );
                    return Err(Problem::new(at, message));
                }
                self.next += 1;
                match name.as_str() {
                    "True" => constant(Value::Truth(true)),
                    "False" => constant(Value::Truth(false)),
                    "None" => constant(Value::Nothing),
                    _ => self.named(at, name),
                }
            }
            Kind::Sign("(") => {
                self.next += 1;
                self.bracket(at)
            }
            Kind::Sign(_) | Kind::End => Err(self.unexpected("a value")),
        }
    }

    /// A name, or a call of the function that it names.
    fn named(&mut self, at: Position, name: String) -> Result<Expression, Problem> {
        if !self.accept("(") {
            return Ok(Expression { at, kind: ExpressionKind::Name(name) });
        }
        let arguments = if self.accept(")") {
            Vec::new()
        } else {
            let arguments = self.list()?;
            self.close()?;
            arguments
        };
        Ok(Expression { at, kind: ExpressionKind::Call(name, arguments) })
    }

    /// What follows `(`: an expression, or a tuple if there is a comma.
    fn bracket(&mut self, at: Position) -> Result<Expression, Problem> {
        if self.accept(")") {
            return Ok(Expression { at, kind: ExpressionKind::Tuple(Vec::new()) });
        }
        let mut found = self.list()?;
        let comma = self.tokens[self.next - 1].kind == Kind::Sign(",");
        self.close()?;
        Ok(if found.len() == 1 && !comma {
            found.remove(0)
        } else {
            Expression { at, kind: ExpressionKind::Tuple(found) }
        })
    }

    fn close(&mut self) -> Result<(), Problem> {
        if self.accept(")") { Ok(()) } else { Err(self.unexpected("`)`")) }
    }
}

fn joined(
    at: Position,
    mut found: Vec<Expression>,
    kind: impl Fn(Vec<Expression>) -> ExpressionKind,
) -> Expression {
    if found.len() == 1 { found.remove(0) } else { Expression { at, kind: kind(found) } }
}
