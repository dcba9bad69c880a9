// Keys. A page declares them where it shows them: data-key="n" on a control
// makes N press it, or put the cursor into it when it is a text field;
// data-key="g i" is G, then I. A key acts only if the map of keys names it, so
// the map can be trusted: it opens at ? and shows those that work on this page.
// Single keys act only outside text fields, with no modifier held and no input
// method composing; data-keys="off" on the document turns them off.

const typing = "input:not([type=radio]):not([type=checkbox]):not([type=submit]):not([type=button]), textarea, select, [contenteditable]";
const marks = { Slash: "?", BracketLeft: "[", BracketRight: "]" };

/** The letter or name of the pressed key. Under an input method the browser
 *  says "Process"; the key's place on the board is known all the same. */
function pressed({ key = "", code = "" }) {
  if (key === "？") return "?"; // as Chinese boards type it
  if (key === "Process" || key === "Unidentified") return code.startsWith("Key") ? code.slice(3).toLowerCase() : (marks[code] ?? "");
  return key.length === 1 ? key.toLowerCase() : key;
}

const visible = (element) => element.checkVisibility();
const map = () => document.getElementById("keys");
const rows = () => [...document.querySelectorAll("[data-row]")].filter(visible);

/** Presses a control, or puts the cursor into it. */
export function press(element) {
  if (element.matches(typing)) return element.focus();
  if (element.matches("[type=radio]")) element.focus();
  element.click();
}

/** Moves the focus among the rows of a list. */
function step(by) {
  const all = rows();
  const at = all.indexOf(document.activeElement.closest?.("[data-row]"));
  const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by;
  all[Math.min(Math.max(next, 0), all.length - 1)].focus();
}

/** What a key does on this page: its place in the map, and a function; or nothing. */
function action(key) {
  const caps = [...(map()?.querySelectorAll(`[data-for="${CSS.escape(key)}"]`) ?? [])];
  const all = [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)];
  // Links of the rail work where they are in the menu of a small screen, too.
  const control = all.find(visible) ?? (key.includes(" ") ? all[0] : undefined);
  const choice = Boolean(control?.matches("[type=radio]:not([data-key=o])"));
  const cap = caps.find((c) => Boolean(c.closest("[data-choices]")) === choice);
  if (!cap) return;
  if (control) return { key, cap, control, act: () => press(control) };
  if (key === "?") return { key, cap, act: showMap };
  if (rows().length === 0) return;
  if (key === "j") return { key, cap, act: () => step(1) };
  if (key === "k") return { key, cap, act: () => step(-1) };
}

/** All that keys do here, in the map's order. */
export function actions() {
  const caps = [...(map()?.querySelectorAll("[data-for]") ?? [])];
  return caps.map((cap) => action(cap.dataset.for)).filter((found, at) => found?.cap === caps[at]);
}

function showMap() {
  const here = new Set(actions().map(({ cap }) => cap));
  const opens = rows().length > 0; // Enter, by the browser itself
  for (const cap of map().querySelectorAll("[data-for]")) cap.hidden = !here.has(cap) && !(opens && cap.dataset.for === "Enter");
  for (const row of map().querySelectorAll("dl > div")) row.hidden = row.dataset.when ? !document.querySelector(row.dataset.when) : !row.querySelector("[data-for]:not([hidden])");
  for (const group of map().querySelectorAll("section")) group.hidden = !group.querySelector("dl > div:not([hidden])");
  map().showModal();
}

export function startKeys(root) {
  document.documentElement.toggleAttribute("data-mac", /Mac|iP/.test(navigator.platform));
  let prefix = "";
  let forget;

  root.addEventListener("click", ({ target }) => {
    if (!target.closest("[data-opens=keys]")) return;
    document.getElementById("menu").hidePopover();
    showMap();
  });

  root.addEventListener("keydown", (event) => {
    if (document.documentElement.dataset.keys === "off" || document.querySelector("dialog[open]")) return;
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = event.target instanceof Element ? event.target : document.body;
    if (at.closest(typing)) {
      if (event.key === "Escape") at.blur();
      return;
    }
    const key = pressed(event);
    if (key === "") return;
    if (key === "Enter" && (event.repeat || at.closest("a, button, summary"))) return;

    const found = action(prefix + key) ?? action(key);
    clearTimeout(forget);
    prefix = "";
    if (found) {
      event.preventDefault();
      // Held down, a key goes on through a list, and presses nothing again.
      if (!event.repeat || !found.control) found.act();
    } else if (document.querySelector(`[data-key^="${CSS.escape(key)} "]`)) {
      prefix = key + " ";
      forget = setTimeout(() => (prefix = ""), 1500);
    }
  });
}
