//! Tokens of the language between `%{` and `}%`.

use crate::position::{Position, Problem, excerpt};

/// What a token is.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    Name(String),
    Integer(i64),
    Real(f64),
    Text(String),
    /// An operator, a bracket or a comma.
    Sign(&'static str),
    /// The end of a statement: a line or a `;`.
    End,
}

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub struct Token {
    pub kind: Kind,
    pub at: Position,
    /// Bytes of the program that it takes up.
    pub span: (usize, usize),
}

/// Longest first, where one begins with another.
const SIGNS: [&str; 37] = [
    "//=", "**=", "<<=", ">>=", "**", "//", "<<", ">>", "==", "!=", "<=", ">=", "+=", "-=", "*=",
    "/=", "%=", "&=", "|=", "^=", "(", ")", ",", "+", "-", "*", "/", "%", "<", ">", "=", "&", "|",
    "^", "~", ":", ".",
];

/// The tokens of `text`, whose first character stands at `at`.
pub fn scan(text: &str, at: Position) -> Result<Vec<Token>, Problem> {
    let mut scanner = Scanner { text, offset: 0, at, open: 0 };
    let mut tokens = Vec::new();
    while let Some(token) = scanner.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Scanner<'a> {
    text: &'a str,
    offset: usize,
    at: Position,
    /// Brackets that are open: lines end no statement inside.
    open: u32,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    fn skip(&mut self, bytes: usize) {
        for c in self.rest()[..bytes].chars() {
            self.at = self.at.after(c);
        }
        self.offset += bytes;
    }

    fn run(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.skip(end);
        &rest[..end]
    }

    fn next(&mut self) -> Result<Option<Token>, Problem> {
        loop {
            let in_brackets = self.open > 0;
            self.run(|c| c.is_whitespace() && (c != '\n' || in_brackets));
            if self.rest().starts_with('#') {
                self.run(|c| c != '\n');
            } else if self.rest().starts_with("\\\n") {
                self.skip(2);
            } else {
                break;
            }
        }
        let (at, start) = (self.at, self.offset);
        let Some(first) = self.rest().chars().next() else { return Ok(None) };
        let kind = match first {
            '\n' | ';' => {
                self.skip(1);
                Kind::End
            }
            '"' | '\'' => Kind::Text(self.text(first)?),
            _ if first.is_ascii_digit() || self.starts_fraction() => self.number()?,
            _ if first.is_alphabetic() || first == '_' => {
                Kind::Name(self.run(|c| c.is_alphanumeric() || c == '_').to_owned())
            }
            _ => self.sign()?,
        };
        Ok(Some(Token { kind, at, span: (start, self.offset) }))
    }

    fn starts_fraction(&self) -> bool {
        let digits = self.rest().strip_prefix('.');
        digits.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))
    }

    fn text(&mut self, quote: char) -> Result<String, Problem> {
        let at = self.at;
        self.skip(1);
        let mut found = String::new();
        let mut characters = self.rest().char_indices();
        while let Some((i, c)) = characters.next() {
            match c {
                _ if c == quote => {
                    self.skip(i + 1);
                    return Ok(found);
                }
                '\n' => break,
                '\\' => match characters.next() {
                    Some((_, 'n')) => found.push('\n'),
                    Some((_, 't')) => found.push('\t'),
                    Some((_, c)) => found.push(c),
                    None => break,
                },
                _ => found.push(c),
            }
        }
        Err(Problem::new(at, format!("this {quote} has no second one in its line; close it")))
    }

    fn number(&mut self) -> Result<Kind, Problem> {
        let at = self.at;
        let text = self.run(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
        let digits = text.replace('_', "");
        let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
        let number = match hex {
            Some(digits) => i64::from_str_radix(digits, 16).ok().map(Kind::Integer),
            None => digits.parse().ok().map(Kind::Integer).or_else(|| {
                // Rust's reader also takes "inf" and the like, which begin with no digit.
                digits.parse().ok().filter(|real: &f64| real.is_finite()).map(Kind::Real)
            }),
        };
        number.ok_or_else(|| {
            let message = format!("{} is no number that can be used here", excerpt(text));
            Problem::new(at, message)
        })
    }

    fn sign(&mut self) -> Result<Kind, Problem> {
        let Some(sign) = SIGNS.iter().find(|sign| self.rest().starts_with(**sign)) else {
            let found: String = self.rest().chars().take(1).collect();
            let message =
                format!("\"{found}\" is not supported in code; see docs/commands/script.md");
            return Err(Problem::new(self.at, message));
        };
        match *sign {
            "(" => self.open += 1,
            ")" => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        self.skip(sign.len());
        Ok(Kind::Sign(sign))
    }
}
