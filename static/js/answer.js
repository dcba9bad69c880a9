// Answering. The form works without this; here it asks a second time where an
// answer can't be undone, keeps a draft against a closed tab, and is sent once.

const settle = 500; // ms in which a second press is taken for a slip of the first

function asking(form) {
  const strip = form.querySelector(".answer-confirm");
  let since = 0;

  const reset = () => {
    strip.hidden = true;
    since = 0;
    form.querySelector("[name=confirm]")?.remove();
  };
  form.addEventListener("change", reset);

  // Without a network the answer waits. The buttons stay where they are, so
  // that they can be asked why; what was written is kept (drafting).
  const offline = form.querySelector(".answer-offline");
  const check = () => {
    offline.hidden = navigator.onLine;
    for (const button of form.querySelectorAll("button:not([type=button])")) button.ariaDisabled = String(!navigator.onLine);
  };
  addEventListener("offline", check);
  addEventListener("online", check);
  check();

  form.addEventListener("submit", (event) => {
    if (form.dataset.sent || !navigator.onLine) {
      event.preventDefault();
      return;
    }
    const chosen = form.querySelector("[name=option]:checked");
    const prompt = chosen?.dataset.confirm;
    if (prompt && !since) {
      event.preventDefault();
      strip.querySelector("[data-prompt]").textContent = prompt;
      strip.hidden = false;
      since = event.timeStamp;
      return;
    }
    if (prompt && event.timeStamp - since < settle) {
      event.preventDefault();
      since = event.timeStamp; // presses that come one upon the other are one
      return;
    }
    if (prompt) {
      const confirm = document.createElement("input");
      confirm.type = "hidden";
      confirm.name = "confirm";
      confirm.value = chosen.value;
      form.append(confirm);
    }
    form.dataset.sent = "yes";
  });

  // The page may come back from the browser's memory as it was when sent.
  addEventListener("pageshow", () => {
    delete form.dataset.sent;
    reset();
  });
}

const draftOf = (question) => "draft:" + question;

/** Keeps what is written, against a closed tab and a lost connection. What was
 *  chosen is not kept: nothing is ever chosen beforehand. */
function drafting(form) {
  const key = draftOf(form.dataset.question);
  const texts = [...form.querySelectorAll("textarea, input[type=text], input[type=date], select")];
  const kept = JSON.parse(sessionStorage.getItem(key) ?? "{}");
  for (const text of texts) if (text.name in kept && unchanged(text)) text.value = kept[text.name];
  form.addEventListener("input", () => {
    const written = texts.filter((text) => !unchanged(text)).map(({ name, value }) => [name, value]);
    if (written.length > 0) sessionStorage.setItem(key, JSON.stringify(Object.fromEntries(written)));
    else sessionStorage.removeItem(key);
  });
}

function unchanged(text) {
  return text.value === (text.matches("select") ? (text.querySelector("[selected]") ?? text.options[0])?.value : text.defaultValue);
}

// Whoever may answer has the question before their eyes. Opening its address
// alone doesn't say so: mail scanners and background tabs do that, too.
function seeing(form) {
  const tell = () => {
    if (document.visibilityState !== "visible") return;
    document.removeEventListener("visibilitychange", tell);
    fetch(form.dataset.seen, { method: "POST", keepalive: true }).catch(() => {});
  };
  document.addEventListener("visibilitychange", tell);
  tell();
}

export function startAnswers(root) {
  for (const { dataset } of root.querySelectorAll("[data-answered]")) sessionStorage.removeItem(draftOf(dataset.answered));
  const form = root.querySelector(".answer-form");
  if (form) {
    asking(form);
    drafting(form);
    seeing(form);
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      const send = event.ctrlKey || event.metaKey;
      // A key that is held down is one press, whatever it is held on. In the
      // note it makes lines.
      if (send || (event.repeat && !event.target.matches("textarea"))) event.preventDefault();
      if (send && !event.repeat) form.requestSubmit();
    });
  }
  // What a wide screen shows anyway is open for screen readers too.
  const wide = matchMedia("(min-width: 721px)");
  const fit = () => {
    for (const details of root.querySelectorAll("[data-wide-open]")) details.open = wide.matches;
  };
  fit();
  wide.addEventListener("change", fit);
}
