//! Tokens to a script.

mod call;
mod segment;

use fairway_units::{Duration, Time};

use crate::expression::Program;
use crate::lexer::{Kind, Token, tokens};
use crate::position::{Position, Problem, excerpt, plain};
use crate::script::{Action, Commands, Event, Script, Setting, When};

/// Most events of a script.
const MAX_EVENTS: usize = 20_000;
/// Latest time in a script: longer than a connection that is given up takes.
const MAX_SECONDS: u64 = 100_000;
/// Most characters of an event that are repeated in messages.
const MAX_SHOWN: usize = 400;

/// The script that `text` is.
pub fn parse(text: &str) -> Result<Script, Problem> {
    let tokens = tokens(text)?;
    let mut parser = Parser { text, tokens, next: 0, depth: 0 };
    let mut script = Script { settings: Vec::new(), commands: Vec::new(), events: Vec::new() };
    while let Some(token) = parser.peek_token().cloned() {
        match token.kind {
            Kind::Setting { name, value } => {
                parser.next += 1;
                script.settings.push(Setting { at: token.at, name, value });
            }
            Kind::Commands(text) => {
                parser.next += 1;
                let commands = Commands { at: token.at, text };
                if script.events.is_empty() {
                    script.commands.push(commands);
                }
                // Behind the last event they tidy up, for which there is nothing here; between two
                // events they would need a time.
                else if let Some(next) = parser.peek_token() {
                    let message = "these commands have no time; write when they run before them";
                    return Err(Problem::new(next.at, message));
                }
            }
            _ => script.events.push(parser.event()?),
        }
        if script.events.len() > MAX_EVENTS {
            let message = format!("more than {MAX_EVENTS} events; split the script");
            return Err(Problem::new(token.at, message));
        }
    }
    Ok(script)
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    next: usize,
    /// Of lists and structures in arguments.
    depth: u32,
}

