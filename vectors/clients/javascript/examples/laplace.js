// Laplace noise as JavaScript code draws it, by the inverse of its distribution function and `Math.random`, and exactly
// by BigInts, held to the vectors.
//
//     node examples/laplace.js exact ../../law.json ../../trace.json    (or naive)
import { fileURLToPath } from "node:url";
import { check, float, hex, limit, rational } from "../index.js";

// True with probability e^(-n/d): Canonne, Kamath and Steinke 2020, algorithm 1.
function bernoulliExp(n, d, random) {
  for (; n > d; n -= d) if (!bernoulliExp(1n, 1n, random)) return false;
  let failure = 1n;
  while (random.coin(n, d * failure)) failure++;
  return failure % 2n === 1n;
}

// A magnitude with a fair sign, drawn again if it is -0.
function signed(random, magnitude) {
  for (;;) {
    const drawn = magnitude();
    if (!random.coin(1n, 2n)) return drawn;
    if (drawn > 0n) return -drawn;
  }
}

// Noise with probabilities in proportion to e^(-|x| s/t): algorithm 2 there.
function discreteLaplace(t, s, random) {
  return signed(random, () => {
    let rest, whole = 0n;
    do rest = random.below(t);
    while (!bernoulliExp(rest, t, random));
    while (bernoulliExp(1n, 1n, random)) whole++;
    return (rest + t * whole) / s;
  });
}

// Noise with probabilities in proportion to (n/d)^|x|.
function twoSidedGeometric(n, d, random) {
  return signed(random, () => {
    let magnitude = 0n;
    while (random.coin(n, d)) magnitude++;
    return magnitude;
  });
}

// The flaw: noise on the reals is rounded, which is another law, and ends at 37 times the scale.
function naiveNoise(scale, random) {
  const centred = random.number() - 0.5;
  return BigInt(Math.round(-scale * Math.sign(centred) * Math.log(1 - 2 * Math.abs(centred))));
}

// Clamps an integer of any size, adds noise, and clamps again.
function inRange(text, lower, upper, noise) {
  const clamp = (number) => (number < lower ? lower : number > upper ? upper : number);
  return clamp(clamp(BigInt(text)) + noise);
}

// The flaw: an integer beyond the 32 bits of `|` is refused, and its neighbour is not.
function naiveInRange(text, lower, upper, noise) {
  return (Number(text) | 0) === Number(text) ? inRange(text, lower, upper, noise) : "failed";
}

// A quotient of BigInts as a double, rounded once.
function divided(n, d, mode) {
  if (n < 0n) return -divided(-n, d, { upward: "downward", downward: "upward" }[mode] ?? mode);
  const most = 2n ** 53n;
  let exponent = -1074, numerator = n << 1074n;
  while (numerator / d >= most) [d, exponent] = [d << 1n, exponent + 1];
  const rest = numerator % d, twice = 2n * rest;
  let whole = numerator / d;
  if (mode === "upward" ? rest : mode === "nearest" && (twice > d || (twice === d && whole % 2n))) whole++;
  const high = Math.max(exponent, -1022); // 2^exponent in two steps, neither of which rounds
  const rounded = exponent > 971 ? Infinity : Number(whole) * 2 ** high * 2 ** (exponent - high);
  return mode === "nearest" || mode === "upward" ? rounded : Math.min(rounded, Number.MAX_VALUE);
}

// A double as an integer in units of 2^-1074.
function integer(number) {
  const [, digits, power] = /0x(.*)p(.*)/.exec(hex(number));
  return BigInt("0x" + digits.replace(".", "")) << BigInt(Number(power) + 1022);
}

const exact = {
  "calibration laplace_scale": ({ sensitivity, epsilon }) =>
    divided(integer(float(sensitivity)), integer(float(epsilon)), "upward"),
  "rounding binary64": (_, random, { input, mode }) => divided(...rational(input), mode),
  "special two_sided_geometric_on_a_range": ({ decay, lower, upper }, random, { input }) =>
    inRange(input, BigInt(lower), BigInt(upper), twoSidedGeometric(...rational(decay), random)),
  "law bernoulli_exp": ({ gamma }, random) => bernoulliExp(...rational(gamma), random),
  "trace bernoulli_exp": ({ gamma }, random) => bernoulliExp(...rational(gamma), random),
  "law discrete_laplace": ({ scale }, random) => discreteLaplace(...rational(scale), random),
  "trace discrete_laplace": ({ scale }, random) => discreteLaplace(...rational(scale), random),
};

const quotient = (text) => rational(text).map(Number).reduce((n, d) => n / d);

const naive = {
  "calibration laplace_scale": ({ sensitivity, epsilon }) => float(sensitivity) / float(epsilon),
  "rounding binary64": (_, random, { input }) => quotient(input),
  "special two_sided_geometric_on_a_range": ({ decay, lower, upper }, random, { input }) =>
    naiveInRange(input, BigInt(lower), BigInt(upper), naiveNoise(-1 / Math.log(quotient(decay)), random)),
  "law bernoulli_exp": ({ gamma }, random) => random.number() < Math.exp(-quotient(gamma)),
  "trace bernoulli_exp": ({ gamma }, random) => random.number() < Math.exp(-quotient(gamma)),
  "law discrete_laplace": ({ scale }, random) => naiveNoise(quotient(scale), random),
  "trace discrete_laplace": ({ scale }, random) => naiveNoise(quotient(scale), random),
};

/** An implementation for `check`. */
export function laplace(variant) {
  const mechanisms = { exact, naive }[variant];
  return (question, random) =>
    mechanisms[`${question.type} ${question.mechanism}`]?.(question.parameters, random, question);
}

function main(words) {
  const [variant, ...files] = words;
  if (variant === "limits") {
    // `limits TRIALS SHARE` prints the lower limit for each number of hits, for a test of their error rate.
    const [trials, share] = files.map(Number);
    for (let hits = 0; hits <= trials; hits++) console.log(hex(limit(hits, trials, share)));
    return 0;
  }
  if (files.length && ["exact", "naive"].includes(variant)) return check(files, laplace(variant));
  console.error("usage: laplace.js exact|naive FILE...");
  return 2;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = main(process.argv.slice(2));
