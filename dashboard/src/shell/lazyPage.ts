import { type ComponentType, createElement, type ReactNode, use } from "react";

/** A page for a route, or a part of a page. */
type LazyPage<Props extends object> = ((props: Props) => ReactNode) & { preload: () => Promise<void> };

/**
 * A page, or a part below a `Suspense`, whose script is loaded when it is shown, or earlier by `preload`. If loading fails,
 * the page's error state is shown, and its Retry loads again. The router's own lazy component would reload the window, which
 * ends in the browser's error page while the service is unreachable. After an upgrade, `replacedPage.ts` reloads the page.
 */
export function lazyPage<Name extends string, Props extends object>(
  load: () => Promise<Record<Name, ComponentType<Props>>>,
  name: Name,
): LazyPage<Props> {
  type Page = ComponentType<Props>;
  const script: { loading?: Promise<Page> | undefined; page?: Page } = {};
  const read = (): Promise<Page> => {
    if (script.loading !== undefined) return script.loading;
    const loading = load().then((parts) => (script.page = parts[name]));
    script.loading = loading;
    // React keeps the rejected promise for the page that waits for it; the next page loads again.
    loading.catch(() => {
      script.loading = undefined;
    });
    return loading;
  };
  function Page(props: Props) {
    // Renders at once if the script is loaded: by the time of a later rendering, the address may have changed.
    return createElement(script.page ?? use(read()), props);
  }
  const ignore = (): void => undefined;
  return Object.assign(Page, { preload: () => read().then(ignore, ignore) });
}
