//! Discrete Laplace noise as Rust libraries sample it, exact and naive, held to the vectors.
//!
//!     cargo run --release --example laplace exact ../../law.json ../../calibration.json    (or naive)
use std::{env, process::ExitCode};
use vectors::{check, float, hex, limit, rational, Implementation, Question, Random};

/// The mechanism of a library whose integers come from whole bytes.
pub struct Laplace {
    pub is_naive: bool,
}

impl Laplace {
    /// An integer below a bound. The flaw: the remainder of random bytes, so that small integers are too frequent.
    fn below(&self, bound: u128, random: &mut Random) -> u128 {
        let bytes = (128 - bound.leading_zeros()).div_ceil(8);
        if self.is_naive { (u128::from(random.word()) & ((1 << (8 * bytes)) - 1)) % bound } else { random.below(bound) }
    }
    /// True with probability n/d.
    fn bernoulli(&self, n: u128, d: u128, random: &mut Random) -> bool {
        if self.is_naive { self.below(d, random) < n } else { random.coin(n, d) }
    }
    /// True with probability e^(-n/d): Canonne, Kamath and Steinke 2020, algorithm 1.
    fn bernoulli_exp(&self, mut n: u128, d: u128, random: &mut Random) -> bool {
        while n > d {
            if !self.bernoulli_exp(1, 1, random) {
                return false;
            }
            n -= d;
        }
        let mut failure = 1;
        while self.bernoulli(n, d * failure, random) {
            failure += 1;
        }
        failure % 2 == 1
    }
    /// A magnitude with a fair sign, drawn again if it is -0. The flaw: it is not, so 0 is too frequent.
    fn signed(&self, random: &mut Random, magnitude: impl Fn(&Self, &mut Random) -> i128) -> i128 {
        loop {
            let drawn = magnitude(self, random);
            if !self.bernoulli(1, 2, random) {
                return drawn;
            }
            if drawn > 0 || self.is_naive {
                return -drawn;
            }
        }
    }
    /// Noise with probabilities in proportion to e^(-|x| s/t): algorithm 2 there.
    fn discrete_laplace(&self, t: u128, s: u128, random: &mut Random) -> i128 {
        self.signed(random, |this, random| {
            let rest = loop {
                let rest = this.below(t, random);
                if this.bernoulli_exp(rest, t, random) {
                    break rest;
                }
            };
            let mut whole = 0;
            while this.bernoulli_exp(1, 1, random) {
                whole += 1;
            }
            ((rest + t * whole) / s) as i128
        })
    }
    /// Noise with probabilities in proportion to (n/d)^|x|.
    fn two_sided_geometric(&self, n: u128, d: u128, random: &mut Random) -> i128 {
        self.signed(random, |this, random| {
            let mut magnitude = 0;
            while this.bernoulli(n, d, random) {
                magnitude += 1;
            }
            magnitude
        })
    }
    /// A scale of noise, rounded upward. The flaw: to nearest, so that about half of all are too small.
    fn scale(&self, sensitivity: f64, epsilon: f64) -> f64 {
        let quotient = sensitivity / epsilon;
        let is_too_small = quotient.mul_add(epsilon, -sensitivity) < 0.0;
        if is_too_small && !self.is_naive { quotient.next_up() } else { quotient }
    }
}

impl Implementation for Laplace {
    fn answer(&mut self, question: &Question, random: &mut Random) -> Option<String> {
        let parameter = |name| question.get(&format!("parameters/{name}"));
        let fraction = |text| rational(text).map(|(n, d)| (n as u128, d as u128));
        match (question.kind, question.mechanism) {
            ("calibration", "laplace_scale") => {
                Some(hex(self.scale(float(parameter("sensitivity"))?, float(parameter("epsilon"))?)))
            }
            ("law", "uniform_below") => Some(self.below(fraction(parameter("bound"))?.0, random).to_string()),
            ("law", "bernoulli_exp") => {
                let (n, d) = fraction(parameter("gamma"))?;
                Some(self.bernoulli_exp(n, d, random).to_string())
            }
            ("law", "two_sided_geometric") => {
                let (n, d) = fraction(parameter("ratio"))?;
                Some(self.two_sided_geometric(n, d, random).to_string())
            }
            ("law", "discrete_laplace") => {
                let (t, s) = fraction(parameter("scale"))?;
                Some(self.discrete_laplace(t, s, random).to_string())
            }
            _ => None,
        }
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        // `limits TRIALS SHARE` prints the lower limit for each number of hits, for a test of their error rate.
        Some("limits") => {
            let (trials, share): (f64, f64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
            (0..=trials as u32).for_each(|hits| println!("{}", hex(limit(f64::from(hits), trials, share))));
            ExitCode::SUCCESS
        }
        Some(variant @ ("exact" | "naive")) => match check(&words[1..], &mut Laplace { is_naive: variant == "naive" }) {
            Ok((_, wrong)) if wrong > 0 => ExitCode::from(1),
            Ok((right, _)) if right > 0 => ExitCode::SUCCESS,
            fault => {
                println!("Bail out! {}", fault.err().unwrap_or("nothing was checked".into()));
                ExitCode::from(2)
            }
        },
        _ => {
            eprintln!("usage: laplace exact|naive FILE...");
            ExitCode::from(2)
        }
    }
}
