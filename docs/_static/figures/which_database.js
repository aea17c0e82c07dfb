"use strict";
// A game of rounds: one output of a naive mechanism, two neighbouring databases, the visitor's bet and the attack's.

touchable.define("which_database", ({ root, data, say, show }) => {
  const { html, bets, advantageOf, button, row, live, drawing, bars } = touchable;
  const NAMES = [say("name_0"), say("name_1")];
  const state = { place: 0, bet: null, told: false, you: { right: 0, count: 0 } };
  const current = () => {
    const [database, output, named, factor] = data.rounds[state.place];
    return { database, output, named, factor };
  };

  const attack = () => {
    const seen = data.rounds.slice(0, state.place + Number(state.told));
    return { right: seen.filter(([database, , named]) => database === named).length, count: seen.length };
  };
  const score = drawing(say("score_alt"), 94, (width) => bars({
    width, ceiling: data.ceiling, ceilingWords: say("ceiling", { value: show.decimal(data.ceiling, 3) }),
    rows: [["you_advantage", state.you, "ideal"], ["attack_advantage", attack(), "naive"]].map(([words, { right, count }, colour]) => {
      const advantage = advantageOf(right, count);
      return [say(words, { right, count }), Math.max(0, advantage), colour, show.decimal(advantage, 3)];
    }),
  }));

  const output = html("p", { class: "output large" });
  const spoken = live();
  function update() {
    const { database, output: published, named, factor } = current();
    output.replaceChildren(say("published", { output: published }));
    score.redraw();
    betting.close(state.told);
    const isLast = state.place === data.rounds.length - 1;
    for (const control of [next, more]) control.disabled = isLast && state.told;
    if (!state.told) {
      spoken.textContent = say("bet_first");
      return;
    }
    const lines = [say(factor ? "likelier" : "only", { database: NAMES[named], factor: show.double(factor) })];
    if (state.bet !== null) lines.unshift(say(state.bet === database ? "you_right" : "you_wrong", { database: NAMES[database] }));
    lines.push(say("score", { draws: show.count(data.draws), share: show.percent(data.right / data.draws) }));
    if (isLast) lines.push(say("done"));
    spoken.replaceChildren(...lines.flatMap((words) => [words, html("br")]).slice(0, -1));
  }

  const betting = bets([0, 1].map((number) => html("span", {}, html("strong", {}, NAMES[number]), ` ${say(`database_${number}`)}`)), (bet) => {
    Object.assign(state, { bet, told: true });
    state.you.right += bet === current().database;
    state.you.count++;
    update();
    next.focus();
  });
  const move = (steps) => {
    state.place = Math.min(state.place + steps, data.rounds.length - 1);
    Object.assign(state, { bet: null, told: steps > 1 });
    update();
  };
  const next = button(say("next"), () => move(1));
  const more = button(say("more"), () => move(10));
  const again = button(say("again"), () => {
    state.you = { right: 0, count: 0 };
    move(-state.place);
  });
  root.append(output, row(...betting.nodes), spoken, row(next, more, again), score.node);
  update();
});
