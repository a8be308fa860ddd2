//! Columns to the bytes of a file; the same columns always give the same bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::format::{
    BOOLEAN, BYTE_ARRAY, DATA_PAGE, DICTIONARY_PAGE, DOUBLE, GZIP, INT32, INT64, OPTIONAL, PLAIN,
    RLE, RLE_DICTIONARY, UINT_32, UINT_64, UTF8,
};
use crate::hybrid;
use crate::thrift::Thrift::{self, Bytes, Flag, List, Long, Number, Struct};
use crate::{Column, GROUP_ROWS, MAGIC, Values};

/// Different values of a column that has a dictionary: their indices take half of a number's bytes,
/// or less, and are mostly runs.
const MAX_DICTIONARY: usize = 1 << 16;

/// The file of a table. Its columns have the same number of rows, at least `present` where that is
/// given; a row whose index of a name is none of the names has no value.
pub fn write(columns: &[Column<'_>]) -> Vec<u8> {
    let rows = columns.first().map_or(0, |column| column.values.rows());
    let mut out = MAGIC.to_vec();
    let mut groups = Vec::new();
    for begin in (0..rows).step_by(GROUP_ROWS) {
        let end = rows.min(begin + GROUP_ROWS);
        let first = out.len();
        let chunks = columns.iter().map(|column| chunk(&mut out, column, begin, end)).collect();
        groups.push(Struct(vec![
            (1, List(chunks)),
            (2, Long((out.len() - first) as i64)),
            (3, Long((end - begin) as i64)),
        ]));
    }
    let root = Struct(vec![(4, Bytes(b"schema")), (5, Number(columns.len() as i64))]);
    let metadata = Struct(vec![
        (1, Number(1)),
        (2, List([root].into_iter().chain(columns.iter().map(element)).collect())),
        (3, Long(rows as i64)),
        (4, List(groups)),
        (6, Bytes(b"fairway")),
    ]);
    let first = out.len();
    metadata.write(&mut out);
    let length = (out.len() - first) as u32;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(MAGIC);
    out
}

/// The type of a column, its older name for what it means, and its newer one.
fn types(values: &Values<'_>) -> (i64, Option<(i64, Thrift<'static>)>) {
    let unsigned =
        |bits| Struct(vec![(10, Struct(vec![(1, Thrift::Byte(bits)), (2, Flag(false))]))]);
    match values {
        Values::Real(_) => (DOUBLE, None),
        Values::Integer(_) => (INT64, None),
        Values::Count(_) => (INT64, Some((UINT_64, unsigned(64)))),
        Values::SmallCount(_) => (INT32, Some((UINT_32, unsigned(32)))),
        Values::Flag(_) => (BOOLEAN, None),
        Values::Text(..) => (BYTE_ARRAY, Some((UTF8, Struct(vec![(1, Struct(vec![]))])))),
    }
}

fn element<'a>(column: &'a Column<'_>) -> Thrift<'a> {
    let (kind, meaning) = types(&column.values);
    let mut fields =
        vec![(1, Number(kind)), (3, Number(OPTIONAL)), (4, Bytes(column.name.as_bytes()))];
    if let Some((converted, logical)) = meaning {
        fields.extend([(6, Number(converted)), (10, logical)]);
    }
    Struct(fields)
}

/// Writes the pages of a column's rows; what the metadata say of them.
fn chunk<'a>(out: &mut Vec<u8>, column: &'a Column<'_>, begin: usize, end: usize) -> Thrift<'a> {
    let marked = column.present.as_ref().map(|present| &present[begin..end]);
    let is_marked = |row: usize| marked.is_none_or(|marked| marked[row]);
    let (present, values) = match &column.values {
        Values::Real(all) => {
            let all = &all[begin..end];
            let present = mark(end - begin, |row| is_marked(row) && !all[row].is_nan());
            let values = those_there(all, &present).flat_map(f64::to_le_bytes).collect();
            (present, Encoded::plain(values))
        }
        Values::Integer(all) => {
            let present = mark(end - begin, is_marked);
            let values = numbers(those_there(&all[begin..end], &present), i64::to_le_bytes);
            (present, values)
        }
        Values::Count(all) => {
            let present = mark(end - begin, is_marked);
            let values = numbers(those_there(&all[begin..end], &present), u64::to_le_bytes);
            (present, values)
        }
        Values::SmallCount(all) => {
            let present = mark(end - begin, is_marked);
            let values = numbers(those_there(&all[begin..end], &present), u32::to_le_bytes);
            (present, values)
        }
        Values::Flag(all) => {
            let present = mark(end - begin, is_marked);
            let flags: Vec<bool> = those_there(&all[begin..end], &present).collect();
            (present, Encoded::plain(flags.chunks(8).map(byte_of).collect()))
        }
        Values::Text(codes, names) => {
            let codes = &codes[begin..end];
            let is_name = |code: i32| usize::try_from(code).is_ok_and(|code| code < names.len());
            let present = mark(end - begin, |row| is_marked(row) && is_name(codes[row]));
            (present.clone(), words(those_there(codes, &present), names))
        }
    };
    pages(out, column, &present, values)
}

fn mark(rows: usize, is_present: impl Fn(usize) -> bool) -> Vec<u32> {
    (0..rows).map(|row| u32::from(is_present(row))).collect()
}

fn those_there<T: Copy>(values: &[T], present: &[u32]) -> impl Iterator<Item = T> + Clone {
    values.iter().zip(present).filter(|(_, present)| **present != 0).map(|(value, _)| *value)
}

