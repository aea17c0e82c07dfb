// A mode for projectors: large type and no navigation; one key steps through the page.
const PROJECTOR = document.documentElement.lang.startsWith("zh") ? "投影" : "Projector";
const CONTROLS = "input, select, textarea, button, summary, a";

const THINGS = ":is(section, .section) > :not(section, .section, ol, ul), :is(section, .section) > :is(ol, ul) > li";

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

  function show(next) {
    for (const thing of steps.flat()) thing.classList.remove("step");
    place = Math.max(0, Math.min(next, steps.length - 1));
    for (const thing of steps[place] ?? []) thing.classList.add("step");
    steps[place]?.[0].scrollIntoView({ block: "start" });
  }
  function turn(on) {
    root.classList.toggle("projector", on);
    steps = on ? stepsOf(article) : [];
    for (const thing of article.querySelectorAll(".step")) thing.classList.remove("step");
    if (on) show(0);
    window.dispatchEvent(new Event("resize"));
  }

  document.addEventListener("keydown", (pressed) => {
    if (pressed.ctrlKey || pressed.metaKey || pressed.altKey) return;
    const on = root.classList.contains("projector");
    if (on && pressed.key === "Escape") turn(false);
    if (pressed.target.closest?.(CONTROLS)) return;
    if (pressed.key === "p") turn(!on);
    const moves = { " ": pressed.shiftKey ? -1 : 1, ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };
    if (on && pressed.key in moves) {
      pressed.preventDefault();
      show(place + moves[pressed.key]);
    }
  });

  const button = document.createElement("button");
  button.type = "button";
  button.textContent = PROJECTOR;
  button.addEventListener("click", () => {
    turn(true);
    button.blur();
  });
  document.querySelector("nav.languages")?.prepend(button);
}

projector();
