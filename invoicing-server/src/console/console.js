// Copies a secret. The pages work without this script.
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = button.dataset.done;
  });
}
const errors = document.querySelector(".notice.error");
if (errors) {
  errors.tabIndex = -1;
  errors.focus();
}
