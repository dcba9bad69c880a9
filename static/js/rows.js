// Rows of a session's timeline. They can be read and opened without this; here
// they load what they show when somebody sees it, all of them open at once, and
// keys lead from problem to problem.
import { offerCopies } from "./copy.js";
import { showTimes } from "./times.js";

const opens = ".events li > details, .events .call-detail";

/** Puts the part of the page at the link in the link's place. */
async function load(place) {
  const url = place.dataset.load;
  place.removeAttribute("data-load"); // once
  try {
    const reply = await fetch(url, { headers: { Accept: "text/html" } });
    const part = new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("[data-part]");
    if (!reply.ok || reply.redirected || !part) return; // the link stays
    const there = document.importNode(part, true);
    place.replaceWith(there);
    arrive(there);
  } catch {
    place.dataset.load = url; // without a connection: the link stays, and another look tries again
  }
}

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting || !target.dataset.load) continue;
    seen.unobserve(target);
    load(target);
  }
});

/** Takes care of what has come to the page. */
function arrive(root) {
  for (const place of root.querySelectorAll("[data-load]")) seen.observe(place);
  offerCopies(root);
  showTimes(root);
}

function expandAll(root) {
  const all = [...root.querySelectorAll(opens)];
  const open = all.some((details) => !details.open);
  for (const details of all) details.open = open;
}

/** Moves to the next row that has to do with a failure, or to the one before. */
function problem(root, by) {
  const rows = [...root.querySelectorAll(".events li[data-problem]")].filter((row) => row.checkVisibility());
  const here = document.activeElement.closest?.(".events li");
  const after = (row) => here.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING;
  const others = here ? rows.filter((row) => row !== here && Boolean(after(row)) === by > 0) : rows;
  others.at(by > 0 ? 0 : -1)?.querySelector("[data-row]").focus();
}

/** Opens the row that the address names. */
function goTo(root) {
  const row = location.hash.startsWith("#") && root.getElementById(location.hash.slice(1));
  const details = row && row.querySelector(":scope > details");
  if (details) details.open = true;
}

export function startRows(root) {
  if (!root.querySelector(".events, [data-part]")) return;
  for (const tools of root.querySelectorAll("[data-scripted]")) tools.hidden = false;
  const act = { e: () => expandAll(root), "[": () => problem(root, -1), "]": () => problem(root, 1) };
  root.addEventListener("click", (event) => {
    const tool = event.target.closest("[data-rows]");
    if (tool) act[tool.dataset.rows]();
    const more = event.target.closest("[data-part] a[data-more]");
    if (more && more.closest(".events") && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      const place = more.parentElement;
      place.dataset.load = more.href;
      load(place);
    }
  });
  arrive(root);
  const list = root.getElementById("events");
  if (list) new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) if (node.nodeType === 1 && !("part" in node.dataset)) arrive(node.parentElement ?? node);
  }).observe(list, { childList: true, subtree: true });
  goTo(root);
  addEventListener("hashchange", () => goTo(root));
}
