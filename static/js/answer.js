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

  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) {
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

function drafting(form) {
  const key = draftOf(form.dataset.question);
  const note = form.elements.message;
  const kept = sessionStorage.getItem(key);
  if (kept && !note.value) note.value = kept;
  note.addEventListener("input", () => {
    if (note.value) sessionStorage.setItem(key, note.value);
    else sessionStorage.removeItem(key);
  });
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
      if (event.key !== "Enter" || event.isComposing || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      form.requestSubmit();
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
