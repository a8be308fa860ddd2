//! A script as tokens with their places.

use crate::position::{Position, Problem, excerpt};

/// Longest script: far above any that a person writes.
const MAX_BYTES: usize = 1 << 20;

/// What a token is.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// A name: of a call, a constant, an option, or flags.
    Word(String),
    /// A whole number, decimal or hexadecimal.
    Integer(i64),
    /// A number with a point, as written.
    Decimal(String),
    /// Text in double quotes.
    Text(String),
    /// What stands between backquotes: shell commands.
    Commands(String),
    /// What stands between `%{` and `}%`.
    Code(String),
    /// `--name=value`.
    Setting {
        /// Name, hyphens written as underscores.
        name: String,
        /// Value, if there is one.
        value: Option<String>,
    },
    /// `...`
    Ellipsis,
    /// Any other character.
    Sign(char),
}

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its first character; of code and commands, the first character inside.
    pub at: Position,
    /// Bytes of the script that it takes up.
    pub span: (usize, usize),
}

/// The tokens of a script.
pub fn tokens(text: &str) -> Result<Vec<Token>, Problem> {
    if text.len() > MAX_BYTES {
        let message = format!(
            "a script of {} bytes; at most {MAX_BYTES} are read: split it into several",
            text.len()
        );
        return Err(Problem::new(Position::START, message));
    }
    let mut lexer = Lexer { text, offset: 0, at: Position::START };
    let mut found = Vec::new();
    while let Some(token) = lexer.next()? {
        found.push(token);
    }
    Ok(found)
}

