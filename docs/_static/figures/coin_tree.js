"use strict";
// The tree of a sampler that draws from fair coins: it grows, coins lead down it, and its leaves add up to a law.

touchable.define("coin_tree", ({ root, data, say }) => {
  const { html, svg, fraction, slider, choice, button, row, live, key, table, drawing, text } = touchable;
  const COLOURS = ["first", "second", "third"];
  const RADIUS = 10;
  const state = { sampler: data.samplers[0], depth: 4, coins: "" };

  const outcome = (coins) => state.sampler.leaves[coins];
  const ends = (coins) => outcome(coins) !== undefined;
  const restarts = (coins) => state.sampler.restarts.includes(coins);

  // Every node down to the depth, with its place from 0 to 1: the ends of branches stand at equal distances.
  function nodes() {
    const found = [];
    let places = 0;
    const visit = (coins) => {
      const node = { coins, children: [] };
      found.push(node);
      if (!ends(coins) && coins.length < state.depth) node.children = [visit(`${coins}0`), visit(`${coins}1`)];
      node.place = node.children.length ? (node.children[0].place + node.children[1].place) / 2 : places++;
      return node;
    };
    visit("");
    for (const node of found) node.place = (node.place + 0.5) / places;
    return found;
  }

  const tree = drawing(say("alt"), 300, (width) => {
    const levels = 268 / data.depth;
    const [x, y] = [(node) => node.place * width, (node) => 16 + node.coins.length * levels];
    const walked = (node) => state.coins.startsWith(node.coins);
    const all = nodes();
    const branches = all.flatMap((node) => node.children.map((child, coin) => [node, child, coin]));
    return [
      branches.map(([node, child, coin]) => {
        const middle = [(x(node) + x(child)) / 2, (y(node) + y(child)) / 2];
        return [
          svg("line", {
            x1: x(node), y1: y(node), x2: x(child), y2: y(child), class: walked(child) ? "branch walked" : "branch",
          }),
          text(middle[0] + (coin ? 5 : -5), middle[1] + 2, `${coin}`, { "text-anchor": coin ? "start" : "end" }),
        ];
      }),
      all.map((node) => {
        const at = [x(node), y(node)];
        if (ends(node.coins)) {
          const number = outcome(node.coins);
          return [
            svg("rect", { x: at[0] - RADIUS, y: at[1] - RADIUS, width: 2 * RADIUS, height: 2 * RADIUS, rx: 4, class: COLOURS[number] }),
            text(at[0], at[1] + 4, `${number + 1}`, { "text-anchor": "middle", class: "inverse" }),
          ];
        }
        const again = restarts(node.coins);
        return [
          svg("circle", { cx: at[0], cy: at[1], r: again ? RADIUS : 5, class: walked(node) ? "inner walked" : "inner" }),
          again ? text(at[0], at[1] + 4, "↺", { "text-anchor": "middle", class: "name" }) : null,
        ];
      }),
    ];
  });

  // Shares in units of 2^−depth: a leaf of k coins has 2^(depth − k) of them.
  function shares() {
    const whole = 2 ** state.depth;
    const decided = COLOURS.map((_, number) =>
      Object.entries(state.sampler.leaves)
        .filter(([coins, result]) => result === number && coins.length <= state.depth)
        .reduce((sum, [coins]) => sum + 2 ** (state.depth - coins.length), 0));
    return { whole, decided, open: whole - decided.reduce((sum, units) => sum + units, 0) };
  }

  const bar = drawing(say("bar_alt"), 30, (width) => {
    const { whole, decided, open } = shares();
    let start = 0;
    return [...decided, open].map((units, number) => {
      const [x, span] = [(start / whole) * width, (units / whole) * width];
      start += units;
      return units ? [
        svg("rect", { x, y: 2, width: Math.max(0, span - 2), height: 26, class: COLOURS[number] ?? "nowhere" }),
        span > 34 ? text(x + span / 2, 19, fraction(units, whole), {
          "text-anchor": "middle", class: number < COLOURS.length ? "inverse" : "name",
        }) : null,
      ] : null;
    });
  });

  const result = html("div", { class: "result" });
  const spoken = live();
  function update() {
    tree.redraw();
    bar.redraw();
    const { whole, decided, open } = shares();
    result.replaceChildren(
      table(say("caption", { depth: state.depth }), [say("what"), say("decided"), say("law")], [
        ...decided.map((units, number) => [
          say("outcome", { number: number + 1 }), fraction(units, whole), state.sampler.law[number],
        ]),
        [say("undecided"), fraction(open, whole), "0"],
      ]),
    );
    const coins = [...state.coins].join(" ");
    const message = !coins ? "start" : ends(state.coins) ? "reached" : state.coins.length === data.depth ? "deep"
      : restarts(state.coins) ? "rejected" : "path";
    spoken.textContent = say(message, { coins, number: (outcome(state.coins) ?? 0) + 1 });
  }

  const toss = (coin) => () => {
    const over = ends(state.coins) || state.coins.length === data.depth;
    state.coins = over ? coin : state.coins + coin;
    state.depth = Math.max(state.depth, state.coins.length);
    depth.set(state.depth);
    update();
  };
  const depth = slider({
    label: say("coins"), least: 0, most: data.depth, value: state.depth, describe: String,
    change: (value) => {
      Object.assign(state, { depth: value, coins: state.coins.slice(0, value) });
      update();
    },
  });
  const sampler = choice({
    label: say("sampler"),
    options: data.samplers.map(({ weights, printed }) => say(printed ? "printed" : "weights", { weights: weights.join(", ") })),
    change: (number) => {
      Object.assign(state, { sampler: data.samplers[number], coins: "" });
      update();
    },
  });
  root.append(
    row(sampler.node, depth.node),
    row(
      button(say("zero"), toss("0")), button(say("one"), toss("1")),
      button(say("again"), () => { state.coins = ""; update(); }),
    ),
    tree.node,
    key([
      ...COLOURS.map((colour, number) => [colour, say("outcome", { number: number + 1 })]),
      ["nowhere", say("undecided")], ["again", say("restart")],
    ]),
    bar.node, result, spoken,
  );
  update();
});
