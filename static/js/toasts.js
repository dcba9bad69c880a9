// What was just done, with the way back while there is one. The seconds are
// those of the hold itself: they go on whatever the pointer does. What waits
// for the reader is the toast, which stays while it is pointed at or has the
// focus.

const stays = 8e3; // ms, of one that offers no way back

/** Whether there is no way back any more, or never was. */
function over(toast, shown) {
  const count = toast.querySelector("[data-until]");
  return count ? count.hidden : Date.now() - shown > stays;
}

/** Says that the answer has gone out, in place of the way back. */
function tell(toast) {
  const form = toast.querySelector("form:not([hidden])");
  if (!form) return;
  if (form.contains(document.activeElement)) toast.querySelector("[data-close]").focus();
  form.hidden = true;
  toast.querySelector("[data-out]").hidden = false;
}

export function startToasts(root) {
  const region = root.querySelector(".toasts");
  if (!region) return;
  const shown = Date.now();
  // A screen reader says what comes into the region, not what was in it.
  setTimeout(() => region.contains(document.activeElement) || region.append(...region.children), 100);
  region.addEventListener("click", ({ target }) => target.closest("[data-close]")?.closest(".toast").remove());
  setInterval(() => {
    for (const toast of region.querySelectorAll(".toast")) {
      if (!over(toast, shown)) continue;
      tell(toast);
      if (!toast.matches(":hover, :focus-within")) toast.remove();
    }
  }, 1000);
}
