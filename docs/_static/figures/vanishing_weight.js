"use strict";
// Weights of an exponential mechanism near the end of the doubles, and what two neighbouring databases become there.

touchable.define("vanishing_weight", ({ root, data, say, show }) => {
  const { html, svg, slider, row, live, key, table, drawing, scale, text, path, axes, bars } = touchable;
  const SMALLEST = 2 ** -1074;
  const UNIFORMS = 2 ** 53; // values of the one uniform number that the mechanism compares with
  const behind = 1 / data.step; // positions between the two outcomes' utilities
  const positions = (data.first - data.last) / data.step;
  let position = 0;
  const utility = (at) => data.first - at * data.step;

  // The probability of the first of two outcomes: uniform numbers k·2^−53 below its share of the weight.
  const chance = (weight, other) => Math.ceil((weight / (weight + other)) * UNIFORMS) / UNIFORMS;
  function measured() {
    const [weight, other] = [data.weights[position] * SMALLEST, data.weights[position + behind] * SMALLEST];
    const on = [chance(weight, other), chance(other, weight)]; // of outcome 0, on each of the two databases
    return { weight, other, on, advantage: on[0] - on[1] };
  }

  const stairs = drawing(say("alt"), 268, (width, height) => {
    const [left, top, right, bottom] = [46, 26, width - 12, height - 42];
    const x = scale([utility(0), utility(data.weights.length - 1)], [left, right]);
    const log = scale([0, 14], [bottom - 22, top]);
    const y = (units) => (units ? log(Math.log2(units)) : bottom);
    const ideal = (u) => ((u * data.epsilon) / 2) * Math.LOG2E + 1074; // its logarithm, base 2
    const lowest = ((-1.4 - 1074) * 2) / (data.epsilon * Math.LOG2E); // the utility where it leaves the drawing
    const half = data.step / 2;
    const steps = data.weights.flatMap((units, at) => [1, -1].map((side) => [x(utility(at) + side * half), y(units)]));
    const point = (at, colour) => svg("circle", { cx: x(utility(at)), cy: y(data.weights[at]), r: 7, class: `point ${colour}` });
    return [
      axes({
        box: [left, top, right, bottom], x, y, xLabel: say("utility_axis"), yLabel: say("weight_axis"),
        xTicks: [-2940, -2950, -2960, -2970, -2980].map((at) => [at, show.double(at)]),
        yTicks: [[0, "0"], ...[1, 16, 256, 4096].map((units) => [units, String(units)])],
      }),
      path([data.first, lowest].map((u) => [x(u), log(ideal(u))]), "straight"),
      path(steps, "staircase"),
      point(position, "first"),
      point(position + behind, "second"),
    ];
  });

  const advantages = drawing(say("bars_alt"), 94, (width) => {
    const { advantage } = measured();
    return bars({
      width, ceiling: data.ceiling, ceilingWords: say("ceiling", { value: show.decimal(data.ceiling, 3) }),
      rows: [
        [say("advantage"), advantage || 0, "naive", Number.isNaN(advantage) ? "–" : show.decimal(advantage, 3)],
        [say("advantage_ideal"), data.ideal_advantage, "ideal", show.decimal(data.ideal_advantage, 3)],
      ],
    });
  });

  const result = html("div", { class: "result" });
  const spoken = live();
  function update() {
    const { weight, other, on, advantage } = measured();
    stairs.redraw();
    advantages.redraw();
    const shown = (probability) => (Number.isNaN(probability) ? "–" : show.decimal(probability, 3));
    result.replaceChildren(
      table(say("caption"), [say("outcome"), say("utility_axis"), say("weight"), say("probability"), say("ideal")], [
        [
          say("better"), show.double(utility(position)), show.double(weight), shown(on[0]),
          show.decimal(data.ideal_probability, 3),
        ],
        [
          say("worse"), show.double(utility(position) - 1), show.double(other), shown(1 - on[0]),
          show.decimal(1 - data.ideal_probability, 3),
        ],
      ]),
    );
    const message = !weight ? "none" : !other ? "lost" : advantage > data.ceiling ? "beyond" : "within";
    spoken.textContent = say(message, { advantage: shown(advantage), ceiling: show.decimal(data.ceiling, 3) });
  }

  const lower = slider({
    label: say("utility"), least: 0, most: positions, value: 0, describe: (at) => show.double(utility(at)),
    change: (at) => { position = at; update(); },
  });
  root.append(
    row(lower.node),
    key([["staircase", say("staircase")], ["straight", say("straight")], ["first round", say("better")], ["second round", say("worse")]]),
    stairs.node, result, advantages.node, spoken,
  );
  update();
});
