/**
 * Whether everything that was written by hand for speed is switched off, as in the project `plain` of
 * vitest.config.ts.
 */
export const isPlain = process.env["TEST_PLAIN"] === "1";

/** In how many cells the data plane is: in several in the project `cells` of vitest.config.ts. */
export const cellCount = Number(process.env["TEST_CELLS"] ?? 1);

/** The switches; tests start their services with them. */
export const switches: Record<string, string> = {
  ...(isPlain && {
    POSTRIDER_FAST_HTTP: "off",
    POSTRIDER_FAST_SQL: "off",
  }),
  ...(cellCount > 1 && { POSTRIDER_CELLS: String(cellCount) }),
};
