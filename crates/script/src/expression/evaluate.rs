//! Statements carried out.

use std::collections::BTreeMap;

use super::{Binary, Compare, Expression, ExpressionKind, Program, Statement, StatementKind};
use super::{Unary, Value};
use crate::position::{Position, Problem, plain};

/// Longest text that is made.
const MAX_TEXT: usize = 10_000;
/// Most variables of a script.
const MAX_VARIABLES: usize = 1000;

/// What names mean that the script has not set.
pub trait Names {
    /// The value of a name, or why it has none, or nothing if it is not known at all.
    fn value(&self, name: &str) -> Option<Result<Value, String>>;

    /// Names that are known, to suggest.
    fn known(&self) -> Vec<&'static str>;
}

/// Why a program stopped.
#[derive(Clone, PartialEq, Debug)]
pub enum Failed {
    /// An assertion does not hold.
    Assertion {
        /// Where it stands.
        at: Position,
        /// As written.
        text: String,
        /// What the script says about it.
        message: Option<String>,
        /// The names in it with their values.
        values: Vec<(String, String)>,
    },
    /// It cannot be evaluated.
    Problem(Problem),
}

impl From<Problem> for Failed {
    fn from(problem: Problem) -> Self {
        Failed::Problem(problem)
    }
}

/// Carry out a program; what it prints goes to `printed`.
pub fn evaluate(
    program: &Program,
    variables: &mut BTreeMap<String, Value>,
    names: &dyn Names,
    printed: &mut Vec<String>,
) -> Result<(), Failed> {
    for statement in &program.statements {
        let scope = Scope { variables, names };
        match &statement.kind {
            StatementKind::Nothing => {}
            StatementKind::Value(value) => {
                scope.value(value)?;
            }
            StatementKind::Print(values) => {
                let shown: Result<Vec<String>, Problem> =
                    values.iter().map(|value| Ok(scope.value(value)?.to_string())).collect();
                printed.push(plain(&shown?.join(" ")));
            }
            StatementKind::Assert(condition, message) => {
                if !scope.value(condition)?.is_true() {
                    return Err(scope.assertion(statement, condition, message.as_ref()));
                }
            }
            StatementKind::Assign(name, operator, value) => {
                let mut value = scope.value(value)?;
                if let Some(operator) = operator {
                    let old = scope.name(name, statement.at)?;
                    value = binary(*operator, &old, &value, statement.at)?;
                }
                if variables.len() >= MAX_VARIABLES && !variables.contains_key(name) {
                    let message = format!("more than {MAX_VARIABLES} variables; use fewer");
                    return Err(Problem::new(statement.at, message).into());
                }
                variables.insert(name.clone(), value);
            }
        }
    }
    Ok(())
}

struct Scope<'a> {
    variables: &'a BTreeMap<String, Value>,
    names: &'a dyn Names,
}

impl Scope<'_> {
    fn assertion(
        &self,
        statement: &Statement,
        condition: &Expression,
        message: Option<&Expression>,
    ) -> Failed {
        let message = match message.map(|message| self.value(message)) {
            None => None,
            Some(Ok(value)) => Some(plain(&value.to_string())),
            Some(Err(problem)) => return Failed::Problem(problem),
        };
        let mut names = Vec::new();
        collect_names(condition, &mut names);
        let values = names
            .into_iter()
            .filter(|(name, at)| !matches!(self.name(name, *at), Ok(Value::Text(text)) if text == **name))
            .filter_map(|(name, at)| {
                Some((name.clone(), plain(&self.name(name, at).ok()?.to_string())))
            })
            .collect();
        Failed::Assertion { at: statement.at, text: statement.text.clone(), message, values }
    }

    fn name(&self, name: &str, at: Position) -> Result<Value, Problem> {
        if let Some(value) = self.variables.get(name) {
            return Ok(value.clone());
        }
        match self.names.value(name) {
            Some(Ok(value)) => Ok(value),
            Some(Err(reason)) => Err(Problem::new(at, format!("{name}: {reason}"))),
            None => {
                let known = self.names.known().join(", ");
                Err(Problem::new(at, format!("{name} is not known; known are {known}")))
            }
        }
    }

    fn value(&self, expression: &Expression) -> Result<Value, Problem> {
        let at = expression.at;
        match &expression.kind {
            ExpressionKind::Constant(value) => Ok(value.clone()),
            ExpressionKind::Name(name) => self.name(name, at),
            ExpressionKind::Tuple(values) => Ok(Value::Tuple(self.values(values)?)),
            ExpressionKind::Call(name, arguments) => call(name, &self.values(arguments)?, at),
            ExpressionKind::Unary(operator, operand) => unary(*operator, &self.value(operand)?, at),
            ExpressionKind::Binary(operator, left, right) => {
                binary(*operator, &self.value(left)?, &self.value(right)?, at)
            }
            ExpressionKind::Comparison(first, rest) => {
                let mut left = self.value(first)?;
                for (operator, right) in rest {
                    let right = self.value(right)?;
                    if !compare(*operator, &left, &right, at)? {
                        return Ok(Value::Truth(false));
                    }
                    left = right;
                }
                Ok(Value::Truth(true))
            }
            // As in Python, the value that decided.
            ExpressionKind::All(operands) => self.first(operands, |value| !value.is_true()),
            ExpressionKind::Any(operands) => self.first(operands, Value::is_true),
        }
    }

    fn values(&self, expressions: &[Expression]) -> Result<Vec<Value>, Problem> {
        expressions.iter().map(|expression| self.value(expression)).collect()
    }

    /// The first operand that decides, or the last.
    fn first(
        &self,
        operands: &[Expression],
        decides: impl Fn(&Value) -> bool,
    ) -> Result<Value, Problem> {
        let mut found = Value::Nothing;
        for operand in operands {
            found = self.value(operand)?;
            if decides(&found) {
                break;
            }
        }
        Ok(found)
    }
}

