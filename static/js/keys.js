// Keys. A page declares them where it shows them: data-key="n" on a control
// makes N press it, or put the cursor into it when it is a text field;
// data-key="g i" is G, then I. Single keys act only outside text fields, with
// no modifier held and no input method composing; data-keys="off" on the
// document turns them off.

const typing = "input:not([type=radio]):not([type=checkbox]):not([type=submit]):not([type=button]), textarea, select, [contenteditable]";

/** The letter or name of the pressed key. Under an input method the browser
 *  says "Process"; the key's place on the board is known all the same. */
function pressed(event) {
  if (event.key === "Process" || event.key === "Unidentified") {
    return event.code.startsWith("Key") ? event.code.slice(3).toLowerCase() : "";
  }
  return event.key.length === 1 ? event.key.toLowerCase() : event.key;
}

function visible(element) {
  return element.checkVisibility ? element.checkVisibility() : element.offsetParent !== null;
}

function press(element) {
  if (element.matches(typing)) {
    element.focus();
    return;
  }
  if (element.matches("[type=radio]")) element.focus();
  element.click();
}

/** Moves the focus among the rows of a list. */
function step(root, by) {
  const rows = [...root.querySelectorAll("[data-row]")].filter(visible);
  if (rows.length === 0) return false;
  const at = rows.indexOf(document.activeElement.closest?.("[data-row]"));
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by;
  rows[Math.min(Math.max(next, 0), rows.length - 1)].focus();
  return true;
}

export function startKeys(root) {
  let prefix = "";
  let forget;

  root.addEventListener("keydown", (event) => {
    if (document.documentElement.dataset.keys === "off") return;
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest(typing)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const key = pressed(event);
    if (key === "") return;
    if (key === "Enter" && (event.repeat || event.target.closest("a, button, summary"))) return;

    const chord = prefix + key;
    const find = (k) => [...root.querySelectorAll(`[data-key="${CSS.escape(k)}"]`)].find(visible);
    const control = find(chord) ?? find(key);
    clearTimeout(forget);
    prefix = "";
    if (control) {
      event.preventDefault();
      press(control);
    } else if (key === "j" || key === "k") {
      if (step(root, key === "j" ? 1 : -1)) event.preventDefault();
    } else if (root.querySelector(`[data-key^="${CSS.escape(key)} "]`)) {
      prefix = key + " ";
      forget = setTimeout(() => (prefix = ""), 1500);
    }
  });
}
