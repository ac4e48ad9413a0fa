// Runs before the first paint, so that a dark page does not flash white. A file of its own: the page allows no inline script.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("postrider.theme");
  } catch {
    // Storage is forbidden; the system's preference holds.
  }
  const dark =
    chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
