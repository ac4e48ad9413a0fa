import { isAnythingTyped } from "../api/typedForms.ts";

/**
 * Reloads the page when a part of it cannot be loaded because the service was upgraded: a tab that was open before requests
 * scripts that no longer exist. While the service is only unreachable, a reload would not help. A page with unsaved input is
 * reloaded only by a click on Retry, because links load their page as soon as the pointer is over them.
 */
export function reloadWhenReplaced(): void {
  addEventListener("vite:preloadError", () => void reloadIfReplaced());
}

async function reloadIfReplaced(): Promise<void> {
  if (isAnythingTyped()) return;
  const script = document.querySelector("script[type=module]")?.getAttribute("src");
  try {
    const response = await fetch(location.href, { headers: { accept: "text/html" } });
    const page = await response.text();
    if (page.includes('id="root"') && !page.includes(`src="${script}"`)) location.reload();
  } catch {
    // The service is unreachable: the error card of the missing part offers Retry.
  }
}

/**
 * Reloads the page if the service answers; otherwise calls `stay`. In some browsers, only a reload requests a failed script
 * again, and a reload while the service is unreachable would end in the browser's own error page.
 */
export async function reloadWhenBack(stay: () => void): Promise<void> {
  try {
    const response = await fetch(location.href, { headers: { accept: "text/html" } });
    if (response.ok) {
      location.reload();
      return;
    }
  } catch {
    // The service is still unreachable.
  }
  stay();
}
