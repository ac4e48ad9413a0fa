/** Whether the optimized code paths are switched off, as in the project `plain` of vitest.config.ts. */
export const isPlain = process.env["TEST_PLAIN"] === "1";

/** Number of cells of the data plane; more than one in the project `cells` of vitest.config.ts. */
export const cellCount = Number(process.env["TEST_CELLS"] ?? 1);

/** Settings with which tests start their services, for the two values above. */
export const switches: Record<string, string> = {
  ...(isPlain && {
    POSTRIDER_FAST_HTTP: "off",
    POSTRIDER_FAST_SQL: "off",
  }),
  ...(cellCount > 1 && { POSTRIDER_CELLS: String(cellCount) }),
};
