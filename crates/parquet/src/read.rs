//! The bytes of a file to columns, and nothing that `write` does not write but for its choices.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use thiserror::Error;

use crate::format::{
    BOOLEAN, BYTE_ARRAY, DATA_PAGE, DICTIONARY_PAGE, DOUBLE, GZIP, INT32, INT64, PLAIN,
    PLAIN_DICTIONARY, RLE, RLE_DICTIONARY, UINT_32, UINT_64, UNCOMPRESSED, UTF8,
};
use crate::thrift::Thrift;
use crate::{Column, MAGIC, Values, hybrid};

/// Bytes in memory for each byte of a file: deflate makes 1032 of one at most
/// (<https://zlib.net/zlib_tech.html>), and tables of real runs have less than a hundred.
const MOST_EXPANSION: usize = 1100;
/// As much is always allowed: columns of few different values take next to nothing in a file.
const ALWAYS_BYTES: usize = 256 << 20;

/// Why a file is no table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// It is not what the format says.
    #[error("damaged at its {0}")]
    Damaged(&'static str),
    /// It is Parquet of another kind than Fairway's.
    #[error("it has {0}, which tables of Fairway do not have")]
    Foreign(String),
    /// It says that it has more than a file of its size holds.
    #[error(
        "its tables would take more than {0} bytes of memory, more than a file of its size holds"
    )]
    TooLarge(usize),
}

use ReadError::{Damaged, Foreign};

type Found<T> = Result<T, ReadError>;

/// The columns of a file.
pub fn read(file: &[u8]) -> Found<Vec<Column<'static>>> {
    read_within(file, ALWAYS_BYTES.max(file.len().saturating_mul(MOST_EXPANSION)))
}

/// The same with about so many bytes of memory at most, beside what the metadata take.
pub fn read_within(file: &[u8], most: usize) -> Found<Vec<Column<'static>>> {
    let metadata = metadata(file)?;
    let mut elements = metadata.list(2).ok_or(Damaged("schema"))?.iter();
    let root = elements.next().ok_or(Damaged("schema"))?;
    if root.size(5) != Some(elements.len()) {
        return Err(Foreign("columns inside of columns".into()));
    }
    let mut columns = elements.map(Reader::of).collect::<Found<Vec<_>>>()?;
    let mut budget = Budget { most, left: most };
    let mut rows = 0usize;
    for group in metadata.list(4).ok_or(Damaged("row groups"))? {
        let count = group.size(3).ok_or(Damaged("row groups"))?;
        let chunks = group.list(1).ok_or(Damaged("row groups"))?;
        if chunks.len() != columns.len() {
            return Err(Damaged("row groups"));
        }
        for (column, chunk) in columns.iter_mut().zip(chunks) {
            let said = chunk.field(3).ok_or(Damaged("row groups"))?;
            column.read_chunk(file, said, count, &mut budget)?;
        }
        rows = rows.saturating_add(count);
    }
    if metadata.size(3) != Some(rows) {
        return Err(Damaged("number of rows"));
    }
    Ok(columns.into_iter().map(Reader::finish).collect())
}

fn metadata(file: &[u8]) -> Found<Thrift<'_>> {
    let content = file.strip_prefix(MAGIC).and_then(|rest| rest.strip_suffix(MAGIC));
    let content = content.ok_or(Damaged("first or last bytes"))?;
    let (rest, length) = content.split_last_chunk::<4>().ok_or(Damaged("end"))?;
    let begin = rest.len().checked_sub(u32::from_le_bytes(*length) as usize);
    let mut metadata = &rest[begin.ok_or(Damaged("end"))?..];
    Thrift::read(&mut metadata).ok_or(Damaged("metadata"))
}

/// Memory that a file may still take.
struct Budget {
    most: usize,
    left: usize,
}

impl Budget {
    fn take(&mut self, bytes: usize) -> Found<()> {
        self.left = self.left.checked_sub(bytes).ok_or(ReadError::TooLarge(self.most))?;
        Ok(())
    }
}

/// A column on its way; of rows without a value it has some value.
struct Reader {
    name: String,
    is_optional: bool,
    values: Values<'static>,
    present: Vec<bool>,
    /// Of text, the indices of names.
    names: BTreeMap<String, i32>,
}

