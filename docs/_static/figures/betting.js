"use strict";
// A gambler bets against the claims of a sound and of a leaking mechanism; their wealth over the trials.

touchable.define("betting", ({ root, data, say, show }) => {
  const { html, slider, choice, row, live, key, table, drawing, scale, text, line, path, svg, axes, power } = touchable;
  const looks = data.trials / data.look;
  const [LEAST, MOST] = [-2, 10]; // powers of ten of the wealth that are drawn
  const state = { leak: data.leaking[3], level: data.levels.at(-1), run: 0, look: 20 };

  const runs = () => [["sound", data.sound], ["leaking", state.leak]].map(([kind, mechanism]) => {
    const { first, second, wealth } = mechanism.runs[state.run];
    const crossed = wealth.findIndex((exponent) => exponent >= state.level.enough) + 1;
    return { kind, spent: mechanism.spent, first, second, wealth, refuted: crossed && crossed <= state.look ? crossed * data.look : 0 };
  });

  const curves = drawing(say("alt"), 290, (width, height) => {
    const [left, top, right, bottom] = [40, 26, width - 22, height - 42];
    const x = scale([0, data.trials], [left, right]);
    const power = scale([LEAST, MOST], [bottom, top]);
    const y = (exponent) => power(Math.max(LEAST, Math.min(MOST, exponent)));
    // A line ends where it leaves the drawing.
    const stretch = (wealth, from, to, name) => {
      const beyond = wealth.findIndex((exponent) => exponent > MOST) + 1;
      const points = [0, ...wealth].map((exponent, look) => [x(look * data.look), y(exponent)]);
      return path(points.slice(from, (beyond ? Math.min(beyond, to) : to) + 1), name);
    };
    return [
      axes({
        box: [left, top, right, bottom], x, y, xLabel: say("trials_axis"), yLabel: say("wealth_axis"),
        xTicks: [0, 2500, 5000, 7500, 10000].filter((at) => width > 500 || at % 5000 === 0).map((at) => [at, show.count(at)]),
        yTicks: [-2, 0, 2, 4, 6, 8, 10].map((at) => [at, power(10, at)]),
      }),
      line(left, y(state.level.enough), right, y(state.level.enough), "ceiling"),
      text(right, y(state.level.enough) - 6, say("enough"), { "text-anchor": "end", class: "name" }),
      line(x(state.look * data.look), top, x(state.look * data.look), bottom, "axis"),
      runs().map(({ kind, wealth, refuted }) => [
        stretch(wealth, state.look, looks, `${kind} rest`),
        stretch(wealth, 0, state.look, kind),
        wealth[state.look - 1] <= MOST && svg("circle", { cx: x(state.look * data.look), cy: y(wealth[state.look - 1]), r: 5, class: `dot ${kind}` }),
        refuted ? svg("path", {
          d: `M${x(refuted) - 6} ${y(wealth[refuted / data.look - 1]) - 6}l12 12m0 -12l-12 12`, class: "cross",
        }) : null,
      ]),
    ];
  });

  const result = html("div", { class: "result" });
  const legend = html("div");
  const spoken = live();
  function update() {
    curves.redraw();
    const all = runs();
    legend.replaceChildren(key([
      ...all.map(({ kind, spent }) => [kind === "sound" ? "exact" : "naive", say(kind, { spent })]), ["ceiling", say("enough")],
    ]));
    const trials = show.count(state.look * data.look);
    result.replaceChildren(
      table(say("caption", { trials }), [say("mechanism"), say("counts"), say("wealth"), say("refuted")], all.map((one) => [
        say(one.kind, { spent: one.spent }),
        `${show.count(one.first[state.look - 1])} / ${show.count(one.second[state.look - 1])}`,
        html("span", {}, "10", html("sup", {}, show.decimal(one.wealth[state.look - 1], 2))),
        one.refuted ? say("at", { trials: show.count(one.refuted) }) : say("not_yet"),
      ])),
    );
    const [sound, leaking] = all;
    const message = sound.refuted ? "sound_refuted" : leaking.refuted ? "leaking_refuted" : "both_not";
    spoken.textContent = say(message, { trials, at: show.count(leaking.refuted) });
  }

  const changed = (name, values) => (number) => {
    state[name] = values ? values[number] : number;
    update();
  };
  const leak = slider({
    label: say("leak"), least: 0, most: data.leaking.length - 1, value: data.leaking.indexOf(state.leak),
    describe: (number) => `ε = ${data.leaking[number].spent}`, change: changed("leak", data.leaking),
  });
  const trial = slider({
    label: say("trial"), least: 1, most: looks, value: state.look, describe: (look) => show.count(look * data.look),
    change: changed("look"),
  });
  const alpha = choice({
    label: say("alpha"), options: data.levels.map((level) => String(level.alpha)), value: data.levels.length - 1,
    change: changed("level", data.levels),
  });
  const run = choice({
    label: say("run"), options: data.sound.runs.map((_, number) => say("run_number", { number: number + 1 })),
    change: changed("run"),
  });
  root.append(row(trial.node, leak.node), row(alpha.node, run.node), legend, curves.node, result, spoken);
  update();
});
