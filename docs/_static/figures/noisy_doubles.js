"use strict";
// A bet on a noisy answer: which doubles around it the textbook's sampler reaches from 0 and from 1, and whom the
// attack names. The sampler runs here, and the attack inverts it with the same logarithm.

touchable.define("noisy_doubles", ({ root, data, say, show }) => {
  const {
    html, svg, toHex, toBits, fromBits, bets, advantageOf, slider, button, row, live, key, drawing, text, line, bars, power,
  } = touchable;
  const COLOURS = ["nowhere", "first", "second", "both"]; // by where a double can come from
  const [WINDOW, FLIPPED] = [64, 16]; // how many doubles are shown, and how many of the last bits can be flipped
  const settings = data.settings.map((setting) => ({
    ...setting, width: 1 / setting.epsilon, you: { right: 0, count: 0 }, attack: { right: 0, count: 0 },
  }));
  const state = { setting: settings.at(-1) };

  // The textbook's sampler, ±λ·ln v for a v that is a multiple of 2^−52.
  function uniform() {
    const [high, low] = crypto.getRandomValues(new Uint32Array(2));
    return ((high >>> 5) * 2 ** 26 + (low >>> 6)) * 2 ** -53;
  }
  function noisy(answer, scale, random) {
    const centred = random - 0.5;
    return answer - scale * Math.sign(centred) * Math.log(1 - 2 * Math.abs(centred));
  }

  // Whether the sampler can give y for an answer: it is run on every v that might lead there.
  const ulp = (number) => fromBits(toBits(Math.abs(number)) + 1n) - Math.abs(number);
  function reaches(y, answer, scale) {
    const depth = Math.abs(y - answer) / scale;
    const centre = Math.exp(-depth) * 2 ** 52;
    const width = centre * (Math.expm1((ulp(y) + ulp(y - answer)) / scale) + 2 ** -52 * (4 * depth + 2)) + 1;
    for (let k = Math.max(1, Math.ceil(centre - width)); k <= Math.min(2 ** 52, centre + width); k++) {
      const noise = scale * Math.log(k * 2 ** -52);
      if (answer + (y < answer ? noise : -noise) === y) return true;
    }
    return false;
  }
  const origin = (y, scale) => Number(reaches(y, 0, scale)) + 2 * Number(reaches(y, 1, scale));

  // The doubles around y in ascending order, y in the middle.
  const around = (y) => Array.from({ length: WINDOW }, (_, number) =>
    fromBits(toBits(y) + BigInt((number - WINDOW / 2) * (y < 0 ? -1 : 1))));

  // What is published at the present ε for the coin and the random number that were drawn.
  function publish() {
    const { answer, random, setting: { width } } = state;
    const y = noisy(answer, width, random);
    const from = origin(y, width);
    const named = from === 3 ? Number(y > 0.5) : from - 1;
    Object.assign(state, { y, named, shown: y });
  }
  function draw() {
    Object.assign(state, { answer: Number(uniform() < 0.5), random: uniform(), bet: null, told: false });
    publish();
  }
  function tell() {
    const { setting: { attack }, named, answer } = state;
    state.told = true;
    attack.right += named === answer;
    attack.count++;
  }
  const origins = () => around(state.shown).map((y) => origin(y, state.setting.width));

  const doubles = drawing(say("alt"), 154, (width) => {
    const [left, right] = [58, width];
    const step = (right - left) / WINDOW;
    const middle = left + (WINDOW / 2) * step;
    const rows = [[1, say("from_0"), 34], [2, say("from_1"), 84]];
    const found = origins();
    const mark = (from, number, top, answer) => {
      const low = state.told && !(from & answer);
      return svg("rect", {
        x: left + number * step + step * 0.2, width: step * 0.6, y: low ? top + 30 : top, height: low ? 10 : 40,
        class: state.told ? COLOURS[low ? 0 : from] : "covered",
      });
    };
    return [
      svg("rect", { x: middle - step * 0.25, y: 26, width: step * 1.5, height: 106, class: "event" }),
      svg("path", { d: `M${middle + step / 2} 26 l-6 -9 h12 z`, class: "here" }),
      text(middle + step / 2, 12, say(state.shown === state.y ? "output" : "made"), { "text-anchor": "middle", class: "name" }),
      rows.map(([answer, name, top]) => [
        text(0, top + 28, name, { class: "name" }),
        line(left, top + 40, right, top + 40, "axis"),
        found.map((from, number) => mark(from, number, top, answer)),
      ]),
      text(left, 148, say("step", { step: power(2, Math.round(Math.log2(ulp(state.shown)))) })),
    ];
  });

  const score = drawing(say("score_alt"), 94, (width) => bars({
    width, ceiling: state.setting.ceiling, ceilingWords: say("ceiling", { value: show.decimal(state.setting.ceiling, 3) }),
    rows: [["you_advantage", state.setting.you, "ideal"], ["attack_advantage", state.setting.attack, "naive"]].map(([words, counts, colour]) => {
      const advantage = advantageOf(counts.right, counts.count);
      return [say(words, counts), Math.max(0, advantage), colour, show.decimal(advantage, 3)];
    }),
  }));

  const output = html("p", { class: "output" });
  const bits = html("div", { class: "bits", role: "group", "aria-label": say("bits") });
  const spoken = live();
  function update() {
    const { y, shown, answer, named, told, bet, setting } = state;
    output.replaceChildren(`y = ${show.double(shown)}${say("hexadecimal")}`, html("code", {}, toHex(shown)));
    doubles.redraw();
    score.redraw();
    betting.close(told);
    flips.forEach((flip, place) => {
      flip.textContent = String((toBits(shown) >> BigInt(FLIPPED - 1 - place)) & 1n);
      flip.ariaLabel = say("flip", { value: flip.textContent, place: place + 53 - FLIPPED });
      flip.disabled = !told;
    });
    const from = origin(shown, setting.width);
    if (!told) spoken.textContent = say("bet_first", setting);
    else if (shown !== y) spoken.textContent = say(["made_neither", "made_0", "made_1", "made_both"][from]);
    else {
      const lines = [say(from === 3 ? "either" : "only", { named, verdict: named === answer ? say("right") : say("wrong", { answer }) })];
      if (bet !== null) lines.unshift(say(bet === answer ? "you_right" : "you_wrong", { answer }));
      const found = origins();
      const count = (...places) => found.filter((place) => places.includes(place)).length;
      lines.push(say("marks", { first: count(1, 3), second: count(2, 3), both: count(3) }));
      lines.push(say("score", {
        draws: show.count(data.draws), share: show.percent(setting.right / data.draws),
        advantage: show.decimal(advantageOf(setting.right, data.draws), 2),
      }));
      spoken.replaceChildren(...lines.flatMap((words) => [words, html("br")]).slice(0, -1));
    }
  }

  const betting = bets([say("bet_0"), say("bet_1")], (answer) => {
    state.bet = answer;
    tell();
    state.setting.you.right += answer === state.answer;
    state.setting.you.count++;
    update();
    next.focus();
  });
  const next = button(say("draw"), () => { draw(); update(); });
  const more = button(say("draw_more"), () => {
    for (let number = 0; number < 100; number++) {
      draw();
      tell();
    }
    update();
  });
  const flips = Array.from({ length: FLIPPED }, (_, place) => button("0", () => {
    state.shown = fromBits(toBits(state.shown) ^ (1n << BigInt(FLIPPED - 1 - place)));
    update();
  }));
  bits.append(...flips);
  const epsilon = slider({
    label: say("epsilon"), least: 0, most: settings.length - 1, value: settings.length - 1,
    describe: (position) => say("setting", settings[position]),
    change: (position) => {
      state.setting = settings[position];
      publish();
      update();
    },
  });
  root.append(
    output, row(...betting.nodes, next, more), doubles.node,
    key([["first", say("only_0")], ["second", say("only_1")], ["both", say("both")], ["nowhere", say("neither")], ["covered", say("covered")]]),
    row(epsilon.node), spoken, html("p", { class: "hint" }, say("advantage")), score.node,
    html("p", { class: "hint" }, say("bits")), bits,
  );
  draw();
  update();
});