impl Reader {
    fn of(element: &Thrift<'_>) -> Found<Reader> {
        let name = element.field(4).and_then(Thrift::text).ok_or(Damaged("schema"))?.to_owned();
        let values = match (element.number(1), element.number(6)) {
            (Some(DOUBLE), None) => Values::Real(Cow::default()),
            (Some(INT64), Some(UINT_64)) => Values::Count(Cow::default()),
            (Some(INT64), None) => Values::Integer(Cow::default()),
            (Some(INT32), Some(UINT_32)) => Values::SmallCount(Cow::default()),
            (Some(BOOLEAN), None) => Values::Flag(Cow::default()),
            (Some(BYTE_ARRAY), Some(UTF8)) => Values::Text(Cow::default(), Vec::new()),
            _ => return Err(Foreign(format!("a column {name:?} of another type"))),
        };
        let is_optional = match element.number(3) {
            Some(0) => false,
            Some(1) => true,
            _ => return Err(Foreign(format!("a column {name:?} of lists"))),
        };
        let (present, names) = (Vec::new(), BTreeMap::new());
        Ok(Reader { name, is_optional, values, present, names })
    }

    fn finish(self) -> Column<'static> {
        let mut values = self.values;
        if let Values::Text(_, names) = &mut values {
            let mut found: Vec<(String, i32)> = self.names.into_iter().collect();
            found.sort_by_key(|(_, index)| *index);
            *names = found.into_iter().map(|(name, _)| Cow::Owned(name)).collect();
        }
        let present =
            self.present.iter().any(|present| !present).then_some(Cow::Owned(self.present));
        Column { name: Cow::Owned(self.name), values, present }
    }

    fn read_chunk(
        &mut self,
        file: &[u8],
        said: &Thrift<'_>,
        rows: usize,
        budget: &mut Budget,
    ) -> Found<()> {
        let path = said.list(3).ok_or(Damaged("columns"))?;
        if !matches!(path, [name] if name.text() == Some(&self.name)) {
            return Err(Damaged("columns"));
        }
        let codec = said.number(4).ok_or(Damaged("columns"))?;
        if codec != GZIP && codec != UNCOMPRESSED {
            return Err(Foreign(format!("pages compressed by method {codec}")));
        }
        let begin = said.size(11).or(said.size(9)).ok_or(Damaged("columns"))?;
        let mut rest = file.get(begin..).ok_or(Damaged("columns"))?;
        let mut dictionary = None;
        let mut left = rows;
        while left > 0 {
            let before = rest.len();
            let header = Thrift::read(&mut rest).ok_or(Damaged("pages"))?;
            let compressed = header.size(3).and_then(|size| rest.split_at_checked(size));
            let (compressed, after) = compressed.ok_or(Damaged("pages"))?;
            rest = after;
            let size = header.size(2).ok_or(Damaged("pages"))?;
            // Many columns may name one page, so its bytes in the file count each time: they take
            // time to read, even where they hold nothing.
            budget.take(size.saturating_add(before - rest.len()))?;
            let content = if codec == GZIP { &inflated(compressed, size)? } else { compressed };
            match header.number(1) {
                Some(DICTIONARY_PAGE) if dictionary.is_none() => {
                    let said = header.field(7).ok_or(Damaged("dictionary"))?;
                    let count = said.size(1).ok_or(Damaged("dictionary"))?;
                    dictionary = Some(self.plain(content, count, budget)?);
                }
                Some(DATA_PAGE) => {
                    let said = header.field(5).ok_or(Damaged("pages"))?;
                    let count = said.size(1).filter(|count| (1..=left).contains(count));
                    let count = count.ok_or(Damaged("pages"))?;
                    self.read_page(content, said, count, dictionary.as_ref(), budget)?;
                    left -= count;
                }
                _ => return Err(Foreign("pages of another kind".into())),
            }
        }
        Ok(())
    }

    fn read_page(
        &mut self,
        mut content: &[u8],
        said: &Thrift<'_>,
        count: usize,
        dictionary: Option<&Plain>,
        budget: &mut Budget,
    ) -> Found<()> {
        // Of every row its value, whether it has one, and its number in the levels.
        budget.take(count.saturating_mul(16))?;
        let present = if self.is_optional {
            if said.number(3) != Some(RLE) {
                return Err(Foreign("levels of another encoding".into()));
            }
            let (length, rest) = content.split_first_chunk::<4>().ok_or(Damaged("levels"))?;
            let levels = rest.split_at_checked(u32::from_le_bytes(*length) as usize);
            let (levels, rest) = levels.ok_or(Damaged("levels"))?;
            content = rest;
            hybrid::decode(levels, 1, count).ok_or(Damaged("levels"))?
        } else {
            vec![1; count]
        };
        let some = present.iter().filter(|present| **present != 0).count();
        let plain = match said.number(2) {
            Some(PLAIN) => self.plain(content, some, budget)?,
            Some(RLE_DICTIONARY | PLAIN_DICTIONARY) if some == 0 => Plain::default(),
            Some(RLE_DICTIONARY | PLAIN_DICTIONARY) => {
                let words = dictionary.ok_or(Damaged("dictionary"))?;
                let (width, places) = content.split_first().ok_or(Damaged("values"))?;
                budget.take(some.saturating_mul(12))?;
                let places = hybrid::decode(places, u32::from(*width), some);
                words.at(&places.ok_or(Damaged("values"))?).ok_or(Damaged("values"))?
            }
            _ => return Err(Foreign("values of another encoding".into())),
        };
        self.append(&present, &plain.0);
        self.present.extend(present.iter().map(|present| *present != 0));
        Ok(())
    }

    /// Adds the values of a page, as bits of 64.
    fn append(&mut self, present: &[u32], values: &[u64]) {
        let mut values = values.iter();
        let rows = present.iter().map(|present| match present {
            0 => None,
            _ => values.next().copied(),
        });
        match &mut self.values {
            Values::Real(all) => {
                all.to_mut().extend(rows.map(|bits| bits.map_or(f64::NAN, f64::from_bits)));
            }
            Values::Integer(all) => all.to_mut().extend(rows.map(|v| v.unwrap_or(0) as i64)),
            Values::Count(all) => all.to_mut().extend(rows.map(|v| v.unwrap_or(0))),
            Values::SmallCount(all) => all.to_mut().extend(rows.map(|v| v.unwrap_or(0) as u32)),
            Values::Flag(all) => all.to_mut().extend(rows.map(|v| v.unwrap_or(0) != 0)),
            Values::Text(codes, _) => {
                codes.to_mut().extend(rows.map(|v| v.map_or(-1, |index| index as i32)));
            }
        }
    }

    /// Values that stand in a page one after the other.
    fn plain(&mut self, content: &[u8], count: usize, budget: &mut Budget) -> Found<Plain> {
        budget.take(count.saturating_mul(8))?;
        let enough = |bytes: usize| content.len() / bytes >= count;
        let found = match &self.values {
            Values::Real(_) | Values::Integer(_) | Values::Count(_) if enough(8) => {
                let words = content.as_chunks::<8>().0.iter();
                words.take(count).map(|bytes| u64::from_le_bytes(*bytes)).collect()
            }
            Values::SmallCount(_) if enough(4) => {
                let words = content.as_chunks::<4>().0.iter();
                words.take(count).map(|bytes| u64::from(u32::from_le_bytes(*bytes))).collect()
            }
            Values::Flag(_) if content.len() >= count.div_ceil(8) => {
                (0..count).map(|at| u64::from(content[at / 8] >> (at % 8) & 1)).collect()
            }
            Values::Text(..) => self.words(content, count, budget)?,
            _ => return Err(Damaged("values")),
        };
        Ok(Plain(found))
    }

    fn words(&mut self, mut content: &[u8], count: usize, budget: &mut Budget) -> Found<Vec<u64>> {
        let mut found = Vec::new();
        for _ in 0..count {
            let (length, rest) = content.split_first_chunk::<4>().ok_or(Damaged("text"))?;
            let word = rest.split_at_checked(u32::from_le_bytes(*length) as usize);
            let (word, rest) = word.ok_or(Damaged("text"))?;
            content = rest;
            let word = std::str::from_utf8(word).map_err(|_| Damaged("text"))?;
            let next = self.names.len();
            let index = match self.names.get(word) {
                Some(index) => *index,
                None => {
                    // A name and its place in the map.
                    budget.take(word.len() + 64)?;
                    let index = i32::try_from(next).map_err(|_| Damaged("text"))?;
                    self.names.insert(word.to_owned(), index);
                    index
                }
            };
            found.push(index as u64);
        }
        Ok(found)
    }
}

/// Values as 64 bits: a real number's, a whole number, or the index of a name.
#[derive(Default)]
struct Plain(Vec<u64>);

impl Plain {
    /// The values at these places, all of which there have to be.
    fn at(&self, places: &[u32]) -> Option<Plain> {
        let values = places.iter().map(|place| self.0.get(*place as usize).copied());
        values.collect::<Option<_>>().map(Plain)
    }
}

/// What is compressed, if it has that size and its checksum is right.
fn inflated(compressed: &[u8], size: usize) -> Found<Vec<u8>> {
    let mut content = Vec::new();
    let mut decoder = GzDecoder::new(compressed).take(size as u64 + 1);
    match decoder.read_to_end(&mut content) {
        Ok(found) if found == size => Ok(content),
        _ => Err(Damaged("pages")),
    }
}
