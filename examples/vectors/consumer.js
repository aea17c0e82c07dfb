// Holds a conversion from rational numbers to doubles to rounding.json: `node consumer.js rounding.json exact` (or `naive`).

const { readFileSync } = require("node:fs");

const MOST = 2n ** 53n;

// Shifts the quotient of two integers to 53 bits (fewer if it is subnormal), and rounds it once, ties to even.
function exact(numerator, denominator) {
  if (numerator < 0n) return -exact(-numerator, denominator);
  let exponent = -1074;
  let below = numerator * 2n ** 1074n, by = denominator;
  while (below / by >= MOST) { by *= 2n; exponent += 1; }
  let whole = below / by;
  const twice = 2n * (below % by);
  if (twice > by || (twice === by && whole % 2n === 1n)) whole += 1n;
  const high = Math.max(exponent, -1022); // 2^exponent in two steps, neither of which rounds
  return exponent > 971 ? Infinity : Number(whole) * 2 ** high * 2 ** (exponent - high);
}

// The flaw: both integers are rounded to doubles before they are divided.
const naive = (numerator, denominator) => Number(numerator) / Number(denominator);

// "n/d" as two integers.
const rational = (text) => [BigInt(text.split("/")[0]), BigInt(text.split("/")[1] ?? 1)];

// "-0x1.8p+1", "inf" or "0x0.0p+0" as a number.
function float(text) {
  const parts = /^(-?)0x([01])\.?([0-9a-f]*)p([+-]\d+)$/.exec(text);
  if (!parts) return { inf: Infinity, "-inf": -Infinity, nan: NaN }[text];
  const [, sign, leading, digits, power] = parts;
  const exponent = Number(power) - 4 * digits.length, high = Math.max(exponent, -1022);
  const size = parseInt(leading + digits, 16) * 2 ** high * 2 ** (exponent - high);
  return sign ? -size : size;
}

const [file, name] = process.argv.slice(2);
const convert = { exact, naive }[name];
const { groups } = JSON.parse(readFileSync(file, "utf8"));
let failed = 0;
for (const one of groups.find(({ mechanism }) => mechanism === "binary64").cases) {
  const converted = convert(...rational(one.value));
  if (!Object.is(converted, float(one.nearest))) {
    failed += 1;
    console.log(`case ${one.id} (${one.comment}; ${one.flags}): ${converted}, not ${one.nearest}`);
  }
}
process.exit(failed ? 1 : 0);
