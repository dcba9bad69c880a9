// What happens while the page is open. The page has one WebSocket; each element
// with data-live names the topic whose changes belong into it. docs/live.md has
// the protocol. Without a connection everything else on the page still works.
import { checkLink, meetForm } from "./answer.js";
import { apply, refresh } from "./patch.js";
import { showTimes } from "./times.js";

const silent = 35e3; // the server speaks every 15 s
const noticed = 3e3; // a shorter cut is nobody's concern
const slow = 10e3; // a connection that is not made by then is not being made
const stuck = 2e3; // the same, for who asks for one
const waits = [250, 15e3];
const longest = 8; // ms of work at once
const queued = 2000;
const rowsMost = 1500; // of a timeline that is followed; a page that is loaded anew has 500 to 1,000

let socket;
let tries = 0;
let again;
let heard = 0;
let lostAt = 0;
let over = false;
let work = [];
let planned = false;
const topics = new Map(); // by name: what the page has of it

const html = document.documentElement;
const byId = (id) => document.getElementById(id);
const form = () => document.querySelector("form.answer-form");

function collect() {
  topics.clear();
  for (const element of document.querySelectorAll("[data-live]")) {
    const { live, seq, after, scale, view } = element.dataset;
    topics.set(live, { seq: Number(seq) || 0, after: Number(after) || 0, scale: Number(scale) || 0, view });
  }
  if (document.querySelector("[data-waiting]")) topics.set("me", {});
}

function send(what) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(what));
}

const subscribe = (name) => send({ op: "sub", t: name, ...topics.get(name) });

function banner(words) {
  const bar = byId("connection");
  bar.hidden = !words;
  if (!words) return;
  bar.firstElementChild.textContent = bar.dataset[words];
  bar.lastElementChild.hidden = words !== "lost";
}

function connect() {
  clearTimeout(again);
  if (over || socket?.readyState <= WebSocket.OPEN) return;
  heard = Date.now();
  socket = new WebSocket(location.origin.replace(/^http/, "ws") + "/ws");
  const mine = socket;
  const began = heard;
  setTimeout(() => mine === socket && mine.readyState === WebSocket.CONNECTING && notice(began), noticed);
  socket.onopen = () => {
    tries = 0;
    topics.forEach((_, name) => subscribe(name));
    delete html.dataset.retry;
    html.dataset.connected = lostAt ? "behind" : "";
    if (lostAt && Date.now() - lostAt > noticed) {
      banner("back");
      setTimeout(() => !lostAt && banner(), 2000);
    } else banner();
    lostAt = 0;
    checkLink();
  };
  socket.onmessage = ({ data }) => {
    heard = Date.now();
    hear(JSON.parse(data));
  };
  socket.onclose = ({ code }) => mine === socket && lose(code);
}

function notice(since) {
  lostAt ||= since;
  banner("lost");
}

/** Lets go of a connection that has died, or that isn't being made. */
function drop() {
  const dead = socket;
  socket = undefined;
  dead.close();
}

/** Somebody asks for a connection, or has reason to hope for one. */
function hurry() {
  if (socket?.readyState === WebSocket.CONNECTING && Date.now() - heard > stuck) drop();
  connect();
}

function lose(code) {
  delete html.dataset.connected;
  if (code === 4401) return location.reload();
  if (code === 4403) {
    over = true;
    return banner("over");
  }
  lostAt ||= Date.now();
  setTimeout(() => lostAt && banner("lost"), noticed);
  const most = Math.min(waits[0] * 2 ** tries++, waits[1]);
  const wait = most / 2 + (Math.random() * most) / 2;
  html.dataset.retry = Date.now() + wait; // link.js counts down to it
  again = setTimeout(connect, wait);
}

function hear(said) {
  if (html.dataset.connected) html.dataset.connected = ""; // what was missed has begun to come
  if (said.ping) return send({ op: "pong" });
  if (said.refused === "resync") return offer(said.t);
  if (said.going || said.refused || !topics.has(said.t)) return;
  const has = topics.get(said.t);
  if (said.to) {
    if (said.to < has.seq) return; // seen already
    if (said.from > has.seq + 1) return subscribe(said.t); // something is missing
    has.seq = said.to;
  }
  if (work.length + said.ops.length > queued) {
    work = [];
    return refreshAll();
  }
  work.push(...said.ops.map((op) => [said.t, op]));
  plan();
}

function plan() {
  if (planned) return;
  planned = true;
  // A hidden tab draws no frames.
  if (document.hidden) setTimeout(flush, 0);
  else requestAnimationFrame(flush);
}

