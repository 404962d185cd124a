// Asks before what cannot be undone, and opens the dialogs of the dialogs page.
/** @type {NodeListOf<HTMLFormElement>} */
const confirmed = document.querySelectorAll("form[data-confirm]");
for (const form of confirmed) {
  form.addEventListener("submit", (event) => {
    if (!confirm(form.dataset.confirm)) event.preventDefault();
  });
}

const output = document.getElementById("answer");
const modal = document.getElementById("modal");
/** @type {Record<string, () => string | null>} */
const dialogs = {
  alert: () => (alert("The kettle is on."), "alert closed"),
  confirm: () => (confirm("Shall we put it aside for you?") ? "confirmed" : "declined"),
  prompt: () => prompt("What is your name?", "") ?? "no name",
  modal: () => {
    if (modal instanceof HTMLDialogElement) modal.showModal();
    return null;
  },
};
/** @type {NodeListOf<HTMLButtonElement>} */
const openers = document.querySelectorAll("button[data-dialog]");
for (const button of openers) {
  button.addEventListener("click", () => {
    const result = dialogs[button.dataset.dialog ?? ""]?.() ?? null;
    if (output && result !== null) output.textContent = result;
  });
}
modal?.addEventListener("close", () => {
  if (output && modal instanceof HTMLDialogElement) output.textContent = modal.returnValue || "dismissed";
});
