// The pages work without this script. It copies secrets.
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = button.dataset.done;
  });
}
// Looks again where something is under way.
const { refresh } = document.getElementById("content").dataset;
const isTyping = () => document.activeElement?.closest("form");
if (refresh) setTimeout(() => isTyping() || location.reload(), refresh * 1000);
const errors = document.querySelector(".notice.error");
if (errors) {
  errors.tabIndex = -1;
  errors.focus();
}
