//! The textbook's Laplace mechanism in Rust, for `attacklab audit --exec`. Its outputs are those of exec_laplace.py, but
//! for the last bit of a logarithm; docs/reference/protocol.md describes the protocol. It answers with the bytes of an array.
//!
//!     rustc -O -o exec_laplace examples/exec_laplace.rs
//!     attacklab audit --exec ./exec_laplace --kind noise --epsilon 1
//!
//! The fields of a request are in a fixed order and spacing, so no JSON library is needed.

use std::io::{self, BufRead, Write};

const SCALE: f64 = 1.0;

/// SplitMix64 (Steele, Lea and Flood 2014).
fn next_word(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

fn laplace(answer: f64, state: &mut u64) -> f64 {
    let word = next_word(state);
    let uniform = ((word >> 11) + 1) as f64 * 2f64.powi(-53);
    let noise = -SCALE * uniform.ln();
    if word & 1 == 1 { answer + noise } else { answer - noise }
}

/// The value of a key, up to the comma or brace after it.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line.split_once(key)?.1;
    rest.split([',', '}']).next()
}

/// "-0x1.8p+1", "inf" or an integer as a number.
fn number(text: &str) -> Option<f64> {
    let text = text.trim_matches('"');
    let Some((sign, hex)) = text.split_once("0x") else { return text.parse().ok() };
    let (digits, power) = hex.split_once('p')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let significand = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()? as f64;
    let exponent = power.parse::<i32>().ok()? - 4 * fraction.len() as i32;
    let high = exponent.max(-1022);
    let size = significand * 2f64.powi(high) * 2f64.powi(exponent - high);
    Some(if sign == "-" { -size } else { size })
}

fn answered(line: &str, out: &mut impl Write) -> Option<io::Result<()>> {
    if !line.contains("\"kind\": \"noise\"") {
        return None;
    }
    let answer = number(value(line, "\"input\": ")?)?;
    let trials: usize = value(line, "\"trials\": ")?.parse().ok()?;
    let mut state: u64 = value(line, "\"seed\": ")?.parse().ok()?;
    let mut written = write!(out, "{{\"values\": {{\"array\": \"f8\", \"shape\": [{trials}], \"bytes\": \"");
    for _ in 0..trials {
        let bits = laplace(answer, &mut state).to_bits().swap_bytes();
        written = written.and_then(|()| write!(out, "{bits:016x}"));
    }
    Some(written.and_then(|()| writeln!(out, "\"}}}}")))
}

fn main() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        match answered(&line?, &mut out) {
            Some(written) => written?,
            None => writeln!(out, "{{\"error\": \"the Laplace mechanism adds noise; it does not answer this request\"}}")?,
        }
        out.flush()?;
    }
    Ok(())
}