fn collect_names<'a>(expression: &'a Expression, found: &mut Vec<(&'a String, Position)>) {
    match &expression.kind {
        ExpressionKind::Constant(_) => {}
        ExpressionKind::Name(name) => {
            let is_constant = name.chars().all(|c| !c.is_lowercase()) || name.starts_with("TCP");
            if !is_constant && found.iter().all(|(other, _)| *other != name) {
                found.push((name, expression.at));
            }
        }
        ExpressionKind::Tuple(all)
        | ExpressionKind::Call(_, all)
        | ExpressionKind::All(all)
        | ExpressionKind::Any(all) => all.iter().for_each(|one| collect_names(one, found)),
        ExpressionKind::Unary(_, operand) => collect_names(operand, found),
        ExpressionKind::Binary(_, left, right) => {
            collect_names(left, found);
            collect_names(right, found);
        }
        ExpressionKind::Comparison(first, rest) => {
            collect_names(first, found);
            rest.iter().for_each(|(_, one)| collect_names(one, found));
        }
    }
}

fn unary(operator: Unary, operand: &Value, at: Position) -> Result<Value, Problem> {
    let number = match (operator, operand) {
        (Unary::Not, value) => return Ok(Value::Truth(!value.is_true())),
        (Unary::Negate, Value::Real(number)) => return Ok(Value::Real(-number)),
        (Unary::Plus, Value::Real(number)) => return Ok(Value::Real(*number)),
        (Unary::Negate, value) => value.as_integer().and_then(i64::checked_neg),
        (Unary::Plus, value) => value.as_integer(),
        (Unary::Invert, value) => value.as_integer().map(|number| !number),
    };
    number
        .map(Value::Integer)
        .ok_or_else(|| Problem::new(at, format!("a sign before {}; use a number", operand.kind())))
}

fn binary(operator: Binary, left: &Value, right: &Value, at: Position) -> Result<Value, Problem> {
    if let Value::Text(text) = left {
        let found = match (operator, right) {
            (Binary::Modulo, values) => format(text, values, at)?,
            (Binary::Add, Value::Text(more)) => format!("{text}{more}"),
            _ => return Err(no_operation(left, right, at)),
        };
        if found.len() > MAX_TEXT {
            let message = format!("text of more than {MAX_TEXT} bytes; shorten it");
            return Err(Problem::new(at, message));
        }
        return Ok(Value::Text(found));
    }
    let by_zero = || Problem::new(at, "a division by zero");
    if let (Some(a), Some(b)) = (left.as_integer(), right.as_integer())
        && operator != Binary::Divide
    {
        let shift = u32::try_from(b).ok().filter(|&bits| bits < 63);
        let found = match operator {
            Binary::Add => a.checked_add(b),
            Binary::Subtract => a.checked_sub(b),
            Binary::Multiply => a.checked_mul(b),
            Binary::FloorDivide | Binary::Modulo if b == 0 => return Err(by_zero()),
            Binary::FloorDivide => floor_division(a, b).map(|(quotient, _)| quotient),
            Binary::Modulo => floor_division(a, b).map(|(_, remainder)| remainder),
            Binary::ShiftLeft => shift.and_then(|bits| a.checked_mul(1 << bits)),
            Binary::ShiftRight => shift.map(|bits| a >> bits),
            Binary::And => Some(a & b),
            Binary::Or => Some(a | b),
            Binary::Xor => Some(a ^ b),
            Binary::Divide => None,
        };
        let too_large = || Problem::new(at, "the result does not fit 64 bits; use smaller numbers");
        return found.map(Value::Integer).ok_or_else(too_large);
    }
    let (Some(a), Some(b)) = (left.as_real(), right.as_real()) else {
        return Err(no_operation(left, right, at));
    };
    Ok(Value::Real(match operator {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide | Binary::FloorDivide | Binary::Modulo if b == 0.0 => return Err(by_zero()),
        Binary::Divide => a / b,
        Binary::FloorDivide => (a / b).floor(),
        Binary::Modulo => a - b * (a / b).floor(),
        _ => return Err(Problem::new(at, "bits of a number that is not whole; use int()")),
    }))
}

