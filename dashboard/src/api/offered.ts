declare const OFFERED_PATHS: readonly string[];

/** Whether the interface that this page was built with has the path, as its document writes it. */
export function isOffered(path: string): boolean {
  return OFFERED_PATHS.includes(path);
}
