//! Holds an implementation to the test vectors and prints TAP: one test for each mechanism of each file. Call `check`;
//! vectors/clients/README.md has an example, and docs/reference/vectors.md describes the files.
use std::{collections::hash_map::RandomState, collections::HashMap, env, fs, hash::BuildHasher, panic};

/// What a file holds, by path: "groups/0/cases/3/parameters/scale" and "1/2".
type Fields = HashMap<String, String>;

fn at<'a>(fields: &'a Fields, path: &str) -> &'a str { fields.get(path).map_or("", |text| text) }

/// The paths of a list's items that have a field.
fn items(fields: &Fields, list: &str, field: &str) -> Vec<String> {
    let paths = (0..).map(|index| format!("{list}/{index}"));
    paths.take_while(|path| fields.contains_key(&format!("{path}{field}"))).collect()
}

fn blank(at: &str) -> &str { at.trim_start_matches([' ', '\t', '\r', '\n']) }

/// A string and what follows it; escapes stay as they are written.
fn string(at: &str) -> Option<(&str, &str)> {
    let (text, mut is_escaped) = (at.strip_prefix('"')?, false);
    let end = text.find(|c| {
        let is_end = c < ' ' || (c == '"' && !is_escaped);
        is_escaped = c == '\\' && !is_escaped;
        is_end
    })?;
    Some((&text[..end], blank(text[end..].strip_prefix('"')?)))
}

/// Reads JSON, with integers of at most nine digits, and returns what follows it.
fn parse<'a>(at: &'a str, path: &str, fields: &mut Fields) -> Option<&'a str> {
    let (mut index, close) = (0, if at.starts_with('{') { '}' } else { ']' });
    if let Some(mut rest) = at.strip_prefix(['{', '[']).map(blank).filter(|_| path.len() < 200) {
        while !rest.starts_with(close) {
            let mut name = index.to_string();
            if close == '}' {
                let (key, after) = string(rest)?;
                (name, rest) = (key.into(), blank(after.strip_prefix(':')?));
            }
            let after = parse(rest, &format!("{path}/{name}"), fields)?;
            rest = after.strip_prefix(',').map_or(after, blank);
            if rest.starts_with(close) == after.starts_with(',') { return None; }
            index += 1;
        }
        return Some(blank(&rest[1..]));
    }
    let (word, after) = at.split_at(at.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(at.len()));
    let is_number = (1..10).contains(&word.len()) && word.bytes().all(|digit| digit.is_ascii_digit());
    let is_word = (is_number && (word == "0" || !word.starts_with('0'))) || ["true", "false", "null"].contains(&word);
    let (text, rest) = if is_word { (word, blank(after)) } else { string(at)? };
    fields.insert(path.get(1..)?.into(), text.into());
    Some(rest)
}

fn read(path: &str) -> Option<Fields> {
    let (text, mut fields) = (fs::read_to_string(path).ok()?, Fields::new());
    let rest = parse(blank(&text), "", &mut fields)?;
    Some(fields).filter(|fields| rest.is_empty() && fields.get("version").is_some_and(|version| version == "1"))
}

/// A rational number, "n/d" or "n", if it fits.
pub fn rational(text: &str) -> Option<(i128, i128)> {
    let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
    Some((numerator.parse().ok()?, denominator.parse().ok().filter(|d| *d > 0)?))
}

/// A float, from its bits in hexadecimal.
pub fn float(text: &str) -> Option<f64> {
    let (sign, size) = text.strip_prefix('-').map_or((1.0, text), |size| (-1.0, size));
    if size == "inf" || size == "nan" { return Some(if size == "inf" { sign * f64::INFINITY } else { f64::NAN }); }
    let (digits, exponent) = size.strip_prefix("0x")?.split_once('p')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mantissa = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()? as f64;
    let power = exponent.parse::<i32>().ok()? - 4 * fraction.len() as i32;
    Some(sign * mantissa * 2f64.powi(power.max(-1000)) * 2f64.powi(power.min(-1000) + 1000)) // no factor rounds
}

/// A float as the files write it.
pub fn hex(number: f64) -> String {
    let (bits, sign) = (number.to_bits(), if number.is_sign_negative() { "-" } else { "" });
    let (exponent, mantissa) = ((bits >> 52 & 2047) as i32, bits & ((1 << 52) - 1));
    let hexadecimal = format!("{sign}0x{}.{mantissa:013x}p{:+}", exponent.min(1), exponent.max(1) - 1023);
    if number.is_finite() { hexadecimal } else { format!("{number}").to_lowercase() }
}

/// Types count, and so does the sign of zero.
fn is_same(a: &str, b: &str) -> bool {
    a == b || float(a).zip(float(b)).is_some_and(|(a, b)| a.to_bits() == b.to_bits())
}

