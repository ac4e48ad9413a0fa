/** Where the public URL has its interface: nothing, or a path such as `/hooks` without a slash at the end. */
export function pathPrefix(publicUrl: string | undefined): string {
  return publicUrl === undefined ? "" : new URL(publicUrl).pathname.replace(/\/+$/, "");
}

/** Takes the public URL's path off where a proxy leaves it on; requests without it are answered all the same. */
export function belowPrefix(prefix: string): { rewriteUrl?: (request: { url?: string }) => string } {
  if (prefix === "") return {};
  const isBelow = (url: string): boolean =>
    url.startsWith(prefix) && /^[/?]?$/.test(url.charAt(prefix.length));
  return {
    rewriteUrl({ url = "/" }) {
      if (!isBelow(url)) return url;
      const rest = url.slice(prefix.length);
      return rest.startsWith("/") ? rest : `/${rest}`;
    },
  };
}
