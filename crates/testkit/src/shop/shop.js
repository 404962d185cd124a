// Questions before what cannot be undone, and the dialogs page.
for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => {
    if (!confirm(form.dataset.confirm)) event.preventDefault();
  });
}

const answer = document.getElementById("answer");
const modal = document.getElementById("modal");
const asks = {
  alert: () => (alert("The kettle is on."), "alert closed"),
  confirm: () => (confirm("Shall we put it aside for you?") ? "confirmed" : "declined"),
  prompt: () => prompt("What is your name?", "") ?? "no name",
  modal: () => (modal.showModal(), null),
};
for (const button of document.querySelectorAll("button[data-dialog]")) {
  button.addEventListener("click", () => {
    const said = asks[button.dataset.dialog]();
    if (said !== null) answer.textContent = said;
  });
}
modal?.addEventListener("close", () => (answer.textContent = modal.returnValue || "dismissed"));