/// What it is asked.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    pub kind: &'a str,
    pub mechanism: &'a str,
    fields: &'a Fields,
    path: &'a str,
}

impl<'a> Question<'a> {
    /// A field of the case, such as "parameters/scale"; empty if there is none.
    pub fn get(&self, name: &str) -> &'a str { at(self.fields, &format!("{}/{name}", self.path)) }
}

/// What is held to the vectors.
pub trait Implementation {
    /// A value as the files write it, "failed" if it refuses the input, or None if there is no such mechanism.
    fn answer(&mut self, question: &Question, random: &mut Random) -> Option<String>;
}

/// Pseudorandom numbers, which are for tests alone.
pub struct Random(u64);

impl Random {
    /// 64 fair bits: SplitMix64 (Steele, Lea and Flood 2014).
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E3779B97F4A7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58476D1CE4E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D049BB133111EB);
        mixed ^ mixed >> 31
    }
    /// An integer uniform below a bound of at least 1.
    pub fn below(&mut self, bound: u128) -> u128 {
        let most = u128::MAX - u128::MAX % bound;
        let mut words = std::iter::repeat_with(|| u128::from(self.word()) << 64 | u128::from(self.word()));
        words.find(|drawn| *drawn < most).unwrap() % bound
    }
    /// True with probability n/d.
    pub fn coin(&mut self, n: u128, d: u128) -> bool { self.below(d) < n }
}

/// The lower or upper end of a probability as a double, and a part in 10^9 further out.
fn end(fields: &Fields, path: &str, end: &str) -> f64 {
    let text = format!("{}{}", at(fields, path), at(fields, &format!("{path}/{end}")));
    let (numerator, denominator) = text.split_once('/').unwrap_or((&text, "1"));
    let fraction = |digits: &str| format!("0.{digits:.30}").parse::<f64>().unwrap_or(f64::NAN); // from 0.1 to 1
    let power = numerator.len() as i32 - denominator.len() as i32;
    let ratio = fraction(numerator) / fraction(denominator) * 10f64.powi(power);
    if end == "lower" { return ratio * (1.0 - 1e-9); }
    if numerator == "0" { 0.0 } else { (ratio * (1.0 + 1e-9)).max(f64::MIN_POSITIVE) }
}

/// A lower confidence limit of the probability of what happened in some trials, too high with probability `share`/2 at
/// most: Hoeffding 1963, 'Probability Inequalities for Sums of Bounded Random Variables', theorem 1, (2.1). An upper
/// limit is 1 less the lower limit of what did not happen. A millionth covers the rounding of the logarithms.
pub fn limit(hits: f64, trials: f64, share: f64) -> f64 {
    let (mut low, mut high, misses) = (0.0, hits / trials, trials - hits);
    for _ in 0..if hits > 0.0 { 100 } else { 0 } {
        let middle = low + (high - low) / 2.0;
        let mut loss = hits * (hits / trials / middle).ln();
        if misses > 0.0 { loss += misses * (misses / trials / (1.0 - middle)).ln(); }
        *(if loss > (2.0 / share).ln() + 1e-6 { &mut low } else { &mut high }) = middle;
    }
    low
}

const SETTINGS: &str = "VECTORS_ALPHA lies between 0 and 1, VECTORS_TRIALS is at least 1, VECTORS_SEED below 2^64";
const SKIP: &str = " # SKIP the implementation does not answer, or this client does not have the type";

/// What is wrong, or nothing if the case is skipped.
type Fault = Option<String>;

fn require(is_right: bool, reason: String) -> Result<(), Fault> { is_right.then_some(()).ok_or(Some(reason)) }

struct Judge<'a> {
    implementation: &'a mut dyn Implementation,
    state: u64,
    trials: u32,
    share: f64,
}

