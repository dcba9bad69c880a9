// How the page hears of changes, in the rail's foot: Live, Catching up,
// Reconnecting, Offline. live.js leads the connection, and says on the document
// how it stands: data-connected is there while it is open ("behind" until what
// was missed has come), data-retry is when it is tried next.

const html = document.documentElement;

function stateOf() {
  if (!navigator.onLine) return "offline";
  if ("connected" in html.dataset) return html.dataset.connected === "behind" ? "behind" : "on";
  return "lost";
}

function show(link) {
  const state = stateOf();
  const left = Math.ceil((Number(html.dataset.retry) - Date.now()) / 1000);
  link.dataset.state = state;
  link.querySelector("[data-says]").textContent = state === "lost" && left > 0 ? link.dataset.again.replace("%", left) : link.dataset[state];
  link.querySelector("[data-reconnect]").hidden = state !== "lost";
}

/** Without a network nothing can be sent either: the bar has to say so. */
function word(bar, lost) {
  const offline = !navigator.onLine;
  const was = bar.dataset.lost;
  bar.dataset.lost = offline ? bar.dataset.offline : lost;
  if (bar.firstElementChild.textContent === was) bar.firstElementChild.textContent = bar.dataset.lost;
}

export function startLink(root) {
  const link = root.getElementById("link");
  const bar = root.getElementById("connection");
  if (!link || !bar) return;
  const { lost } = bar.dataset;
  const look = () => {
    link.hidden = false;
    show(link);
  };
  // Nobody is told of a connection that is only just being made.
  const first = setTimeout(look, 3000);
  new MutationObserver(() => {
    clearTimeout(first);
    look();
  }).observe(html, { attributeFilter: ["data-connected", "data-retry"] });
  // The page is drawn anew around it, as the server knows it.
  new MutationObserver(() => link.hidden && look()).observe(link, { attributeFilter: ["hidden"] });
  setInterval(() => link.hidden || (link.dataset.state === "lost" && show(link)), 1000);
  for (const change of ["online", "offline"]) addEventListener(change, () => { word(bar, lost); look(); });
  word(bar, lost);
}
