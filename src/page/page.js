"use strict";
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const code = button.previousElementSibling;
    const done = () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
    const select = () => { getSelection().selectAllChildren(code); if (document.execCommand("copy")) done(); };
    if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, select); else select();
  });
}
const filter = document.querySelector("form.filter");
if (filter) {
  const steps = [...document.querySelectorAll(".steps > li")];
  const texts = steps.map((step) => step.textContent.toLowerCase());
  filter.hidden = false;
  const show = () => {
    const wanted = filter.elements.q.value.trim().toLowerCase();
    const marks = new Set([...filter.querySelectorAll("input:checked")].map((box) => box.value));
    steps.forEach((step, at) => { step.hidden = !marks.has(step.dataset.m) || !texts[at].includes(wanted); });
  };
  filter.addEventListener("input", show);
  filter.addEventListener("submit", (event) => event.preventDefault());
  const fold = filter.querySelector(".fold");
  fold.addEventListener("click", () => {
    const open = fold.textContent === "Open all";
    for (const details of document.querySelectorAll(".steps details")) details.open = open;
    fold.textContent = open ? "Close all" : "Open all";
  });
}
addEventListener("hashchange", reveal);
reveal();
function reveal() {
  const step = /^#s\d+$/.test(location.hash) && document.querySelector(location.hash);
  if (!step) return;
  step.hidden = false;
  const details = step.querySelector("details");
  if (details) details.open = true;
}
