//! Calls of the application: `write(4, ..., 1000) = 1000`.

use super::Parser;
use crate::lexer::Kind;
use crate::position::Problem;
use crate::script::{Argument, Call, When};

/// Deepest lists and structures in arguments.
const MAX_DEPTH: u32 = 16;

impl Parser<'_> {
    /// A call that begins at `when`.
    pub(super) fn call(&mut self, when: When) -> Result<Call, Problem> {
        let returns = if self.peek() == Some(&Kind::Ellipsis) {
            self.next += 1;
            let end = self.time()?;
            Some(match when {
                When::At(..) => When::At(fairway_units::Time::ZERO + end, None),
                When::After(..) | When::Any => When::After(end, None),
            })
        } else {
            None
        };
        let at = self.at();
        let Some(Kind::Word(name)) = self.peek().cloned() else {
            return Err(self.unexpected("the name of a call"));
        };
        self.next += 1;
        self.expect('(', "`(` and the arguments of the call")?;
        let arguments = self.arguments(')')?;
        self.expect('=', "`=` and what the call returns")?;
        let result_at = self.at();
        let result = self.integer("what the call returns, a whole number")?;
        let errno = match self.peek() {
            Some(Kind::Word(name)) => Some(name.clone()),
            _ => None,
        };
        self.next += usize::from(errno.is_some());
        self.note()?;
        Ok(Call { returns, at, name, arguments, result, result_at, errno })
    }

    /// Arguments up to and with `close`.
    fn arguments(&mut self, close: char) -> Result<Vec<Argument>, Problem> {
        let mut found = Vec::new();
        if self.accept(close) {
            return Ok(found);
        }
        loop {
            found.push(self.argument()?);
            if self.accept(close) {
                return Ok(found);
            }
            self.expect(',', &format!("`,` and another argument, or `{close}` behind the last"))?;
        }
    }

    fn argument(&mut self) -> Result<Argument, Problem> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Problem::new(self.at(), "arguments are nested too deeply; simplify them"));
        }
        let found = self.unbounded_argument();
        self.depth -= 1;
        found
    }

    fn unbounded_argument(&mut self) -> Result<Argument, Problem> {
        let Some(kind) = self.peek().cloned() else {
            return Err(self.unexpected("an argument"));
        };
        match kind {
            Kind::Ellipsis => self.next += 1,
            Kind::Integer(number) => {
                self.next += 1;
                return Ok(Argument::Number(number));
            }
            Kind::Text(text) => {
                self.next += 1;
                // `"GET"...`: text that goes on.
                self.next += usize::from(self.peek() == Some(&Kind::Ellipsis));
                return Ok(Argument::Text(text));
            }
            Kind::Sign('[') => {
                self.next += 1;
                return Ok(Argument::List(self.arguments(']')?));
            }
            Kind::Sign('{') => return self.structure(),
            Kind::Word(_) => return self.names(),
            _ => return Err(self.unexpected("an argument")),
        }
        Ok(Argument::Unseen)
    }

    /// `O_RDWR|O_NONBLOCK`, `htons(80)` or `name = value`.
    fn names(&mut self) -> Result<Argument, Problem> {
        let mut names = Vec::new();
        while let Some(Kind::Word(word)) = self.peek().cloned() {
            self.next += 1;
            names.push(word);
            if self.accept('(') {
                self.arguments(')')?;
            }
            if self.accept('=') {
                return self.argument();
            }
            if !self.accept('|') {
                break;
            }
        }
        Ok(Argument::Names(names))
    }

    /// `{…}`, skipped: every bracket in it is closed.
    fn structure(&mut self) -> Result<Argument, Problem> {
        let at = self.at();
        let mut open = 0_u32;
        loop {
            match self.peek() {
                None => return Err(Problem::new(at, "this { has no }; close it")),
                Some(Kind::Sign('{')) => open += 1,
                Some(Kind::Sign('}')) => open -= 1,
                Some(_) => {}
            }
            self.next += 1;
            if open == 0 {
                return Ok(Argument::Structure);
            }
        }
    }

    /// `(Resource temporarily unavailable)`, for readers.
    fn note(&mut self) -> Result<(), Problem> {
        let at = self.at();
        if !self.accept('(') {
            return Ok(());
        }
        while !self.accept(')') {
            if self.peek().is_none() {
                return Err(Problem::new(at, "this ( has no ); close it"));
            }
            self.next += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse;
    use crate::script::Action;
    use fairway_units::Duration;

    fn call(text: &str) -> Result<Call, Problem> {
        match parse(text)?.events.remove(0).action {
            Action::Call(call) => Ok(call),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn arguments_results_and_errors() {
        let found =
            call("0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = -1 EBADF (Bad file)").expect("call");
        let names = |names: &[&str]| Argument::Names(names.iter().map(|&n| n.to_owned()).collect());
        let arguments =
            [Argument::Number(3), names(&["F_SETFL"]), names(&["O_RDWR", "O_NONBLOCK"])];
        assert_eq!(found.arguments, arguments);
        assert_eq!((found.result, found.errno.as_deref()), (-1, Some("EBADF")));
        let found =
            call("0 f(\"GET /\"..., {a, {b}}, [1, 2], ...) = 0x2 (flags O_RDWR)").expect("call");
        let list = Argument::List(vec![Argument::Number(1), Argument::Number(2)]);
        let arguments =
            [Argument::Text("GET /".into()), Argument::Structure, list, Argument::Unseen];
        assert_eq!(found.arguments, arguments);
        assert_eq!(found.result, 2);
    }

    #[test]
    fn a_call_may_take_time() {
        let found = call("+.1...0.25 accept(3, ..., ...) = 4").expect("call");
        assert_eq!(found.returns, Some(When::After(Duration::from_millis(250), None)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("0 write(4, ..., 10)", "what the call returns"),
            ("0 write(4, ..., 10) = x", "a whole number"),
            ("0 write(4 5) = 1", "another argument"),
            ("0 write({4) = 1", "no }"),
            ("0 write(4) = 1 (", "no )"),
        ] {
            let problem = call(text).expect_err(text);
            assert!(problem.message.contains(part), "{text}: {}", problem.message);
        }
        let deep = format!("0 f({}1{}) = 0", "[".repeat(100), "]".repeat(100));
        assert!(call(&deep).expect_err("deep").message.contains("too deeply"));
    }
}
