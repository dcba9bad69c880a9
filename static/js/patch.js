// Puts the server's changes into the page: ops of frames, each naming the
// element that it is about. Elements are told apart by their ids and morphed, so
// that what the reader has opened, chosen or focused stays as it is.
import { showTimes } from "./times.js";

const kept = new Set(["open", "data-counted"]); // the reader's, not the server's
const callbacks = { beforeAttributeUpdated: (name) => !kept.has(name) };

const editing = (element) => {
  const active = document.activeElement;
  return element !== active && element.contains(active) && active.matches("input:not([type=radio]), textarea, select");
};

function parse(html) {
  // Rows of tables stand in a template; nowhere else may they be alone.
  const page = new DOMParser().parseFromString(`<template>${html}</template>`, "text/html");
  return document.importNode(page.querySelector("template").content.firstElementChild, true);
}

/** Makes element look as html says. False: somebody is writing in it. */
function morph(element, html) {
  if (editing(element)) return false;
  const next = parse(html);
  // A row that is drawn anew for its bar alone keeps the details that were
  // loaded into it; one that has got on loads them again.
  const part = element.className === next.className && element.querySelector("[data-part]");
  if (part) next.querySelector("[data-load]")?.replaceWith(part.cloneNode(true));
  Idiomorph.morph(element, next, { callbacks });
  return true;
}

/** What each op does; its result, if false, says that it could not be done. */
const does = {
  put(list, id, after, html) {
    const there = document.getElementById(id);
    if (there) return morph(there, html);
    const rows = document.getElementById(list);
    const before = after && document.getElementById(after);
    if (!rows || (after && !before && rows.childElementCount > 0)) return false;
    const row = parse(html);
    if (before) before.after(row);
    else rows.prepend(row);
    return true;
  },
  morph(selector, html) {
    return [...document.querySelectorAll(selector)].every((element) => morph(element, html));
  },
  row(list, selector, html) {
    const row = document.querySelector(selector);
    return row ? morph(row, html) : does.new(list);
  },
  new(list) {
    return !document.querySelector(`#${list}[data-new]`);
  },
  resync: () => false,
};

/** Does one op. False says that the page should be loaded anew. */
export function apply([name, ...what]) {
  return does[name] ? does[name](...what) : true;
}

/** Loads the page anew in place: the reader keeps place, focus and draft. */
export async function refresh() {
  // The answer to a form stands at the form's address, which can't be loaded.
  const { path } = document.querySelector(".app").dataset;
  const reply = await fetch(location.pathname === path ? location.href : path, { headers: { Accept: "text/html" }, cache: "no-store" });
  if (!reply.ok || reply.redirected) return location.reload();
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  const next = page.querySelector(".app");
  if (!next) return location.reload();
  document.title = page.title;
  document.documentElement.dataset.now = page.documentElement.dataset.now;
  Idiomorph.morph(document.querySelector(".app"), next, { ignoreActiveValue: true, callbacks });
  showTimes(document);
}
