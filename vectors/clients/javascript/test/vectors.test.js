// The exact example passes all vectors, and the naive one fails: `npm test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { laplace } from "../examples/laplace.js";
import { check } from "../index.js";

const TYPES = ["calibration", "law", "pair", "rounding", "special", "sum", "tape", "trace"];

const file = (type) => fileURLToPath(new URL(`../../../${type}.json`, import.meta.url));

test("the exact example passes", () => {
  assert.equal(check(TYPES.map(file), laplace("exact")), 0);
});

for (const type of ["calibration", "law", "rounding", "special", "trace"]) {
  test(`the naive example is caught by ${type}`, () => {
    assert.equal(check([file(type)], laplace("naive")), 1);
  });
}
