// Runs before the first paint, so that a dark page does not flash white. It is a file because the Content-Security-Policy
// allows no inline script.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("postrider.theme");
  } catch {
    // Storage is forbidden: use the system's preference.
  }
  const dark =
    chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
