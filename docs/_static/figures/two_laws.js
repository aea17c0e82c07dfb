"use strict";
// Two laws and an event: its probabilities, the advantage, the ε that it needs, and where it lies on the trade-off.

touchable.define("two_laws", ({ root, data, say, show }) => {
  const { html, svg, fraction, slider, row, live, key, table, drawing, scale, text, line, path, axes } = touchable;
  const last = data.first.length - 1;
  const whole = data.unit;
  const state = { pair: data.pairs[0], low: data.answer, high: last };

  const inEvent = (outcome) => state.low <= outcome && outcome <= state.high;
  const mass = (law) => law.slice(state.low, state.high + 1).reduce((sum, units) => sum + units, 0);
  const measured = () => {
    const [p, q] = [mass(data.first), mass(state.pair.second)];
    return { p, q, advantage: (p - q) / whole, needed: state.pair.needed[state.low][state.high - state.low] };
  };

  // The laws: a bar each for every output; the event is the shaded stretch, which a finger or a mouse can drag.
  let place = () => 0;
  const laws = drawing(say("laws_alt"), 230, (width, height) => {
    const [left, top, right, bottom] = [38, 26, width - 4, height - 40];
    const step = (right - left) / (last + 1);
    const y = scale([0, 0.4], [bottom, top]);
    place = (pixels) => Math.max(0, Math.min(last, Math.floor((pixels - left) / step)));
    const middle = (outcome) => left + step * (outcome + 0.5);
    const bar = (outcome, units, colour, shift) =>
      svg("rect", {
        x: middle(outcome) + shift * step * 0.38, y: y(units / whole), width: step * 0.38,
        height: bottom - y(units / whole), class: `${colour} ${inEvent(outcome) ? "" : "outside"}`,
      });
    return [
      svg("rect", {
        x: left + step * state.low, y: top, width: step * (state.high - state.low + 1), height: bottom - top, class: "event",
      }),
      axes({
        box: [left, top, right, bottom], x: middle, y, xLabel: say("output"), yLabel: say("probability"), xTicks: [],
        yTicks: [0, 0.1, 0.2, 0.3, 0.4].map((at) => [at, show.decimal(at, 1)]),
      }),
      data.first.map((units, outcome) => [
        bar(outcome, units, "first", -1),
        bar(outcome, state.pair.second[outcome], "second", 0),
        text(middle(outcome), bottom + 16, `${outcome}`, { "text-anchor": "middle" }),
      ]),
    ];
  });

  let began = null;
  const drag = (moved) => {
    if (began === null) return;
    const here = place(moved.clientX - laws.node.getBoundingClientRect().left);
    [state.low, state.high] = [Math.min(began, here), Math.max(began, here)];
    update();
  };
  laws.node.classList.add("draggable");
  laws.node.addEventListener("pointerdown", (pressed) => {
    began = place(pressed.clientX - laws.node.getBoundingClientRect().left);
    laws.node.setPointerCapture(pressed.pointerId);
    drag(pressed);
  });
  laws.node.addEventListener("pointermove", drag);
  for (const end of ["pointerup", "pointercancel"]) laws.node.addEventListener(end, () => { began = null; });

  const tradeOff = drawing(say("curve_alt"), 264, (width, height) => {
    const [left, top, right, bottom] = [38, 26, Math.min(width - 8, 300), height - 42];
    const [x, y] = [scale([0, 1], [left, right]), scale([0, 1], [bottom, top])];
    const ticks = [0, 0.5, 1].map((at) => [at, show.decimal(at, 1)]);
    const { p, q } = measured();
    const at = [x(q / whole), y(1 - p / whole)];
    return [
      axes({
        box: [left, top, right, bottom], x, y, xTicks: ticks, yTicks: ticks, xLabel: say("false_alarm"), yLabel: say("miss"),
      }),
      line(x(0), y(1), x(1), y(0), "blind"),
      path(data.allowed.map(([alarm, miss]) => [x(alarm), y(miss)]), "ceiling"),
      path(state.pair.curve.map(([alarm, miss]) => [x(alarm / whole), y(miss / whole)]), "curve"),
      svg("circle", { cx: at[0], cy: at[1], r: 6, class: "here" }),
    ];
  });

  const result = html("div", { class: "result" });
  const spoken = live();
  function update() {
    low.set(state.low);
    high.set(state.high);
    laws.redraw();
    tradeOff.redraw();
    const { p, q, advantage, needed } = measured();
    const chance = (units) => `${fraction(units, whole)} = ${show.decimal(units / whole, 3)}`;
    result.replaceChildren(
      table(say("event", state), [say("quantity"), say("here"), say("allowed")], [
        [say("p"), chance(p), ""],
        [say("q"), chance(q), ""],
        [say("advantage"), show.decimal(advantage, 3), `≤ ${show.decimal(data.ceiling, 3)}`],
        [say("needed"), show.decimal(needed, 3), `≤ ${show.decimal(data.epsilon, 3)}`],
      ]),
    );
    spoken.textContent = say(needed > data.epsilon ? "breaks" : "keeps", {
      ...state, advantage: show.decimal(advantage, 3), needed: show.decimal(needed, 3),
    });
  }

  const low = slider({
    label: say("from"), least: 0, most: last, value: state.low, describe: String,
    change: (value) => { state.low = value; state.high = Math.max(value, state.high); update(); },
  });
  const high = slider({
    label: say("to"), least: 0, most: last, value: state.high, describe: String,
    change: (value) => { state.high = value; state.low = Math.min(value, state.low); update(); },
  });
  const distance = slider({
    label: say("distance"), least: 1, most: data.pairs.length, value: 1, describe: String,
    change: (value) => { state.pair = data.pairs[value - 1]; update(); },
  });
  root.append(
    row(low.node, high.node, distance.node),
    key([["first", say("first")], ["second", say("second")], ["event", say("event_key")]]),
    laws.node,
    html(
      "div", { class: "beside" }, result,
      html("div", {}, tradeOff.node, key([["curve", say("curve")], ["ceiling", say("curve_allowed")], ["here", say("here_key")]])),
    ),
    spoken,
  );
  update();
});
