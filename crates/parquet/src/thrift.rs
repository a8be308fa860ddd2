//! Structures in the compact protocol of Apache Thrift.

use crate::hybrid::{read_varint, varint};

/// Structures inside of each other; a file's metadata have six.
const MAX_DEPTH: u32 = 16;

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;

/// A value; a structure is its fields by their numbers, in their order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Thrift<'a> {
    Flag(bool),
    Byte(i8),
    /// A number of 32 bits; read, of any size.
    Number(i64),
    Long(i64),
    Bytes(&'a [u8]),
    List(Vec<Thrift<'a>>),
    Struct(Vec<(i16, Thrift<'a>)>),
}

impl<'a> Thrift<'a> {
    /// A field of a structure.
    pub(crate) fn field(&self, number: i16) -> Option<&Thrift<'a>> {
        let Thrift::Struct(fields) = self else { return None };
        fields.iter().find(|(known, _)| *known == number).map(|(_, value)| value)
    }

    pub(crate) fn number(&self, number: i16) -> Option<i64> {
        match self.field(number)? {
            Thrift::Number(value) => Some(*value),
            _ => None,
        }
    }

    /// A number that counts bytes, rows or values.
    pub(crate) fn size(&self, number: i16) -> Option<usize> {
        self.number(number).and_then(|value| usize::try_from(value).ok())
    }

    pub(crate) fn list(&self, number: i16) -> Option<&[Thrift<'a>]> {
        match self.field(number)? {
            Thrift::List(values) => Some(values),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&'a str> {
        match self {
            Thrift::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Thrift::Flag(true) => TRUE,
            Thrift::Flag(false) => FALSE,
            Thrift::Byte(_) => BYTE,
            Thrift::Number(_) => I32,
            Thrift::Long(_) => I64,
            Thrift::Bytes(_) => BINARY,
            Thrift::List(_) => LIST,
            Thrift::Struct(_) => STRUCT,
        }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Thrift::Flag(_) => {} // in the header of its field
            Thrift::Byte(value) => out.push(*value as u8),
            Thrift::Number(value) | Thrift::Long(value) => varint(out, zigzag(*value)),
            Thrift::Bytes(bytes) => {
                varint(out, bytes.len() as u64);
                out.extend_from_slice(bytes);
            }
            Thrift::List(values) => {
                let kind = values.first().map_or(STRUCT, Thrift::kind);
                if values.len() < 15 {
                    out.push((values.len() as u8) << 4 | kind);
                } else {
                    out.push(0xF0 | kind);
                    varint(out, values.len() as u64);
                }
                values.iter().for_each(|value| value.write(out));
            }
            Thrift::Struct(fields) => {
                let mut last = 0;
                for (number, value) in fields {
                    // At most 15 above the one before, so that the difference has room.
                    out.push(((number - last) as u8) << 4 | value.kind());
                    value.write(out);
                    last = *number;
                }
                out.push(0);
            }
        }
    }

    /// Reads a structure; none if it is damaged. Every value takes at least a byte, which bounds the
    /// memory.
    pub(crate) fn read(data: &mut &'a [u8]) -> Option<Thrift<'a>> {
        read_struct(data, MAX_DEPTH)
    }
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn read_struct<'a>(data: &mut &'a [u8], depth: u32) -> Option<Thrift<'a>> {
    let mut fields = Vec::new();
    let mut last = 0i16;
    loop {
        let header = read_byte(data)?;
        if header == 0 {
            return Some(Thrift::Struct(fields));
        }
        last = match header >> 4 {
            0 => i16::try_from(read_number(data)?).ok()?,
            more => last.checked_add(i16::from(more))?,
        };
        let value = match header & 0xF {
            TRUE => Thrift::Flag(true),
            FALSE => Thrift::Flag(false),
            kind => read_value(data, kind, depth)?,
        };
        fields.push((last, value));
    }
}

fn read_value<'a>(data: &mut &'a [u8], kind: u8, depth: u32) -> Option<Thrift<'a>> {
    let depth = depth.checked_sub(1)?;
    match kind {
        TRUE | FALSE => Some(Thrift::Flag(read_byte(data)? == TRUE)),
        BYTE => Some(Thrift::Byte(read_byte(data)? as i8)),
        I16 | I32 | I64 => read_number(data).map(Thrift::Number),
        DOUBLE => take(data, 8).map(Thrift::Bytes),
        BINARY => {
            let length = usize::try_from(read_varint(data)?).ok()?;
            take(data, length).map(Thrift::Bytes)
        }
        LIST | SET => {
            let header = read_byte(data)?;
            let length = match header >> 4 {
                15 => read_varint(data)?,
                length => u64::from(length),
            };
            (0..length)
                .map(|_| read_value(data, header & 0xF, depth))
                .collect::<Option<_>>()
                .map(Thrift::List)
        }
        STRUCT => read_struct(data, depth),
        _ => None, // maps, which Parquet does not use
    }
}

fn read_byte(data: &mut &[u8]) -> Option<u8> {
    take(data, 1).map(|bytes| bytes[0])
}

fn read_number(data: &mut &[u8]) -> Option<i64> {
    let value = read_varint(data)?;
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

fn take<'a>(data: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = data.split_at_checked(length)?;
    *data = rest;
    Some(taken)
}
