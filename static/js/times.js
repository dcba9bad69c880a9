// Times in the reader's zone. The server writes every time in full, in UTC;
// here that text is replaced, by what data-show asks for:
//   moment   today 14:30, or 30 Nov 14:30; the whole in the tooltip
//   clock    14:30          precise  14:30:05
//   away     1h 48m, counted on as time passes
//   seconds  8, counted down to 0

const language = document.documentElement.lang || "en";
const chinese = language.startsWith("zh");
const units = chinese
  ? { day: " 天", hour: " 小时", minute: " 分", second: " 秒" }
  : { day: "d", hour: "h", minute: "m", second: "s" };

const format = (options) => new Intl.DateTimeFormat(chinese ? "zh-CN" : "en-GB", { hourCycle: "h23", ...options });
const clock = format({ hour: "2-digit", minute: "2-digit" });
const precise = format({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const thisYear = format({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const anyYear = format({ day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
const whole = format({ dateStyle: "full", timeStyle: "long" });

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

function show(element, now) {
  const at = new Date(element.dateTime);
  if (Number.isNaN(at.getTime())) return;
  const text = {
    moment: () => moment(at, now),
    clock: () => clock.format(at),
    precise: () => precise.format(at),
    away: () => span(at - now),
    seconds: () => String(Math.max(0, Math.ceil((at - now) / 1000))),
  }[element.dataset.show]?.();
  if (text === undefined) return;
  if (element.textContent !== text) element.textContent = text;
  if (!element.title) element.title = whole.format(at);
}

/** Shows all times below root, and keeps those that count up to date. */
export function startTimes(root) {
  const now = new Date();
  for (const element of root.querySelectorAll("time[data-show]")) show(element, now);
  setInterval(() => {
    const now = new Date();
    const counting = document.hidden ? "seconds" : "away";
    for (const element of root.querySelectorAll(`time[data-show=seconds], time[data-show=${counting}]`)) show(element, now);
    for (const form of root.querySelectorAll("[data-until]")) form.hidden = now > new Date(form.dataset.until);
  }, 1000);
}
