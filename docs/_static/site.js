// What scrolls sideways can be reached by the keyboard.
const LABEL = document.documentElement.lang.startsWith("zh") ? "可左右滚动" : "Scrolls sideways";
const BOXES = "article pre, .table-wrapper, mjx-container[display], .sig, :is(p, .cell_output):has(> img, > a > img)";

function letScroll() {
  for (const box of document.querySelectorAll(BOXES)) {
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
      box.role = "region";
      box.ariaLabel = LABEL;
    } else {
      box.removeAttribute("tabindex");
      box.removeAttribute("role");
      box.removeAttribute("aria-label");
    }
  }
}

window.addEventListener("load", letScroll);
window.addEventListener("resize", letScroll);