struct Lexer<'a> {
    text: &'a str,
    offset: usize,
    at: Position,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self, characters: usize) {
        for c in self.rest().chars().take(characters) {
            self.at = self.at.after(c);
            self.offset += c.len_utf8();
        }
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let start = self.offset;
        while self.peek().is_some_and(&wanted) {
            self.skip(1);
        }
        &self.text[start..self.offset]
    }

    fn next(&mut self) -> Result<Option<Token>, Problem> {
        self.skip_blanks()?;
        let (at, start) = (self.at, self.offset);
        let Some(first) = self.peek() else { return Ok(None) };
        let mut inside = at;
        let kind = if self.rest().starts_with("%{") {
            inside = Position { column: at.column + 2, ..at };
            Kind::Code(self.enclosed("%{", "}%")?)
        } else if first == '`' {
            inside = Position { column: at.column + 1, ..at };
            Kind::Commands(self.quoted('`')?)
        } else if first == '"' {
            Kind::Text(self.quoted('"')?)
        } else if self.rest().starts_with("...") {
            self.skip(3);
            Kind::Ellipsis
        } else if self.starts_setting() {
            self.setting()
        } else if self.starts_number() {
            self.number()?
        } else if is_word(first) {
            Kind::Word(self.take_while(is_word).to_owned())
        } else {
            self.skip(1);
            Kind::Sign(first)
        };
        Ok(Some(Token { kind, at: inside, span: (start, self.offset) }))
    }

    fn skip_blanks(&mut self) -> Result<(), Problem> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest().starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest().starts_with("/*") {
                self.enclosed("/*", "*/")?;
            } else {
                return Ok(());
            }
        }
    }

    /// What stands between `open`, which is here, and `close`.
    fn enclosed(&mut self, open: &str, close: &str) -> Result<String, Problem> {
        let inside = &self.rest()[open.len()..];
        let Some(end) = inside.find(close) else {
            let message = format!("`{open}` has no `{close}`; write it behind what belongs inside");
            return Err(Problem::new(self.at, message));
        };
        let inside = &inside[..end];
        self.skip(open.len() + inside.chars().count() + close.len());
        Ok(inside.to_owned())
    }

    /// What stands between two of `quote`, the first of which is here; a backslash protects.
    fn quoted(&mut self, quote: char) -> Result<String, Problem> {
        let at = self.at;
        self.skip(1);
        let mut inside = String::new();
        loop {
            match self.peek() {
                None => {
                    let message = format!("this {quote} has no second one; close it");
                    return Err(Problem::new(at, message));
                }
                Some(c) if c == quote => {
                    self.skip(1);
                    return Ok(inside);
                }
                Some('\\') => {
                    let pair: String = self.rest().chars().take(2).collect();
                    inside.push_str(&pair);
                    self.skip(2);
                }
                Some(c) => {
                    inside.push(c);
                    self.skip(1);
                }
            }
        }
    }

    fn starts_setting(&self) -> bool {
        let behind = self.rest().strip_prefix("--");
        behind.and_then(|text| text.chars().next()).is_some_and(|c| c.is_ascii_alphabetic())
    }

    fn setting(&mut self) -> Kind {
        self.skip(2);
        let name = self.take_while(|c| is_word(c) || c == '-').replace('-', "_");
        if self.peek() != Some('=') {
            return Kind::Setting { name, value: None };
        }
        self.skip(1);
        let start = self.offset;
        let mut quoted = false;
        while let Some(c) = self.peek() {
            if c == '\n' || (c.is_whitespace() && !quoted) {
                break;
            }
            quoted ^= c == '"';
            self.skip(1);
        }
        Kind::Setting { name, value: Some(self.text[start..self.offset].to_owned()) }
    }

    fn starts_number(&self) -> bool {
        let unsigned = self.rest().strip_prefix('-').unwrap_or(self.rest());
        let digits = unsigned.strip_prefix('.').unwrap_or(unsigned);
        digits.starts_with(|c: char| c.is_ascii_digit())
    }

    fn number(&mut self) -> Result<Kind, Problem> {
        let (at, start) = (self.at, self.offset);
        self.take_while(|c| c == '-');
        let whole = self.take_while(is_word);
        let followed = self.rest().strip_prefix('.').is_some_and(|rest| {
            whole.bytes().all(|b| b.is_ascii_digit())
                && rest.starts_with(|c: char| c.is_ascii_digit())
        });
        if followed {
            self.skip(1);
            self.take_while(|c| c.is_ascii_digit());
            return Ok(Kind::Decimal(self.text[start..self.offset].to_owned()));
        }
        let text = &self.text[start..self.offset];
        let number = match text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        match number {
            Ok(number) => Ok(Kind::Integer(number)),
            Err(_) if text.bytes().any(|b| b.is_ascii_alphabetic()) => {
                Ok(Kind::Word(text.to_owned()))
            }
            Err(_) => {
                let message = format!("{} is too large for any field; shorten it", excerpt(text));
                Err(Problem::new(at, message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).expect("tokens").into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn a_segment() {
        let word = |text: &str| Kind::Word(text.to_owned());
        let found = kinds("+.1 < S. 0:0(0) win 0x10 // comment\n/* and\nmore */ <...>");
        let expected = [
            Kind::Sign('+'),
            Kind::Decimal(".1".into()),
            Kind::Sign('<'),
            word("S"),
            Kind::Sign('.'),
            Kind::Integer(0),
            Kind::Sign(':'),
            Kind::Integer(0),
            Kind::Sign('('),
            Kind::Integer(0),
            Kind::Sign(')'),
            word("win"),
            Kind::Integer(16),
            Kind::Sign('<'),
            Kind::Ellipsis,
            Kind::Sign('>'),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn settings_commands_and_code() {
        let found = kinds(
            "--tolerance_usecs=500\n--fairway-set=a=\"2 s\" --strict_segments\n`a\nb`%{ x }%",
        );
        let setting = |name: &str, value: Option<&str>| Kind::Setting {
            name: name.to_owned(),
            value: value.map(str::to_owned),
        };
        let expected = [
            setting("tolerance_usecs", Some("500")),
            setting("fairway_set", Some("a=\"2 s\"")),
            setting("strict_segments", None),
            Kind::Commands("a\nb".into()),
            Kind::Code(" x ".into()),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_not_closed_is_named_where_it_begins() {
        for (text, at) in
            [("\n  `ls", "2:3"), ("%{ assert", "1:1"), ("/* x", "1:1"), ("(\"a", "1:2")]
        {
            assert_eq!(tokens(text).expect_err(text).at.to_string(), at, "{text}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit() {
        assert!(tokens("99999999999999999999").is_err());
        assert_eq!(
            kinds("2a -7 -.5"),
            [Kind::Word("2a".into()), Kind::Integer(-7), Kind::Decimal("-.5".into()),]
        );
    }
}