function flush() {
  planned = false;
  const until = performance.now() + longest;
  const follow = following();
  const had = byId("events")?.childElementCount;
  while (work.length > 0 && performance.now() < until) {
    const [topic, op] = work.shift();
    if (!apply(op)) offer(topic);
  }
  settle();
  if (follow) {
    follow();
    if (had > rowsMost) refreshAll(); // the oldest rows go
  } else if (had !== undefined && byId("events").childElementCount > had) offerBottom();
  if (work.length > 0) plan();
}

/** What the server can't know: where the reader is. */
function settle() {
  showTimes(document);
  for (const link of document.querySelectorAll("#queue a[data-row]")) {
    link.toggleAttribute("aria-current", new URL(link.href).pathname === location.pathname);
  }
  const waiting = document.querySelector("[data-waiting]")?.dataset.waiting;
  if (waiting !== undefined) {
    const title = document.title.replace(/^\(\d+\) /, "");
    document.title = waiting > 0 ? `(${waiting}) ${title}` : title;
  }
  tellNews();
  announce();
}

// Of a question: what has become of it, beside what the reader is writing.
function tellNews() {
  const page = document.querySelector(".news");
  const news = byId("question-news");
  if (!page || !news) return;
  const same = page.dataset.version === news.dataset.version && page.dataset.status === news.dataset.status;
  page.toggleAttribute("data-told", !same);
  if (same) return;
  if (!form()) return refreshAll();
  // It may come to wait again. An answer to what it was before is refused then.
  for (const button of form().querySelectorAll("button:not([type=button])")) button.disabled = news.dataset.status !== "pending";
}

// For who doesn't see it: that a session's state has changed.
let state;
function announce() {
  const now = document.querySelector("#session-head .tag")?.textContent.trim();
  if (state !== undefined && now !== undefined && now !== state) byId("announce").textContent = now;
  state = now;
}

// The timeline follows while its end is in view, and stays where it is read.
function scroller() {
  for (let at = byId("events"); at; at = at.parentElement) {
    if (at.scrollHeight > at.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
  }
  return document.scrollingElement;
}

function following() {
  if (!byId("events")?.dataset.live) return null;
  const box = scroller();
  if (box.scrollHeight - box.scrollTop - box.clientHeight > 80) return null;
  return () => box.scrollTo({ top: box.scrollHeight });
}

function offerBottom() {
  const last = byId("events").lastElementChild;
  const pill = byId("pill");
  if (!last || last.getBoundingClientRect().top < innerHeight) return;
  pill.dataset.to = last.id;
  pill.dataset.key = "f"; // follow
  pill.hidden = false;
}

/** Offers to load the page anew, where that would move what is being read. */
function offer(topic) {
  // Nothing moves in an empty inbox, nor for who reads a timeline at its end.
  if (topic === "inbox" ? !byId("queue") : topic?.startsWith("session:") && following()) return refreshAll();
  delete byId("pill").dataset.to;
  delete byId("pill").dataset.key;
  byId("pill").hidden = false;
}

let refreshing = false;

/** Loads the page anew in place. Who is filling in a form is asked first. */
async function refreshAll(asked) {
  if (refreshing) return;
  if (!asked && form() && changed(form())) return offer();
  const follow = following();
  refreshing = true;
  byId("pill").hidden = true;
  try {
    await refresh();
  } catch {
    return; // no link: the next connection brings what is missing
  } finally {
    refreshing = false;
  }
  work = []; // the page is newer than what was waiting
  meetForm();
  collect();
  topics.forEach((_, name) => subscribe(name));
  settle();
  follow?.();
}

const changed = (f) => [...f.elements].some((e) => (e.type === "radio" ? e.checked !== e.defaultChecked : e.value !== e.defaultValue));

export function startLive() {
  if (!byId("connection")) return;
  collect();
  settle();
  if (topics.size === 0) return;
  connect();
  setInterval(() => {
    const most = [slow, silent][socket?.readyState];
    if (most && Date.now() - heard > most) {
      drop();
      lose();
    }
  }, 5000);
  addEventListener("online", hurry);
  addEventListener("pagehide", () => socket?.close());
  addEventListener("pageshow", ({ persisted }) => persisted && connect());
  document.addEventListener("visibilitychange", () => document.hidden || hurry());
  document.addEventListener("click", ({ target }) => {
    if (target.closest("[data-reconnect]")) hurry();
    const more = target.closest("[data-refresh]");
    if (!more) return;
    byId("pill").hidden = true;
    if (more.dataset.to) byId(more.dataset.to)?.scrollIntoView({ block: "end" });
    else refreshAll(true);
  });
}
