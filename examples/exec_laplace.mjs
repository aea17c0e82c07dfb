// The textbook's Laplace mechanism in JavaScript, for `attacklab audit --exec`. Its outputs are those of
// exec_laplace.py, but for the last bit of a logarithm; docs/reference/protocol.md describes the protocol. It says how
// long each output took if the request asks for that.
//
//     attacklab audit --exec "node exec_laplace.mjs" --kind noise --epsilon 1

import { createInterface } from "node:readline";

const SCALE = 1.0;
const WORD = (1n << 64n) - 1n;

// SplitMix64 (Steele, Lea and Flood 2014).
function words(seed) {
  let state = seed;
  return () => {
    state = (state + 0x9e3779b97f4a7c15n) & WORD;
    let mixed = ((state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n) & WORD;
    mixed = ((mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn) & WORD;
    return mixed ^ (mixed >> 31n);
  };
}

function laplace(answer, next) {
  const word = next();
  const uniform = Number((word >> 11n) + 1n) * 2 ** -53;
  const noise = -SCALE * Math.log(uniform);
  return word & 1n ? answer + noise : answer - noise;
}

// A double as the protocol writes it, from its 64 bits.
function hex(value) {
  if (!Number.isFinite(value)) return value > 0 ? "inf" : value < 0 ? "-inf" : "nan";
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn), digits = (bits & ((1n << 52n) - 1n)).toString(16).padStart(13, "0");
  return `${bits >> 63n ? "-" : ""}0x${exponent ? 1 : 0}.${digits}p${Math.max(exponent, 1) - 1023}`;
}

// "-0x1.8p+1", "inf" or an integer as a number.
function number(text) {
  const parts = /^(-?)0x([01])\.?([0-9a-f]*)p([+-]\d+)$/.exec(text);
  if (!parts) return { inf: Infinity, "-inf": -Infinity, nan: NaN }[text] ?? Number(text);
  const [, sign, leading, digits, power] = parts;
  const exponent = Number(power) - 4 * digits.length, high = Math.max(exponent, -1022);
  const size = parseInt(leading + digits, 16) * 2 ** high * 2 ** (exponent - high);
  return sign ? -size : size;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { kind, input, trials, ns: timed } = JSON.parse(line);
  if (kind !== "noise") {
    console.log(JSON.stringify({ error: `the Laplace mechanism adds noise; it does not answer ${kind} requests` }));
    continue;
  }
  const next = words(BigInt(/"seed": (\d+)/.exec(line)[1])); // JSON.parse rounds it
  const answer = number(input), ns = [];
  const outputs = Array.from({ length: trials }, () => {
    const started = process.hrtime.bigint();
    const output = laplace(answer, next);
    ns.push(Number(process.hrtime.bigint() - started));
    return hex(output);
  });
  console.log(JSON.stringify(timed ? { outputs, ns } : { outputs }));
}
