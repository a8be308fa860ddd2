//! JSON with the bytes that Python's `json` writes, so that a summary is the same whoever wrote it.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::{Serializer, Value};

/// A value as `json.dumps` writes it with `separators=(",", ":")` and `ensure_ascii=False`.
///
/// # Errors
/// A key that is no text.
pub fn compact(value: &impl Serialize) -> serde_json::Result<String> {
    let mut text = Vec::with_capacity(4096);
    value.serialize(&mut Serializer::with_formatter(&mut text, Python))?;
    String::from_utf8(text).map_err(serde::ser::Error::custom)
}

/// A value as `json.dumps` writes it with `separators=(",", ":")` and `sort_keys=True`: the same for
/// all that are equal.
///
/// # Errors
/// Never of plain data.
pub fn canonical(value: &Value) -> serde_json::Result<String> {
    let mut value = value.clone();
    value.sort_all_objects();
    let mut text = Vec::with_capacity(1024);
    value.serialize(&mut Serializer::with_formatter(&mut text, Ascii))?;
    String::from_utf8(text).map_err(serde::ser::Error::custom)
}

struct Python;

impl Formatter for Python {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write_number(writer, value)
    }
}

/// The same in ASCII.
struct Ascii;

impl Formatter for Ascii {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write_number(writer, value)
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let is_plain = |byte: &u8| (b' '..0x7f).contains(byte);
        if fragment.as_bytes().iter().all(is_plain) {
            return writer.write_all(fragment.as_bytes());
        }
        for unit in fragment.encode_utf16() {
            match u8::try_from(unit) {
                Ok(byte) if is_plain(&byte) => writer.write_all(&[byte])?,
                _ => write!(writer, "\\u{unit:04x}")?,
            }
        }
        Ok(())
    }
}

fn write_number<W: ?Sized + io::Write>(writer: &mut W, value: f64) -> io::Result<()> {
    // Within these bounds both write the shortest digits without an exponent (CPython's
    // Objects/floatobject.c, `float_repr`: format "r").
    if value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
        return CompactFormatter.write_f64(writer, value);
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, size) = match exponent.strip_prefix('-') {
        Some(size) => ('-', size),
        None => ('+', exponent),
    };
    write!(writer, "{digits}e{sign}{size:0>2}")
}

/// Adds compact JSON with a space after every comma and colon, as `json.dumps` writes it by default.
pub fn spaced(compact: &[u8], text: &mut Vec<u8>) {
    let (mut quoted, mut escaped, mut written) = (false, false, 0);
    for (place, &byte) in compact.iter().enumerate() {
        if escaped {
            escaped = false;
        } else if byte == b'"' {
            quoted = !quoted;
        } else if quoted {
            escaped = byte == b'\\';
        } else if byte == b',' || byte == b':' {
            text.extend_from_slice(&compact[written..=place]);
            text.push(b' ');
            written = place + 1;
        }
    }
    text.extend_from_slice(&compact[written..]);
}

/// Compact JSON as `json.dumps` writes it with `indent=2`.
pub fn indented(compact: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(2 * compact.len());
    let (mut quoted, mut escaped, mut depth) = (false, false, 0_usize);
    let mut bytes = compact.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if quoted {
            quoted = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            text.push(byte);
            continue;
        }
        quoted = byte == b'"';
        match byte {
            b'{' | b'[' if bytes.peek().is_some_and(|next| matches!(next, b'}' | b']')) => {
                text.push(byte);
                text.extend(bytes.next());
            }
            b'{' | b'[' => {
                depth += 1;
                text.push(byte);
                new_line(&mut text, depth);
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut text, depth);
                text.push(byte);
            }
            b',' => {
                text.push(byte);
                new_line(&mut text, depth);
            }
            b':' => text.extend(b": "),
            _ => text.push(byte),
        }
    }
    text
}

fn new_line(text: &mut Vec<u8>, depth: usize) {
    text.push(b'\n');
    text.resize(text.len() + 2 * depth, b' ');
}