fn no_operation(left: &Value, right: &Value, at: Position) -> Problem {
    let message = format!("this operator takes no {} with {}", left.kind(), right.kind());
    Problem::new(at, message)
}

/// Quotient and remainder as Python rounds them: down.
fn floor_division(a: i64, b: i64) -> Option<(i64, i64)> {
    let (quotient, remainder) = (a.checked_div(b)?, a.checked_rem(b)?);
    let down = remainder != 0 && (remainder < 0) != (b < 0);
    Some(if down { (quotient - 1, remainder + b) } else { (quotient, remainder) })
}

fn compare(operator: Compare, left: &Value, right: &Value, at: Position) -> Result<bool, Problem> {
    let order = || {
        left.order(right).ok_or_else(|| {
            let message = format!("{} cannot be compared with {}", left.kind(), right.kind());
            Problem::new(at, message)
        })
    };
    let contains = || match right {
        Value::Tuple(values) => Ok(values.iter().any(|value| value.equals(left))),
        _ => Err(Problem::new(at, "`in` needs a tuple behind it, as in `x in (1, 2)`")),
    };
    Ok(match operator {
        Compare::Equal => left.equals(right),
        Compare::NotEqual => !left.equals(right),
        Compare::Less => order()?.is_lt(),
        Compare::LessOrEqual => order()?.is_le(),
        Compare::Greater => order()?.is_gt(),
        Compare::GreaterOrEqual => order()?.is_ge(),
        Compare::In => contains()?,
        Compare::NotIn => !contains()?,
    })
}

fn call(name: &str, arguments: &[Value], at: Position) -> Result<Value, Problem> {
    let wrong = |what: &str| Err(Problem::new(at, format!("{name}() takes {what}")));
    match name {
        "abs" => match arguments {
            [Value::Real(number)] => Ok(Value::Real(number.abs())),
            [value] => match value.as_integer().and_then(i64::checked_abs) {
                Some(number) => Ok(Value::Integer(number)),
                None => wrong("a number"),
            },
            _ => wrong("one number"),
        },
        "int" | "round" => match arguments {
            // Beyond 2^63 the nearest number that fits; nothing here is that large.
            [Value::Real(number)] if name == "int" => Ok(Value::Integer(*number as i64)),
            [Value::Real(number)] => Ok(Value::Integer(number.round_ties_even() as i64)),
            [value] => match value.as_integer() {
                Some(number) => Ok(Value::Integer(number)),
                None => wrong("a number"),
            },
            _ => wrong("one number"),
        },
        "float" => match arguments {
            [value] if value.as_real().is_some() => {
                Ok(value.as_real().map_or(Value::Nothing, Value::Real))
            }
            _ => wrong("one number"),
        },
        "str" => match arguments {
            [value] => Ok(Value::Text(value.to_string())),
            _ => wrong("one value"),
        },
        "min" | "max" => {
            let Some((first, rest)) = arguments.split_first() else { return wrong("numbers") };
            let mut best = first.clone();
            for value in rest {
                let Some(order) = value.order(&best) else { return wrong("numbers") };
                if if name == "min" { order.is_lt() } else { order.is_gt() } {
                    best = value.clone();
                }
            }
            Ok(best)
        }
        _ => {
            let message = format!(
                "{name}() is not supported; there are abs, float, int, max, min, round, str"
            );
            Err(Problem::new(at, message))
        }
    }
}

/// `'%d segments' % 3`: each `%` with a letter is the next value; widths are not looked at.
fn format(text: &str, values: &Value, at: Position) -> Result<String, Problem> {
    let mut values = match values {
        Value::Tuple(values) => values.as_slice(),
        value => std::slice::from_ref(value),
    }
    .iter();
    let mut found = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c != '%' {
            found.push(c);
            continue;
        }
        match characters.find(|c| c.is_alphabetic() || *c == '%') {
            Some('%') => found.push('%'),
            Some(_) => match values.next() {
                Some(value) => found.push_str(&value.to_string()),
                None => return Err(Problem::new(at, "this text has more % than values follow")),
            },
            None => return Err(Problem::new(at, "a % at the end of text; write %%")),
        }
    }
    Ok(found)
}