impl Judge<'_> {
    fn ask(&mut self, question: Question, random: &mut Random) -> Result<String, Fault> {
        match panic::catch_unwind(panic::AssertUnwindSafe(|| self.implementation.answer(&question, random))) {
            Ok(answer) => answer.ok_or(None),
            Err(why) => Err(Some(why.downcast_ref::<String>().map_or("a panic".into(), |why| why.replace('\n', " ")))),
        }
    }
    /// Whether outputs fit the probability of each outcome, of each tail (all integers from one on), and of all others.
    fn law(&mut self, question: Question, random: &mut Random) -> Result<(), Fault> {
        let outputs = (0..self.trials).map(|_| self.ask(question, random)).collect::<Result<Vec<_>, _>>()?;
        require(outputs.iter().all(|output| output != "failed"), "it fails".into())?;
        let rows = |list| items(question.fields, &format!("{}/{list}", question.path), "/0");
        let (law, tails, mut others) = (rows("law"), rows("tails"), outputs.len());
        let share = self.share / (law.len() + tails.len() + 1) as f64;
        for (index, path) in law.iter().chain(&tails).enumerate() {
            let (place, is_tail) = (at(question.fields, &format!("{path}/0")), index >= law.len());
            let least = rational(place).filter(|_| is_tail);
            let is_in = |drawn: (i128, i128)| least.is_some_and(|least| drawn >= least);
            let is_hit = |text: &str| if is_tail { rational(text).is_some_and(is_in) } else { is_same(text, place) };
            let hits = outputs.iter().filter(|output| is_hit(output)).count();
            others -= if is_tail { 0 } else { hits };
            self.fits(question, hits, &format!("{path}/1"), share)?;
        }
        self.fits(question, others, &format!("{}/rest", question.path), share)
    }
    fn fits(&self, question: Question, hits: usize, path: &str, share: f64) -> Result<(), Fault> {
        let (hits, trials) = (hits as f64, f64::from(self.trials));
        let (low, high) = (limit(hits, trials, share), 1.0 - limit(trials - hits, trials, share));
        let (lower, upper) = (end(question.fields, path, "lower"), end(question.fields, path, "upper"));
        let fault = format!("P lies in [{low:e}, {high:e}], not at {upper:e}: {path}");
        require(low <= upper && (high >= lower || path.ends_with("rest")), fault)
    }
    fn judge(&mut self, question: Question) -> Result<(), Fault> {
        let mut random = Random(self.state);
        self.state = random.word();
        match question.kind {
            "law" => self.law(question, &mut random),
            "calibration" => {
                let (answer, limit) = (self.ask(question, &mut random)?, float(question.get("limit")).ok_or(None)?);
                let number = float(&answer).or(answer.parse().ok()).ok_or(None)?; // a formula may refuse arguments
                let is_right = if question.get("unsafe") == "too small" { number >= limit } else { number <= limit };
                require(is_right, format!("its value {answer} is {}: {limit:?} is the limit", question.get("unsafe")))
            }
            _ => Err(None),
        }
    }
}

/// Checks files; returns how many cases are right and how many wrong, or which file is not read. VECTORS_SEED replays a
/// run, VECTORS_TRIALS says how often a law is sampled, VECTORS_ALPHA how often any law may fail a sound sampler.
pub fn check(paths: &[String], implementation: &mut dyn Implementation) -> Result<(usize, usize), String> {
    let setting = |name, default: &str| env::var(name).unwrap_or(default.into());
    let (alpha, trials) = (setting("VECTORS_ALPHA", "1e-9"), setting("VECTORS_TRIALS", "10000"));
    let seed = setting("VECTORS_SEED", &RandomState::new().hash_one(0).to_string());
    println!("# VECTORS_SEED={seed}, {trials} samples, alpha {alpha}");
    let (alpha, trials) = (alpha.parse().unwrap_or(0.0), trials.parse().unwrap_or(0));
    let is_budget = alpha > 0.0 && alpha < 1.0 && trials > 0;
    let state = seed.parse().ok().filter(|_| is_budget).ok_or(SETTINGS)?;
    let file = |path: &String| read(path).ok_or(format!("{path} is not a file of vectors of version 1"));
    let files = paths.iter().map(file).collect::<Result<Vec<_>, _>>()?;
    let laws = files.iter().filter(|fields| at(fields, "type") == "law");
    let share = alpha / laws.map(|fields| at(fields, "cases").parse().unwrap_or(1e9)).sum::<f64>();
    let (mut judge, mut tests, mut totals) = (Judge { implementation, state, trials, share }, 0, (0, 0));
    let groups = |fields| items(fields, "groups", "/mechanism").into_iter().map(move |group| (fields, group));
    for (fields, group) in files.iter().flat_map(groups) {
        let (kind, mechanism) = (at(fields, "type"), at(fields, &format!("{group}/mechanism")));
        let mut counts = [0; 3]; // right, wrong, skipped
        for path in items(fields, &format!("{group}/cases"), "/id") {
            let question = Question { kind, mechanism, fields, path: &path };
            let verdict = judge.judge(question);
            counts[match verdict { Ok(()) => 0, Err(None) => 2, _ => 1 }] += 1;
            let Err(Some(reason)) = verdict else { continue };
            println!("# case {} ({}): {reason}", question.get("id"), question.get("comment"));
            for flag in items(fields, &format!("{path}/flags"), "").iter().map(|flag| at(fields, flag)) {
                println!("#   {flag}: {}", at(fields, &format!("notes/{flag}/effect")));
            }
        }
        let [right, wrong, skipped] = counts;
        (tests, totals) = (tests + 1, (totals.0 + right, totals.1 + wrong));
        let word = if wrong > 0 { "not ok" } else { "ok" };
        let skip = if right + wrong > 0 { "" } else { SKIP };
        println!("{word} {tests} - {kind} {mechanism}: {right} right, {wrong} wrong, {skipped} skipped{skip}");
    }
    println!("1..{tests}");
    Ok(totals)
}
