// Holds an implementation to the test vectors and prints TAP: one test for each mechanism of each file. Call `check`;
// vectors/clients/README.md has an example, and docs/reference/vectors.md describes the files.
import { readFileSync } from "node:fs";
import { getRandomValues } from "node:crypto";

const word = new DataView(new ArrayBuffer(8));

/** The numerator and denominator of "n/d" or "n", as BigInts. */
export function rational(text) {
  const [numerator, denominator = "1"] = text.split("/");
  return [BigInt(numerator), BigInt(denominator)];
}

/** A float, from its bits in hexadecimal; undefined if it is something else. */
export function float(text) {
  const infinite = { inf: Infinity, "-inf": -Infinity, nan: NaN };
  if (Object.hasOwn(infinite, text)) return infinite[text];
  const [, sign, leading, digits, power] = /^(-?)0x([01])\.([0-9a-f]{1,13})p([+-]\d+)$/.exec(text) ?? [];
  if (power === undefined) return undefined;
  const exponent = leading === "0" ? 0n : BigInt(Number(power) + 1023);
  word.setBigUint64(0, (sign ? 1n << 63n : 0n) | (exponent << 52n) | BigInt("0x" + digits.padEnd(13, "0")));
  return word.getFloat64(0);
}

/** A float as the files write it. */
export function hex(number) {
  if (!Number.isFinite(number)) return String(number).toLowerCase().replace("infinity", "inf");
  word.setFloat64(0, number);
  const bits = word.getBigUint64(0), exponent = Number((bits >> 52n) & 2047n);
  const digits = (bits & ((1n << 52n) - 1n)).toString(16).padStart(13, "0"), power = Math.max(exponent, 1) - 1023;
  return `${bits >> 63n ? "-" : ""}0x${Math.min(exponent, 1)}.${digits}p${power < 0 ? "" : "+"}${power}`;
}

/** What is wrong with an answer, or no reason if there is no answer. */
class Fault extends Error {}

function require(isRight, reason) {
  if (!isRight) throw new Fault(reason);
}

function greatestDivisor(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

/** The replies of a trace, or pseudorandom numbers, which are for tests alone. */
class Random {
  constructor(state) {
    this.state = state;
  }
  /** Answers the requests of a trace from here on; undefined returns to pseudorandom numbers. */
  replay(requests) {
    [this.requests, this.used] = [requests, 0];
  }
  reply(request) {
    const expected = this.requests[this.used]?.request ?? "";
    require(request === expected, `it asks for '${request}', not for '${expected}'`);
    return BigInt(this.requests[this.used++].reply);
  }
  /** 64 fair bits, as a BigInt: SplitMix64 (Steele, Lea and Flood 2014). */
  word() {
    if (this.requests) return this.reply("64 bits");
    this.state = BigInt.asUintN(64, this.state + 0x9e3779b97f4a7c15n);
    let mixed = BigInt.asUintN(64, (this.state ^ (this.state >> 30n)) * 0xbf58476d1ce4e5b9n);
    mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn);
    return mixed ^ (mixed >> 31n);
  }
  /** A multiple of 2^-53 below 1, in place of `Math.random()`. */
  number() {
    return Number(this.word() >> 11n) * 2 ** -53;
  }
  /** A BigInt uniform below a bound of at least 1. */
  below(bound) {
    if (this.requests) return this.reply(`below ${bound}`);
    for (;;) {
      let [drawn, end] = [0n, 1n];
      while (end < bound) [drawn, end] = [(drawn << 64n) | this.word(), end << 64n];
      if (drawn < end - (end % bound)) return drawn % bound;
    }
  }
  /** True with probability n/d. */
  coin(n, d) {
    if (!this.requests) return this.below(d) < n;
    const divisor = greatestDivisor(n, d);
    return this.reply(`coin ${n / divisor} ${d / divisor}`) > 0n;
  }
}

/** Types count, and so does the sign of zero. */
function isSame(first, second) {
  return first === second || (float(first) !== undefined && Object.is(float(first), float(second)));
}

