"use strict";
// What the touchable figures share: texts in the page's language, controls that a keyboard works, drawings that fit
// their width, and doubles as Python writes them. A figure is defined by `touchable.define(name, build)` in NAME.js.

const touchable = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) node.setAttribute(name, "");
      else if (value !== false && value !== null) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null));
    return node;
  }

  const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  function define(name, build) {
    for (const root of document.querySelectorAll(`figure.touchable[data-figure="${name}"]`)) {
      const { texts, data } = JSON.parse(root.querySelector("script").textContent);
      const language = document.documentElement.lang.startsWith("zh") ? "zh" : "en";
      const say = (key, values = {}) => {
        if (!(key in texts[language])) throw new Error(`${name}: no text ${key}`);
        return texts[language][key].replace(/\{(\w+)\}/g, (_, value) => values[value]);
      };
      root.append(
        html("figcaption", {}, html("strong", {}, say("title")), html("span", {}, say("about"))),
      );
      build({ root, data, say, show: numbers(language) });
      root.dataset.ready = "";
    }
  }

  // Numbers in text: a true minus sign, thousands apart, fractions in lowest terms.
  function numbers(language) {
    const minus = (text) => text.replaceAll("-", "−");
    return {
      count: (number) => minus(number.toLocaleString(language)),
      decimal: (number, digits) => minus(number.toFixed(digits)),
      percent: (share, digits = 1) => `${(100 * share).toFixed(digits)}%`,
      double: (number) => minus(String(number)),
      rough: (number) => minus(number === 0 ? "0" : number.toPrecision(3)),
    };
  }

  // A power in plain text, such as 2⁻⁴⁶.
  const power = (base, exponent) =>
    `${base}${[...String(exponent)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit] ?? "⁻").join("")}`;

  const greatestDivisor = (one, other) => (other ? greatestDivisor(other, one % other) : one);
  function fraction(numerator, denominator) {
    const divisor = greatestDivisor(numerator, denominator);
    const [above, below] = [numerator / divisor, denominator / divisor];
    return below === 1 ? `${above}` : `${above}/${below}`;
  }

  // A double of Python's float.hex(), and back.
  function fromHex(text) {
    const [, sign, lead, digits, exponent] = /^(-?)0x([01])\.([0-9a-f]*)p([+-]\d+)$/.exec(text);
    const significand = Number(`0x${lead}${digits.padEnd(13, "0")}`);
    return (sign ? -1 : 1) * significand * 2 ** (Number(exponent) - 52);
  }

  function toHex(number) {
    if (number === 0) return Object.is(number, -0) ? "-0x0.0p+0" : "0x0.0p+0";
    const word = toBits(number);
    const biased = Number((word >> 52n) & 0x7ffn);
    const digits = (word & 0xfffffffffffffn).toString(16).padStart(13, "0");
    const exponent = biased ? biased - 1023 : -1022;
    return `${number < 0 ? "-" : ""}0x${biased ? 1 : 0}.${digits}p${exponent < 0 ? "" : "+"}${exponent}`;
  }

  let controls = 0;
  function labelled(label, control, ...after) {
    control.id = `touchable-${++controls}`;
    return html("div", { class: "control" }, html("label", { for: control.id }, label), control, ...after);
  }

  // A slider over whole numbers; `describe` says what a position means.
  function slider({ label, least, most, value, describe, change }) {
    const input = html("input", { type: "range", min: least, max: most, step: 1, value });
    const shown = html("output", { class: "value", "aria-hidden": "true" });
    const set = (position) => {
      input.value = position;
      shown.textContent = describe(Number(input.value));
      input.setAttribute("aria-valuetext", describe(Number(input.value)));
    };
    input.addEventListener("input", () => {
      set(input.value);
      change(Number(input.value));
    });
    set(value);
    return { node: labelled(label, input, shown), set, get value() { return Number(input.value); } };
  }

  function choice({ label, options, value = 0, change }) {
    const select = html(
      "select", {}, ...options.map((text, number) => html("option", { value: number, selected: number === value }, text)),
    );
    select.addEventListener("change", () => change(Number(select.value)));
    return { node: labelled(label, select), get value() { return Number(select.value); } };
  }

  function button(label, press, attributes = {}) {
    const node = html("button", { type: "button", ...attributes }, label);
    node.addEventListener("click", press);
    return node;
  }

  const row = (...nodes) => html("div", { class: "controls" }, ...nodes);
  const live = () => html("p", { class: "live", role: "status", "aria-live": "polite" });

  // Swatches with words; a swatch is drawn in the colour of its class.
  const key = (entries) =>
    html(
      "ul", { class: "key" },
      ...entries.map(([colour, text]) => html("li", {}, html("span", { class: `swatch ${colour}` }), text)),
    );

  function table(caption, headings, rows) {
    const head = html("tr", {}, ...headings.map((text) => html("th", { scope: "col" }, text)));
    const lines = rows.map(([name, ...cells]) =>
      html("tr", {}, html("th", { scope: "row" }, name), ...cells.map((text) => html("td", {}, text))));
    return html(
      "table", {}, html("caption", {}, caption), html("thead", {}, head), html("tbody", {}, ...lines),
    );
  }

  // A drawing of some height, in pixels, that is drawn anew for every width: its letters never shrink.
  function drawing(label, height, draw) {
    const node = svg("svg", { role: "img", "aria-label": label, height });
    let width = 0;
    const redraw = () => {
      if (!width) return;
      node.setAttribute("viewBox", `0 0 ${width} ${height}`);
      node.replaceChildren(...draw(width, height).flat(Infinity).filter(Boolean));
    };
    new ResizeObserver(() => {
      const now = Math.round(node.getBoundingClientRect().width);
      if (now !== width) {
        width = now;
        redraw();
      }
    }).observe(node);
    return { node, redraw };
  }

  const scale = ([low, high], [from, to]) => (number) => from + ((number - low) / (high - low)) * (to - from);
  const text = (x, y, words, attributes = {}) => svg("text", { x, y, ...attributes }, words);
  const line = (x1, y1, x2, y2, name) => svg("line", { x1, y1, x2, y2, class: name });
  const path = (points, name) =>
    svg("path", { class: name, d: points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("") });

  // Axes with gridlines: ticks are pairs of a position and its words.
  function axes({ box: [left, top, right, bottom], x, y, xTicks, yTicks, xLabel, yLabel }) {
    return [
      xTicks.map(([at, words]) => [
        line(x(at), top, x(at), bottom, "grid"),
        text(x(at), bottom + 16, words, { "text-anchor": "middle" }),
      ]),
      yTicks.map(([at, words]) => [
        line(left, y(at), right, y(at), "grid"),
        text(left - 6, y(at) + 4, words, { "text-anchor": "end" }),
      ]),
      line(left, bottom, right, bottom, "axis"),
      line(left, top, left, bottom, "axis"),
      text((left + right) / 2, bottom + 34, xLabel, { "text-anchor": "middle", class: "name" }),
      text(0, top - 10, yLabel, { class: "name" }),
    ];
  }

  // Bars from 0 to 1 with a dotted line at the ceiling; rows are [name, value, colour, words] and 40 pixels high.
  function bars({ width, rows, ceiling, ceilingWords }) {
    const [left, right, step] = [0, width - 48, 40];
    const x = scale([0, 1], [left, right]);
    return [
      rows.map(([name, value, colour, words], number) => {
        const y = step * number;
        return [
          text(left, y + 13, name, { class: "name" }),
          svg("rect", { x: left, y: y + 18, width: right - left, height: 12, class: "track" }),
          svg("rect", { x: left, y: y + 18, width: Math.max(0, x(value) - left), height: 12, class: colour }),
          text(right + 5, y + 28, words, { class: "name" }),
          line(x(ceiling), y + 18, x(ceiling), y + 34, "ceiling"),
        ];
      }),
      text(x(ceiling), step * rows.length + 8, ceilingWords, { "text-anchor": x(ceiling) < 60 ? "start" : "middle" }),
    ];
  }

  // The bits of a double as an integer, and back.
  const view = new DataView(new ArrayBuffer(8));
  function toBits(number) {
    view.setFloat64(0, number);
    return view.getBigUint64(0);
  }
  function fromBits(bits) {
    view.setBigUint64(0, bits);
    return view.getFloat64(0);
  }

  // The two answers of a game, to bet on.
  function bets(labels, place) {
    const buttons = labels.map((label, answer) => button(label, () => place(answer), { class: ["first", "second"][answer] }));
    return { nodes: buttons, close: (closed) => buttons.forEach((one) => { one.disabled = closed; }) };
  }

  // How often bets on a fair coin were right, on the scale of the advantage: 0 for a blind guess, 1 for certainty.
  const advantageOf = (right, count) => (count ? (2 * right) / count - 1 : 0);

  return {
    define, html, svg, power, fraction, fromHex, toHex, toBits, fromBits, slider, choice, button, bets, advantageOf, row, live, key,
    table, drawing, scale, text, line, path, axes, bars,
  };
})();
