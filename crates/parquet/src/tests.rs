use std::borrow::Cow;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::{Column, ReadError, Values, hybrid, read, read_within, write};

fn column<'a>(name: &'a str, values: Values<'a>) -> Column<'a> {
    Column { name: Cow::Borrowed(name), values, present: None }
}

fn real(values: &[f64]) -> Values<'_> {
    Values::Real(Cow::Borrowed(values))
}

#[test]
fn numbers_that_repeat_are_a_run_and_others_groups_of_eight() {
    // Encodings.md: 0 to 7 in three bits each are 88 C6 FA, behind one group (1 << 1 | 1).
    assert_eq!(hybrid::encode(&[0, 1, 2, 3, 4, 5, 6, 7], 3), [3, 0x88, 0xC6, 0xFA]);
    // Nine times a five: 9 << 1, and a byte.
    assert_eq!(hybrid::encode(&[5; 9], 3), [18, 5]);
    assert_eq!(hybrid::decode(&[18, 5, 3, 0x88, 0xC6, 0xFA], 3, 12).unwrap()[8..], [5, 0, 1, 2]);
    // More in a run than there may be; a value of more bits; an end too early.
    assert_eq!(hybrid::decode(&[18, 5], 3, 8), None);
    assert_eq!(hybrid::decode(&[18, 9], 3, 9), None);
    assert_eq!(hybrid::decode(&[3, 0x88], 3, 8), None);
}

#[test]
fn widths_are_those_of_the_largest_number() {
    let found = [0, 1, 2, 3, 4, 5, 256, 257].map(hybrid::width);
    assert_eq!(found, [0, 0, 1, 2, 2, 3, 8, 9]);
}

#[test]
fn a_file_gives_its_columns_back() {
    let names = vec![Cow::Borrowed("a"), Cow::Borrowed("b")];
    let present = vec![true, false, true];
    let columns = [
        column("t_s", real(&[0.0, 0.1, 0.2])),
        Column {
            present: Some(Cow::Borrowed(&present)),
            ..column("drops", Values::Count(Cow::Borrowed(&[1, 0, u64::MAX])))
        },
        column("seed", Values::SmallCount(Cow::Borrowed(&[1, 1, u32::MAX]))),
        column("change", Values::Integer(Cow::Borrowed(&[-1, 0, i64::MAX]))),
        column("is_full", Values::Flag(Cow::Borrowed(&[true, false, true]))),
        column("flow", Values::Text(Cow::Borrowed(&[1, 0, 1]), names)),
    ];
    let found = read(&write(&columns)).unwrap();
    assert_eq!(found[..5], columns[..5]);
    // Names stand in the order in which they come.
    let Values::Text(codes, names) = &found[5].values else { panic!("no text") };
    assert_eq!((&codes[..], &names[..]), (&[0, 1, 0][..], &["b".into(), "a".into()][..]));
}

#[test]
fn what_is_no_number_has_no_value() {
    let names = vec![Cow::Borrowed("a")];
    let columns = [
        column("srtt_s", real(&[f64::NAN, 0.5])),
        column("cause", Values::Text(Cow::Borrowed(&[0, -1]), names)),
    ];
    let found = read(&write(&columns)).unwrap();
    assert_eq!(found[0].present.as_deref(), Some(&[false, true][..]));
    assert_eq!(found[1].present.as_deref(), Some(&[true, false][..]));
    let Values::Real(values) = &found[0].values else { panic!("no numbers") };
    assert!(values[0].is_nan() && values[1] == 0.5);
}

#[test]
fn tables_without_rows_or_columns_come_back() {
    assert_eq!(read(&write(&[])).unwrap(), []);
    let empty = [column("t_s", real(&[]))];
    assert_eq!(read(&write(&empty)).unwrap(), empty);
}

#[test]
fn rows_of_several_groups_stand_behind_each_other() {
    let times: Vec<f64> = (0..(1 << 20) + 5).map(f64::from).collect();
    let columns = [column("t_s", real(&times))];
    assert_eq!(read(&write(&columns)).unwrap(), columns);
}