fn byte_of(flags: &[bool]) -> u8 {
    flags.iter().enumerate().fold(0, |byte, (at, flag)| byte | u8::from(*flag) << at)
}

/// The values of a chunk that are there.
struct Encoded {
    /// How many words a dictionary has, and these.
    dictionary: Option<(usize, Vec<u8>)>,
    values: Vec<u8>,
}

impl Encoded {
    fn plain(values: Vec<u8>) -> Encoded {
        Encoded { dictionary: None, values }
    }

    fn by_dictionary(count: usize, words: Vec<u8>, places: &[u32]) -> Encoded {
        let width = hybrid::width(count).max(1);
        let mut values = vec![width as u8];
        values.extend(hybrid::encode(places, width));
        Encoded { dictionary: Some((count, words)), values }
    }
}

fn numbers<T: Copy + Ord, const N: usize>(
    values: impl Iterator<Item = T> + Clone,
    bytes: fn(T) -> [u8; N],
) -> Encoded {
    // Counters that always grow are found out early.
    let most = MAX_DICTIONARY.min(values.clone().count() / 4);
    match Dictionary::of(values.clone(), most) {
        Some(Dictionary { words, places }) => {
            let plain = words.iter().copied().flat_map(bytes).collect();
            Encoded::by_dictionary(words.len(), plain, &places)
        }
        None => Encoded::plain(values.flat_map(bytes).collect()),
    }
}

/// Names by their indices, all of which there are; only those that occur are in the dictionary.
fn words(codes: impl Iterator<Item = i32>, names: &[Cow<'_, str>]) -> Encoded {
    let mut known = vec![None; names.len()];
    let (mut words, mut count, mut places) = (Vec::new(), 0, Vec::new());
    for code in codes {
        let place = *known[code as usize].get_or_insert_with(|| {
            let name = names[code as usize].as_bytes();
            words.extend_from_slice(&(name.len() as u32).to_le_bytes());
            words.extend_from_slice(name);
            count += 1;
            count - 1
        });
        places.push(place);
    }
    Encoded::by_dictionary(count as usize, words, &places)
}

/// Different values in the order in which they come, and the place of each.
struct Dictionary<T> {
    words: Vec<T>,
    places: Vec<u32>,
}

impl<T: Copy + Ord> Dictionary<T> {
    /// None if it would have more than `most` values.
    fn of(values: impl Iterator<Item = T>, most: usize) -> Option<Dictionary<T>> {
        let mut found = Dictionary { words: Vec::new(), places: Vec::new() };
        let mut known: BTreeMap<T, u32> = BTreeMap::new();
        let mut last: Option<(T, u32)> = None;
        for value in values {
            let place = match last {
                Some((before, place)) if before == value => place,
                _ => *known.entry(value).or_insert(found.words.len() as u32),
            };
            if place as usize == found.words.len() {
                if found.words.len() == most {
                    return None;
                }
                found.words.push(value);
            }
            found.places.push(place);
            last = Some((value, place));
        }
        Some(found)
    }
}

fn pages<'a>(
    out: &mut Vec<u8>,
    column: &'a Column<'_>,
    present: &[u32],
    encoded: Encoded,
) -> Thrift<'a> {
    let begin = out.len();
    let mut plain_bytes = 0;
    let mut encoding = PLAIN;
    if let Some((count, words)) = encoded.dictionary {
        encoding = RLE_DICTIONARY;
        let header = Struct(vec![(1, Number(count as i64)), (2, Number(PLAIN))]);
        plain_bytes += page(out, DICTIONARY_PAGE, (7, header), &words);
    }
    let data_at = out.len();
    let levels = hybrid::encode(present, 1);
    let mut content = (levels.len() as u32).to_le_bytes().to_vec();
    content.extend(levels);
    content.extend(encoded.values);
    let header = Struct(vec![
        (1, Number(present.len() as i64)),
        (2, Number(encoding)),
        (3, Number(RLE)),
        (4, Number(RLE)),
    ]);
    plain_bytes += page(out, DATA_PAGE, (5, header), &content);
    let mut said = vec![
        (1, Number(types(&column.values).0)),
        (
            2,
            List(
                [PLAIN, RLE, encoding][..if encoding == PLAIN { 2 } else { 3 }]
                    .iter()
                    .map(|one| Number(*one))
                    .collect(),
            ),
        ),
        (3, List(vec![Bytes(column.name.as_bytes())])),
        (4, Number(GZIP)),
        (5, Long(present.len() as i64)),
        (6, Long(plain_bytes as i64)),
        (7, Long((out.len() - begin) as i64)),
        (9, Long(data_at as i64)),
    ];
    if data_at > begin {
        said.push((11, Long(begin as i64)));
    }
    Struct(vec![(2, Long(begin as i64)), (3, Struct(said))])
}

/// Writes a page; its bytes with its header, as they would be without compression.
fn page(out: &mut Vec<u8>, kind: i64, header: (i16, Thrift<'_>), content: &[u8]) -> usize {
    let compressed = compressed(content);
    let begin = out.len();
    Struct(vec![
        (1, Number(kind)),
        (2, Number(content.len() as i64)),
        (3, Number(compressed.len() as i64)),
        header,
    ])
    .write(out);
    let header_bytes = out.len() - begin;
    out.extend(compressed);
    header_bytes + content.len()
}

fn compressed(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    written.expect("a vector takes every byte")
}
