//! The list of packets that did not arrive, as a file of a run directory: little-endian, a time of 8 bytes
//! (seconds), path and link of 4 each, and a cause of 1.

use std::io::{self, ErrorKind, Read, Write};

use fairway_schema::Losses;

/// Writes the rows of a list.
///
/// # Errors
/// Those of the writer.
pub fn write(losses: &Losses, to: &mut impl Write) -> io::Result<()> {
    for (row, t_s) in losses.t_s.iter().enumerate() {
        to.write_all(&t_s.to_le_bytes())?;
        to.write_all(&losses.flow[row].to_le_bytes())?;
        to.write_all(&losses.link[row].to_le_bytes())?;
        to.write_all(&[losses.cause[row]])?;
    }
    to.flush()
}

/// Reads a list of at most `most` rows, whose paths, links and causes are below these.
///
/// # Errors
/// Those of the reader, and a row that is none.
pub fn read(from: &mut impl Read, below: [u32; 3], most: u64) -> io::Result<Losses> {
    let mut losses = Losses::default();
    for _ in 0..most {
        let mut row = [0; 17];
        match from.read(&mut row[..1])? {
            0 => return Ok(losses),
            _ => from.read_exact(&mut row[1..])?,
        }
        let [a, b, c, d, e, f, g, h, p0, p1, p2, p3, l0, l1, l2, l3, cause] = row;
        let path = u32::from_le_bytes([p0, p1, p2, p3]);
        let link = u32::from_le_bytes([l0, l1, l2, l3]);
        if [path, link, u32::from(cause)].iter().zip(below).any(|(found, below)| *found >= below) {
            return Err(io::Error::new(ErrorKind::InvalidData, "a loss of no flow or link"));
        }
        losses.t_s.push(f64::from_le_bytes([a, b, c, d, e, f, g, h]));
        losses.flow.push(path);
        losses.link.push(link);
        losses.cause.push(cause);
    }
    match from.read(&mut [0])? {
        0 => Ok(losses),
        _ => Err(io::Error::new(ErrorKind::InvalidData, "more losses than are listed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let (t_s, flow, link, cause) = (vec![0.5, 1.25], vec![0, 3], vec![1, 0], vec![2, 0]);
        let losses = Losses { t_s, flow, link, cause, left_out: 0 };
        let mut bytes = Vec::new();
        write(&losses, &mut bytes).unwrap();
        assert_eq!(bytes.len(), 2 * 17);
        assert_eq!(read(&mut &bytes[..], [4, 2, 3], 2).unwrap(), losses);
        for (bytes, below, most) in [
            (&bytes[..33], [4, 2, 3], 2),
            (&bytes[..], [3, 2, 3], 2),
            (&bytes[..], [4, 1, 3], 2),
            (&bytes[..], [4, 2, 2], 2),
            (&bytes[..], [4, 2, 3], 1),
        ] {
            assert!(read(&mut &bytes[..], below, most).is_err());
        }
    }
}
