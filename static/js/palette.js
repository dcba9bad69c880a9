// The search above the page: a text field that drives a list. What the keys do
// on this page is found here, the rest by the server. Without scripts the link
// that opens it leads to a page with the same.
import { actions } from "./keys.js";

const pause = 60; // ms without a letter before the server is asked

const dialog = () => document.getElementById("palette");
const list = () => dialog().querySelector("[role=listbox]");
const field = () => dialog().querySelector("input");
const options = () => [...list().querySelectorAll("[role=option]")];

let asking; // the request that the server has yet to answer
let soon;
let shown; // what the list was made for
let acts = new Map(); // what options of this page's own do

const moves = new Set(["j", "k", "?"]); // keys that only a keyboard has a use for

function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** What a key does, in a few words. */
function words({ cap, control }) {
  const label = control?.getAttribute("aria-labelledby");
  return (label ? document.getElementById(label) : cap.closest("dd").previousElementSibling).textContent.trim();
}

/** What can be done on this page, as far as the words are in it. */
function actionsFor(query) {
  const wanted = query.toLowerCase().split(/\s+/);
  acts = new Map();
  const found = actions().filter((action) => !moves.has(action.key) && !action.key.includes(" ") && wanted.every((word) => words(action).toLowerCase().includes(word)));
  for (const action of found) {
    const caps = [...action.cap.children].map((cap) => cap.cloneNode(true));
    acts.set(make("div", { class: "find" }, make("span", { class: "find-title" }, words(action)), ...caps), action.act);
  }
  return found.length;
}

/** Shows this page's actions and what the server has found, as one list. */
function show(query, finds) {
  const groups = [];
  if (acts.size > 0) groups.push(make("section", {}, make("h2", {}, dialog().dataset.actions), ...acts.keys()));
  groups.push(...finds.querySelectorAll("section"));
  groups.forEach((group, n) => {
    const title = group.querySelector("h2");
    title.id = "palette-group-" + n;
    group.setAttribute("role", "group");
    group.setAttribute("aria-labelledby", title.id);
    for (const part of group.querySelectorAll("h2, ul, li")) part.setAttribute("role", "presentation");
  });
  list().replaceChildren(...groups);
  [...list().querySelectorAll(".find")].forEach((option, n) => {
    option.id = "palette-option-" + n;
    option.setAttribute("role", "option");
    option.tabIndex = -1;
  });
  const count = finds.querySelector(".finds-count");
  if (count && options().length === 0) list().append(make("p", { class: "finds-none", role: "presentation" }, count.textContent));
  shown = query;
  dialog().querySelector("[role=status]").textContent = count?.textContent ?? "";
  list().scrollTop = 0;
  choose(query ? 0 : -1); // without a word nobody has asked for anything yet
}

/** Marks the option that Enter opens; -1 for none. */
function choose(at) {
  const all = options();
  const chosen = all[at];
  for (const option of all) option.setAttribute("aria-selected", String(option === chosen));
  if (chosen) field().setAttribute("aria-activedescendant", chosen.id);
  else field().removeAttribute("aria-activedescendant");
  chosen?.scrollIntoView({ block: "nearest" });
}

const at = () => options().findIndex((option) => option.ariaSelected === "true");

async function search() {
  clearTimeout(soon);
  asking?.abort();
  const query = field().value.trim();
  const here = actionsFor(query);
  if (query === "") return show(query, dialog().querySelector("template").content.cloneNode(true));
  const mine = (asking = new AbortController());
  try {
    const url = dialog().querySelector("form").action + "?" + new URLSearchParams({ part: "1", q: query, here });
    const reply = await fetch(url, { signal: mine.signal, headers: { Accept: "text/html" } });
    const part = new DOMParser().parseFromString(await reply.text(), "text/html").querySelector(".finds");
    if (!reply.ok || !part) return dialog().querySelector("form").submit(); // its page says what is wrong
    show(query, part);
  } catch (error) {
    if (error.name !== "AbortError") show(query, document.createDocumentFragment()); // without a connection: what is here
  }
}

function open() {
  if (document.querySelector("dialog[open]")) return;
  document.querySelector(".menu:popover-open")?.hidePopover();
  field().value = "";
  search();
  dialog().showModal();
}

function go(option) {
  dialog().close();
  acts.get(option)?.(); // others are links: the browser follows them
}

export function startPalette(root) {
  if (!dialog()) return;
  root.addEventListener("keydown", (event) => {
    if (event.key?.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (dialog().open) dialog().close();
    else open();
  });
  root.addEventListener("click", (event) => {
    if (!event.target.closest("[data-opens=palette]") || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
  field().addEventListener("input", () => {
    clearTimeout(soon);
    soon = setTimeout(search, pause);
  });
  field().addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    const most = options().length;
    const from = at() < 0 && by < 0 ? 0 : at();
    choose((from + by + most) % most);
    event.preventDefault();
  });
  dialog().addEventListener("submit", async (event) => {
    event.preventDefault();
    const wanted = () => field().value.trim();
    if (wanted() !== shown) await search(); // Enter came before the list did
    if (wanted() === shown && dialog().open) options()[at()]?.click();
  });
  dialog().addEventListener("click", ({ target }) => {
    if (target === dialog()) dialog().close(); // beside it
    const option = target.closest("[role=option]");
    if (option) go(option);
  });
  list().addEventListener("mousemove", ({ target }) => {
    const under = options().indexOf(target.closest("[role=option]"));
    if (under >= 0 && under !== at()) choose(under);
  });
}