#[test]
fn a_flipped_bit_of_a_page_is_found() {
    let times: Vec<f64> = (0..1000).map(|n| f64::from(n) * 0.1).collect();
    let file = write(&[column("t_s", real(&times))]);
    // The page's content begins behind its header, and is the first quarter of the file at least.
    for at in (60..file.len() / 2).step_by(7) {
        let mut damaged = file.clone();
        damaged[at] ^= 4;
        assert_eq!(read(&damaged), Err(ReadError::Damaged("pages")), "byte {at}");
    }
}

#[test]
fn a_file_cannot_ask_for_more_memory_than_it_may_have() {
    // 100,000 counts take 800,000 bytes in memory, and in a file a run of one value.
    let file = write(&[column("drops", Values::Count(Cow::Owned(vec![7; 100_000])))]);
    assert!(file.len() < 300 && read(&file).is_ok());
    assert_eq!(read_within(&file, 800_000), Err(ReadError::TooLarge(800_000)));
}

#[test]
fn bytes_that_hold_nothing_count_as_well() {
    // 8007 of the page, and 24 for each row: its value, whether it has one, and its bits. The page's
    // header and its bytes in the file come on top, as other columns may name the same page.
    let values: Vec<f64> = (0..1000).map(|n| f64::from(n).sqrt()).collect();
    let file = write(&[column("t_s", real(&values))]);
    let most = 8007 + 24 * 1000;
    assert!(file.len() > 4000);
    assert_eq!(read_within(&file, most), Err(ReadError::TooLarge(most)));
    assert!(read_within(&file, most + file.len()).is_ok());
}

#[test]
fn a_page_may_not_grow_beyond_the_size_that_it_says() {
    let mut file = write(&[column("t_s", real(&[0.5; 1000]))]);
    // The first page's size without compression, 8 bytes of levels and 8000 of values: field 2 of
    // its header, after the page's kind.
    let size = file.windows(2).position(|two| two == [0x15, 0x00]).unwrap() + 3;
    let mut said = &file[size..];
    assert_eq!(hybrid::read_varint(&mut said), Some(8007 << 1));
    file[size] -= 2;
    assert_eq!(read(&file), Err(ReadError::Damaged("pages")));
}

proptest! {
    #[test]
    fn any_numbers_come_back(
        reals in vec(any::<f64>().prop_filter("no number", |x| !x.is_nan()), 0..300),
        few in vec(0..4u64, 300), marks in vec(any::<bool>(), 300),
    ) {
        let rows = reals.len();
        let mut columns = [
            column("real", real(&reals)),
            column("few", Values::Count(Cow::Borrowed(&few[..rows]))),
            column("flag", Values::Flag(Cow::Borrowed(&marks[..rows]))),
        ];
        prop_assert_eq!(&read(&write(&columns)).unwrap()[..], &columns[..]);
        columns[1].present = Some(Cow::Borrowed(&marks[..rows]));
        let found = read(&write(&columns)).unwrap();
        let Values::Count(values) = &found[1].values else { panic!("no counts") };
        for row in 0..rows {
            let is_there = found[1].present.as_ref().is_none_or(|present| present[row]);
            prop_assert_eq!(is_there, marks[row]);
            prop_assert!(!is_there || values[row] == few[row]);
        }
    }

    #[test]
    fn no_bytes_bring_it_down(mut file in vec(any::<u8>(), 0..400)) {
        let _ = read(&file);
        file.splice(0..0, *b"PAR1");
        let length = file.len() as u32 - 4;
        file.extend(length.to_le_bytes());
        file.extend(*b"PAR1");
        let _ = read(&file);
    }

    #[test]
    fn no_damage_brings_it_down(at in any::<prop::sample::Index>(), bit in 0..8u32) {
        let names = vec![Cow::Borrowed("s1"), Cow::Borrowed("s2")];
        let mut file = write(&[
            column("t_s", real(&[0.0, f64::NAN, 1.0])),
            column("flow", Values::Text(Cow::Borrowed(&[0, 1, 1]), names)),
        ]);
        let at = at.index(file.len());
        file[at] ^= 1 << bit;
        let _ = read(&file);
    }
}