/// JSON with a single 1 for all digits of a number, of its fraction or of its exponent: the same for all
/// that differ in their numbers alone. It is no JSON where the other is none.
pub fn outline(json: &[u8]) -> Vec<u8> {
    let mut outline = Vec::with_capacity(json.len());
    let (mut quoted, mut escaped, mut is_zero, mut before) = (false, false, false, b' ');
    for &byte in json {
        if quoted {
            quoted = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            outline.push(byte);
        } else if !byte.is_ascii_digit() {
            quoted = byte == b'"';
            outline.push(byte);
        } else if !before.is_ascii_digit() {
            is_zero = byte == b'0' && before != b'.';
            outline.push(b'1');
        } else if is_zero {
            // After a zero there are no digits, but in an exponent.
            outline.pop();
            outline.extend([b'0', byte]);
            is_zero = false;
        }
        before = byte;
    }
    outline
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        // Python 3.11: json.dumps([...], separators=(",", ":")).
        let numbers = json!([
            0.0,
            -0.0,
            1e-4,
            9.5e-5,
            -1.25e-7,
            1e15,
            9007199254740993.0,
            1e16,
            1.5e22,
            1e100,
            5e-324,
            0.1,
            12000000.0,
            7,
            -3,
            18446744073709551615_u64
        ]);
        let expected = "[0.0,-0.0,0.0001,9.5e-05,-1.25e-07,1000000000000000.0,9007199254740992.0,\
                        1e+16,1.5e+22,1e+100,5e-324,0.1,12000000.0,7,-3,18446744073709551615]";
        assert_eq!(compact(&numbers).expect("plain"), expected);
    }

    #[test]
    fn text_is_written_as_python_writes_it() {
        // json.dumps("ü\"\\\n\x1f\x7f", ensure_ascii=False)
        let text = compact(&"ü\"\\\n\u{1f}\u{7f}").expect("plain");
        assert_eq!(text, "\"ü\\\"\\\\\\n\\u001f\u{7f}\"");
    }

    #[test]
    fn what_is_equal_is_written_the_same_in_ascii() {
        // json.dumps({"b": "ü\x7f😀", "a": {"z": 1e-7, "y": [True]}}, sort_keys=True, separators=...)
        let value = json!({"b": "ü\u{7f}😀", "a": {"z": 1e-7, "y": [true]}});
        let expected = r#"{"a":{"y":[true],"z":1e-07},"b":"\u00fc\u007f\ud83d\ude00"}"#;
        assert_eq!(canonical(&value).expect("plain"), expected);
    }

    #[test]
    fn what_is_inside_stands_further_in() {
        // json.dumps({"a": [1, {"b,:{": "\\"}], "c": [], "d": {}, "e": [[]]}, indent=2)
        let compact = br#"{"a":[1,{"b,:{":"\\"}],"c":[],"d":{},"e":[[]]}"#;
        let expected = "{\n  \"a\": [\n    1,\n    {\n      \"b,:{\": \"\\\\\"\n    }\n  ],\n  \
                        \"c\": [],\n  \"d\": {},\n  \"e\": [\n    []\n  ]\n}";
        assert_eq!(String::from_utf8(indented(compact)).expect("UTF-8"), expected);
    }

    #[test]
    fn an_outline_has_no_digits_of_numbers() {
        let json = br#"{"p50":[12,-305.075,0,0.25,1e-07,2.5E+10],"a\"7":"1.25"}"#;
        let expected = br#"{"p50":[1,-1.1,1,1.1,1e-07,1.1E+1],"a\"7":"1.25"}"#;
        assert_eq!(outline(json), expected);
        // No number begins with a zero before another digit.
        assert_eq!(outline(b"[012]"), b"[01]");
    }

    #[test]
    fn spaces_stand_between_values_and_not_in_text() {
        let compact = br#"{"a,b:\"c\\":[1,{"d":null}],"e":"\\"}"#;
        let mut text = b"x".to_vec();
        spaced(compact, &mut text);
        assert_eq!(text, br#"x{"a,b:\"c\\": [1, {"d": null}], "e": "\\"}"#);
    }
}
