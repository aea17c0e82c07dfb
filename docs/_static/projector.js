// A mode for projectors: large type and no navigation; one key steps through the page. Links keep the mode.
const PROJECTOR = document.documentElement.lang.startsWith("zh") ? "投影" : "Projector";
const WRITABLE = "input, select, textarea"; // the keys are theirs
const PRESSABLE = "button, summary"; // the space bar is theirs

const THINGS = ":is(section, .section) > :not(section, .section, ol, ul, span), :is(section, .section) > :is(ol, ul) > li";

// What is shown together: headings with what follows them, and each other thing by itself.
function stepsOf(article) {
  const steps = [];
  const things = article.querySelectorAll(THINGS);
  for (const thing of things) {
    if (!thing.getClientRects().length) continue;
    const last = steps.at(-1);
    if (last?.every((one) => /^H\d$/.test(one.tagName))) last.push(thing);
    else steps.push([thing]);
  }
  return steps;
}

function projector() {
  const root = document.documentElement;
  const article = document.querySelector("article");
  let steps = [];
  let place = 0;

  const isOn = () => root.classList.contains("projector");
  const stepWith = (node) => steps.findIndex((step) => step.some((thing) => thing.contains(node) || node.contains(thing)));
  const linked = () => document.getElementById(decodeURIComponent(location.hash.slice(1)));
  // What the address names, if it begins on the screen; or else what begins on its upper half, or covers it.
  function inView() {
    const things = [...article.querySelectorAll(THINGS)].filter((thing) => thing.getClientRects().length);
    const [top, bottom] = ["top", "bottom"].map((edge) => (thing) => thing.getBoundingClientRect()[edge]);
    const beginsWithin = (height) => (thing) => top(thing) >= 0 && top(thing) < height;
    return (
      [linked()].filter(Boolean).find(beginsWithin(innerHeight)) ??
      things.find(beginsWithin(innerHeight / 2)) ??
      things.find((thing) => bottom(thing) > 0)
    );
  }

  function light(next) {
    for (const thing of steps.flat()) thing.classList.remove("step");
    place = Math.max(0, Math.min(next, steps.length - 1));
    for (const thing of steps[place] ?? []) thing.classList.add("step");
  }
  function show(next) {
    light(next);
    steps[place]?.[0].scrollIntoView({ block: "start" });
  }
  // Begins with the step that has this node.
  function turnOn(node) {
    root.classList.add("projector");
    sessionStorage.setItem("projector", "on");
    window.dispatchEvent(new Event("resize"));
    steps = stepsOf(article);
    show(node ? stepWith(node) : 0);
  }
  function turnOff() {
    root.classList.remove("projector");
    sessionStorage.removeItem("projector");
    for (const thing of article.querySelectorAll(".step")) thing.classList.remove("step");
    window.dispatchEvent(new Event("resize"));
  }

  document.addEventListener("keydown", (pressed) => {
    if (pressed.ctrlKey || pressed.metaKey || pressed.altKey) return;
    if (isOn() && pressed.key === "Escape") turnOff();
    if (pressed.target.closest?.(WRITABLE)) return;
    if (pressed.key === "p") isOn() ? turnOff() : turnOn(inView());
    if (pressed.key === " " && pressed.target.closest?.(PRESSABLE)) return;
    const moves = { " ": pressed.shiftKey ? -1 : 1, ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };
    if (isOn() && pressed.key in moves) {
      pressed.preventDefault();
      show(place + moves[pressed.key]);
    }
  });
  for (const touch of ["pointerdown", "focusin"]) {
    article.addEventListener(touch, ({ target }) => {
      const touched = target.closest(THINGS);
      if (isOn() && touched) light(stepWith(touched));
    });
  }
  window.addEventListener("hashchange", () => {
    if (isOn() && linked()) show(stepWith(linked()));
  });
  // What is drawn or typeset late moves what comes after it.
  window.addEventListener("load", () => {
    if (isOn()) show(place);
  });

  const button = document.createElement("button");
  button.type = "button";
  button.textContent = PROJECTOR;
  button.addEventListener("click", () => {
    turnOn(inView());
    button.blur();
  });
  document.querySelector("nav.languages")?.prepend(button);
  if (sessionStorage.getItem("projector")) turnOn(linked());
}

projector();
