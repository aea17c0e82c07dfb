"use strict";
// The doubles around a noisy answer, which of them the sampler reaches from 0 and from 1, and whom the attack names.

touchable.define("noisy_doubles", ({ root, data, say, show }) => {
  const { html, svg, fromHex, slider, button, row, live, key, drawing, text, line, bars } = touchable;
  const COLOURS = ["nowhere", "first", "second", "both"]; // by where a double can come from
  const state = { setting: data.settings.at(-1), count: 1 };
  const current = () => state.setting.shown[state.count - 1];

  const doubles = drawing(say("alt"), 150, (width) => {
    const [left, right] = [58, width];
    const step = (right - left) / data.window;
    const middle = left + (data.window / 2) * step;
    const rows = [[1, say("from_0"), 34], [2, say("from_1"), 84]];
    const { around } = current();
    const mark = (origin, number, top, answer) => {
      const reached = (origin & answer) > 0;
      return svg("rect", {
        x: left + number * step + step * 0.2, width: step * 0.6, y: reached ? top : top + 30, height: reached ? 40 : 10,
        class: reached ? COLOURS[origin] : "nowhere",
      });
    };
    return [
      svg("rect", { x: middle - step * 0.25, y: 26, width: step * 1.5, height: 106, class: "event" }),
      svg("path", { d: `M${middle + step / 2} 26 l-6 -9 h12 z`, class: "here" }),
      text(middle + step / 2, 12, say("output"), { "text-anchor": "middle", class: "name" }),
      rows.map(([answer, name, top]) => [
        text(0, top + 28, name, { class: "name" }),
        line(left, top + 40, right, top + 40, "axis"),
        [...around].map((origin, number) => mark(Number(origin), number, top, answer)),
      ]),
    ];
  });

  const rightly = () => state.setting.shown.slice(0, state.count).filter((one) => one.named === one.answer).length;
  const score = drawing(say("score_alt"), 54, (width) => bars({
    width, ceiling: state.setting.ceiling, ceilingWords: say("ceiling", { share: show.percent(state.setting.ceiling) }),
    rows: [[say("named_rightly"), rightly() / state.count, "naive", show.percent(rightly() / state.count, 0)]],
  }));

  const output = html("p", { class: "output" });
  const spoken = live();
  function update() {
    const { answer, named, around, output: hex } = current();
    output.replaceChildren(
      `y = ${show.double(fromHex(hex))} = `, html("code", {}, hex.replace("-", "−")),
    );
    doubles.redraw();
    score.redraw();
    const used = state.count === state.setting.shown.length;
    const verdict = named === answer ? say("right") : say("wrong", { answer });
    spoken.replaceChildren(
      say(around[data.window / 2] === "3" ? "either" : "only", { named, verdict }), html("br"),
      say("score", {
        right: rightly(), count: state.count, draws: show.count(data.draws), share: show.percent(state.setting.right / data.draws),
      }),
      used ? ` ${say("done")}` : "",
    );
  }
  const draw = (more) => () => {
    state.count = Math.min(state.count + more, state.setting.shown.length);
    update();
  };

  const epsilon = slider({
    label: say("epsilon"), least: 0, most: data.settings.length - 1, value: data.settings.length - 1,
    describe: (position) => String(data.settings[position].epsilon),
    change: (position) => {
      Object.assign(state, { setting: data.settings[position], count: 1 });
      update();
    },
  });
  root.append(
    row(epsilon.node),
    row(
      button(say("draw"), draw(1)), button(say("draw_ten"), draw(10)),
      button(say("again"), () => { state.count = 1; update(); }),
    ),
    key([["first", say("only_0")], ["second", say("only_1")], ["both", say("both")], ["nowhere", say("neither")]]),
    doubles.node, output, score.node, spoken,
  );
  update();
});
