// Adds choosing and filtering to a page that is complete without it.
"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);

  const panel = byId("variables");
  const articles = all(".variable");
  const nodes = all(".node");
  const drawn = all("svg.graph .edge");
  const chooser = byId("variable");

  // --- choosing a variable ---------------------------------------------------------------------------

  const edgesOf = new Map(articles.map((_, index) => [index, new Set()]));
  const nearOf = new Map(articles.map((_, index) => [index, new Set()]));
  all("#edges tr[data-edge]").forEach((row) => {
    const [first, second] = all("th a", row).map((link) => Number(link.hash.slice(2)));
    for (const [one, other] of [[first, second], [second, first]]) {
      edgesOf.get(one).add(row.dataset.edge);
      nearOf.get(one).add(other);
    }
  });

  function select(index) {
    articles.forEach((article, at) => article.classList.toggle("selected", at === index));
    nodes.forEach((node, at) => {
      node.classList.toggle("selected", at === index);
      node.classList.toggle("near", nearOf.get(index).has(at));
      if (at === index) node.setAttribute("aria-current", "true");
      else node.removeAttribute("aria-current");
    });
    drawn.forEach((edge) => edge.classList.toggle("faint", !edgesOf.get(index).has(edge.dataset.edge)));
    chooser.value = String(index);
    panel.scrollTop = 0;
    show(nodes[index]);
  }

  function show(node) { // scrolls the picture, not the page
    const canvas = node.closest(".canvas");
    const [frame, box] = [canvas.getBoundingClientRect(), node.getBoundingClientRect()];
    if (box.left < frame.left || box.right > frame.right)
      canvas.scrollLeft += (box.left + box.right - frame.left - frame.right) / 2;
    if (box.top < frame.top || box.bottom > frame.bottom)
      canvas.scrollTop += (box.top + box.bottom - frame.top - frame.bottom) / 2;
  }

  function go(index) {
    select(index);
    history.replaceState(null, "", `#v${index}`);
    byId(`v${index}-name`).focus({ preventScroll: true });
    reveal(index);
  }

  function reveal(index) {
    const top = panel.classList.contains("everything") ? articles[index] : panel;
    const box = top.getBoundingClientRect();
    if (box.top < 0 || box.top > window.innerHeight * 0.6) top.scrollIntoView();
  }

  const variableIn = (hash) => {
    const found = /^#v(\d+)$/.exec(hash);
    return found && Number(found[1]) < articles.length ? Number(found[1]) : null;
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    const href = link && link.getAttribute("href");
    const index = href ? variableIn(href) : null;
    if (index === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(index);
  });
  window.addEventListener("hashchange", () => {
    const index = variableIn(location.hash);
    if (index !== null) go(index);
  });
  chooser.addEventListener("change", () => { // the focus stays in the list, for the next key
    select(Number(chooser.value));
    if (panel.classList.contains("everything")) reveal(Number(chooser.value));
  });

  const everything = byId("all");
  everything.addEventListener("click", () => {
    const on = panel.classList.toggle("everything");
    everything.setAttribute("aria-pressed", String(on));
  });

  // --- confidence ------------------------------------------------------------------------------------

  const slider = byId("confidence");
  if (slider) {
    const steps = JSON.parse(slider.dataset.steps);
    const words = JSON.parse(slider.dataset.words);
    const shown = byId("shown");
    const holders = all("[data-edge]");
    const total = drawn.length;
    const isBelow = (element, least) => "strength" in element.dataset && Number(element.dataset.strength) < least - 1e-9;
    const filter = () => {
      const at = Number(slider.value);
      holders.forEach((element) => element.classList.toggle("gone", isBelow(element, steps[at])));
      const left = drawn.filter((edge) => !edge.classList.contains("gone")).length;
      const text = words[at][0].toUpperCase() + words[at].slice(1);
      shown.textContent = `${text}: ${left} of ${total} shown`;
      slider.setAttribute("aria-valuetext", `${words[at]}, ${left} of ${total} edges shown`);
    };
    slider.addEventListener("input", filter);
    filter(); // a reloaded page keeps the place of the slider
  }

  // --- a knowledge file of what is ticked --------------------------------------------------------------

  const file = byId("knowledge-file");
  if (file) {
    const boxes = all("#known input[data-key], #known .asked .controls input");
    const nothing = file.textContent;
    const compose = () => {
      const entries = new Map();
      for (const { dataset } of boxes.filter((box) => box.checked && box.dataset.key))
        entries.set(dataset.key, [...(entries.get(dataset.key) || []), dataset.entry]);
      const lines = [...entries].map(([key, list]) => `${key} = [\n${list.map((one) => `  ${one},\n`).join("")}]\n`);
      file.textContent = lines.join("") || nothing;
    };
    boxes.forEach((box) => box.addEventListener("change", compose));
    compose(); // a reloaded page keeps the ticks
  }

  // --- size of the picture ---------------------------------------------------------------------------

  const canvas = document.querySelector(".canvas");
  const hint = document.querySelector(".hint");
  const fit = byId("fit");
  function measure() { // says so where a part of the picture is beyond its frame
    const fitted = canvas.classList.contains("fit");
    const hidden = canvas.scrollWidth > canvas.clientWidth + 1 || canvas.scrollHeight > canvas.clientHeight + 1;
    hint.classList.toggle("needed", fitted || hidden);
    hint.firstElementChild.hidden = !hidden;
    if (hidden) canvas.setAttribute("aria-describedby", "canvas-hint");
    else canvas.removeAttribute("aria-describedby");
  }
  fit.addEventListener("click", () => {
    fit.setAttribute("aria-pressed", String(canvas.classList.toggle("fit")));
    measure();
  });

  // --- tables that are wider than the page -----------------------------------------------------------

  const isWide = (table) => table.scrollWidth > table.clientWidth + 1;
  const tables = new ResizeObserver((entries) => entries.forEach(({ target }) =>
    target.previousElementSibling.classList.toggle("needed", isWide(target))));

  // --- start -----------------------------------------------------------------------------------------

  root.classList.add("js");
  all(".controls").forEach((controls) => { controls.hidden = false; });
  fit.hidden = false;
  new ResizeObserver(measure).observe(canvas);
  all(".scroll").forEach((table) => tables.observe(table));
  window.addEventListener("resize", measure);
  const wanted = variableIn(location.hash);
  const busiest = articles.map((_, index) => index).sort((a, b) => edgesOf.get(b).size - edgesOf.get(a).size || a - b)[0];
  select(wanted === null ? busiest : wanted);
})();
