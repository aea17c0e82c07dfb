//! Randomized response over six categories in Rust, for `attacklab prove --exec`; with the argument `naive`, its broken
//! twin.
//!
//!     rustc -O -o response_of_six examples/proving/response_of_six.rs
//!     attacklab prove --exec ./response_of_six --kind noise --epsilon 1.0986122886681098 --first 0 --second 1
//!
//! With probability 1/4 it gives the true category, and otherwise one of all six at random: the true one is then three
//! times as likely as any other (1/4 + 3/4 · 1/6 = 3/8 to 1/8), which is ε-DP for e^ε = 3. It draws a category from three
//! bits, and again where they make 6 or 7, by lines that ask the lab (docs/reference/protocol.md).
//!
//! The naive twin gives up after four rounds and takes category 0, so its rounds depend on how many there were.

use std::io::{self, BufRead, StdinLock, Write};

struct Lab {
    input: StdinLock<'static>,
    exact: bool,
}

impl Lab {
    fn say(&self, line: &str) {
        println!("{line}");
    }

    /// Write a request, and read the reply.
    fn ask(&mut self, request: &str) -> u64 {
        self.say(request);
        io::stdout().flush().expect("the lab reads");
        self.line().expect("the lab replies").trim_end().parse().expect("a reply is an integer")
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        (self.input.read_line(&mut line).expect("the input can be read") > 0).then_some(line)
    }

    /// Uniform in 0..6.
    fn category(&mut self) -> u64 {
        for round in 1.. {
            self.say("begin round category");
            let drawn = self.ask("take 3");
            if drawn < 6 {
                self.say(&format!("end round accepted {drawn}"));
                return drawn;
            }
            self.say("end round rejected");
            if !self.exact && round == 4 {
                break;
            }
        }
        0
    }

    fn respond(&mut self, truth: u64) {
        let response = if self.ask("coin 1 4") == 1 { truth } else { self.category() };
        self.say(&format!("output {response}"));
        io::stdout().flush().expect("the lab reads");
    }
}

/// A category: the input is an integer, or a float in hexadecimal such as "0x1.8000000000000p+1" with few digits.
fn category(request: &str) -> Option<u64> {
    let input = request.split_once("\"input\": ")?.1.trim_end().trim_end_matches('}');
    let Some((digits, exponent)) = input.trim_matches('"').strip_prefix("0x").and_then(|hex| hex.split_once('p')) else {
        return input.parse().ok();
    };
    let scaled = u64::from_str_radix(&digits.replace('.', ""), 16).ok()?;
    let places = 4 * digits.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
    Some(scaled >> (places - exponent.parse::<i32>().ok()?))
}

fn main() {
    let exact = std::env::args().nth(1).is_none();
    let mut lab = Lab { input: io::stdin().lock(), exact };
    while let Some(request) = lab.line() {
        match category(&request) {
            Some(truth) if request.starts_with("{\"prove\": 1, ") && truth < 6 => lab.respond(truth),
            _ => lab.say("{\"error\": \"this program answers attacklab prove for categories 0 to 5 only\"}"),
        }
        io::stdout().flush().expect("the lab reads");
    }
}