impl Parser<'_> {
    fn peek_token(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn peek(&self) -> Option<&Kind> {
        self.peek_token().map(|token| &token.kind)
    }

    /// Where the next token stands, or the last one ended.
    fn at(&self) -> Position {
        let found = self.peek_token().or(self.tokens.last());
        found.map_or(Position::START, |token| token.at)
    }

    /// Refuses what comes next, which is not what is `wanted`.
    fn unexpected(&self, wanted: &str) -> Problem {
        let found = match self.peek_token() {
            None => "the end of the script".to_owned(),
            Some(token) => format!("\"{}\"", excerpt(&self.text[token.span.0..token.span.1])),
        };
        Problem::new(self.at(), format!("expected {wanted}, found {found}"))
    }

    fn accept(&mut self, sign: char) -> bool {
        let is_next = self.peek() == Some(&Kind::Sign(sign));
        self.next += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, sign: char, wanted: &str) -> Result<(), Problem> {
        if self.accept(sign) { Ok(()) } else { Err(self.unexpected(wanted)) }
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Kind::Word(found)) if found == word);
        self.next += usize::from(is_next);
        is_next
    }

    fn integer(&mut self, wanted: &str) -> Result<i64, Problem> {
        match self.peek() {
            Some(&Kind::Integer(number)) => {
                self.next += 1;
                Ok(number)
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    /// A whole number that fits the header field called `field`.
    fn field<T: TryFrom<i64>>(&mut self, field: &str) -> Result<T, Problem> {
        let at = self.at();
        let number = self.integer(&format!("a whole number for {field}"))?;
        T::try_from(number).map_err(|_| {
            Problem::new(at, format!("{field} {number} does not fit its field of the header"))
        })
    }

    fn event(&mut self) -> Result<Event, Problem> {
        let at = self.at();
        let when = self.when()?;
        let start = self.peek_token().map_or(self.text.len(), |token| token.span.0);
        let action = self.action(when)?;
        let end = self.tokens[self.next - 1].span.1;
        Ok(Event { at, when, action, text: in_one_line(&self.text[start..end]) })
    }

    fn when(&mut self) -> Result<When, Problem> {
        if self.accept('*') {
            return Ok(When::Any);
        }
        let relative = self.accept('+');
        let first = self.time()?;
        let last = if self.accept('~') {
            let at = self.at();
            if self.accept('+') != relative {
                let message = "both ends of a range of times are relative (+1~+2) or neither (1~2)";
                return Err(Problem::new(at, message));
            }
            let last = self.time()?;
            if last < first {
                return Err(Problem::new(at, "this range of times ends before it begins"));
            }
            Some(last)
        } else {
            None
        };
        Ok(if relative {
            When::After(first, last)
        } else {
            When::At(Time::ZERO + first, last.map(|last| Time::ZERO + last))
        })
    }

    /// A time in seconds.
    fn time(&mut self) -> Result<Duration, Problem> {
        let at = self.at();
        let text = match self.peek() {
            Some(Kind::Integer(seconds)) => seconds.to_string(),
            Some(Kind::Decimal(text)) => text.clone(),
            _ => {
                return Err(self.unexpected(
                    "the time of an event (0.1, +.1, +0~+.1 or *), a setting or commands",
                ));
            }
        };
        self.next += 1;
        nanoseconds(&text).ok_or_else(|| {
            let message = format!("{} is no time from 0 to {MAX_SECONDS} s", excerpt(&text));
            Problem::new(at, message)
        })
    }

    fn action(&mut self, when: When) -> Result<Action, Problem> {
        if self.accept('<') {
            return Ok(Action::Inbound(self.segment(true)?));
        }
        if self.accept('>') {
            return Ok(Action::Outbound(self.segment(false)?));
        }
        let Some(token) = self.peek_token().cloned() else {
            return Err(self.unexpected("what happens at this time"));
        };
        match token.kind {
            Kind::Commands(text) => {
                self.next += 1;
                Ok(Action::Commands(Commands { at: token.at, text }))
            }
            Kind::Code(text) => {
                self.next += 1;
                Ok(Action::Code(Program::parse(&text, token.at)?))
            }
            Kind::Word(_) | Kind::Ellipsis => Ok(Action::Call(self.call(when)?)),
            _ => Err(self.unexpected(
                "a segment (< or >), a call, commands between ` or code between %{ and }%",
            )),
        }
    }
}

/// Seconds as written to nanoseconds, exactly.
fn nanoseconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    if whole > MAX_SECONDS || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits = fraction.get(..9).unwrap_or(fraction);
    let fraction: u64 = format!("{digits:0<9}").parse().ok()?;
    Some(Duration::from_nanos(whole * 1_000_000_000 + fraction))
}

fn in_one_line(text: &str) -> String {
    let line = plain(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    match line.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        for (text, nanos) in [
            ("0.050140", 50_140_000),
            (".1", 100_000_000),
            ("2", 2_000_000_000),
            (".0000000019", 1),
        ] {
            assert_eq!(nanoseconds(text), Some(Duration::from_nanos(nanos)), "{text}");
        }
        assert_eq!(nanoseconds("-1"), None);
        assert_eq!(nanoseconds("100001"), None);
    }

    #[test]
    fn events_settings_and_commands_in_order() {
        let script = parse(
            "--tolerance_usecs=100\n`a`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
             +.1~+.2 > S 0:0(0) <...>\n`tidy up`",
        )
        .expect("a script");
        assert_eq!((script.settings.len(), script.commands.len()), (1, 1));
        assert_eq!(script.events.len(), 2);
        let range = When::After(Duration::from_millis(100), Some(Duration::from_millis(200)));
        assert_eq!(script.events[1].when, range);
        assert_eq!(script.events[1].text, "> S 0:0(0) <...>");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, at, part) in [
            ("0 ) ", "1:3", "expected a segment"),
            ("0~+1 > .", "1:3", "both ends"),
            ("2~1 > .", "1:3", "ends before it begins"),
            ("-1 > .", "1:1", "no time"),
            ("0 `a`\n`b`\n0 `c`", "3:1", "have no time"),
            ("0", "1:1", "expected what happens"),
        ] {
            let problem = parse(text).expect_err(text);
            assert_eq!(problem.at.to_string(), at, "{text}: {}", problem.message);
            assert!(problem.message.contains(part), "{text}: {}", problem.message);
        }
    }
}