/** The lower or upper end of a probability as a double, and a part in 10^9 further out. */
function end(probability, side) {
  const [numerator, denominator] = (typeof probability === "string" ? probability : probability[side]).split("/");
  const fraction = (digits) => Number(`0.${digits.slice(0, 30)}`); // from 0.1 to 1
  const power = numerator.length - (denominator ?? "1").length;
  const ratio = (fraction(numerator) / fraction(denominator ?? "1")) * 10 ** power;
  if (side === "lower") return ratio * (1 - 1e-9);
  return numerator === "0" ? 0 : Math.max(ratio * (1 + 1e-9), 2 ** -1022);
}

/**
 * A lower confidence limit of the probability of what happened in some trials, too high with probability `share`/2 at
 * most: Hoeffding 1963, 'Probability Inequalities for Sums of Bounded Random Variables', theorem 1, (2.1). An upper
 * limit is 1 less the lower limit of what did not happen. A millionth covers the rounding of the logarithms.
 */
export function limit(hits, trials, share) {
  let [low, high] = [0, hits / trials];
  const misses = trials - hits;
  for (let step = 0; hits > 0 && step < 100; step++) {
    const middle = low + (high - low) / 2;
    let loss = hits * Math.log(hits / trials / middle);
    if (misses > 0) loss += misses * Math.log(misses / trials / (1 - middle));
    if (loss > Math.log(2 / share) + 1e-6) low = middle;
    else high = middle;
  }
  return low;
}

class Judge {
  constructor(implementation, random, trials, share) {
    Object.assign(this, { implementation, random, trials, share });
  }

  ask(question, field, mode) {
    this.random.replay(question.type === "trace" ? question.requests : undefined);
    let answer;
    try {
      answer = this.implementation({ ...question, input: question[field], mode }, this.random);
    } catch (thrown) {
      throw thrown instanceof Fault ? thrown : new Fault(`it throws ${thrown}`);
    }
    require(answer !== undefined);
    return typeof answer === "number" ? hex(answer) : String(answer);
  }

  expect(answer, expected) {
    require(isSame(answer, String(expected)), `it gives ${answer}, not ${expected}`);
  }

  fit(name, hits, probability, share) {
    const low = limit(hits, this.trials, share), high = 1 - limit(this.trials - hits, this.trials, share);
    const isRight = low <= end(probability, "upper") && (high >= end(probability, "lower") || name === "another");
    require(isRight, `P of ${name} lies in [${low}, ${high}], not at ${end(probability, "upper")}`);
  }

  // Whether outputs fit the probability of each outcome, of each tail (all integers from one on), and of all others.
  law(question) {
    const outputs = new Map();
    for (let trial = 0; trial < this.trials; trial++) {
      const output = this.ask(question, "input");
      require(output !== "failed", "it fails");
      outputs.set(output, (outputs.get(output) ?? 0) + 1);
    }
    const hits = (isHit) => [...outputs].reduce((sum, [output, count]) => sum + (isHit(output) ? count : 0), 0);
    const isAtLeast = (output, least) => /^-?\d+$/.test(output) && BigInt(output) >= BigInt(least);
    const share = this.share / (question.law.length + question.tails.length + 1);
    let others = this.trials;
    for (const [place, probability] of question.law) {
      const count = hits((output) => isSame(output, String(place)));
      others -= count;
      this.fit(place, count, probability, share);
    }
    for (const [least, probability] of question.tails)
      this.fit(`${least} or more`, hits((output) => isAtLeast(output, least)), probability, share);
    this.fit("another", others, question.rest, share);
  }

