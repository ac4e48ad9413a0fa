import { isAnythingTyped } from "../api/typedForms.ts";

/**
 * Watches for parts of the page that cannot be loaded. A tab that is open while the service is upgraded asks for what is
 * there no longer: it is then loaded anew, which would be no help where the service is merely away. Links ask for their page
 * as soon as the pointer is over them: where something was typed, only a click on Retry loads anew.
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
    // It is away: what shows that the part is not there has a way on.
  }
}

/**
 * Loads the page anew, by which alone every browser asks again for a script that it could not have, but only once the service
 * answers: a reload before would end in the browser's own error page. Until then `stay` is called.
 */
export async function reloadWhenBack(stay: () => void): Promise<void> {
  try {
    const response = await fetch(location.href, { headers: { accept: "text/html" } });
    if (response.ok) {
      location.reload();
      return;
    }
  } catch {
    // The service is still away.
  }
  stay();
}
