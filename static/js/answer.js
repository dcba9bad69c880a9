// Answering. The form works without this; here it asks a second time where an
// answer can't be undone, keeps a draft against a closed tab, and is sent once.
// A page's form may come and go while it is open: all is asked of the form that
// is there.

const settle = 500; // ms in which a second press is taken for a slip of the first

let since = 0; // when the second question was put; 0: it wasn't
let sent = false;
const seen = new Set();

const form = () => document.querySelector(".answer-form");
const within = (event) => event.target.closest?.(".answer-form");

function reset(form) {
  form.querySelector(".answer-confirm").hidden = true;
  since = 0;
  form.querySelector("[name=confirm]")?.remove();
}

// Without a network, or without the server, the answer waits. The buttons stay
// where they are, so that they can be asked why; what was written is kept.
export function checkLink(unreachable = false) {
  if (!form()) return;
  const strip = form().querySelector(".answer-offline");
  const offline = !navigator.onLine;
  strip.hidden = !offline && !unreachable;
  strip.querySelector("[data-offline]").hidden = !offline;
  strip.querySelector("[data-unreachable]").hidden = offline;
  for (const button of form().querySelectorAll("button:not([type=button])")) button.ariaDisabled = String(offline);
}

// A page that hears nothing of the server asks for it before it is left for an
// answer that doesn't come.
let reached = false;
let asking = false;
async function reach(form, submitter) {
  if (asking) return;
  asking = true;
  reached = await fetch("/readyz", { cache: "no-store", signal: AbortSignal.timeout(5e3) }).then(({ ok }) => ok, () => false);
  asking = false;
  checkLink(!reached);
  if (reached) form.requestSubmit(submitter);
  reached = false;
}

function submit(event) {
  if (event.target.matches("[data-leaves]")) sessionStorage.clear();
  const form = within(event);
  if (event.target.action.endsWith("/undo")) { // nor is an answer taken back twice
    if (sent) event.preventDefault();
    sent = true;
  }
  if (!form) return;
  if (sent || !navigator.onLine) return event.preventDefault();
  const chosen = form.querySelector("[name=option]:checked");
  const prompt = chosen?.dataset.confirm;
  if (prompt && (!since || event.timeStamp - since < settle)) {
    event.preventDefault();
    const strip = form.querySelector(".answer-confirm");
    strip.querySelector("[data-prompt]").textContent = prompt;
    strip.hidden = false;
    since = event.timeStamp; // presses that come one upon the other are one
    return;
  }
  if (!reached && !("connected" in document.documentElement.dataset)) {
    event.preventDefault();
    reach(form, event.submitter);
    return;
  }
  if (prompt) {
    const confirm = document.createElement("input");
    confirm.type = "hidden";
    confirm.name = "confirm";
    confirm.value = chosen.value;
    form.append(confirm);
  }
  sent = true;
}

// A tab may have another person in it tomorrow.
const me = () => `draft:${document.querySelector(".app")?.dataset.me}:`;
const draftOf = (question) => me() + question;
const keptOf = (question) => JSON.parse(sessionStorage.getItem(draftOf(question)) ?? "{}");
const textsOf = (form) => [...form.querySelectorAll("textarea, input[type=text], input[type=date], select")];

/** Keeps what is written, against a closed tab and a lost connection. What was
 *  chosen is not kept: nothing is ever chosen beforehand. */
function keep(event) {
  const form = within(event);
  if (!form) return;
  const { question } = form.dataset;
  const kept = keptOf(question);
  const written = textsOf(form).filter((text) => !unchanged(text) || kept[text.name] === text.value);
  if (written.length > 0) sessionStorage.setItem(draftOf(question), JSON.stringify(Object.fromEntries(written.map(({ name, value }) => [name, value]))));
  else sessionStorage.removeItem(draftOf(question));
}

function unchanged(text) {
  return text.value === (text.matches("select") ? (text.querySelector("[selected]") ?? text.options[0])?.value : text.defaultValue);
}

/** Shows what was kept where there is no form for it: somebody else has
 *  answered, or nobody waits any more. */
function showKept(notice) {
  const words = Object.values(keptOf(notice.dataset.kept)).filter(Boolean);
  notice.hidden = words.length === 0;
  for (const shown of notice.querySelectorAll("blockquote")) shown.remove();
  for (const text of words) {
    const shown = document.createElement("blockquote");
    shown.dir = "auto";
    shown.textContent = text;
    notice.append(shown);
  }
}

// Whoever may answer has the question before their eyes. Opening its address
// alone doesn't say so: mail scanners and background tabs do that, too.
function see() {
  const at = form()?.dataset.seen;
  if (!at || seen.has(at) || document.visibilityState !== "visible") return;
  seen.add(at);
  fetch(at, { method: "POST", keepalive: true }).catch(() => {});
}

// What a wide screen shows anyway is open for screen readers too.
const wide = matchMedia("(min-width: 721px)");
function fit() {
  for (const details of document.querySelectorAll("[data-wide-open]")) details.open = wide.matches;
}

/** Takes care of the form that has come to the page, or of what has come in its
 *  place. */
export function meetForm() {
  if (!document.querySelector(".app")) return; // signing in again: who it will be is not known yet
  for (const key of Object.keys(sessionStorage)) if (!key.startsWith(me())) sessionStorage.removeItem(key);
  for (const { dataset } of document.querySelectorAll("[data-answered]")) sessionStorage.removeItem(draftOf(dataset.answered));
  document.querySelectorAll("[data-kept]").forEach(showKept);
  if (!form()) return;
  const kept = keptOf(form().dataset.question);
  for (const text of textsOf(form())) if (text.name in kept && unchanged(text)) text.value = kept[text.name];
  reset(form());
  checkLink();
  see();
}

export function startAnswers(root) {
  root.addEventListener("submit", submit);
  root.addEventListener("input", keep);
  root.addEventListener("change", (event) => within(event) && reset(within(event)));
  root.addEventListener("visibilitychange", see);
  root.addEventListener("keydown", (event) => {
    const form = within(event);
    if (!form || event.key !== "Enter" || event.isComposing) return;
    const send = event.ctrlKey || event.metaKey;
    // A key that is held down is one press, whatever it is held on. In the note
    // it makes lines.
    if (send || (event.repeat && !event.target.matches("textarea"))) event.preventDefault();
    if (send && !event.repeat) form.requestSubmit();
  });
  addEventListener("offline", () => checkLink());
  addEventListener("online", () => checkLink());
  // The page may come back from the browser's memory as it was when sent.
  addEventListener("pageshow", () => {
    sent = false;
    if (form()) reset(form());
  });
  meetForm();
  fit();
  wide.addEventListener("change", fit);
}
