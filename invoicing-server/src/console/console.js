// The pages work without this script. It copies secrets, and switches off the buttons of a form that is under way.
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = button.dataset.done;
  });
}
const switchButtons = (form, off) => {
  for (const button of form.querySelectorAll("button:not([type=button])")) button.disabled = off;
};
for (const form of document.querySelectorAll("form[method=post]")) {
  // After the browser has read the form. On again, as its answer may never come.
  form.addEventListener("submit", () => {
    setTimeout(() => switchButtons(form, true));
    setTimeout(() => switchButtons(form, false), 20_000);
  });
}
// A page that comes back as it was has a form that was sent already.
addEventListener("pageshow", (event) => event.persisted && location.reload());
// Looks again where something is under way.
const { refresh } = document.getElementById("content").dataset;
const isTyping = () => document.activeElement?.closest("form");
if (refresh) setTimeout(() => isTyping() || location.reload(), refresh * 1000);
const errors = document.querySelector(".notice.error");
if (errors) {
  errors.tabIndex = -1;
  errors.focus();
}
