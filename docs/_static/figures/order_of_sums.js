"use strict";
// A sum of doubles, added in an order of the reader's choice, with the rounding error of every addition.

touchable.define("order_of_sums", ({ root, data, say, show }) => {
  const { html, fromHex, toHex, choice, button, row, live } = touchable;
  const state = { list: data.lists[0], numbers: [] };

  // What an addition loses: a + b − (a + b rounded), which is a double itself (Knuth's two-sum).
  function lost(a, b) {
    const sum = a + b;
    const second = sum - a;
    return (a - (sum - second)) + (b - second);
  }

  const steps = () => {
    let sum = 0;
    return state.numbers.map((number) => {
      const error = lost(sum, number);
      sum += number;
      return { number, sum, error };
    });
  };

  function moved(at, by) {
    const numbers = [...state.numbers];
    [numbers[at], numbers[at + by]] = [numbers[at + by], numbers[at]];
    arrange(numbers);
    const here = lines.querySelectorAll("tbody tr")[at + by];
    const same = here.querySelector(by < 0 ? ".up" : ".down");
    (same.disabled ? here.querySelector("button:not(:disabled)") : same).focus();
  }

  const lines = html("table", { class: "lines" });
  const sums = html("table", { class: "sums" });
  const spoken = live();
  function arrange(numbers) {
    state.numbers = numbers;
    const added = steps();
    const total = added.at(-1).sum;
    lines.replaceChildren(
      html("caption", {}, say("caption")),
      html("thead", {}, html("tr", {}, ...["number", "running", "move"].map((name) => html("th", { scope: "col" }, say(name))))),
      html("tbody", {}, ...added.map(({ number, sum, error }, at) => {
        const words = { number: show.double(number) };
        return html(
          "tr", {},
          html("td", {}, show.double(number)),
          html("td", {}, show.double(sum), error ? html("em", { class: "error" }, say("lost", { error: show.rough(-error) })) : null),
          html(
            "td", { class: "moves" },
            button("↑", () => moved(at, -1), { class: "up", "aria-label": say("earlier", words), disabled: at === 0 }),
            button("↓", () => moved(at, 1), { class: "down", "aria-label": say("later", words), disabled: at === added.length - 1 }),
          ),
        );
      })),
    );
    const { list } = state;
    sums.replaceChildren(
      html("caption", {}, say("all", { orders: show.count(list.orders) })),
      html("thead", {}, html("tr", {}, ...["sum", "orders"].map((name) => html("th", { scope: "col" }, say(name))))),
      html("tbody", {}, ...list.sums.map(([hex, orders]) => {
        const marks = [hex === toHex(total) ? say("this") : null, hex === list.nearest ? say("nearest") : null];
        const bar = html("span", { class: "bar" });
        bar.style.width = `${(100 * orders) / list.orders}%`;
        return html(
          "tr", { class: hex === toHex(total) ? "chosen" : "" },
          html("td", {}, show.double(fromHex(hex)), ...marks.filter(Boolean).map((words) => html("em", {}, words))),
          html("td", { class: "orders" }, show.count(orders), bar),
        );
      })),
    );
    const nearest = fromHex(list.nearest);
    spoken.textContent = say(total === nearest ? "exact" : "off", {
      sum: show.double(total), hex: toHex(total), nearest: show.double(nearest), error: show.rough(total - nearest),
    });
  }

  const list = choice({
    label: say("list"), options: data.lists.map(({ name }) => say(name)),
    change: (number) => {
      state.list = data.lists[number];
      arrange(state.list.numbers.map(fromHex));
    },
  });
  const sorted = (compare) => () => arrange([...state.numbers].sort(compare));
  root.append(
    row(list.node),
    row(
      button(say("ascending"), sorted((a, b) => a - b)), button(say("descending"), sorted((a, b) => b - a)),
      button(say("reverse"), () => arrange([...state.numbers].reverse())),
    ),
    html("div", { class: "beside" }, ...[lines, sums].map((one) => html("div", { class: "wide" }, one))), spoken,
  );
  arrange(state.list.numbers.map(fromHex));
});
