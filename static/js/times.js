// Times in the reader's zone. The server writes every time in full, in UTC;
// here that text is replaced, by what data-show asks for:
//   moment   14:30 today, 30 Nov 14:30 else; the whole in the tooltip
//   day      Wed, or 12 Dec
//   clock    14:30          precise  14:30:05
//   away     1h 48m, counted on as time passes
//   left     8 s, counted down
//   since    8 s, counted up
// A bar with data-since grows, by one percent for each data-part of milliseconds.
// What carries data-until is gone once that moment has passed; with
// data-reload the page then shows what has become of it.
// The clock is the server's: the page says what time it was there.

const html = document.documentElement;
const chinese = html.lang.startsWith("zh");
const units = chinese
  ? { day: " 天", hour: " 小时", minute: " 分", second: " 秒" }
  : { day: "d", hour: "h", minute: "m", second: "s" };

const ahead = (Date.parse(html.dataset.now) || Date.now()) - Date.now();
const serverNow = () => new Date(Date.now() + ahead);

const format = (options) => new Intl.DateTimeFormat(chinese ? "zh-CN" : "en-GB", { hourCycle: "h23", ...options });
const clock = format({ hour: "2-digit", minute: "2-digit" });
const precise = format({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const thisYear = format({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const anyYear = format({ day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
const weekday = format({ weekday: "short" });
const day = format({ day: "numeric", month: "short" });
const whole = format({ dateStyle: "full", timeStyle: "long" });

/** Whole minutes: what is an hour away doesn't need its seconds counted. */
function away(milliseconds) {
  const abs = Math.abs(milliseconds);
  return span(abs < 60e3 ? abs : abs - (abs % 60e3));
}

function span(milliseconds) {
  const seconds = Math.floor(Math.abs(milliseconds) / 1000);
  if (seconds < 60) return seconds + (chinese ? units.second : " " + units.second);
  const steps = [
    [86400, units.day, 3600, units.hour],
    [3600, units.hour, 60, units.minute],
    [60, units.minute, 1, units.second],
  ];
  const [big, bigUnit, small, smallUnit] = steps.find(([size]) => seconds >= size);
  const rest = Math.floor((seconds % big) / small);
  const text = Math.floor(seconds / big) + bigUnit;
  return rest ? text + " " + rest + smallUnit : text;
}

function moment(at, now) {
  if (at.toDateString() === now.toDateString()) return clock.format(at);
  return (at.getFullYear() === now.getFullYear() ? thisYear : anyYear).format(at);
}

const shows = {
  moment,
  day: (at, now) => (Math.abs(at - now) < 6 * 86400e3 ? weekday : day).format(at),
  clock: (at) => clock.format(at),
  precise: (at) => precise.format(at),
  away: (at, now) => away(at - now),
  since: (at, now) => span(Math.max(0, now - at)),
  left: (at, now) => span(Math.max(0, Math.ceil((at - now) / 1000)) * 1000),
};

function show(element, now) {
  const at = new Date(element.dateTime);
  const text = Number.isNaN(at.getTime()) ? undefined : shows[element.dataset.show]?.(at, now);
  if (text === undefined) return;
  if (element.textContent !== text) element.textContent = text;
  if (!element.title) element.title = whole.format(at);
}

function expire(root, now) {
  for (const element of root.querySelectorAll("[data-until]:not([hidden])")) {
    if (now < new Date(element.dataset.until)) continue;
    element.hidden = true;
    // Only what ran out before the reader's eyes: a reload that shows the same
    // again must not lead to the next.
    if ("reload" in element.dataset && "counted" in element.dataset) location.reload();
  }
}

function grow(root, now) {
  for (const bar of root.querySelectorAll("rect[data-since]")) {
    const most = 100 - parseFloat(bar.getAttribute("x"));
    const part = (now - new Date(bar.dataset.since)) / Number(bar.dataset.part);
    const width = part < 0 ? 0 : Math.min(most, Math.max(0.5, part)); // 0: it begins later
    bar.setAttribute("width", width.toFixed(2) + "%");
  }
}

/** Shows all times below root, for what has just come to the page too. */
export function showTimes(root) {
  const now = serverNow();
  for (const element of root.querySelectorAll("time[data-show]")) show(element, now);
  grow(root, now);
}

const counted = ["left", "away", "since"].map((what) => `time[data-show=${what}]`).join();

/** Shows all times below root, and keeps those that count up to date. */
export function startTimes(root) {
  showTimes(root);
  expire(root, serverNow());
  for (const element of root.querySelectorAll("[data-until]:not([hidden])")) element.dataset.counted = "";
  setInterval(() => {
    const now = serverNow();
    expire(root, now);
    if (document.visibilityState !== "visible") return;
    for (const element of root.querySelectorAll(counted)) show(element, now);
    grow(root, now);
  }, 1000);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && showTimes(root));
}