  judge(question) {
    if (question.type === "law") {
      this.law(question);
    } else if (question.type === "rounding") {
      for (const mode of ["nearest", "toward_zero", "upward", "downward"])
        this.expect(this.ask(question, "value", mode), question[mode]);
    } else if (question.type === "special") {
      const answers = [this.ask(question, "first"), this.ask(question, "second")];
      const [first, second] = answers.map((answer) => ["failed", "null", "nan"].includes(answer));
      require(first === second, `it answers one input only: ${answers.join(", ")}`);
    } else if (question.type === "calibration") {
      const answer = this.ask(question, "input"), bound = float(question.limit);
      const value = /^-?\d+$/.test(answer) ? Number(answer) : float(answer);
      require(value !== undefined); // a formula may refuse arguments
      const isRight = question.unsafe === "too small" ? value >= bound : value <= bound;
      require(isRight, `its value ${value} is ${question.unsafe}: the limit is ${bound}`);
    } else if (question.type === "trace") {
      this.expect(this.ask(question, "input"), question.output);
      const next = question.requests[this.random.used]?.request;
      require(!next, `it does not ask for '${next}'`);
    } else {
      throw new Fault();
    }
  }

  // The column of a case: right, wrong, skipped, wrong beyond the claim's domain.
  column(question, notes) {
    const place = question.severity === "robustness" ? "beyond the claim's domain, " : "";
    try {
      this.judge(question);
      return 0;
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      if (!fault.message) return 2;
      const about = `# ${place}case ${question.id} (${question.comment}): ${fault.message}`;
      console.log(about.replace(/\p{Cc}/gu, " ")); // one line
      for (const flag of question.flags) console.log(`#   ${flag}: ${notes[flag]?.effect}`);
      return place ? 3 : 1;
    }
  }

  checked(files) {
    let [tests, allRight, allWrong] = [0, 0, 0];
    for (const { type = "", notes, groups } of files)
      for (const { mechanism, cases } of groups) {
        const counts = [0, 0, 0, 0];
        for (const row of cases) counts[this.column({ ...row, type, mechanism }, notes)]++;
        const [right, wrong, skipped, outside] = counts;
        const skip = right + wrong + outside ? "" : " # SKIP it is not answered, or this client does not have the type";
        const line = `${wrong ? "not ok" : "ok"} ${++tests} - ${type} ${mechanism}`;
        console.log(`${line}: ${right} right, ${wrong} wrong, ${skipped} skipped${skip}`);
        [allRight, allWrong] = [allRight + right, allWrong + wrong];
      }
    console.log(`1..${tests}`);
    return allWrong ? 1 : allRight ? 0 : 2;
  }
}

function read(path) {
  let file;
  try {
    file = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path)));
  } catch {
    file = undefined;
  }
  if (file?.version !== 1) throw new Error(`${path} is not a file of vectors of version 1`);
  return file;
}

/**
 * Checks files. The implementation is called with a question, which is a case with its `type`, `mechanism`, `input` and
 * `mode` of rounding, and a source of randomness. It returns a number if it is a float, a BigInt, a boolean, null,
 * "failed" if it refuses the input, or undefined if there is no such mechanism; what it throws is a wrong answer.
 * VECTORS_SEED replays a run, VECTORS_TRIALS says how often a law is sampled, VECTORS_ALPHA how often any law may fail
 * a sound sampler. Returns 0 if nothing fails, 1 if a case does, 2 if a file cannot be read or nothing is checked.
 */
export function check(paths, implementation) {
  const { VECTORS_ALPHA: alpha = "1e-9", VECTORS_TRIALS: trials = "10000" } = process.env;
  const seed = process.env.VECTORS_SEED ?? String(getRandomValues(new BigUint64Array(1))[0]);
  console.log(`# VECTORS_SEED=${seed}, ${trials} samples, alpha ${alpha}`);
  try {
    require(Number(alpha) > 0 && Number(alpha) < 1, "VECTORS_ALPHA lies between 0 and 1");
    require(/^[1-9]\d{0,8}$/.test(trials), "VECTORS_TRIALS is an integer from 1 to 999999999");
    require(/^\d+$/.test(seed) && BigInt(seed) < 1n << 64n, "VECTORS_SEED is an integer below 2^64");
    const files = paths.map(read);
    const laws = files.filter(({ type }) => type === "law").flatMap(({ groups }) => groups);
    const share = Number(alpha) / laws.reduce((sum, { cases }) => sum + cases.length, 0);
    return new Judge(implementation, new Random(BigInt(seed)), Number(trials), share).checked(files);
  } catch (fault) {
    console.log(`Bail out! ${fault.message}`);
    return 2;
  }
}
