// Randomized response in JavaScript, for `attacklab prove --exec`; with the argument `naive`, its broken twin.
//
//     attacklab prove --exec "node examples/proving/randomized_response.mjs" --kind noise --epsilon 1.3862943611198908
//
// It gives a private bit with probability 4/5 and the other bit otherwise, which is ε-DP for e^ε = 4. The program draws
// by writing lines that ask the lab (docs/reference/protocol.md); in production, `coin` and `take` would use
// crypto.randomInt.
//
// The naive twin compares 8 random bits with 256/5 rounded down, so it lies a little too rarely.

import { readSync, writeSync } from "node:fs";

const chunk = Buffer.alloc(65536);
let unread = "";

/** The next line of the input, or null at its end. */
function readLine() {
  let end;
  while ((end = unread.indexOf("\n")) < 0) {
    const count = readSync(0, chunk);
    if (count === 0) return null;
    unread += chunk.toString("latin1", 0, count);
  }
  const line = unread.slice(0, end);
  unread = unread.slice(end + 1);
  return line;
}

const say = (line) => writeSync(1, `${line}\n`);

/** Replies fit a Number here; after `take 64` they would need BigInt. */
function ask(request) {
  say(request);
  return Number(readLine());
}

const coin = (n, d) => ask(`coin ${n} ${d}`);
const take = (bits) => ask(`take ${bits}`);

const lies = {
  exact: () => coin(1, 5) === 1,
  naive: () => take(8) < Math.floor(256 / 5),
}[process.argv[2] ?? "exact"];

/** An integer, or a float in hexadecimal; for a bit, the sign and the digits before the point are enough. */
const isOne = (input) => (typeof input === "string" ? input === "0x1.0000000000000p+0" : input === 1);

for (let line; (line = readLine()) !== null; ) {
  const request = JSON.parse(line);
  if (request.prove !== 1) {
    say(JSON.stringify({ error: "this program answers attacklab prove only" }));
  } else {
    say(`output ${isOne(request.input) === lies() ? 0 : 1}`);
  }
}
