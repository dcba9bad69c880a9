// Buttons that copy a text: data-copy has it, data-done what the button says
// afterwards. Browsers let only pages do so that came over a safe connection;
// elsewhere the buttons stay hidden.

/** Shows the buttons below root, for what has just come to the page too. */
export function offerCopies(root) {
  for (const button of root.querySelectorAll("[data-copy][hidden]")) button.hidden = !navigator.clipboard;
}

async function copy(button) {
  await navigator.clipboard.writeText(button.dataset.copy);
  button.querySelector("span").textContent = button.dataset.done;
}

export function startCopies(root) {
  offerCopies(root);
  root.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-copy]");
    if (button) copy(button);
  });
}
