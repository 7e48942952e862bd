
"use strict";
// The page can be read without this: it changes the theme, and filters the lists.
const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
const button = document.getElementById("theme");
button.hidden = false;
button.addEventListener("click", () => {
  root.dataset.theme = (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark" ? "light" : "dark";
});
const field = document.getElementById("filter");
if (field) {
  const kinds = [...document.querySelectorAll(".kind")], found = document.getElementById("found");
  field.parentElement.hidden = false;
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0, all = 0;
    for (const kind of kinds) {
      const about = kind.querySelector("h3").textContent + kind.querySelector("p").textContent;
      let here = 0;
      for (const row of kind.querySelectorAll("tbody tr")) {
        const text = [...row.cells].map(cell => cell.textContent).concat(about).join(" ").toLowerCase();
        row.hidden = !words.every(word => text.includes(word));
        here += !row.hidden;
        all += 1;
      }
      kind.hidden = !here;
      shown += here;
    }
    found.textContent = words.length ? `${shown} of ${all} files` : "";
  });
}
