// Runs before the first paint: a chosen theme beats the system's.
(() => {
  const chosen = localStorage.getItem("shipyard.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
